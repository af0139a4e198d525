"""Conversion of arrays for the kernels: contiguous, writable in name, and bands of one dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subband.typing import Array, Bands

__all__ = ["as_readable", "fill_in", "find_dtype"]


class _Lent:
    """An array that claims to be writable, for kernels that only read it."""

    def __init__(self, array: Array) -> None:
        self._array = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def as_readable(x: Array) -> Array:
    """Return a C-contiguous array for the kernels to read, a copy only if need be.

    Numba would compile every kernel again for arrays that are read-only.

    Examples
    --------
    >>> x = np.arange(3.0)
    >>> x.flags.writeable = False
    >>> np.shares_memory(as_readable(x), x)
    True
    """
    if x.flags.carray:
        return x
    if x.flags.c_contiguous and x.flags.aligned:
        return np.asarray(_Lent(x))
    return np.array(x, order="C")


def find_dtype(bands: Mapping[str, Array]) -> np.dtype[Any]:
    """Return the dtype in which bands are computed together."""
    dtypes = [band.dtype for band in bands.values()]
    # mostly all are the same object, which takes a tenth of the time
    is_same = bool(dtypes) and dtypes.count(dtypes[0]) == len(dtypes)
    return dtypes[0] if is_same else np.result_type(*bands.values())


def fill_in(shapes: Mapping[str, tuple[int, ...]], bands: Mapping[str, Array], dtype: np.dtype[Any]) -> Bands:
    """Return all bands for the kernels to read, of one dtype; those left out are zeros.

    Examples
    --------
    >>> fill_in({"a": (2,), "d": (2,)}, {"d": np.ones(2)}, np.dtype(float))
    {'a': array([0., 0.]), 'd': array([1., 1.])}
    """
    whole: Bands = {}
    for key, shape in shapes.items():
        band = bands.get(key)
        if band is None:
            band = np.zeros(shape, dtype)
        elif band.dtype != dtype:
            band = band.astype(dtype)
        whole[key] = as_readable(band)
    return whole
