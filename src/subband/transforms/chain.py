"""Multilevel transforms, forward and inverse: all levels in one call of the engine.

Arguments are read and checked here; the engine is asked once for all levels, because the Python between the levels of a
small image would take longer than the levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from subband.arrays import as_array, as_computable
from subband.engines.dispatch import engine_for
from subband.errors import AxesError, CoefficientsError, ShapeError
from subband.plan import LevelPlan, TransformPlan, level_plan, transform_plan
from subband.transforms.arguments import (
    Axes,
    ModeLike,
    check_level,
    modes_for_axes,
    normalise_axes,
    wavelets_for_axes,
)
from subband.transforms.levels import (
    as_bands,
    check_axes_fit,
    check_keys,
    forward_plan,
    inverse_plan,
    merge_level,
)
from subband.typing import Array, Bands
from subband.wavelets import Wavelet, WaveletLike

__all__ = ["ModesLike", "Wavelets", "analyse", "plan_inverse", "synthesise"]

Wavelets: TypeAlias = WaveletLike | Sequence[WaveletLike]
ModesLike: TypeAlias = ModeLike | Sequence[ModeLike]
_Shape: TypeAlias = tuple[int, ...]
_Shapes: TypeAlias = tuple[tuple[str, _Shape], ...]


def analyse(
    data: Any, wavelet: Wavelets, mode: ModesLike, level: int | None, axes: Axes, *, count: int | None = None
) -> tuple[Array, list[Bands]]:
    """Return the approximation, and the details of every level from coarse to fine.

    Examples
    --------
    >>> approximation, details = analyse(np.ones(8), "haar", "zero", 2, -1)
    >>> approximation.shape, [sorted(bands) for bands in details]
    ((2,), [['d'], ['d']])
    """
    x = as_computable(data)
    if x.ndim == 0:
        raise ShapeError("data is a single number; a transform takes at least one dimension")
    normal = normalise_axes(axes, x.ndim, count=count, distinct=True)
    if not normal:
        raise AxesError("axes=() names no axis to transform; leave it out to transform all")
    for axis in normal:
        if x.shape[axis] == 0:
            raise ShapeError(f"axis {axis} of data of shape {x.shape} is empty; it needs at least 1 sample")
    wavelets, modes = wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal)
    levels = check_level([x.shape[axis] for axis in normal], wavelets, level)
    if levels == 0:
        return as_array(data), []
    return engine_for(x).forward_all(_plan_forward(x.shape, normal, wavelets, modes, levels), x)


@lru_cache(maxsize=1024)
def _plan_forward(
    shape: _Shape, axes: tuple[int, ...], wavelets: tuple[Wavelet, ...], modes: tuple[str, ...], level: int
) -> TransformPlan:
    """Plan all levels, each of them one that `forward_plan` does not refuse."""
    plan = transform_plan(shape, axes, wavelets, modes, level)
    for each in plan.levels:
        forward_plan(each.shape, axes, wavelets, modes)
    return plan


def synthesise(
    approximation: Any,
    details: Sequence[Mapping[str, Any]],
    wavelet: Wavelets,
    mode: ModesLike,
    axes: Axes,
    *,
    count: int | None = None,
) -> Array:
    """Merge level after level, from coarse to fine; what is None or missing counts as zeros.

    Examples
    --------
    >>> synthesise(np.ones(2), [{"d": np.zeros(2)}, {"d": None}], "haar", "zero", -1)
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    ndim = _count_dimensions(approximation, details)
    normal = normalise_axes(axes, ndim, count=count, distinct=True)
    wavelets, modes = wavelets_for_axes(wavelet, normal), modes_for_axes(mode, normal)
    low = "a" * len(normal)
    levels = [{key: band for key, band in detail.items() if band is not None} for detail in details]
    for number, bands in enumerate(levels, start=1):
        if bands:
            check_axes_fit(check_keys(bands, f"coeffs[{number}]"), normal)
    is_whole = all(low not in bands and len(bands) == 2 ** len(normal) - 1 for bands in levels)
    if levels and approximation is not None and is_whole:
        x = as_computable(approximation, f"coeffs[1][{low!r}]")
        arrays = [as_bands(bands, f"coeffs[{number}]") for number, bands in enumerate(levels, start=1)]
        if all(band.dtype == x.dtype for bands in arrays for band in bands.values()):
            shapes = tuple(tuple([(key, band.shape) for key, band in bands.items()]) for bands in arrays)
            plan = plan_inverse(x.shape, shapes, normal, wavelets, modes)
            if plan is not None:
                return engine_for(x).inverse_all(plan, x, arrays)
    for number, bands in enumerate(levels, start=1):
        if approximation is not None:
            bands[low] = approximation
        if not bands:
            continue
        converted = as_bands(bands, f"coeffs[{number}]")
        if approximation is not None and len(converted) > 1:
            converted[low] = _trim_approximation(converted, normal, modes)
        approximation = merge_level(converted, normal, wavelets, modes)
    return as_array(approximation)


@lru_cache(maxsize=1024)
def plan_inverse(
    shape: _Shape,
    details: tuple[_Shapes, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
) -> TransformPlan | None:
    """Plan the levels whose bands have these shapes, from coarse to fine; None if something has to be cut in between.

    A level whose bands come from an even number of samples, or one less, is planned for what the next one takes.
    """
    low = "a" * len(axes)
    levels: list[LevelPlan] = []
    for shapes in details:
        wanted = _trim_shape(shape, shapes, axes, modes)
        if wanted != shape:
            if (
                not levels
                or levels[-1].band_shapes != (shorter := level_plan(wanted, axes, wavelets, modes)).band_shapes
            ):
                return None
            levels[-1] = shorter
        levels.append(inverse_plan((*shapes, (low, wanted)), axes, wavelets, modes))
        shape = levels[-1].shape
    return TransformPlan(shape, axes, wavelets, modes, False, tuple(reversed(levels)))


def _trim_approximation(bands: Bands, axes: tuple[int, ...], modes: tuple[str, ...]) -> Array:
    """Drop the last sample of an axis where the level before gave back an odd number of samples as an even one."""
    low = "a" * len(axes)
    approximation = bands[low]
    shapes = tuple([(key, band.shape) for key, band in bands.items() if key != low])
    wanted = _trim_shape(approximation.shape, shapes, axes, modes)
    if wanted == approximation.shape:
        return approximation
    return approximation[tuple([slice(size) for size in wanted])]


def _trim_shape(shape: _Shape, details: _Shapes, axes: tuple[int, ...], modes: tuple[str, ...]) -> _Shape:
    """Return the shape of an approximation that goes with details, which may be one less along an axis."""
    wanted = list(shape)
    for position, (axis, mode) in enumerate(zip(axes, modes, strict=True)):
        lows = [size[axis] for key, size in details if key[position] == "a"]
        highs = [size[axis] for key, size in details if key[position] == "d"]
        # In mode "whole" there may rightly be one low coefficient more than high ones.
        longest = lows[0] if lows else highs[0] + (mode == "whole")
        if shape[axis] == longest + 1:
            wanted[axis] = longest
    return tuple(wanted)


def _count_dimensions(approximation: Any, details: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of dimensions that all coefficients have."""
    arrays = [approximation, *(band for detail in details for band in detail.values())]
    ndims = {np.ndim(array) for array in arrays if array is not None}
    if not ndims:
        raise CoefficientsError("coeffs holds no coefficients; at least one band must be an array")
    if len(ndims) > 1:
        raise CoefficientsError(
            f"coeffs holds arrays of {' and '.join(map(str, sorted(ndims)))} dimensions; all need the same number"
        )
    return ndims.pop()
