"""The array engine: transforms as a few operations on whole arrays, none of which writes into one.

It runs on arrays of NumPy, and on those of any library that has the functions of the array API standard
(`subband.arrays.FunctionalArray`). A library that traces what is done with its arrays, to compile it, to differentiate
it or to do it for many arrays at once, can trace this: JAX and ``torch.func`` do. What is traced depends on shapes
alone.

Along an axis the samples are extended at both ends, split into even and odd ones, and each output is a sum of slices of
these, weighted with the taps of the filters: compilers make one loop of that. Low and high outputs are stacked along a
new axis, so that the next axis is transformed once for all bands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from subband.arrays import cast
from subband.boundary import Extension, Mixture, extend
from subband.engines.base import Engine
from subband.plan import AxisPlan, LevelPlan, list_keys
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands
from subband.wavelets.reversible import IntegerStep

__all__ = ["ArrayEngine", "add_products"]


class ArrayEngine(Engine):
    """Computes by functions of the library that an array belongs to, in the dtype of the array."""

    name = "array"

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        bands = _split(plan, _widen(x) if plan.amplifies else x, _analyse)
        return {key: cast(band, x.dtype) for key, band in bands.items()}

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        wide = {key: _widen(band) for key, band in bands.items()} if plan.amplifies_back else bands
        return cast(_merge(plan, wide, _synthesise), next(iter(bands.values())).dtype)

    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        return _split(plan, x, _analyse_stationary)

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return _merge(plan, bands, _synthesise_stationary)


def _split(
    plan: LevelPlan | StationaryPlan, x: Array, analyse: Callable[[Any, Array, int], tuple[Array, Array]]
) -> Bands:
    """Split along one axis after the other; every split adds an axis of low and high in front."""
    for number, (axis, axis_plan) in enumerate(zip(plan.axes, plan.plans, strict=True)):
        x = np.stack(analyse(axis_plan, x, axis + number))
    bands = {}
    for key, shape in plan.band_shapes.items():
        corner: tuple[Any, ...] = (*(int(letter == "d") for letter in reversed(key)), *map(slice, shape))
        bands[key] = x[corner].copy()
    return bands


def _merge(
    plan: LevelPlan | StationaryPlan,
    bands: Mapping[str, Array],
    synthesise: Callable[[Any, Array, Array, int], Array],
) -> Array:
    """Stack the bands as `_split` leaves them, and merge along one axis after the other, the last one first."""
    count = len(plan.axes)
    shapes = plan.band_shapes
    full = tuple(map(max, zip(*shapes.values(), strict=True)))
    like = next(iter(bands.values()))
    keys = [key[::-1] for key in list_keys(count)]
    x = np.stack([_fill(bands[key], full) if key in bands else np.zeros_like(like, shape=full) for key in keys])
    x = x.reshape((2,) * count + full)
    for number in reversed(range(count)):
        x = synthesise(plan.plans[number], x[0], x[1], plan.axes[number] + number)
    return x.copy()


def _fill(band: Array, shape: tuple[int, ...]) -> Array:
    """Return a band with zeros behind it, where others have one coefficient more."""
    widths = [(0, length - own) for length, own in zip(shape, band.shape, strict=True)]
    return np.pad(band, widths) if any(after for _, after in widths) else band


def _widen(x: Array) -> Array:
    """Return numbers in double precision, for an extension that grows far beyond them."""
    return cast(x, np.result_type(x.dtype, np.float64))


def _analyse(plan: AxisPlan, x: Array, axis: int) -> tuple[Array, Array]:
    if plan.integer is not None and plan.integer.repeats_sources:
        phases = _separate(x * (1 << plan.integer.shift), axis)
        for step in plan.integer.steps:
            _lift_repeating(phases, axis, step, 1)
        return phases[0], phases[1]
    if plan.integer is not None:
        margin = _integer_margin(plan)
        stop = plan.length + margin + plan.length % 2
        phases = _separate(_extend(x, axis, -margin, plan.extend_samples(-margin, stop)), axis)
        for step in plan.integer.steps:
            _lift(phases, axis, step, 1)
        low, high = (_cut(phase, axis, margin // 2, margin // 2 + plan.low) for phase in phases)
        return low, high
    start, taps = plan.forward.first, plan.forward.taps
    pairs = plan.low + (plan.forward.width - 1) // 2
    phases = _separate(_extend(x, axis, start, plan.extend_samples(start, start + 2 * pairs)), axis)
    low, high = (_filter(phases, axis, each, 0, plan.low) for each in taps)
    return low, high


def _synthesise(plan: AxisPlan, low: Array, high: Array, axis: int) -> Array:
    if plan.integer is not None and plan.integer.repeats_sources:
        phases = [low, high]
        for step in reversed(plan.integer.steps):
            _lift_repeating(phases, axis, step, -1)
        return _interleave(phases[0], phases[1], axis) + ((1 << plan.integer.shift) >> 1) >> plan.integer.shift
    if plan.integer is not None:
        margin = _integer_margin(plan)
        turns = _cut(_interleave(low, high, axis), axis, 0, plan.coded)
        stop = plan.coded + margin + plan.coded % 2
        phases = _separate(_extend(turns, axis, -margin, plan.extend_coefficients(-margin, stop)), axis)
        for step in reversed(plan.integer.steps):
            _lift(phases, axis, step, -1)
        return _cut(_interleave(phases[0], phases[1], axis), axis, margin, margin + plan.length)
    if plan.coefficient_mixture is not None:
        turns = _mix(_cut(_interleave(low, high, axis), axis, 0, plan.coded), axis, plan.coefficient_mixture)
        phases = _separate(_extend(turns, axis, 0, extend("zero", plan.coded, 0, 2 * plan.low)), axis)
        low, high = phases
    # all modes of coefficients extend low by low and high by high ones, so that these need not be interleaved
    first = plan.inverse.first % 2
    start = plan.inverse.first - first
    pairs = plan.pairs + (first + plan.inverse.width - 1) // 2
    extension = plan.extend_coefficients(start, start + 2 * pairs)
    phases = [
        _extend(_cut(part, axis, 0, length), axis, start // 2, _choose_phase(extension, parity))
        for parity, (part, length) in enumerate(((low, plan.low), (high, plan.high)))
    ]
    even, odd = (_filter(phases, axis, each, first, plan.pairs) for each in plan.inverse.taps)
    return _cut(_interleave(even, odd, axis), axis, 0, plan.length)


def _analyse_stationary(plan: StationaryAxisPlan, x: Array, axis: int) -> tuple[Array, Array]:
    bank = plan.wavelet
    low, high = (_correlate(plan, x, axis, taps, bank.dec_len // 2) for taps in (bank.dec_lo, bank.dec_hi))
    return low, high


def _synthesise_stationary(plan: StationaryAxisPlan, low: Array, high: Array, axis: int) -> Array:
    bank, reach = plan.wavelet, plan.wavelet.rec_len // 2 - 1
    halves = [[tap / 2 for tap in taps] for taps in (bank.rec_lo, bank.rec_hi)]
    return _correlate(plan, low, axis, halves[0], reach) + _correlate(plan, high, axis, halves[1], reach)


def _correlate(plan: StationaryAxisPlan, x: Array, axis: int, taps: Sequence[float], reach: int) -> Array:
    """Return ``sum_k taps[k] * x[n + step * (reach - k)]`` of a periodic signal."""
    start, stop = plan.step * (reach - len(taps) + 1), plan.length + plan.step * reach
    extended = _extend(x, axis, start, extend("periodic", plan.length, start, stop))
    return _add_up(
        [
            (tap, _cut(extended, axis, plan.step * number, plan.step * number + plan.length))
            for number, tap in enumerate(reversed(taps))
        ]
    )


def _filter(phases: Sequence[Array], axis: int, taps: Sequence[float], first: int, count: int) -> Array:
    """Return ``sum_k taps[k] * u[2 n + first + k]`` of a sequence that is split into its even and odd members."""
    return _add_up(
        [
            (tap, _cut(phases[position % 2], axis, position // 2, position // 2 + count))
            for position, tap in enumerate(taps, first)
        ]
    )


def _add_up(terms: Sequence[tuple[float, Array]]) -> Array:
    """Return the weighted sum of arrays; weights of zero are left out."""
    total: Any = None
    for tap, part in terms:
        if tap:
            total = tap * part if total is None else total + tap * part
    return 0.0 * terms[0][1] if total is None else total


def _integer_margin(plan: AxisPlan) -> int:
    """Return an even number of positions that covers the reach of all steps."""
    assert plan.integer is not None
    return 2 * sum(len(step.taps) + abs(step.start) for step in plan.integer.steps)


def _lift(phases: list[Array], axis: int, step: IntegerStep, sign: int) -> None:
    """Replace the target of an integer step, wherever its source exists."""
    number = int(step.kind == "predict")
    target, source = phases[number], phases[1 - number]
    count = target.shape[axis]
    begin, end = max(0, -step.start), min(count, count - step.start - len(step.taps) + 1)
    total: Any = step.offset
    for position, tap in enumerate(step.taps, step.start):
        total = total + tap * _cut(source, axis, begin + position, end + position)
    moved = _cut(target, axis, begin, end) + sign * (total >> step.shift)
    phases[number] = np.concatenate([_cut(target, axis, 0, begin), moved, _cut(target, axis, end, count)], axis)


def _lift_repeating(phases: list[Array], axis: int, step: IntegerStep, sign: int) -> None:
    """Replace the target of an integer step, its sources beyond the ends being the outermost ones."""
    number = int(step.kind == "predict")
    target, source = phases[number], phases[1 - number]
    count = target.shape[axis]
    stop = count + step.start + len(step.taps) - 1
    around = _extend(source, axis, step.start, extend("constant", count, step.start, stop))
    total: Any = step.offset
    for position, tap in enumerate(step.taps):
        total = total + tap * _cut(around, axis, position, position + count)
    phases[number] = target + sign * (total >> step.shift)


def add_products(x: Array, axis: int, rows: Array, other: Array, weights: Array) -> Array:
    """Add to some entries of an axis the product of another array with a matrix.

    Parameters
    ----------
    x, other : array
        Alike but for the length of `axis`.
    axis : int
        Which.
    rows : ndarray of int
        The entries of `x`, in order; the matrix has a column for each, and a row for each entry of `other`.

    Examples
    --------
    >>> add_products(np.zeros(5), 0, np.array([0, 4]), np.ones(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 0., 0., 0., 6.])
    """
    length = x.shape[axis]
    # matrices of adjoints change both ends, and leave what is between
    begin = int(max(rows[2 * rows < length], default=-1)) + 1
    end = max(begin, int(min(rows[2 * rows >= length], default=length)))
    matrix = np.zeros((other.shape[axis], begin + length - end), x.dtype)
    matrix[:, np.where(rows < begin, rows, rows - end + begin)] = weights
    sums = np.moveaxis(np.tensordot(np.moveaxis(other, axis, -1), matrix, 1), -1, axis)
    parts = [
        _cut(x, axis, 0, begin) + _cut(sums, axis, 0, begin),
        _cut(x, axis, begin, end),
        _cut(x, axis, end, length) + _cut(sums, axis, begin, begin + length - end),
    ]
    return np.concatenate(parts, axis)


def _mix(x: Array, axis: int, mixture: Mixture) -> Array:
    """Add the products of a sparse matrix."""
    rows, row_of = np.unique(mixture.rows, return_inverse=True)
    columns, column_of = np.unique(mixture.columns, return_inverse=True)
    weights = np.zeros((columns.size, rows.size))
    np.add.at(weights, (column_of, row_of), mixture.weights)
    return add_products(x, axis, rows, np.take(x, columns, axis), weights)


def _extend(x: Array, axis: int, start: int, extension: Extension) -> Array:
    """Extend an axis to the positions from `start` on; only what lies outside is looked up."""
    if extension.mixture is not None:
        x = _mix(x, axis, extension.mixture)
    count, length = extension.index.size, x.shape[axis]
    begin, end = min(max(-start, 0), count), min(max(length - start, 0), count)
    if begin >= end:
        return _make_border(x, axis, extension, slice(None))
    inner = _cut(x, axis, start + begin, start + end)
    sides = [_make_border(x, axis, extension, part) for part in (slice(begin), slice(end, None))]
    parts = [part for part in (sides[0], inner, sides[1]) if part.shape[axis]]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis)


def _make_border(x: Array, axis: int, extension: Extension, part: slice) -> Array:
    """Return the extended signal at some positions: samples or multiples of them, or zeros."""
    along = [1] * x.ndim
    along[axis] = -1
    index = extension.index[part]
    border: Any = None
    for weight, source in (
        (extension.weight[part], index),
        (extension.first[part], np.zeros(1, np.int64)),
        (extension.last[part], np.full(1, x.shape[axis] - 1)),
    ):
        if weight.any():
            # whole numbers, which are exact in every dtype
            weights = weight.astype(x.dtype).reshape(along)
            term = np.take(x, source, axis)
            term = term if (weight == 1).all() else term * weights
            # nothing times infinity would not be nothing
            term = term if weight.all() else np.where(weights != 0, term, 0)
            border = term if border is None else border + term
    if border is None:
        return np.zeros_like(x, shape=(*x.shape[:axis], index.size, *x.shape[axis + 1 :]))
    return np.asarray(border) if isinstance(x, np.ndarray) else border


def _choose_phase(extension: Extension, parity: int) -> Extension:
    """Return every other entry of an extension of low and high coefficients in turn, counted among their like."""
    every = slice(parity, None, 2)
    return Extension(
        extension.index[every] // 2, extension.weight[every], extension.first[every], extension.last[every]
    )


def _cut(x: Array, axis: int, start: int, stop: int) -> Array:
    """Return a range of an axis."""
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _separate(x: Array, axis: int) -> list[Array]:
    """Return the even and the odd members along an axis of even length."""
    pairs = x.reshape(*x.shape[:axis], x.shape[axis] // 2, 2, *x.shape[axis + 1 :])
    before: tuple[Any, ...] = (slice(None),) * (axis + 1)
    return [pairs[(*before, 0)], pairs[(*before, 1)]]


def _interleave(even: Array, odd: Array, axis: int) -> Array:
    """Undo `_separate`."""
    shape = even.shape
    return np.stack([even, odd], axis + 1).reshape(*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
