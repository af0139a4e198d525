"""Which samples along one axis a chunk of results is made of.

A filter that reads across the border of a chunk reads samples of its neighbours, and at the border of the array samples
that the boundary mode makes up from others, which may lie at the other end. A `Window` says which runs of samples have
to be fetched, and how they become the stretch of the extended signal that the filter is to see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from subband.boundary import Extension

__all__ = [
    "Edges",
    "Run",
    "Segment",
    "Window",
    "join_chunks",
    "open_window",
    "plain_window",
    "split_run",
    "walk_segments",
]

#: Where chunks begin along an axis, and at last where it ends.
Edges = tuple[int, ...]

#: The first of consecutive samples, and the one behind the last.
Run = tuple[int, int]

# Runs that are so near to each other are fetched as one.
_GAP = 16


@dataclass(frozen=True)
class Window:
    """A stretch of an extended signal.

    Attributes
    ----------
    size : int
        Number of samples.
    runs : tuple of (int, int)
        What is fetched of the signal, in order; nothing if the signal is empty, and the stretch is zeros.
    middle : (int, int)
        Which of the fetched samples, side by side, are the stretch as they are.
    before, behind : Extension or None
        How what comes before and behind them is made from the fetched samples.
    """

    size: int
    runs: tuple[Run, ...]
    middle: Run
    before: Extension | None = None
    behind: Extension | None = None

    @property
    def fetched(self) -> int:
        """Number of samples that are fetched."""
        return sum(end - begin for begin, end in self.runs)

    @property
    def room(self) -> tuple[int, int]:
        """How many samples are made up before and behind."""
        return tuple(0 if each is None else len(each.index) for each in (self.before, self.behind))  # type: ignore[return-value]

    @property
    def is_plain(self) -> bool:
        """Whether nothing is made up."""
        return self.before is None and self.behind is None and bool(self.runs)

    @property
    def is_direct(self) -> bool:
        """Whether all that is fetched is the middle of the stretch, so that it can be put into its place at once."""
        return self.middle == (0, self.fetched) and bool(self.runs)


def open_window(extend: Callable[[int, int], Extension], length: int, start: int, stop: int) -> Window:
    """Return the window of the positions ``start`` to ``stop - 1`` of a signal of `length` samples.

    Parameters
    ----------
    extend : callable
        Returns how any range of positions is made from the samples, as `subband.boundary.extend` does. The signal's own
        positions must be its samples.
    length, start, stop : int
        The signal, and the range.

    Examples
    --------
    >>> from subband.boundary import extend
    >>> window = open_window(lambda start, stop: extend("periodic", 100, start, stop), 100, -2, 30)
    >>> window.runs, window.middle, window.room
    (((0, 30), (98, 100)), (0, 30), (2, 0))
    """
    size = stop - start
    if start >= 0 and stop <= length:
        return Window(size, ((start, stop),), (0, size))
    if length == 0:
        return Window(size, (), (0, 0))
    extension = extend(start, stop)
    low, high = max(start, 0), min(stop, length)
    if low >= high:
        low = high = min(max(start, 0), length)
    cuts = min(max(low - start, 0), size), min(max(high - start, 0), size)
    outside = np.r_[0 : cuts[0], cuts[1] : size]
    needed = extension.index[outside][extension.weight[outside] != 0].tolist()
    needed += [0] if extension.first[outside].any() else []
    needed += [length - 1] if extension.last[outside].any() else []
    runs = _join_runs([(low, high)] if high > low else [], sorted(set(needed)))
    offset, middle = 0, (0, 0)
    for begin, end in runs:
        if begin <= low and high <= end and high > low:
            middle = (offset + low - begin, offset + high - begin)
        offset += end - begin
    before, behind = (
        _localise(extension, runs, part) if part.stop > part.start else None
        for part in (slice(0, cuts[0]), slice(cuts[1], size))
    )
    return Window(size, tuple(runs), middle, before, behind)


def plain_window(begin: int, end: int) -> Window:
    """Return the window of samples that are all there.

    Examples
    --------
    >>> plain_window(3, 8).runs
    ((3, 8),)
    """
    return Window(end - begin, ((begin, end),) if end > begin else (), (0, end - begin))


def _join_runs(runs: list[Run], places: Sequence[int]) -> list[Run]:
    """Return runs that cover others and single places, in order; those that nearly touch become one."""
    joined: list[Run] = []
    for begin, end in sorted([*runs, *((place, place + 1) for place in places)]):
        if joined and begin - joined[-1][1] <= _GAP:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined or [(0, 1)]


def _localise(extension: Extension, runs: list[Run], part: slice) -> Extension:
    """Return a part of a map from samples with the places that they have among the fetched ones."""
    begins = np.array([begin for begin, _ in runs])
    offsets = np.cumsum([0, *(end - begin for begin, end in runs[:-1])]) - begins
    # what has no weight may point anywhere
    index = np.where(extension.weight[part] != 0, extension.index[part], begins[0])
    index = index + offsets[np.searchsorted(begins, index, side="right") - 1]
    return Extension(index, extension.weight[part], extension.first[part], extension.last[part])


def split_run(edges: Edges, run: Run) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each chunk that a run touches, and from where to where inside of it.

    Examples
    --------
    >>> list(split_run((0, 10, 20, 30), (8, 21)))
    [(0, 8, 10), (1, 0, 10), (2, 0, 1)]
    """
    begin, end = run
    number = bisect_right(edges, begin) - 1
    while begin < end:
        first, last = edges[number], min(edges[number + 1], end)
        if last > begin:
            yield number, begin - first, last - first
        begin, number = last, number + 1


class Segment(NamedTuple):
    """A piece of a chunk along one axis: the chunk's number, a range in it, where that goes, and the chunk's length."""

    number: int
    begin: int
    end: int
    at: int
    length: int


def walk_segments(edges: Edges, window: Window) -> Iterator[Segment]:
    """Yield the pieces of chunks that a window is made of."""
    at = window.room[0] if window.is_direct else 0
    is_empty = True
    for run in window.runs:
        for number, begin, end in split_run(edges, run):
            yield Segment(number, begin, end, at, edges[number + 1] - edges[number])
            at += end - begin
            is_empty = False
    if is_empty:
        # an empty signal: any chunk of it, of which nothing is taken, tells dtype and place
        yield Segment(0, 0, 0, 0, edges[1] - edges[0])


def join_chunks(edges: Edges, least: int, wanted: int = 0) -> Edges:
    """Return the edges of chunks joined with their neighbours.

    Parameters
    ----------
    edges : tuple of int
        Of the chunks there are.
    least : int
        Samples that a chunk has to have.
    wanted : int
        Samples up to which chunks are joined, even where that is not needed.

    Examples
    --------
    >>> join_chunks((0, 4, 8, 12, 16, 20), 4, wanted=8)
    (0, 8, 16, 20)
    >>> join_chunks((0, 4, 8, 12, 16, 18), 4)
    (0, 4, 8, 12, 18)
    """
    kept = [0]
    for place, end in pairwise(edges[1:]):
        is_short = place - kept[-1] < least
        if not is_short and end - kept[-1] > wanted:
            kept.append(place)
    if len(kept) > 1 and edges[-1] - kept[-1] < least:
        kept.pop()
    return (*kept, edges[-1])
