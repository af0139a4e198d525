"""A volume cut into blocks of slices that overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from subband.pipeline.reach import Reach
from subband.typing import Array

__all__ = ["cut_blocks", "gather_blocks"]


def cut_blocks(count: int, core: int, reach: Reach, fewest: int = 1) -> Iterator[tuple[int, int, int, int]]:
    """Cut slices into blocks that overlap.

    Parameters
    ----------
    count : int
        Number of slices.
    core : int
        How many each block adds to the result; a multiple of the reach's step.
    reach : Reach
        What each needs before and behind.
    fewest : int
        Slices that a block has at least.

    Yields
    ------
    tuple of int
        First slice and end of what is read, and of what counts.

    Examples
    --------
    >>> list(cut_blocks(20, 8, Reach(3, 2, 4)))
    [(0, 10, 0, 8), (4, 18, 8, 16), (12, 20, 16, 20)]
    """
    for begin in range(0, count, core):
        end = min(begin + core, count)
        stop = min(max(end + reach.behind, fewest), count)
        start = max(min(begin - reach.before, stop - fewest), 0) // reach.step * reach.step
        yield start, stop, begin, end


def gather_blocks(
    slices: Iterator[Array], blocks: Iterator[tuple[int, int, int, int]]
) -> Iterator[tuple[Array, int, int]]:
    """Return each block as one array, and where in it that lies which counts; each slice is taken once."""
    held: deque[Array] = deque()
    first = 0
    for start, stop, begin, end in blocks:
        while first < start:
            held.popleft()
            first += 1
        while first + len(held) < stop:
            held.append(next(slices))
        yield np.stack(held), begin - start, end - start
