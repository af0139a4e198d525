"""Which samples along one axis a chunk of results is made of.

A filter that reads across the border of a chunk reads samples of its neighbours. Beyond the ends of the array an engine
extends a block by itself, as the boundary mode says. Only what is periodic is read on at the other end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "Edges",
    "Run",
    "Segment",
    "Window",
    "clip_run",
    "join_chunks",
    "list_windows",
    "walk_segments",
    "wrap_window",
]

#: Where chunks begin along an axis, and at last where it ends.
Edges = tuple[int, ...]

#: The first of consecutive samples, and the one behind the last.
Run = tuple[int, int]

#: Runs of samples that are put side by side.
Window = tuple[Run, ...]


def list_windows(edges: Edges) -> list[Window]:
    """Return the windows of an axis that is carried along: the chunks as they are.

    Examples
    --------
    >>> list_windows((0, 4, 6))
    [((0, 4),), ((4, 6),)]
    """
    return [(run,) for run in pairwise(edges)]


def clip_run(start: int, stop: int, length: int) -> Run:
    """Return the samples of a range that there are, and those that boundary modes mirror beyond the ends.

    Examples
    --------
    >>> clip_run(-3, 2, 100), clip_run(90, 101, 100)
    ((0, 4), (90, 100))
    """
    begin, end = max(start, 0), min(stop, length)
    if start < 0:
        end = max(end, 1 - start)
    if stop > length:
        begin = min(begin, 2 * length - 1 - stop)
    return max(begin, 0), min(end, length)


def wrap_window(start: int, stop: int, length: int, period: int) -> Window:
    """Return the window of a range of a periodic signal.

    Parameters
    ----------
    start, stop : int
        The range, which may begin before the first sample and end behind the last.
    length, period : int
        Number of samples, and after how many the signal begins anew: one more if the last sample is repeated.

    Examples
    --------
    >>> wrap_window(-2, 30, 100, 100)
    ((98, 100), (0, 30))
    >>> wrap_window(95, 102, 99, 100)
    ((95, 99), (98, 99), (0, 2))
    """
    runs = []
    while start < stop:
        begin = min(start % period, length - 1)
        end = min(length, begin + stop - start)
        runs.append((begin, end))
        start += end - begin
    return tuple(runs)


class Segment(NamedTuple):
    """A piece of a chunk along one axis: the chunk's number, a range in it, where that goes, and the chunk's length."""

    number: int
    begin: int
    end: int
    offset: int
    length: int


def walk_segments(edges: Edges, window: Window) -> Iterator[Segment]:
    """Yield the pieces of chunks that a window is made of.

    Examples
    --------
    >>> [segment[:4] for segment in walk_segments((0, 10, 20, 30), ((8, 21),))]
    [(0, 8, 10, 0), (1, 0, 10, 2), (2, 0, 1, 12)]
    """
    offset = 0
    for begin, end in window:
        number = bisect_right(edges, begin) - 1
        while begin < end:
            first, last = edges[number], min(edges[number + 1], end)
            if last > begin:
                yield Segment(number, begin - first, last - first, offset, edges[number + 1] - first)
                offset += last - begin
            begin, number = last, number + 1
    if offset == 0:
        # an empty signal: any chunk of it, of which nothing is taken, tells dtype and device
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
    for edge, end in pairwise(edges[1:]):
        is_short = edge - kept[-1] < least
        if not is_short and end - kept[-1] > wanted:
            kept.append(edge)
    if len(kept) > 1 and edges[-1] - kept[-1] < least:
        kept.pop()
    return (*kept, edges[-1])
