"""Large results are made in memory that earlier results have given back.

The first touch of fresh memory costs the kernel of the operating system more time than a wavelet level costs us, and a
large array is fresh memory every time: the C library hands its pages back as soon as it is freed. So the last few
large blocks are kept and lent again, though never more than results have needed at one time. A block comes back when
the array and all its views are gone.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from math import prod
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["allocate", "release_memory"]


def _read_limit() -> int:
    text = os.environ.get("SUBBAND_KEEP_BYTES", str(1 << 30))
    if not text.isdecimal():
        raise ArgumentError(f"SUBBAND_KEEP_BYTES={text!r} is not a number of bytes; use 0 or more")
    return int(text)


#: Arrays from this size on are recycled; the C library does well with smaller ones.
_LARGE = 1 << 16

#: No more than this is kept.
_LIMIT = _read_limit()

#: A block may be this much larger than what it is lent for.
_SLACK = 1.25


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
    block = _store.lend(size)
    flat = np.frombuffer(block, dtype, prod(shape))
    # a view of the result refers to `flat`, not to the block, because the block is no array
    weakref.finalize(flat, _store.take_back, block).atexit = False
    return flat.reshape(shape)


def release_memory() -> None:
    """Give the memory that waits to be used again back to the operating system.

    Never is more kept than results have needed at one time, nor more than ``SUBBAND_KEEP_BYTES`` (by default 1 GiB).

    Examples
    --------
    >>> release_memory()
    """
    _store.clear()


class _Store:
    """Blocks of memory, lent and free."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._returned: deque[memoryview] = deque()
        self._free: list[memoryview] = []
        self._lent = 0
        self._most_lent = 0

    def lend(self, size: int) -> memoryview:
        with self._lock:
            self._sort_in()
            fitting = [k for k, block in enumerate(self._free) if size <= len(block) <= size * _SLACK]
            if fitting:
                block = self._free.pop(min(fitting, key=lambda k: len(self._free[k])))
            else:
                # NumPy asks for huge pages, which halve the cost of a sweep over many rows
                block = np.empty(size, np.uint8).data
            self._lent += len(block)
            self._most_lent = max(self._most_lent, self._lent)
            self._forget(self._most_lent - self._lent)
            return block

    def take_back(self, block: memoryview) -> None:
        # Python may collect an array in the middle of any of these calls; then the block waits for the next one
        self._returned.append(block)
        if self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def clear(self) -> None:
        with self._lock:
            self._sort_in()
            self._free.clear()
            self._most_lent = self._lent

    def renew_lock(self) -> None:
        """Start a child process with a lock that nobody holds."""
        self._lock = threading.Lock()

    def _sort_in(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            self._lent -= len(block)
            self._free.append(block)
        self._forget(_LIMIT)

    def _forget(self, room: int) -> None:
        """Let the oldest free blocks go, until the others take no more than `room`."""
        while sum(map(len, self._free)) > room:
            del self._free[0]


_store = _Store()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_store.renew_lock)
