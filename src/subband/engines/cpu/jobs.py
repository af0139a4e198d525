"""Jobs: one kernel over arrays of known sizes, by this thread or cut into tasks for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from subband.compiled import Kernel, Kernels
from subband.engines.cpu.program import ARRAYS, BASE, BOX, BOX_COUNT, BOXES, JOB, KERNEL, OFFSETS, SIZES, TABLES, TICK
from subband.engines.recording import recordings
from subband.engines.threads import count_threads, share_tasks
from subband.schedule.sweeps import cut_range
from subband.typing import Array

__all__ = ["PART", "SMALL", "SMALL_BESIDE", "Job", "Work", "cut_rows", "cut_tasks"]

_loops = Kernels("subband.engines.cpu.job_loops")

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 250_000

#: The same for jobs beside a larger one: helpers that are awake look for news for a while before they sleep, and what
#: they wrote at the level before is in their caches.
SMALL_BESIDE = 8_000

#: Samples that each thread should have at least.
PART = 4_000

#: Samples of a task, so that a thread that is held up or wakes late leaves work to the others, and for which another
#: thread is worth waking; but the smallest is at least this part of what each thread has to do.
TASK = 65_536
TASKS = 8

#: Pairs of rows of a task, at least: each computes some rows of its neighbours too.
_ROWS = 16

#: The last tasks of a job are so many times smaller, for nobody should wait long at the end.
_FINER = 2

#: Which array stands for each of the five that a kernel takes; one that it does not touch may be any.
_INDICES = {3: (0, 1, 2, 2, 1), 5: (0, 1, 2, 3, 4)}


class Work(NamedTuple):
    """How much a job has to do: images, rows and columns, how many images at a time, and columns of a task at least."""

    extent: tuple[int, int, int]
    channels: int
    tile: int

    @property
    def samples(self) -> int:
        """How many there are to compute."""
        return 4 * prod(self.extent) * self.channels

    def cut(self, threads: int, least: int) -> Array | None:
        """Return the boxes that so many threads share; None if one is enough, as for less than `least` samples."""
        threads = min(threads, self.samples // PART)
        if self.samples < least or threads <= 1:
            return None
        count = min(max(self.samples // TASK, threads), threads * TASKS)
        images, rows, columns = self.extent
        if images == 1 and rows >= 2 * threads * _ROWS:
            smallest = -(-rows // (count * _FINER if count > threads else threads))
            return _tabulate_rows(rows, columns, threads, max(_ROWS, smallest))
        if self.channels > 1:
            # tasks that are larger by themselves, and as many for each thread
            count = -(-count // (self.channels * threads)) * threads
        return _tabulate_tasks(self.extent, count, self.tile)


class Job:
    """A kernel, and all that it is given but the arrays.

    Parameters
    ----------
    kernel : Kernel
        One of a job: see `subband.engines.cpu.program`.
    dtype : dtype
        The real numbers that it computes with.
    count : {3, 5}
        How many arrays it takes: samples, and two or four bands.
    tables : sequence of ndarray
        Integers and numbers, twice.
    sizes : sequence of int
        What the kernel calls sizes, in their order; those left out are 0.
    extent : tuple of int
        Images, rows and columns to compute.
    tile : int
        Columns that a task has at least.
    channels : int
        How many images the kernel takes at a time.
    tick : int
        The address of the loop that it is done by, if there is one; see `subband.engines.cpu.ladders`.
    is_inverse : bool
        Whether it writes the samples, and not the bands.
    """

    def __init__(
        self,
        kernel: Kernel,
        dtype: np.dtype[Any],
        count: int,
        tables: Sequence[Array],
        sizes: Sequence[int],
        extent: tuple[int, int, int],
        *,
        tile: int = 64,
        channels: int = 1,
        tick: int = 0,
        is_inverse: bool = False,
    ) -> None:
        images, rows, columns = extent
        self._work = Work((images // channels, rows, columns), channels, tile)
        self._is_inverse = is_inverse
        self._tables = tuple(tables)  # of which the table has the addresses
        self._table = np.zeros((1, JOB), np.int64)
        row = self._table[0]
        row[KERNEL] = kernel.find_address(_list_kinds(dtype.name))
        row[ARRAYS : ARRAYS + 5] = _INDICES[count]
        row[TABLES : TABLES + 4] = [each.ctypes.data for each in tables]
        row[SIZES : SIZES + len(sizes)] = sizes
        row[SIZES + TICK] = tick
        row[BOX + 1 : BOX + 6 : 2] = self._work.extent
        self._run_shared = _share_jobs([self._work]) if self.is_large else None

    def replace_table(self, ints: Array) -> Job:
        """Return the same job with another first table."""
        other = copy(self)
        other._tables = (ints, *self._tables[1:])
        other._table = self._table.copy()
        other._table[0, TABLES] = ints.ctypes.data
        other._run_shared = _share_jobs([self._work]) if self.is_large else None
        return other

    def run(self, *arrays: Array) -> None:
        """Run it over C-contiguous arrays, by several threads if there is enough to do."""
        if self._run_shared is None:
            self.run_here(*arrays)
        else:
            _check(self._run_shared(self._table, *arrays))
        if (recording := recordings.current) is not None:
            recording.note_job(self, arrays, arrays[:1] if self._is_inverse else arrays[1:])

    @property
    def is_large(self) -> bool:
        """Whether there is enough to do for several threads."""
        return self._work.samples >= SMALL

    def run_here(self, *arrays: Array) -> None:
        """Run it over C-contiguous arrays by this thread alone."""
        _run(self._table, arrays)

    def run_part(self, arrays: Sequence[Array], base: int, rows: tuple[int, int]) -> None:
        """Run it by this thread for some rows of one image; the arrays begin with the pair of rows `base`."""
        table = self._table.copy()
        table[0, SIZES + BASE] = base
        table[0, BOX + 2 : BOX + 4] = rows
        _run(table, arrays)

    def find_runner(self, others: Sequence[Job]) -> Callable[..., object]:
        """Return what runs a table of this job and others: ``run(table, *arrays)``.

        It returns ``NotImplemented``, having done nothing, if an array is not in order.
        """
        jobs = [self, *others]
        return _share_jobs([job._work for job in jobs]) if any(job.is_large for job in jobs) else _find_runner()

    def locate(self, numbers: Sequence[int], offsets: Sequence[int]) -> Array:
        """Return its table for arrays of these numbers among all that are given, each so many bytes behind."""
        table = self._table.copy()
        indices = _INDICES[len(numbers)]
        table[0, ARRAYS : ARRAYS + 5] = [numbers[index] for index in indices]
        table[0, OFFSETS : OFFSETS + 5] = [offsets[index] for index in indices]
        return table


def _find_runner() -> Callable[..., Any]:
    return _loops.run_jobs.find_entry("int64[2C], addresses")


def _share_jobs(works: Sequence[Work]) -> Callable[..., object]:
    """Return what runs the table of some jobs, large ones by several threads."""
    entry = _loops.share_jobs.find_entry("int64[1C], int64, int64, int64[2C], addresses")
    run_box = _loops.run_box.find_address("int64*, int64")
    least = SMALL if len(works) == 1 else min(SMALL, SMALL_BESIDE)
    cuts: dict[int, tuple[Array, list[Array | None]]] = {}  # the boxes are kept with the table of their addresses

    def run(table: Array, *arrays: Array) -> object:
        threads = count_threads()
        if threads not in cuts:
            cuts[threads] = _enter_boxes(table, [work.cut(threads, least) for work in works])
        return share_tasks(entry, threads, run_box, cuts[threads][0], *arrays)

    return run


def _enter_boxes(table: Array, boxes: list[Array | None]) -> tuple[Array, list[Array | None]]:
    """Return a table of jobs with the boxes of each, and these."""
    table = table.copy()
    for row, own in zip(table, boxes, strict=True):
        if own is not None:
            row[BOXES], row[BOX_COUNT] = own.ctypes.data, len(own)
    return table, boxes


def _run(table: Array, arrays: Sequence[Array]) -> None:
    _check(_find_runner()(table, *arrays))


def _check(outcome: object) -> None:
    assert outcome is None, "a job was given an array that is not C-contiguous"


@lru_cache(maxsize=16)
def _list_kinds(dtype: str) -> str:
    """Return the kinds of arguments of the kernel of a job, as `Kernel.find_address` takes them."""
    return ", ".join([f"{dtype}*"] * 5 + [f"int64*, {dtype}*"] * 2 + ["int64*"] * 2)


def cut_tasks(extent: tuple[int, int, int], count: int, tile: int) -> list[tuple[int, int, int, int, int, int]]:
    """Cut images, rows and columns into about `count` boxes: whole images first, then rows, then columns.

    Examples
    --------
    >>> cut_tasks((6, 10, 10), 3, 4)
    [(0, 2, 0, 10, 0, 10), (2, 4, 0, 10, 0, 10), (4, 6, 0, 10, 0, 10)]
    """
    images, rows, columns = extent
    image_cuts = cut_range(images, count)
    # rounded up, for the threads would share three tasks less evenly than six
    row_cuts = cut_range(rows, max(1, min(-(-count // len(image_cuts)), rows // 16)))
    column_cuts = cut_range(columns, max(1, min(count // (len(image_cuts) * len(row_cuts)), columns // tile)))
    return [(*b, *r, *c) for b in image_cuts for r in row_cuts for c in column_cuts]


def cut_rows(rows: int, threads: int, least: int) -> list[tuple[int, int]]:
    """Cut rows into parts that become smaller, down to about `least`: few seams, and nobody waits long at the end.

    Each part is what a thread would have of the rest, as in guided self-scheduling.

    Examples
    --------
    >>> cut_rows(540, 2, 17)
    [(0, 270), (270, 405), (405, 473), (473, 507), (507, 524), (524, 540)]
    """
    parts, begin = [], 0
    while begin < rows:
        end = begin + max(least, -(-(rows - begin) // threads))
        end = rows if rows - end < least // 2 else end
        parts.append((begin, end))
        begin = end
    return parts


@lru_cache(maxsize=256)
def _tabulate_rows(rows: int, columns: int, threads: int, least: int) -> Array:
    return np.array([(0, 1, *part, 0, columns) for part in cut_rows(rows, threads, least)])


@lru_cache(maxsize=256)
def _tabulate_tasks(extent: tuple[int, int, int], count: int, tile: int) -> Array:
    return np.array(cut_tasks(extent, count, tile))
