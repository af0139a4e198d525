"""Sums of arrays of one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["add_up"]

#: Sums of fewer numbers do not need memory that was used before.
_SMALL = 1 << 16

#: The dtypes that are added: the numbers that each consists of, and how many there are of these.
_PARTS = {
    np.dtype(np.float64): (np.float64, 1),
    np.dtype(np.float32): (np.float32, 1),
    np.dtype(np.complex128): (np.float64, 2),
    np.dtype(np.complex64): (np.float32, 2),
}

#: For each of them what adds, once it was needed: the kernel, an array of such numbers, and how many there are.
_kernels: dict[np.dtype[Any], tuple[Callable[..., object], Array, int]] = {}


def add_up(arrays: Sequence[Any]) -> Array | None:
    """Return the sum of arrays from left to right; None if they are not alike, or not such as the kernel takes.

    Examples
    --------
    >>> add_up([np.ones(2), np.ones(2), np.arange(2.0)])
    array([2., 3.])
    >>> add_up([np.ones(2), np.ones(2, np.float32)]) is None
    True
    """
    if len(arrays) < 2 or type(first := arrays[0]) is not np.ndarray:
        return None
    shape, dtype = first.shape, first.dtype
    for x in arrays:
        if type(x) is not np.ndarray or x.dtype is not dtype or x.shape != shape:
            return None
    found = _kernels.get(dtype) or _find_kernel(dtype)
    if found is None:
        return None
    run, part, numbers = found
    size = first.size
    total = np.empty(shape, dtype) if size < _SMALL else allocate(shape, dtype)
    return total if run(part, numbers * size, *arrays, total) is None else None


def _find_kernel(dtype: np.dtype[Any]) -> tuple[Callable[..., object], Array, int] | None:
    if dtype not in _PARTS:
        return None
    # loaded when there is something to add
    from subband.compiled import Kernels

    part, count = _PARTS[dtype]
    loops = Kernels("subband.engines.cpu.sum_loops")
    run = loops.add_up.find_entry(f"{np.dtype(part)}[1C], int64, addresses")
    found = _kernels[dtype] = run, np.empty(0, part), count
    return found
