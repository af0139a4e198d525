"""Large results are made in memory that earlier results have given back.

The first touch of fresh memory costs the kernel of the operating system more time than a wavelet level costs us, and a
large array is fresh memory every time: the C library hands its pages back as soon as it is freed. So the last few
large blocks are kept, up to a limit, and lent again. A block comes back when the array and all its views are gone.
"""

from __future__ import annotations

import os
import threading
import weakref
from math import prod
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["allocate", "release_memory"]

#: Arrays from this size on are recycled; the C library does well with smaller ones.
_LARGE = 1 << 20

#: A block may be this much larger than what it is lent for.
_SLACK = 1.25

_lock = threading.RLock()
_free: list[memoryview] = []


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a new array with any contents, as `numpy.empty` does.

    Examples
    --------
    >>> allocate((2, 3), np.dtype("float32")).shape
    (2, 3)
    """
    size = prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    block = _take_block(size)
    flat = np.frombuffer(block, dtype, prod(shape))
    # a view of the result refers to `flat`, not to the block, because the block is no array
    weakref.finalize(flat, _give_back, block).atexit = False
    return flat.reshape(shape)


def release_memory() -> None:
    """Give the blocks that wait to be lent again back to the operating system.

    At most ``SUBBAND_KEEP_BYTES`` (by default 1 GiB) are kept at any time.
    """
    with _lock:
        _free.clear()


def _take_block(size: int) -> memoryview:
    with _lock:
        fitting = [block for block in _free if size <= len(block) <= size * _SLACK]
        if fitting:
            block = min(fitting, key=len)
            _free.remove(block)
            return block
    # NumPy asks for huge pages, which halve the cost of a sweep over many rows
    return np.empty(size, np.uint8).data


def _give_back(block: memoryview) -> None:
    limit = _read_limit()
    with _lock:
        _free.append(block)
        # the oldest go first: a program that has turned to another size gets its memory back
        while sum(map(len, _free)) > limit:
            del _free[0]


def _read_limit() -> int:
    text = os.environ.get("SUBBAND_KEEP_BYTES", str(1 << 30))
    if not text.isdecimal():
        raise ArgumentError(f"SUBBAND_KEEP_BYTES={text!r} is not a number of bytes; use 0 or more")
    return int(text)
