"""Adjoints of transforms: the transposed matrix, applied without forming a matrix.

``<decompose(x), y>`` equals ``<x, decompose_adjoint(y)>`` for all ``x`` and ``y``. Gradients of anything that is
computed from coefficients flow back to the samples by it, and iterative solvers need it. For orthogonal wavelets in
mode ``periodization`` it is the inverse; in general it is not.

A level extends the samples as its mode says and then filters. The transpose of filtering is to synthesise with the
analysis filters turned round, which is the inverse transform of the *dual* wavelet, and every engine can run that; the
transpose of extending is to add each made-up sample to the ones that it was made of. In mode ``whole`` the dual wavelet
mirrors its coefficients itself, and only the weights of the outermost ones differ, because these have no mirror image.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from subband.arrays import as_computable, cast, namespace, pad_zeros
from subband.boundary import extend, is_expansive
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.errors import ArgumentError, ArgumentTypeError, ShapeError
from subband.plan import AxisPlan, LevelPlan, TransformPlan, axis_plan
from subband.pyramid import Pyramid
from subband.schedule.levels import merge_levels, split_levels
from subband.stationary import StationaryPlan, StationaryTransformPlan, stationary_plan
from subband.transforms.decomposition import as_computable_bands
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["decompose_adjoint", "reconstruct_adjoint"]


def decompose_adjoint(pyramid: Pyramid, engine: str | Engine | None = None) -> Array:
    """Apply the adjoint of `decompose` to the bands of a pyramid.

    Parameters
    ----------
    pyramid : Pyramid
        Any bands, with the plan of the transform that is meant; a reversible one, which rounds, has no adjoint.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    array
        Of the shape of the array that was transformed.

    Raises
    ------
    ArgumentError
        If the transform is reversible.

    See Also
    --------
    reconstruct : The inverse, which is the same for orthogonal wavelets in mode ``periodization``.
    subband.integrations.torch : Transforms with gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, decompose_adjoint
    >>> x, noise = np.arange(7.0), np.random.default_rng(0)
    >>> bands = decompose(x, "db2", level=1)
    >>> weights = bands.map(lambda band, level, key: noise.normal(size=band.shape))
    >>> product = sum(np.vdot(b, w) for (_, _, b), (_, _, w) in zip(bands.bands(), weights.bands()))
    >>> bool(np.isclose(product, np.vdot(x, decompose_adjoint(weights))))
    True
    """
    _check_plan(pyramid, Pyramid, "pyramid", "give what `decompose` returned")
    _refuse_reversible(pyramid.plan.reversible)
    x: Array = call_natively(_decompose_adjoint, {0: "pyramid"}, (pyramid, engine), {}, engine)
    return x


def reconstruct_adjoint(
    x: Any, plan: TransformPlan | StationaryTransformPlan, engine: str | Engine | None = None
) -> Pyramid:
    """Apply the adjoint of `reconstruct` to an array.

    Parameters
    ----------
    x : array_like
        An array of the shape that is reconstructed.
    plan : TransformPlan or StationaryTransformPlan
        The ``plan`` of the pyramids that are meant; a reversible one, which rounds, has no adjoint.
    engine : str, optional
        The engine that computes; see `set_engine`.

    Returns
    -------
    Pyramid
        Bands of the shapes that `reconstruct` takes.

    Raises
    ------
    ArgumentError
        If the transform is reversible.
    ShapeError
        If `x` has not the shape of the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose, reconstruct_adjoint
    >>> plan = decompose(np.zeros((5, 6)), "bior2.2", level=1).plan
    >>> reconstruct_adjoint(np.ones((5, 6)), plan).approximation.shape
    (5, 5)
    """
    _check_plan(plan, (TransformPlan, StationaryTransformPlan), "plan", "give the plan of a pyramid")
    _refuse_reversible(plan.reversible)
    pyramid: Pyramid = call_natively(_reconstruct_adjoint, {0: "x"}, (x, plan, engine), {}, engine)
    return pyramid


def _check_plan(given: Any, kinds: type | tuple[type, ...], name: str, remedy: str) -> None:
    if not isinstance(given, kinds):
        raise ArgumentTypeError(f"{name} is a {type(given).__name__}; {remedy}")


def _refuse_reversible(is_reversible: bool) -> None:
    if is_reversible:
        raise ArgumentError("a reversible transform rounds to integers and has no adjoint; leave reversible out")


def _decompose_adjoint(pyramid: Pyramid, engine: str | Engine | None) -> Array:
    plan = pyramid.plan
    levels: Sequence[LevelPlan | StationaryPlan] = plan.levels
    x, details = as_computable_bands(pyramid)
    x = merge_levels(levels, x, details, partial(adjoint_forward, engine_for(x, engine)))
    if isinstance(plan, StationaryTransformPlan):
        for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
            x = _fold_axis(x, axis, _Fold(mode, plan.shape[axis], -margin, plan.shape[axis] + margin))
    return x


def _reconstruct_adjoint(x: Any, plan: TransformPlan | StationaryTransformPlan, engine: str | Engine | None) -> Pyramid:
    array = as_computable(x, "x")
    if array.shape != plan.shape:
        raise ShapeError(f"x has shape {array.shape}; the plan reconstructs arrays of shape {plan.shape}")
    chosen = engine_for(array, engine)
    if isinstance(plan, StationaryTransformPlan):
        widths = [(0, 0)] * array.ndim
        for axis, margin in zip(plan.axes, plan.margins, strict=True):
            widths[axis] = (margin, margin)
        array = pad_zeros(array, widths)
    levels: Sequence[LevelPlan | StationaryPlan] = plan.levels
    return Pyramid(plan, *split_levels(levels, array, partial(adjoint_inverse, chosen)))


def adjoint_forward(engine: Engine, plan: LevelPlan | StationaryPlan, bands: Mapping[str, Array]) -> Array:
    """Apply the adjoint of ``engine.forward(plan, x)``, or of its undecimated counterpart, to bands."""
    if isinstance(plan, StationaryPlan):
        return engine.stationary_inverse(_dual_stationary_plan(plan), bands)
    dual = _dual_of_forward(plan)
    prepared = {key: _prepare_band(band, key, dual, plan.axes) for key, band in bands.items()}
    x = engine.inverse(dual.plan, prepared)
    for axis, part in zip(plan.axes, dual.axes, strict=True):
        if part.fold is not None:
            x = _fold_axis(x, axis, part.fold)
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
class _Fold:
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
    fold : _Fold or None
        Which of the dual's samples were made up.
    low_scales, high_scales, sample_scales : tuple
        Weights of single coefficients and samples.
    """

    plan: AxisPlan
    pads: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    fold: _Fold | None = None
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
        return _AxisDual(axis_plan(wavelet, mode, even), fold=_Fold(mode, n, 0, even) if n % 2 else None)
    if mode == "zero":
        return _AxisDual(axis_plan(wavelet, mode, n))
    # Filtering the extended signal, from its first sample on that counts, is the same with nothing but zeros outside;
    # coefficients that see only the margins of that are the zeros that the others are padded with.
    taps = plan.wavelet.dec_len
    start = 2 - taps - taps % 2
    inner = axis_plan(wavelet, "zero", 2 * plan.low - start)
    before = -start // 2
    pad = (before, inner.low - before - plan.low)
    return _AxisDual(inner, (pad, pad), _Fold(mode, n, start, start + inner.length))


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


def _fold_axis(x: Array, axis: int, fold: _Fold) -> Array:
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
def _fold_table(fold: _Fold) -> tuple[Array, Array, Array]:
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
