"""Adjoints of levels: the transposed matrix, applied without forming a matrix.

A level extends the samples as its mode says and then filters. The transpose of filtering is to synthesise with the
analysis filters turned round, which is the inverse transform of the *dual* wavelet, and every engine can run that; the
transpose of extending is to add each made-up sample to the ones that it was made of. In mode ``whole`` the dual wavelet
mirrors its coefficients itself, and only the weights of the outermost ones differ, because these have no mirror image.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from subband.arrays import cast, namespace, pad_zeros
from subband.boundary import extend, is_expansive
from subband.plan import AxisPlan, LevelPlan, axis_plan
from subband.stationary import StationaryPlan, stationary_plan
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

if TYPE_CHECKING:
    from subband.engines.base import Engine

__all__ = ["Fold", "adjoint_forward", "adjoint_inverse", "fold_axis"]


def adjoint_forward(engine: Engine, plan: LevelPlan | StationaryPlan, bands: Mapping[str, Array]) -> Array:
    """Apply the adjoint of ``engine.forward(plan, x)``, or of its undecimated counterpart, to bands."""
    if isinstance(plan, StationaryPlan):
        return engine.stationary_inverse(_dual_stationary_plan(plan), bands)
    dual = _dual_of_forward(plan)
    prepared = {key: _prepare_band(band, key, dual, plan.axes) for key, band in bands.items()}
    x = engine.inverse(dual.plan, prepared)
    for axis, part in zip(plan.axes, dual.axes, strict=True):
        if part.fold is not None:
            x = fold_axis(x, axis, part.fold)
    return _scale_positions(x, [(axis, part.sample_scales) for axis, part in zip(plan.axes, dual.axes, strict=True)])


def adjoint_inverse(engine: Engine, plan: LevelPlan | StationaryPlan, x: Array) -> Bands:
    """Apply the adjoint of ``engine.inverse(plan, bands)``, or of its undecimated counterpart, to samples."""
    if isinstance(plan, StationaryPlan):
        return engine.stationary_forward(_dual_stationary_plan(plan), x)
    dual = _dual_of_inverse(plan)
    widths = [(0, longer - length) for longer, length in zip(dual.plan.shape, plan.shape, strict=True)]
    x = pad_zeros(x, widths)
    x = _scale_positions(x, [(axis, part.sample_scales) for axis, part in zip(plan.axes, dual.axes, strict=True)])
    return {
        key: _scale_positions(band, _band_scales(key, dual, plan.axes))
        for key, band in engine.forward(dual.plan, x).items()
    }


#: Factors for single positions along an axis: position, from the end if negative, and factor.
Scales = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Fold:
    """The extended positions ``start`` to ``stop - 1`` of `length` samples, to be added to these."""

    mode: str
    length: int
    start: int
    stop: int


@dataclass(frozen=True)
class _AxisDual:
    """The adjoint along one axis: what is folded and scaled around the inverse with the dual wavelet.

    Attributes
    ----------
    plan : AxisPlan
        The dual wavelet's level.
    pads : pair of pairs of int
        Zeros before and after the low and the high coefficients.
    fold : Fold or None
        Which of the dual's samples were made up.
    low_scales, high_scales, sample_scales : tuple
        Weights of single coefficients and samples.
    """

    plan: AxisPlan
    pads: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    fold: Fold | None = None
    low_scales: Scales = ()
    high_scales: Scales = ()
    sample_scales: Scales = ()


@dataclass(frozen=True)
class _LevelDual:
    plan: LevelPlan
    axes: tuple[_AxisDual, ...]


@lru_cache(maxsize=256)
def _dual_wavelet(wavelet: Wavelet, gain: float = 1.0) -> Wavelet:
    """Return the wavelet whose synthesis filters are these analysis filters turned round, and the other way about."""
    dec_lo, dec_hi, rec_lo, rec_hi = (list(reversed(taps)) for taps in wavelet.filter_bank)
    analysis = [[tap / gain for tap in taps] for taps in (rec_lo, rec_hi)]
    synthesis = [[tap * gain for tap in taps] for taps in (dec_lo, dec_hi)]
    return Wavelet(f"dual of {wavelet.name}", filter_bank=[*analysis, *synthesis])


@lru_cache(maxsize=1024)
def _dual_stationary_plan(plan: StationaryPlan) -> StationaryPlan:
    # an undecimated inverse takes the mean of two reconstructions, which the adjoint adds
    wavelets = tuple(_dual_wavelet(axis.wavelet, 2.0) for axis in plan.plans)
    return stationary_plan(plan.shape, plan.axes, wavelets, plan.plans[0].step.bit_length())


@lru_cache(maxsize=1024)
def _dual_of_forward(plan: LevelPlan) -> _LevelDual:
    return _join_axes(plan, tuple(_dual_axis_of_forward(axis) for axis in plan.plans))


@lru_cache(maxsize=1024)
def _dual_of_inverse(plan: LevelPlan) -> _LevelDual:
    return _join_axes(plan, tuple(_dual_axis_of_inverse(axis) for axis in plan.plans))


def _join_axes(plan: LevelPlan, axes: tuple[_AxisDual, ...]) -> _LevelDual:
    shape = list(plan.shape)
    for axis, dual in zip(plan.axes, axes, strict=True):
        shape[axis] = dual.plan.length
    return _LevelDual(LevelPlan(tuple(shape), plan.axes, tuple(dual.plan for dual in axes)), axes)


def _dual_axis_of_forward(plan: AxisPlan) -> _AxisDual:
    wavelet, mode, n = _dual_wavelet(plan.wavelet), plan.mode, plan.length
    if mode == "whole":
        return _weigh_ends(axis_plan(wavelet, mode, n), coefficients=2.0)
    if mode == "periodization":
        even = n + n % 2
        return _AxisDual(axis_plan(wavelet, mode, even), fold=Fold(mode, n, 0, even) if n % 2 else None)
    if mode == "zero":
        return _AxisDual(axis_plan(wavelet, mode, n))
    # Filtering the extended signal, from its first sample on that counts, is the same with nothing but zeros outside;
    # coefficients that see only the margins of that are the zeros that the others are padded with.
    taps = plan.wavelet.dec_len
    start = 2 - taps - taps % 2
    inner = axis_plan(wavelet, "zero", 2 * plan.low - start)
    before = -start // 2
    pad = (before, inner.low - before - plan.low)
    return _AxisDual(inner, (pad, pad), Fold(mode, n, start, start + inner.length))


def _dual_axis_of_inverse(plan: AxisPlan) -> _AxisDual:
    wavelet, mode, n = _dual_wavelet(plan.wavelet), plan.mode, plan.length
    if mode == "whole":
        return _weigh_ends(axis_plan(wavelet, mode, n), coefficients=0.5)
    if mode == "periodization":
        return _AxisDual(axis_plan(wavelet, mode, n + n % 2))
    assert is_expansive(mode)
    # coefficients outside count as zeros whatever the mode, so that the samples do in the adjoint
    return _AxisDual(axis_plan(wavelet, "zero", n))


def _weigh_ends(plan: AxisPlan, coefficients: float) -> _AxisDual:
    """Weigh the outermost coefficients, and the outermost samples the other way: they have no mirror image."""
    if plan.length == 1:
        # a single sample is mirrored to itself, and the levels only scale it
        gain = sum(plan.wavelet.dec_lo) * sum(plan.wavelet.rec_lo)
        return _AxisDual(plan, low_scales=((0, gain if coefficients > 1 else 1 / gain),))
    both = ((0, coefficients), (-1, coefficients))
    return _AxisDual(
        plan,
        low_scales=both[: 1 + plan.length % 2],
        high_scales=both[1 + plan.length % 2 :],
        sample_scales=((0, 1 / coefficients), (-1, 1 / coefficients)),
    )


def _prepare_band(band: Array, key: str, dual: _LevelDual, axes: tuple[int, ...]) -> Array:
    widths = [(0, 0)] * band.ndim
    for letter, axis, part in zip(key, axes, dual.axes, strict=True):
        widths[axis] = part.pads[letter == "d"]
    return _scale_positions(pad_zeros(band, widths), _band_scales(key, dual, axes))


def _band_scales(key: str, dual: _LevelDual, axes: tuple[int, ...]) -> list[tuple[int, Scales]]:
    parts = zip(key, axes, dual.axes, strict=True)
    return [(axis, part.low_scales if letter == "a" else part.high_scales) for letter, axis, part in parts]


def _scale_positions(x: Array, scales: Iterable[tuple[int, Scales]]) -> Array:
    """Multiply single positions along axes by factors; returns a copy if there are any."""
    wanted = [(axis, position, factor) for axis, factors in scales for position, factor in factors]
    if not wanted or not x.size:
        return x
    namespace(x, "the adjoint in mode 'whole'")
    x = x.copy()
    for axis, position, factor in wanted:
        x[(slice(None),) * axis + (position,)] *= factor
    return x


def fold_axis(x: Array, axis: int, fold: Fold) -> Array:
    """Transpose the boundary extension of an axis: add each extended sample to those that it came from."""
    before = (slice(None),) * axis
    inner = x[(*before, slice(-fold.start, fold.length - fold.start))]
    indices, affected, weights = _fold_table(fold)
    if not indices.size:
        return inner
    xp = namespace(x, f"the adjoint in mode {fold.mode!r}")
    folded: Array = inner.copy()
    outside = xp.moveaxis(xp.take(x, xp.asarray(indices), axis), axis, -1)
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    sums = xp.moveaxis(cast(outside, wide) @ xp.asarray(weights, wide), -1, axis)
    chosen = (*before, xp.asarray(affected))
    folded[chosen] = cast(cast(folded[chosen], wide) + sums, x.dtype)
    return folded


@lru_cache(maxsize=256)
def _fold_table(fold: Fold) -> tuple[Array, Array, Array]:
    """Return the positions outside the samples, the samples that they are extended from, and the weights."""
    extension = extend(fold.mode, fold.length, fold.start, fold.stop)
    positions = np.arange(fold.start, fold.stop)
    (indices,) = np.nonzero((positions < 0) | (positions >= fold.length))
    sources = [
        (extension.index[indices], extension.weight),
        (np.zeros_like(indices), extension.first),
    ]
    sources.append((np.full_like(indices, fold.length - 1), extension.last))
    affected = np.unique(np.concatenate([index for index, _ in sources]))
    weights = np.zeros((indices.size, affected.size))
    for index, weight in sources:
        np.add.at(weights, (np.arange(indices.size), np.searchsorted(affected, index)), weight[indices])
    used = weights.any(axis=0)
    return indices, affected[used], weights[:, used]
