"""Subband's own surface: an array becomes a `Pyramid`, and a pyramid the very same array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.arrays import as_computable
from subband.boundary import check_mode, extend
from subband.engines import Engine, get_engine
from subband.errors import AxesError, DtypeError, IntegerRangeError, LevelError
from subband.plan import TransformPlan, transform_plan
from subband.pyramid import Pyramid
from subband.stationary import StationaryTransformPlan, stationary_transform_plan
from subband.transforms.arguments import normalise_axes, useful_levels, wavelets_for_axes
from subband.typing import Array, Bands, ModeName
from subband.wavelets import Wavelet, WaveletLike

__all__ = ["decompose", "reconstruct"]

# Modes with as many coefficients as samples: any number of levels makes sense until one coefficient is left.
_NON_EXPANSIVE = ("whole", "periodization")

_INT32 = np.iinfo(np.int32)


def decompose(
    x: Any,
    wavelet: WaveletLike | Sequence[WaveletLike] = "cdf97",
    level: int | None = None,
    mode: ModeName | Sequence[ModeName] | None = None,
    axes: int | Sequence[int] | None = None,
    engine: str | Engine | None = None,
    *,
    reversible: bool = False,
    stationary: bool = False,
) -> Pyramid:
    """Transform an array into a pyramid of bands.

    Parameters
    ----------
    x : array_like
        Any number of axes of any length, odd ones and single samples included. Finite numbers are expected.
    wavelet : str or Wavelet, or one for each axis
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out.
    mode : str, or one for each axis, optional
        How the array goes on outside its borders. The wavelet's own choice if left out: ``'whole'`` (as many
        coefficients as samples) for ``'cdf97'`` and ``'cdf53'``, ``'symmetric'`` for the others.
    axes : int or sequence of int, optional
        The axes to transform, all if left out; the others are carried along, such as frames and channels.
    engine : str, optional
        Who computes; see `set_engine`.
    reversible : bool
        Transform integers to integers, so that `reconstruct` gives back every bit: for ``'cdf53'`` and ``'haar'``.
    stationary : bool
        Do not drop every second coefficient: all bands have the size of the array, extended by the margins that
        exact inversion needs (``pyramid.plan.margins``).

    Returns
    -------
    Pyramid
        The bands, and all that `reconstruct` needs.

    Raises
    ------
    LevelError
        If there are more levels than make sense.
    ModeError
        If a mode is unknown or the wavelet cannot take it.
    DtypeError
        If `x` holds no numbers, or no integers where `reversible` is asked for.
    IntegerRangeError
        If a reversible coefficient does not fit 32 bits.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(35.0).reshape(5, 7)
    >>> pyramid = decompose(x, level=2)
    >>> [band.shape for level, key, band in pyramid.bands()]
    [(2, 2), (2, 2), (1, 2), (1, 2), (3, 3), (2, 4), (2, 3)]
    >>> np.allclose(reconstruct(pyramid), x)
    True

    Frames of colour video, each channel of each frame by itself:

    >>> frames = np.zeros((4, 90, 160, 3), np.float32)
    >>> decompose(frames, level=1, axes=(1, 2)).approximation.shape
    (4, 45, 80, 3)
    """
    array = np.asarray(x) if reversible else as_computable(x, "x")
    axes = normalise_axes(axes, array.ndim, distinct=True)
    if not axes:
        raise AxesError(f"axes={axes} is empty; name at least one axis of an array of shape {array.shape}")
    wavelets = wavelets_for_axes(wavelet, axes)
    modes = _choose_modes(mode, wavelets, axes)
    level = _check_level(level, array.shape, axes, wavelets, modes, stationary)
    chosen = get_engine(engine)
    if stationary:
        if reversible:
            raise DtypeError("reversible=True and stationary=True exclude each other; choose one")
        return _decompose_stationary(
            chosen, array, stationary_transform_plan(array.shape, axes, wavelets, modes, level)
        )
    plan = transform_plan(array.shape, axes, wavelets, modes, level, reversible)
    if reversible:
        return _decompose_integers(chosen, array, plan)
    return Pyramid(plan, *_forward(chosen, array, plan))


def reconstruct(pyramid: Pyramid, engine: str | Engine | None = None) -> Array:
    """Turn a pyramid back into the array that it was made from.

    Parameters
    ----------
    pyramid : Pyramid
        As `decompose` or `Pyramid.map` returns it.
    engine : str, optional
        Who computes; see `set_engine`.

    Returns
    -------
    array
        Of exactly the original shape. Integers of the original dtype if the transform was reversible.

    Raises
    ------
    IntegerRangeError
        If changed integer bands lead to samples that the original dtype cannot hold.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(15, dtype=np.uint8).reshape(3, 5)
    >>> pyramid = decompose(x, "cdf53", reversible=True)
    >>> bool((reconstruct(pyramid) == x).all()), reconstruct(pyramid).dtype
    (True, dtype('uint8'))
    """
    chosen = get_engine(engine)
    if isinstance(pyramid.plan, StationaryTransformPlan):
        return _reconstruct_stationary(chosen, pyramid, pyramid.plan)
    if pyramid.plan.reversible:
        return _reconstruct_integers(chosen, pyramid, pyramid.plan)
    return _inverse(chosen, pyramid.approximation, pyramid.details, pyramid.plan)


def _forward(engine: Engine, x: Array, plan: TransformPlan) -> tuple[Array, list[Bands]]:
    details: list[Bands] = []
    for level in plan.levels:
        bands = engine.forward(level, x)
        x = bands.pop("a" * len(plan.axes))
        details.insert(0, bands)
    return (x if plan.levels else x.copy()), details


def _inverse(engine: Engine, x: Array, details: Sequence[Bands], plan: TransformPlan) -> Array:
    for level, bands in zip(reversed(plan.levels), details, strict=True):
        x = engine.inverse(level, {"a" * len(plan.axes): x, **bands})
    return x if plan.levels else x.copy()


def _choose_modes(
    mode: ModeName | Sequence[ModeName] | None, wavelets: tuple[Wavelet, ...], axes: tuple[int, ...]
) -> tuple[str, ...]:
    if mode is None:
        return tuple(wavelet.default_mode for wavelet in wavelets)
    modes = (mode,) * len(axes) if isinstance(mode, str) else tuple(mode)
    if len(modes) != len(axes):
        raise AxesError(f"mode={mode!r} names {len(modes)} modes for {len(axes)} axes; give one, or one for each")
    return tuple(check_mode(one) for one in modes)


def _check_level(
    level: int | None,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    stationary: bool,
) -> int:
    """Return the number of levels, or say how many there can be."""
    useful = {axis: useful_levels(shape[axis], w.dec_len) for axis, w in zip(axes, wavelets, strict=True)}
    if level is None:
        # an axis of one sample has nothing to give, and must not keep the others from being transformed
        return min((count for axis, count in useful.items() if shape[axis] > 1), default=0)
    if not isinstance(level, int | np.integer) or level < 0:
        raise LevelError(f"level={level!r} is not a number of levels; use 0 or more, or None for as many as are useful")
    for axis, mode in zip(axes, modes, strict=True):
        if mode in _NON_EXPANSIVE and not stationary:
            useful[axis] = (shape[axis] - 1).bit_length()
    longest = max(useful, key=lambda axis: useful[axis])
    most = max(useful[longest], 1)
    if level > most:
        name = wavelets[axes.index(longest)].name
        raise LevelError(
            f"level={level} is too large for axis {longest} of length {shape[longest]} with {name!r}; "
            f"the maximum is {most}"
        )
    return int(level)


def _decompose_stationary(engine: Engine, x: Array, plan: StationaryTransformPlan) -> Pyramid:
    for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
        if margin:
            length = plan.shape[axis]
            extension = extend(mode, length, -margin, length + margin)
            x = np.moveaxis(extension.apply(np.moveaxis(x, axis, -1)), -1, axis)
    details: list[Bands] = []
    for level in plan.levels:
        bands = engine.stationary_forward(level, x)
        x = bands.pop("a" * len(plan.axes))
        details.insert(0, bands)
    return Pyramid(plan, x, details)


def _reconstruct_stationary(engine: Engine, pyramid: Pyramid, plan: StationaryTransformPlan) -> Array:
    x = pyramid.approximation
    for level, bands in zip(reversed(plan.levels), pyramid.details, strict=True):
        x = engine.stationary_inverse(level, {"a" * len(plan.axes): x, **bands})
    inner = [slice(None)] * x.ndim
    for axis, margin in zip(plan.axes, plan.margins, strict=True):
        inner[axis] = slice(margin, margin + plan.shape[axis])
    return np.ascontiguousarray(x[tuple(inner)])


def _decompose_integers(engine: Engine, x: Array, plan: TransformPlan) -> Pyramid:
    if x.dtype.kind not in "iu":
        raise DtypeError(f"reversible=True needs integers, and x holds {x.dtype}; convert it, or leave reversible out")
    largest = _largest_magnitude([x])
    if largest > _INT32.max:
        raise IntegerRangeError(f"x holds {largest}, beyond the 32 bits that reversible transforms take; scale it down")
    approximation, details = _forward(engine, x.astype(_wide_enough(largest, plan)), plan)
    bands = [approximation, *(band for level in details for band in level.values())]
    largest = _largest_magnitude(bands)
    if largest > _INT32.max:
        safe = _INT32.max // 4 ** len(plan.axes)
        raise IntegerRangeError(f"a coefficient of {largest} does not fit 32 bits; use values of at most {safe}")
    narrow = [{key: band.astype(np.int32, copy=False) for key, band in level.items()} for level in details]
    return Pyramid(plan, approximation.astype(np.int32, copy=False), narrow, x.dtype)


def _reconstruct_integers(engine: Engine, pyramid: Pyramid, plan: TransformPlan) -> Array:
    bands = [band for _, _, band in pyramid.bands()]
    for level, key, band in pyramid.bands():
        if band.dtype.kind not in "iu":
            raise DtypeError(f"band {key!r} of level {level} holds {band.dtype}; a reversible pyramid needs integers")
    dtype = _wide_enough(_largest_magnitude(bands), plan)
    details = [{key: band.astype(dtype, copy=False) for key, band in level.items()} for level in pyramid.details]
    x = _inverse(engine, pyramid.approximation.astype(dtype, copy=False), details, plan)
    limits = np.iinfo(pyramid.dtype)
    low, high = (int(x.min()), int(x.max())) if x.size else (0, 0)
    if low < limits.min or high > limits.max:
        raise IntegerRangeError(
            f"the bands lead to samples from {low} to {high}, and {pyramid.dtype} holds {limits.min} to {limits.max}; "
            "clip the bands less, or transform a wider dtype"
        )
    return x.astype(pyramid.dtype)


def _largest_magnitude(arrays: Sequence[Array]) -> int:
    extremes = [abs(int(extreme)) for array in arrays if array.size for extreme in (array.min(), array.max())]
    return max(extremes, default=0)


def _wide_enough(largest: int, plan: TransformPlan) -> type[np.signedinteger[Any]]:
    """Return int32 if no number on the way can leave it, by the growth of the steps, and int64 otherwise."""
    bound = largest + 1
    for level in plan.levels:
        for axis_plan in level.plans:
            bound *= axis_plan.integer.growth if axis_plan.integer else 1
    return np.int32 if bound <= _INT32.max else np.int64
