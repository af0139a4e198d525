"""Reversible transforms: which integers they take, and how wide the arithmetic has to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from subband.arrays import as_numbers, cast, find_extremes
from subband.engines import Engine
from subband.errors import DtypeError, IntegerRangeError
from subband.plan import TransformPlan
from subband.pyramid import Pyramid
from subband.typing import Array

__all__ = ["as_integers", "decompose_integers", "reconstruct_integers"]

_INT32 = np.iinfo(np.int32)


def as_integers(x: Any) -> Array:
    """Return `x` as an array of integers in native byte order.

    Raises
    ------
    DtypeError
        If it holds anything else, or masked values.

    Examples
    --------
    >>> as_integers([1, 2]).dtype.kind
    'i'
    """
    array = as_numbers(x, "x")
    if array.dtype.kind not in "iu":
        raise DtypeError(f"reversible=True needs integers, and x holds {array.dtype}; convert it, or leave it out")
    return cast(array, array.dtype.newbyteorder("="))


def decompose_integers(engine: Engine, x: Array, plan: TransformPlan) -> Pyramid:
    """Transform integers exactly; the bands are int32.

    Raises
    ------
    IntegerRangeError
        If a sample or a coefficient does not fit 32 bits.
    """
    low, high = _find_range([x])
    if low < _INT32.min or high > _INT32.max:
        raise IntegerRangeError(f"x holds {low} to {high}, beyond the 32 bits of reversible transforms; scale it down")
    approximation, details = engine.forward_all(plan, cast(x, _wide_enough(low, high, plan)))
    low, high = _find_range([approximation, *(band for level in details for band in level.values())])
    if low < _INT32.min or high > _INT32.max:
        safe = _INT32.max // 4 ** len(plan.axes)
        raise IntegerRangeError(f"coefficients from {low} to {high} do not fit 32 bits; use values of at most {safe}")
    narrow = [{key: cast(band, np.int32) for key, band in level.items()} for level in details]
    return Pyramid(plan, cast(approximation, np.int32), narrow, x.dtype)


def reconstruct_integers(engine: Engine, pyramid: Pyramid, plan: TransformPlan) -> Array:
    """Undo `decompose_integers`; the result has the dtype of the original.

    Raises
    ------
    DtypeError
        If a band holds no integers.
    IntegerRangeError
        If a band does not fit 32 bits, or leads to samples that the original dtype cannot hold.
    """
    for level, key, band in pyramid.bands():
        if band.dtype.kind not in "iu":
            raise DtypeError(
                f"band {key!r} of level {level} holds {band.dtype}, and a reversible pyramid needs integers; round and "
                "convert it, as with pyramid.map(lambda band, *_: np.rint(band).astype(np.int32))"
            )
    low, high = _find_range(band for _, _, band in pyramid.bands())
    if low < _INT32.min or high > _INT32.max:
        raise IntegerRangeError(f"the bands hold {low} to {high}, beyond the 32 bits of reversible transforms")
    dtype = _wide_enough(low, high, plan)
    details = [{key: cast(band, dtype) for key, band in level.items()} for level in pyramid.details]
    x = engine.inverse_all(plan, cast(pyramid.approximation, dtype), details)
    low, high = _find_range([x])
    limits = np.iinfo(pyramid.dtype)
    if low < limits.min or high > limits.max:
        raise IntegerRangeError(
            f"the bands lead to samples from {low} to {high}, and {pyramid.dtype} holds {limits.min} to {limits.max}; "
            "change the bands less, or transform a wider dtype"
        )
    return cast(x, pyramid.dtype)


def _find_range(arrays: Iterable[Array]) -> tuple[int, int]:
    extremes = [find_extremes(array) for array in arrays if array.size]
    return min((low for low, _ in extremes), default=0), max((high for _, high in extremes), default=0)


def _wide_enough(low: int, high: int, plan: TransformPlan) -> type[np.signedinteger[Any]]:
    """Return int32 if no number on the way can leave it, by the growth of the steps, and int64 otherwise."""
    bound = max(-low, high) + 1
    for level in plan.levels:
        for axis_plan in level.plans:
            bound *= axis_plan.integer.growth if axis_plan.integer else 1
    return np.int32 if bound <= _INT32.max else np.int64
