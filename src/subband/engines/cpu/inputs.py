"""Arrays as the kernels read them."""

from __future__ import annotations

import numpy as np

from subband.typing import Array

__all__ = ["as_readable"]


class _Lent:
    """An array that promises to be writable, for those who do not write."""

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
