"""A pool of memory blocks: large results reuse the memory of earlier ones.

The first touch of fresh memory costs the kernel of the operating system more time than a wavelet level costs us, and a
large array is fresh memory every time: the C library hands its pages back as soon as it is freed. So the last few
large blocks are kept and lent again, to arrays that need at least two thirds of one, though no more than were lent at
one time. The levels of a large transform need blocks of more sizes than there are at one time; what was given back and
is asked for again is kept from then on, up to a quarter more. A block comes back when the array and all its views are
gone.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["LARGE", "allocate", "on_release", "prepare_allocation", "release_memory"]


def _read_limit() -> int:
    text = os.environ.get("SUBBAND_KEEP_BYTES", str(1 << 30))
    if not text.isdecimal():
        raise ArgumentError(f"SUBBAND_KEEP_BYTES={text!r} is not a number of bytes; use 0 or more")
    return int(text)


#: What `functools.lru_cache` makes of a function.
_CachedFunction = type(lru_cache(len))

#: Arrays from this size on are recycled; the C library does well with smaller ones.
LARGE = 1 << 16

#: Bytes of a line of the cache, and of a huge page; blocks from the size of one on are asked of the system itself.
_LINE, _HUGE = 64, 2 << 20

#: No more than this is kept.
_LIMIT = _read_limit()

#: The part of what was lent at one time that may be kept beside it.
_BESIDE = 4


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return a new array with any contents, as `numpy.empty` does.

    Examples
    --------
    >>> allocate((2, 3), np.dtype("float32")).shape
    (2, 3)
    """
    size = prod(shape) * dtype.itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _store.lend(size).view(_Loan))


def prepare_allocation(forms: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], list[Array]]:
    """Return what makes new arrays of these shapes and dtypes as `allocate` does, with less ado for each.

    Examples
    --------
    >>> make = prepare_allocation([((2, 3), np.dtype("float32")), ((4,), np.dtype("int64"))])
    >>> [x.shape for x in make()]
    [(2, 3), (4,)]
    """
    sizes = [prod(shape) * dtype.itemsize for shape, dtype in forms]
    lent = [_round_up(size) for size in sizes if size >= LARGE]
    small = [form for form, size in zip(forms, sizes, strict=True) if size < LARGE]
    large = [form for form, size in zip(forms, sizes, strict=True) if size >= LARGE]
    is_sorted = [*small, *large] == list(forms)

    def make_sorted() -> list[Array]:
        made = [np.empty(shape, dtype) for shape, dtype in small]
        blocks = _store.lend_all(lent)
        made += [
            np.ndarray(shape, dtype, block.view(_Loan)) for (shape, dtype), block in zip(large, blocks, strict=True)
        ]
        return made

    def make_others() -> list[Array]:
        return [allocate(shape, dtype) for shape, dtype in forms]

    return make_sorted if is_sorted and lent else make_others


class _Block(np.ndarray[Any, Any]):
    """Memory to lend.

    It is a class of its own because NumPy lets a view refer to the owner of its memory, past all that lies between, if
    that is a plain array.
    """

    #: Bytes at its beginning that take memory while it is free.
    kept: int
    #: Gives so many bytes from a position on back to the system, until they are written to again, if it takes them.
    give_back: Callable[[int, int], object] | None = None

    def forget(self, excess: int) -> int:
        """Give at least so many bytes back, all of them if it cannot be parted, and return how many these were."""
        kept, self.kept = self.kept, 0
        if self.give_back is not None:
            self.kept = max(kept - excess, 0) // _HUGE * _HUGE
            self.give_back(self.kept, kept - self.kept)
        return kept - self.kept


class _Loan(np.ndarray[Any, Any]):
    """A block while it is lent: the array made on it and all its views refer to it, and when they are gone it goes."""

    def __del__(self) -> None:
        block = self.base
        assert isinstance(block, _Block)
        _store.take_back(block)


def release_memory() -> None:
    """Free the memory that is kept for later results, on the host and on devices.

    Never is more kept than the blocks of results have taken at one time, and a quarter of that if earlier calls had to
    ask for it again, nor more than ``SUBBAND_KEEP_BYTES`` (by default 1 GiB). A block that is lent again is at most
    half as large again as what it is lent for.
    What was prepared for the shapes and wavelets used last is forgotten too, and made again when it is needed.

    Examples
    --------
    >>> from subband import release_memory
    >>> release_memory()
    """
    for release in _releases:
        release()
    _clear_caches()
    _store.clear()


def _clear_caches() -> None:
    """Clear the bounded `lru_cache`s of all modules of subband."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "subband":
            for value in list(vars(module).values()):
                if type(value) is _CachedFunction and value.cache_parameters()["maxsize"] is not None:
                    value.cache_clear()


def on_release(release: Callable[[], None]) -> None:
    """Register a function that `release_memory` calls, for modules that keep memory of their own."""
    _releases.append(release)


class _Store:
    """Blocks of memory, lent and free."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._returned: deque[_Block] = deque()
        self._free: dict[int, list[_Block]] = {}
        self._kept = 0  # bytes of the free blocks
        self._lent = 0
        self._most_lent = 0
        self._forgotten: set[int] = set()  # sizes of blocks that were freed
        self._asked_again: set[int] = set()  # those that were asked for afterwards
        self._missed = 0  # bytes that were given back, and asked for again

    def lend(self, size: int) -> _Block:
        return self.lend_all([_round_up(size)])[0]

    def lend_all(self, sizes: Sequence[int]) -> list[_Block]:
        """Return blocks of these sizes, which are rounded up already."""
        blocks: list[_Block] = []
        with self._lock:
            self._sort_in()
            try:
                for size in sizes:
                    fitting = self._free.get(size) or self._find_larger(size)
                    if fitting:
                        block = fitting.pop()
                        self._kept -= block.kept
                        self._missed += block.size - block.kept
                    else:
                        block = _make_block(size)
                        self._missed += self._count_missed(size)
                    self._lent += block.size
                    blocks.append(block)
            except MemoryError:
                self._returned += blocks
                raise
            self._most_lent = max(self._most_lent, self._lent)
            self._missed = min(self._missed, self._most_lent // _BESIDE)
            if self._kept > (room := self._most_lent - self._lent + self._missed):
                self._forget(room)
        return blocks

    def _find_larger(self, size: int) -> list[_Block] | None:
        """Return the free blocks of the least size that is larger, but not by half: better than fresh memory."""
        sizes = [other for other, blocks in self._free.items() if size < other <= size + size // 2 and blocks]
        return self._free[min(sizes)] if sizes else None

    def take_back(self, block: _Block) -> None:
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
            self._forget(0)
            self._most_lent, self._missed = self._lent, 0
            self._forgotten.clear()
            self._asked_again.clear()

    def renew_lock(self) -> None:
        """Replace the lock in a child process after a fork."""
        self._lock = threading.Lock()

    def _count_missed(self, size: int) -> int:
        """Return how many bytes of a new block were given back before: none the first time, for calls may differ."""
        if size not in self._forgotten:
            return 0
        self._forgotten.remove(size)
        is_missed = size in self._asked_again
        self._asked_again.add(size)
        return size if is_missed else 0

    def _sort_in(self) -> None:
        returned, free = self._returned, self._free
        while returned:
            block = returned.popleft()
            block.kept = size = block.size
            # taken out and put in again, so that the size used last is the last to be forgotten
            same = free.pop(size, None) or []
            same.append(block)
            free[size] = same
            self._lent -= size
            self._kept += size
        if self._kept > _LIMIT:
            self._forget(_LIMIT)

    def _forget(self, room: int) -> None:
        """Free unused blocks, least recently used sizes first, until the others take no more than `room`.

        No more than is needed of one: to touch a large one again takes longer than to write it.
        """
        while self._kept > room:
            size, blocks = next(iter(self._free.items()))
            if blocks:
                self._kept -= blocks[0].forget(self._kept - room)
                if not blocks[0].kept:
                    blocks.pop(0)
                    self._forgotten.add(size)
            else:
                del self._free[size]


def _make_block(size: int) -> _Block:
    """Return fresh memory, which the system has back at once when it is dropped: the C library might keep it.

    It begins with a line of the cache, for vectors across two of them take twice as long to write, and from the size of
    a huge page on with such a page: these halve the cost of a sweep over many rows. NumPy asks for them too.
    """
    is_mapped = size >= _HUGE and hasattr(mmap, "MAP_PRIVATE")
    unit = _HUGE if is_mapped else _LINE
    try:
        pages = mmap.mmap(-1, size + unit, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) if is_mapped else None
    except OSError as error:
        raise MemoryError(f"there is no room for {size} bytes") from error
    memory = np.empty(size + unit, np.uint8) if pages is None else np.frombuffer(pages, np.uint8)
    first = -memory.ctypes.data % unit
    block = memory[first : first + size].view(_Block)
    if pages is None:
        return block
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # of a kernel without them
            # whole ones only, for one that is needed in part would take all of its memory
            pages.madvise(mmap.MADV_HUGEPAGE, first, size // _HUGE * _HUGE)
    if hasattr(mmap, "MADV_DONTNEED"):
        block.give_back = lambda begin, count: pages.madvise(mmap.MADV_DONTNEED, first + begin, count)
    return block


def _round_up(size: int) -> int:
    """Return the size of the block that serves arrays of nearly this size, at most an eighth larger."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


_store = _Store()
_releases: list[Callable[[], None]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_store.renew_lock)
