"""`decompose`, `reconstruct` and `pad` where the usual way looks at numbers, or at a whole axis, before it goes on."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array

from subband.arrays import as_computable, as_numbers, cast, map_arrays
from subband.boundary import Extension, extend
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.errors import DtypeError, IntegerRangeError, ShapeError
from subband.plan import TransformPlan
from subband.pyramid import Pyramid
from subband.schedule.levels import split_levels
from subband.stationary import StationaryTransformPlan
from subband.transforms import decomposition as in_memory
from subband.transforms import packing
from subband.transforms.integers import as_integers
from subband.transforms.modes import mode_name
from subband.transforms.padding import _read_widths
from subband.typing import Array, Bands

__all__ = ["decompose", "extend_array", "pack_coefficients", "pad", "reconstruct"]

_INT32 = np.iinfo(np.int32)


def decompose(
    x: Any,
    wavelet: Any,
    level: int | None,
    mode: Any,
    axes: Any,
    engine: str | Engine | None,
    reversible: bool,
    stationary: bool,
) -> Pyramid:
    """Do what `subband.decompose` does, for arrays of Dask."""
    if not reversible and not stationary:
        return in_memory._decompose(x, wavelet, level, mode, axes, engine, False, False)
    array = as_integers(x) if reversible else as_computable(x, "x")
    plan = in_memory.make_plan(array.shape, wavelet, level, mode, axes, reversible, stationary)
    chosen = engine_for(array, engine)
    if isinstance(plan, StationaryTransformPlan):
        return _decompose_stationary(chosen, array, plan)
    return _decompose_integers(chosen, array, plan)


def reconstruct(pyramid: Pyramid, engine: str | Engine | None) -> Array:
    """Do what `subband.reconstruct` does, for arrays of Dask."""
    plan = pyramid.plan
    if isinstance(plan, StationaryTransformPlan) or not plan.reversible:
        return in_memory._reconstruct(pyramid, engine)
    for level, key, band in pyramid.bands():
        if band.dtype.kind not in "iu":
            raise DtypeError(
                f"band {key!r} of level {level} holds {band.dtype}, and a reversible pyramid needs integers; round and "
                "convert it, as with pyramid.map(lambda band, *_: np.rint(band).astype(np.int32))"
            )
    details: list[Bands] = [{key: cast(band, np.int64) for key, band in own.items()} for own in pyramid.details]
    chosen = engine_for(pyramid.approximation, engine)
    x: Any = chosen.inverse_all(plan, cast(pyramid.approximation, np.int64), details)
    samples: Array = _narrow(x, pyramid.dtype, "the bands lead to samples")
    return samples


def pad(x: Any, pad_widths: Any, mode: str) -> Any:
    """Do what `subband.pad` does, for arrays of Dask."""
    array = as_numbers(x, "x")
    name = mode_name(mode)
    for axis, (before, after) in enumerate(_read_widths(pad_widths, array.ndim)):
        length = array.shape[axis]
        if length == 0:
            raise ShapeError(f"axis {axis} of an array of shape {array.shape} is empty; there is nothing to extend")
        array = extend_array(array, axis, name, before, after + (length % 2 if name == "periodization" else 0))
    return array


def pack_coefficients(coeffs: Sequence[Any], padding: float | None = 0, axes: Any = None) -> tuple[Any, list[Any]]:
    """Do what `subband.coeffs_to_array` does, for arrays of Dask."""
    found: list[Any] = []
    map_arrays(list(coeffs), found.append)
    dtype = np.result_type(*(band.dtype for band in found))
    pack = inspect.unwrap(packing.coeffs_to_array)
    if padding is None:
        # refuses gaps
        pack(coeffs, None, axes)
    # Dask takes the dtype of an array that is filled from the number that it is filled with
    packed: tuple[Any, list[Any]] = pack(coeffs, dtype.type(padding or 0), axes)
    return packed


def extend_array(x: Any, axis: int, mode: str, before: int, behind: int) -> Any:
    """Return an array with samples before and behind one axis, in chunks of about the same size.

    Examples
    --------
    >>> extend_array(da.arange(10, chunks=5), 0, "reflect", 1, 12).chunks
    ((6, 5, 5, 7),)
    """
    length, lengths = x.shape[axis], list(x.chunks[axis])
    if not before and not behind:
        return x
    longest = max(lengths)
    parts = [x]
    if before:
        parts.insert(0, _make_margin(x, axis, extend(mode, length, -before, 0)))
        lengths[:1] = _cut_end(before + lengths[0], longest)
    if behind:
        parts.append(_make_margin(x, axis, extend(mode, length, length, length + behind)))
        lengths[-1:] = _cut_end(lengths[-1] + behind, longest)
    return da.concatenate(parts, axis).rechunk({axis: tuple(lengths)})


def _cut_end(count: int, longest: int) -> list[int]:
    """Return the lengths of the chunks of an outer one that has grown, none of them much longer than others."""
    lengths = []
    while count > longest + longest // 2:
        lengths.append(longest)
        count -= longest
    return [*lengths, count]


def _make_margin(x: Any, axis: int, extension: Extension) -> Any:
    """Return the samples that a boundary mode makes up at one end of an axis."""
    index = (slice(None),) * axis
    part = x[(*index, extension.index)]
    if (extension.weight == 1).all() and not extension.first.any() and not extension.last.any():
        return part
    along = (-1,) + (1,) * (x.ndim - axis - 1)
    weight, first, last = (
        own.astype(x.dtype).reshape(along) for own in (extension.weight, extension.first, extension.last)
    )
    return part * weight + x[(*index, slice(0, 1))] * first + x[(*index, slice(-1, None))] * last


def _decompose_stationary(engine: Engine, x: Any, plan: StationaryTransformPlan) -> Pyramid:
    for axis, mode, margin in zip(plan.axes, plan.modes, plan.margins, strict=True):
        x = extend_array(x, axis, mode, margin, margin)
    return Pyramid(plan, *split_levels(plan.levels, x, engine.stationary_forward))


def _decompose_integers(engine: Engine, x: Any, plan: TransformPlan) -> Pyramid:
    """Transform integers exactly; whether they fit is looked at when they are there."""
    limits = np.iinfo(x.dtype)
    bound = max(-int(limits.min), int(limits.max)) + 1
    for level in plan.levels:
        for own in level.plans:
            bound *= own.integer.growth if own.integer else 1
    if bound <= _INT32.max:
        approximation, details = engine.forward_all(plan, cast(x, np.int32))
        return Pyramid(plan, approximation, details, x.dtype)
    wide = x if x.dtype.itemsize < 4 else _narrow(x, np.dtype(np.int32), "x holds samples")
    approximation, details = engine.forward_all(plan, cast(wide, np.int64))
    narrow = [{key: _narrow(band, np.dtype(np.int32), "coefficients") for key, band in own.items()} for own in details]
    return Pyramid(plan, _narrow(approximation, np.dtype(np.int32), "coefficients"), narrow, x.dtype)


def _narrow(x: Any, dtype: np.dtype[Any], what: str) -> Any:
    return x.map_blocks(_check_range, dtype, what, dtype=dtype, meta=meta_from_array(x, dtype=dtype))


def _check_range(block: Array, dtype: np.dtype[Any], what: str) -> Array:
    """Return integers in another dtype, if they fit."""
    limits = np.iinfo(dtype)
    if block.size:
        low, high = int(block.min()), int(block.max())
        if low < limits.min or high > limits.max:
            raise IntegerRangeError(
                f"{what} from {low} to {high} do not fit {dtype}, which holds {limits.min} to {limits.max}; scale the "
                "numbers down, or transform a wider dtype"
            )
    return block.astype(dtype)
