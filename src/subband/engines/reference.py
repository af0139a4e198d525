"""The reference engine: plain NumPy in double precision, one axis after the other.

Every fast engine is compared with this one, and this one is compared with PyWavelets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from subband.boundary import extend
from subband.engines.base import Engine
from subband.plan import AxisPlan, LevelPlan, TransformPlan, list_keys
from subband.schedule.adjoint import refuse_reversible
from subband.schedule.levels import merge_levels, split_levels
from subband.stationary import StationaryAxisPlan, StationaryPlan
from subband.typing import Array, Bands
from subband.wavelets.reversible import IntegerStep

__all__ = ["ReferenceEngine"]


class ReferenceEngine(Engine):
    """Computes and returns float64 or complex128, and int64 for reversible plans."""

    name = "reference"

    def forward(self, plan: LevelPlan, x: Array) -> Bands:
        return _split(plan, x, _analyse)

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        return _merge(plan, plan.band_shapes, bands, _synthesise)

    def forward_adjoint(self, plan: LevelPlan, bands: Mapping[str, Array]) -> Array:
        refuse_reversible(plan.plans[0].integer is not None)
        return _merge(plan, plan.band_shapes, bands, _transpose_analysis)

    def inverse_adjoint(self, plan: LevelPlan, x: Array) -> Bands:
        refuse_reversible(plan.plans[0].integer is not None)
        return _split(plan, x, _transpose_synthesis)

    def forward_adjoint_all(self, plan: TransformPlan, approximation: Array, details: Sequence[Bands]) -> Array:
        return merge_levels(plan.levels, approximation, details, self.forward_adjoint)

    def inverse_adjoint_all(self, plan: TransformPlan, x: Array) -> tuple[Array, list[Bands]]:
        return split_levels(plan.levels, x, self.inverse_adjoint)

    def stationary_forward_adjoint(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return _merge(plan, plan.band_shapes, bands, _transpose_stationary_analysis)

    def stationary_inverse_adjoint(self, plan: StationaryPlan, x: Array) -> Bands:
        return _split(plan, x, _transpose_stationary_synthesis)

    def stationary_forward(self, plan: StationaryPlan, x: Array) -> Bands:
        return _split(plan, x, _analyse_stationary)

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Array]) -> Array:
        return _merge(plan, plan.band_shapes, bands, _synthesise_stationary)


def _split(plan: LevelPlan | StationaryPlan, x: Array, analyse: Callable[[Any, Array], tuple[Array, Array]]) -> Bands:
    """Split every band in two, along one axis after the other."""
    bands = {"": _widen(x)}
    for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
        halves = {}
        for key, band in bands.items():
            low, high = analyse(axis_plan, np.moveaxis(band, axis, -1))
            halves[key + "a"] = np.moveaxis(low, -1, axis)
            halves[key + "d"] = np.moveaxis(high, -1, axis)
        bands = halves
    return bands


def _merge(
    plan: LevelPlan | StationaryPlan,
    shapes: Mapping[str, tuple[int, ...]],
    bands: Mapping[str, Array],
    synthesise: Callable[[Any, Array, Array], Array],
) -> Array:
    """Merge bands two by two, along one axis after the other, the last one first."""
    dtype = np.result_type(*(_widen(band) for band in bands.values()))
    present = {key: np.asarray(bands.get(key, np.zeros(shape)), dtype) for key, shape in shapes.items()}
    for position in reversed(range(len(plan.axes))):
        axis = plan.axes[position]
        merged = {}
        for key in list_keys(position):
            low, high = (np.moveaxis(present[key + letter], axis, -1) for letter in "ad")
            merged[key] = np.moveaxis(synthesise(plan.plans[position], low, high), -1, axis)
        present = merged
    return present[""]


def _widen(x: Array) -> Array:
    """Return `x` in the widest dtype of its kind."""
    kind = np.asarray(x).dtype.kind
    return np.asarray(x, dtype={"c": np.complex128, "i": np.int64}.get(kind, np.float64))


def _analyse(plan: AxisPlan, x: Array) -> tuple[Array, Array]:
    if plan.integer is not None:
        if plan.integer.repeats_sources:
            even, odd = (x[..., m::2] << plan.integer.shift for m in (0, 1))
            for step in plan.integer.steps:
                _lift_repeating(even, odd, step, 1)
            return even, odd
        # Every step is computed wherever its source exists; the range shrinks by the step's reach each time.
        margin = _integer_margin(plan)
        u = plan.extend_samples(-margin, plan.length + margin + plan.length % 2).apply(x)
        for step in plan.integer.steps:
            _lift(u, step, 1)
        return u[..., margin : margin + plan.length : 2], u[..., margin + 1 : margin + plan.length : 2]
    start, stop = plan.forward.reach(plan.low)
    low, high = plan.forward.apply(plan.extend_samples(start, stop).apply(x))
    return low, high[..., : plan.high]


def _synthesise(plan: AxisPlan, low: Array, high: Array) -> Array:
    turns = np.empty((*low.shape[:-1], plan.coded), low.dtype)
    turns[..., 0::2], turns[..., 1::2] = low, high
    if plan.integer is not None and plan.integer.repeats_sources:
        for step in reversed(plan.integer.steps):
            _lift_repeating(turns[..., 0::2], turns[..., 1::2], step, -1)
        return turns + ((1 << plan.integer.shift) >> 1) >> plan.integer.shift
    if plan.integer is not None:
        margin = _integer_margin(plan)
        u = plan.extend_coefficients(-margin, plan.coded + margin + plan.coded % 2).apply(turns)
        for step in reversed(plan.integer.steps):
            _lift(u, step, -1)
        return u[..., margin : margin + plan.length]
    start, stop = plan.inverse.reach(plan.pairs)
    even, odd = plan.inverse.apply(plan.extend_coefficients(start, stop).apply(turns))
    return np.stack([even, odd], axis=-1).reshape(*even.shape[:-1], 2 * plan.pairs)[..., : plan.length]


def _transpose_analysis(plan: AxisPlan, low: Array, high: Array) -> Array:
    """Apply the transpose of `_analyse`: each of its steps transposed, the last one first."""
    start, stop = plan.forward.reach(plan.low)
    extended = plan.forward.apply_adjoint(low, _pad(high, plan.low))
    return plan.extend_samples(start, stop).fold(extended, plan.length)


def _transpose_synthesis(plan: AxisPlan, x: Array) -> tuple[Array, Array]:
    start, stop = plan.inverse.reach(plan.pairs)
    x = _pad(x, 2 * plan.pairs)
    extended = plan.inverse.apply_adjoint(x[..., 0::2], x[..., 1::2])
    turns = plan.extend_coefficients(start, stop).fold(extended, plan.coded)
    return turns[..., 0::2], turns[..., 1::2]


def _pad(x: Array, length: int) -> Array:
    """Add zeros at the end of the last axis."""
    return np.concatenate([x, np.zeros((*x.shape[:-1], length - x.shape[-1]), x.dtype)], axis=-1)


def _integer_margin(plan: AxisPlan) -> int:
    """Return an even number of positions that covers the reach of all steps."""
    assert plan.integer is not None
    return 2 * sum(len(step.taps) + abs(step.start) for step in plan.integer.steps)


def _lift(u: Array, step: IntegerStep, sign: int) -> None:
    """Run one integer step in place on a sequence of pairs, wherever its source exists."""
    even, odd = u[..., 0::2], u[..., 1::2]
    target, source = (odd, even) if step.kind == "predict" else (even, odd)
    count = target.shape[-1]
    begin = max(0, -step.start)
    end = min(count, count - step.start - len(step.taps) + 1)
    total = np.full_like(target[..., begin:end], step.offset)
    for j, tap in enumerate(step.taps):
        total += tap * source[..., begin + step.start + j : end + step.start + j]
    target[..., begin:end] += sign * (total >> step.shift)


def _lift_repeating(even: Array, odd: Array, step: IntegerStep, sign: int) -> None:
    """Run one integer step in place, its sources beyond the ends being the outermost ones."""
    target, source = (odd, even) if step.kind == "predict" else (even, odd)
    count = target.shape[-1]
    around = extend("constant", count, step.start, count + step.start + len(step.taps) - 1).apply(source)
    total = np.full_like(target, step.offset)
    for j, tap in enumerate(step.taps):
        total += tap * around[..., j : j + count]
    target += sign * (total >> step.shift)


def _analyse_stationary(plan: StationaryAxisPlan, x: Array) -> tuple[Array, Array]:
    reach = plan.wavelet.dec_len // 2
    low = _correlate_dilated(plan, x, plan.wavelet.dec_lo, reach)
    return low, _correlate_dilated(plan, x, plan.wavelet.dec_hi, reach)


def _synthesise_stationary(plan: StationaryAxisPlan, low: Array, high: Array) -> Array:
    reach = plan.wavelet.rec_len // 2 - 1
    low = _correlate_dilated(plan, low, plan.wavelet.rec_lo, reach)
    return (low + _correlate_dilated(plan, high, plan.wavelet.rec_hi, reach)) / 2


def _transpose_stationary_analysis(plan: StationaryAxisPlan, low: Array, high: Array) -> Array:
    reach = plan.wavelet.dec_len // 2
    low = _convolve_dilated(plan, low, plan.wavelet.dec_lo, reach)
    return low + _convolve_dilated(plan, high, plan.wavelet.dec_hi, reach)


def _transpose_stationary_synthesis(plan: StationaryAxisPlan, x: Array) -> tuple[Array, Array]:
    reach = plan.wavelet.rec_len // 2 - 1
    low = _convolve_dilated(plan, x / 2, plan.wavelet.rec_lo, reach)
    return low, _convolve_dilated(plan, x / 2, plan.wavelet.rec_hi, reach)


def _correlate_dilated(plan: StationaryAxisPlan, u: Array, taps: list[float], reach: int) -> Array:
    """Return ``sum_k taps[k] * u[n + step * (reach - k)]`` on the periodic sequence `u`."""
    total = np.zeros_like(u)
    for k, tap in enumerate(taps):
        total += tap * np.roll(u, -plan.step * (reach - k), axis=-1)
    return total


def _convolve_dilated(plan: StationaryAxisPlan, u: Array, taps: list[float], reach: int) -> Array:
    """Apply the transpose of `_correlate_dilated`."""
    total = np.zeros_like(u)
    for k, tap in enumerate(taps):
        total += tap * np.roll(u, plan.step * (reach - k), axis=-1)
    return total
