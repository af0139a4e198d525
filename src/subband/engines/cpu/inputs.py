"""Conversion of arrays for the kernels: contiguous, and bands of one dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subband.engines.recording import recordings
from subband.typing import Array, Bands

__all__ = ["as_readable", "fill_in", "find_dtype"]


def as_readable(x: Array) -> Array:
    """Return a C-contiguous array for the kernels to read, a copy only if need be.

    Examples
    --------
    >>> x = np.arange(6.0).reshape(2, 3)
    >>> as_readable(x) is x, as_readable(x.T).flags.c_contiguous
    (True, True)
    """
    if x.flags.c_contiguous and x.flags.aligned:
        return x if type(x) is np.ndarray else np.asarray(x)
    straight = np.array(x, order="C")
    if (recording := recordings.current) is not None:
        recording.note_copy(x, straight)
    return straight


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
            if (recording := recordings.current) is not None:
                recording.note_constant(band)
        elif band.dtype != dtype:
            band = band.astype(dtype)
        whole[key] = as_readable(band)
    return whole
