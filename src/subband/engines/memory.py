"""A pool of memory blocks: large results reuse the memory of earlier ones.

The first touch of fresh memory costs the kernel of the operating system more time than a wavelet level costs us, and a
large array is fresh memory every time: the C library hands its pages back as soon as it is freed. So the last few
large blocks are kept and lent again, to arrays that need at least two thirds of one, though no more than were lent at
one time. The levels of a large transform need blocks of more sizes than there are at one time; what was given back and
is asked for again is kept from then on, up to a quarter more. A block comes back when the array and all its views are
gone. To lend one takes as long as to transform a small level, so the details of a level share one unless they are
large.
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
from typing import Any, TypeAlias

import numpy as np

from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["LARGE", "allocate", "on_release", "prepare_allocation", "release_memory"]


def _read_limit() -> int:
    text = os.environ.get("SUBBAND_KEEP_BYTES", str(1 << 30))
    if not text.isdecimal():
        raise ArgumentError(f"SUBBAND_KEEP_BYTES={text!r} is not a number of bytes; use 0 or more")
    return int(text)


#: What `numpy.empty` takes.
_DType: TypeAlias = np.dtype[Any]
_Form: TypeAlias = tuple[tuple[int, ...], _DType]

#: What `functools.lru_cache` makes of a function.
_CachedFunction = type(lru_cache(len))

#: Arrays from this size on are recycled; the C library does well with smaller ones.
LARGE = 1 << 16

#: Bytes of a line of the cache, and of a huge page; blocks from the size of one on are asked of the system itself.
_LINE, _HUGE = 64, 2 << 20

#: No more than this is kept.
_LIMIT = _read_limit()

#: Neighbours of the same form that are made together share a block, at most so many and of so many bytes together: for
#: one that is kept keeps the memory of all.
_SHARERS, _SHARED = 3, _HUGE

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


def prepare_allocation(forms: Sequence[_Form]) -> Callable[[], list[Array]]:
    """Return what makes new arrays of these shapes and dtypes as `allocate` does, with less ado for each.

    Examples
    --------
    >>> make = prepare_allocation([((2, 3), np.dtype("float32")), ((4,), np.dtype("int64"))])
    >>> [x.shape for x in make()]
    [(2, 3), (4,)]
    """
    sizes, parts = _share_blocks(forms)

    def make() -> list[Array]:
        loans = [block.view(_Loan) for block in _store.lend_all(sizes)]
        return [
            np.empty(shape, dtype) if number is None else np.ndarray(shape, dtype, loans[number], first)
            for shape, dtype, number, first in parts
        ]

    return make


def _share_blocks(forms: Sequence[_Form]) -> tuple[list[int], list[tuple[tuple[int, ...], _DType, int | None, int]]]:
    """Return the sizes of the blocks for some arrays, and of each array its form, block and first byte.

    The first array is an approximation, which is kept without the others more often than they are: it shares none.
    """
    sizes: list[int] = []
    parts: list[tuple[tuple[int, ...], _DType, int | None, int]] = []
    sharers = 0  # of the last block
    for position, (shape, dtype) in enumerate(forms):
        size = prod(shape) * dtype.itemsize
        if size < LARGE:
            parts.append((shape, dtype, None, 0))
            continue
        each = -(-size // _LINE) * _LINE
        is_room = sharers < _SHARERS and (sharers + 1) * each <= _SHARED
        if is_room and position > 1 and forms[position - 1] == (shape, dtype):
            sharers += 1
            sizes[-1] += each
        else:
            sharers = 1
            sizes.append(each)
        parts.append((shape, dtype, len(sizes) - 1, (sharers - 1) * each))
    return [_round_up(size) for size in sizes], parts


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
    half as large again as what it is lent for. Details of a level that take less than 2 MiB together share a block, so
    that a single one that is kept keeps the memory of all three.
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
            free, lent, kept = self._free, 0, 0
            try:
                for size in sizes:
                    fitting = free.get(size) or self._find_larger(size)
                    if fitting:
                        block = fitting.pop()
                        kept += block.kept
                        self._missed += block.size - block.kept
                    else:
                        block = _make_block(size)
                        self._missed += self._count_missed(size)
                    lent += block.size
                    blocks.append(block)
            except MemoryError:
                self._returned += blocks
                raise
            finally:
                self._lent += lent
                self._kept -= kept
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
        # Python may collect an array in the middle of any of these calls; then the block waits for the next one, as it
        # does if all that there is may be kept
        self._returned.append(block)
        if self._lent + self._kept > _LIMIT and self._lock.acquire(blocking=False):
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
        last = 0
        same: list[_Block] = []
        while returned:
            block = returned.popleft()
            block.kept = size = block.size
            if size != last:
                # taken out and put in again, so that the size used last is the last to be forgotten
                last, same = size, free.pop(size, [])
                free[size] = same
            same.append(block)
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
