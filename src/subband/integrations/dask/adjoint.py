"""Adjoints of levels of chunked arrays: numbers near the ends are mixed first, then a plain level is drawn.

See `subband.schedule.adjoint` for what is mixed, and why. Only the chunks at the ends take part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array

from subband.arrays import namespace, pad_zeros
from subband.boundary import Mixture
from subband.plan import AxisPlan, LevelPlan, axis_plan, list_keys
from subband.schedule.adjoint import transpose_forward, transpose_inverse
from subband.typing import Bands

__all__ = ["prepare_bands", "prepare_samples"]


def prepare_bands(plan: LevelPlan, bands: Mapping[str, Any]) -> tuple[LevelPlan, Bands]:
    """Return a plain level whose inverse is the adjoint of the forward direction, and the bands that it takes."""
    transposed = transpose_forward(plan)
    given = next(iter(bands.values()))
    mixed: Bands = {
        key: bands[key] if key in bands else da.zeros_like(given, shape=shape)
        for key, shape in plan.band_shapes.items()
    }
    for position, (axis, own) in enumerate(zip(plan.axes, transposed.plans, strict=True)):
        if own.coefficient_mixture is not None:
            for before, behind in product(list_keys(position), list_keys(len(plan.axes) - position - 1)):
                keys = [before + letter + behind for letter in "ad"]
                mixed.update(zip(keys, _mix([mixed[key] for key in keys], axis, own.coefficient_mixture), strict=True))
    plain = _leave_out_mixtures(transposed, plan.shape)
    return plain, {key: _cut(mixed[key], shape) for key, shape in plain.band_shapes.items()}


def prepare_samples(plan: LevelPlan, x: Any) -> tuple[LevelPlan, Any]:
    """Return a plain level whose forward direction is the adjoint of the inverse, and the samples that it takes."""
    transposed = transpose_inverse(plan)
    for axis, own in zip(plan.axes, transposed.plans, strict=True):
        if own.sample_mixture is not None:
            (x,) = _mix([x], axis, own.sample_mixture)
        if own.forward_mode == "padded" and own.length % 2:
            x = pad_zeros(x, [(0, int(other == axis)) for other in range(x.ndim)])
    return _leave_out_mixtures(transposed, x.shape), x


def _leave_out_mixtures(plan: LevelPlan, shape: tuple[int, ...]) -> LevelPlan:
    def plain(own: AxisPlan, length: int) -> AxisPlan:
        return axis_plan(own.wavelet, own.mode if own.inverse_mode != "zero" else "zero", length)

    plans = tuple(plain(own, shape[axis]) for axis, own in zip(plan.axes, plan.plans, strict=True))
    return LevelPlan(shape, plan.axes, plans)


def _cut(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else x[tuple(map(slice, shape))]


def _mix(parts: Sequence[Any], axis: int, mixture: Mixture) -> list[Any]:
    """Mix a sequence that is one array, or two in turn, along an axis."""
    ends = [_find_ends(mixture, part.shape[axis], number, parts) for number, part in enumerate(parts)]
    mixed = []
    for number, part in enumerate(parts):
        pieces = []
        for begin, end, is_mixed in ends[number]:
            piece = _take(part, axis, begin, end)
            if is_mixed:
                for other, source in enumerate(parts):
                    for first, last, is_source in ends[other]:
                        weights = _tabulate(mixture, len(parts), (number, begin, end), (other, first, last))
                        if is_source and weights.any():
                            piece = piece + _weigh(_take(source, axis, first, last), weights, axis)
            pieces.append(piece)
        mixed.append(da.concatenate(pieces, axis).rechunk(part.chunks))
    return mixed


def _find_ends(mixture: Mixture, length: int, number: int, parts: Sequence[Any]) -> list[tuple[int, int, bool]]:
    """Return the ranges of an array at whose ends numbers are mixed, or are parts of mixtures, and whether they are."""
    indices = np.concatenate([mixture.rows, mixture.columns])
    own = indices[indices % len(parts) == number] // len(parts)
    left, right = own[2 * own < length], own[2 * own >= length]
    lead = int(left.max(initial=-1)) + 1
    tail = int(right.min(initial=length))
    ranges = [(0, lead, True), (lead, tail, False), (tail, length, True)]
    return [each for each in ranges if each[0] < each[1]]


def _tabulate(
    mixture: Mixture, count: int, goal: tuple[int, int, int], source: tuple[int, int, int]
) -> np.ndarray[Any, Any]:
    """Return the weights of a range of one array in the mixtures of another's."""
    (number, begin, end), (other, first, last) = goal, source
    rows, columns = mixture.rows // count - begin, mixture.columns // count - first
    used = (mixture.rows % count == number) & (mixture.columns % count == other)
    used &= (rows >= 0) & (rows < end - begin) & (columns >= 0) & (columns < last - first)
    weights = np.zeros((end - begin, last - first))
    np.add.at(weights, (rows[used], columns[used]), mixture.weights[used])
    return weights


def _take(x: Any, axis: int, begin: int, end: int) -> Any:
    return x[(slice(None),) * axis + (slice(begin, end),)]


def _weigh(x: Any, weights: np.ndarray[Any, Any], axis: int) -> Any:
    """Return weighted sums along an axis."""
    x = x.rechunk({axis: -1})
    chunks = (*x.chunks[:axis], (len(weights),), *x.chunks[axis + 1 :])
    return x.map_blocks(_weigh_block, weights, axis, chunks=chunks, dtype=x.dtype, meta=meta_from_array(x))


def _weigh_block(block: Any, weights: np.ndarray[Any, Any], axis: int) -> Any:
    xp = namespace(block, "the adjoint")
    return xp.moveaxis(xp.tensordot(block, xp.asarray(weights.astype(block.real.dtype)), (axis, 1)), -1, axis)
