"""Overhead of Dask: transforms of chunked arrays beside those of the same arrays in memory.

Both take turns in one process. A turn is two calls, of which the second counts, so that each finds the memory that it
gave back itself. Besides the time on the clock stands that of the processor, which other programs disturb less. Results
are compared before their times count.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

import subband
from subband.bench.libraries import load_library
from subband.bench.tables import Goal, Report, Sheet, as_record, write_number
from subband.engines import get_threads
from subband.engines.measuring.judging import compare_bands, use_engine
from subband.errors import ArgumentError

__all__ = ["CASES", "QUICK_CASES", "Overhead", "measure_overhead", "report_overhead"]

#: Wavelets and dtypes.
CASES = (("cdf97", "float32"), ("cdf97", "float64"), ("db4", "float32"), ("db4", "float64"))
QUICK_CASES = (("db4", "float32"),)

#: How many times as long as in memory it may take.
MOST = 1.6

_SIZE, _CHUNK, _LEVELS = 8192, 1024, 5
_QUICK_SIZE, _QUICK_CHUNK = 1024, 256
_TOLERANCE = 1e-4
# Rows and columns of what is compared with the reference engine.
_JUDGED = 256

#: Shortest and median seconds, and the fewest of the processor.
Times = tuple[float, float, float]


@dataclass(frozen=True)
class Overhead:
    """One transform, in memory and by Dask.

    Attributes
    ----------
    wavelet, dtype, direction : str
        Which transform; the direction is ``'forward'`` or ``'inverse'``.
    size, chunk, levels : int
        Rows of the array, which has as many columns, those of a chunk, and levels.
    tasks : int
        How many tasks the graph has, those that hold the chunks left out.
    memory, computed, persisted : tuple of (float, float, float)
        Times in memory, by Dask to one array a band, and by Dask to chunks: the shortest, the median, and the fewest of
        the processor.
    """

    wavelet: str
    dtype: str
    direction: str
    size: int
    chunk: int
    levels: int
    tasks: int
    memory: Times
    computed: Times
    persisted: Times

    @property
    def ratio(self) -> float:
        """How many times as long the median takes to one array a band."""
        return self.computed[1] / self.memory[1]


def measure_overhead(
    cases: Sequence[tuple[str, str]] = CASES, turns: int = 7, *, is_quick: bool = False
) -> Iterator[Overhead]:
    """Transform an array forward and back, in memory and in chunks on the threads of this process.

    Parameters
    ----------
    cases : sequence of (str, str)
        Wavelets and dtypes.
    turns : int
        Of each contender.
    is_quick : bool
        Take a small array.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    ArgumentError
        If results are not the same.
    WrongResultError
        If those in memory are not those of the reference engine.

    Examples
    --------
    >>> found = list(measure_overhead([("haar", "float32")], turns=1, is_quick=True))
    >>> [each.direction for each in found], found[0].tasks < 64
    (['forward', 'inverse'], True)
    """
    dask = load_library("Dask")
    size, chunk = (_QUICK_SIZE, _QUICK_CHUNK) if is_quick else (_SIZE, _CHUNK)
    levels = 2 if is_quick else _LEVELS
    for wavelet, dtype in cases:
        _check_in_memory(wavelet, dtype)
        x = np.random.default_rng(0).normal(size=(size, size)).astype(dtype)
        lazy = dask.array.from_array(x, chunks=chunk)
        with dask.config.set(scheduler="threads"):
            split = partial(_split, wavelet=wavelet, levels=levels)
            count = _count_tasks(split(lazy), lazy.npartitions)
            times = _measure(split, x, lazy, turns)
            yield Overhead(wavelet, dtype, "forward", size, chunk, levels, count, *times)
            bands, kept = split(x), dask.persist(*split(lazy))
            del x, lazy
            merge = partial(_merge, wavelet=wavelet)
            count = _count_tasks(merge(kept), sum(band.npartitions for band in kept))
            times = _measure(merge, bands, kept, turns)
            yield Overhead(wavelet, dtype, "inverse", size, chunk, levels, count, *times)
            del bands, kept


def report_overhead(found: Sequence[Overhead], *, is_whole: bool = True) -> Report:
    """Make the table of the overhead of chunks.

    Parameters
    ----------
    found : sequence of Overhead
        What was measured.
    is_whole : bool
        Whether it is enough to judge.

    Examples
    --------
    >>> times = (1.0, 1.0, 2.0)
    >>> report = report_overhead([Overhead("haar", "float32", "forward", 64, 16, 1, 20, times, times, times)])
    >>> print(report.goals[0])
    met: haar, float32, forward: at most 1.6 times as long as in memory (1.00 times)
    """
    rows, goals, missed = [], [], []
    for number, each in enumerate(found):
        name = f"{each.wavelet}, {each.dtype}, {each.direction}"
        numbers = [1000 * each.memory[1], 1000 * each.computed[1]]
        ratios = [
            own[index] / each.memory[index] for own in (each.computed, each.persisted) for index in range(len(own))
        ]
        rows.append([name, str(each.tasks), *(write_number(x, 0) for x in numbers), *(write_number(x) for x in ratios)])
        goals.append(
            Goal(f"{name}: at most {MOST} times as long as in memory", f"{each.ratio:.2f} times", each.ratio <= MOST)
        )
        if each.ratio > MOST:
            missed.append(number)
    columns = (
        "transform",
        "tasks",
        "in memory, ms",
        "Dask, ms",
        "best",
        "median",
        "processor",
        "best, chunks",
        "median, chunks",
        "processor, chunks",
    )
    first = found[0]
    note = (
        f"{first.size} × {first.size} in chunks of {first.chunk} × {first.chunk}, {first.levels} levels, on "
        f"{get_threads()} threads. Milliseconds are medians. Then how many times as long as in memory: the best of "
        "all turns, the median, and the time of the processor; to one array a band with `compute`, and to chunks with "
        "`persist`."
    )
    sheet = Sheet("Transforms in chunks", columns, rows, note, missed=missed if is_whole else ())
    return Report([sheet], goals if is_whole else (), {"overheads": [as_record(each, "ratio") for each in found]})


def _split(x: Any, wavelet: str, levels: int) -> list[Any]:
    """Return all bands, the approximation first."""
    approximation, *details = subband.wavedec2(x, wavelet, level=levels)
    return [approximation, *(band for level in details for band in level)]


def _merge(bands: Sequence[Any], wavelet: str) -> list[Any]:
    """Return the samples, as the only entry of a list."""
    details = [tuple(bands[start : start + 3]) for start in range(1, len(bands), 3)]
    return [subband.waverec2([bands[0], *details], wavelet)]


def _check_in_memory(wavelet: str, dtype: str) -> None:
    """Compare transforms in memory, which judge those in chunks, with the reference engine's on a smaller array."""
    x = np.random.default_rng(1).normal(size=(_JUDGED, _JUDGED)).astype(dtype)
    found = _split(x, wavelet, 2)
    with use_engine("reference"):
        expected = _split(x.astype(np.float64), wavelet, 2)
    samples = _merge([band.astype(dtype) for band in expected], wavelet)
    pairs = zip([*found, *samples], [*expected, x], strict=True)
    for number, (own, judge) in enumerate(pairs):
        compare_bands({str(number): own}, {str(number): judge}, f"{wavelet} in memory", _TOLERANCE)


def _measure(transform: Callable[[Any], list[Any]], x: Any, lazy: Any, turns: int) -> tuple[Times, Times, Times]:
    """Return the times of a transform of an array, and of the same in chunks, which must give the same."""
    import dask

    for array, other in zip(dask.compute(*transform(lazy)), transform(x), strict=True):
        if array.shape != other.shape or not np.allclose(array, other, atol=_TOLERANCE, rtol=_TOLERANCE):
            raise ArgumentError(f"{transform}: what comes of chunks is not what comes of the array in memory")
    memory, computed, persisted = _take_turns(
        [
            lambda: transform(x),
            lambda: dask.compute(*transform(lazy)),
            lambda: dask.persist(*transform(lazy)),
        ],
        turns,
    )
    return memory, computed, persisted


def _count_tasks(arrays: Sequence[Any], given: int) -> int:
    """Return the number of tasks of several arrays, but for those that hold what they are made of."""
    keys: set[Any] = set()
    for array in arrays:
        keys.update(array.__dask_graph__())
    return len(keys) - given


def _take_turns(calls: Sequence[Callable[[], Any]], turns: int) -> list[Times]:
    """Return the shortest and the median time of each call, and the shortest of the processor."""
    found: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(turns):
        for call, own in zip(calls, found, strict=True):
            call()
            gc.collect()
            begin, busy = perf_counter(), process_time()
            result = call()
            own.append((perf_counter() - begin, process_time() - busy))
            del result
    return [(min(a for a, _ in own), median(a for a, _ in own), min(b for _, b in own)) for own in found]
