"""Chunks with margins: the blocks that work needs which looks at what lies around its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from subband.enhance.blockwise import Block, Reach, widen
from subband.integrations.dask.graphs import BlockMap
from subband.integrations.dask.windows import Edges, Window

__all__ = ["Blocks"]


class Blocks:
    """Chunks of results, and the blocks that they are computed from.

    Parameters
    ----------
    edges : sequence of tuple of int
        Where chunks begin along each axis, and where it ends.
    reaches : sequence of Reach
        How far blocks reach beyond their chunks, along the last axes, which are those of space.

    Attributes
    ----------
    windows : list of list of Window
        What each block is made of, along each axis.
    """

    def __init__(self, edges: Sequence[Edges], reaches: Sequence[Reach]) -> None:
        self.edges = tuple(edges)
        self._before = len(self.edges) - len(reaches)
        every = [*(Reach(0, 0),) * self._before, *reaches]
        self.windows: list[list[Window]] = [
            [(widen(a, b, own[-1], reach, reach.before + reach.behind),) for a, b in pairwise(own)]
            for own, reach in zip(self.edges, every, strict=True)
        ]

    def map(self, work: Callable[..., Any], *sources: Any) -> BlockMap:
        """Return work on the blocks of some arrays, or on other windows of them: ``(array, windows)``."""
        read = [each if isinstance(each, tuple) else (each, self.windows) for each in sources]
        return BlockMap(work, self.edges, read, self.find)

    def find(self, index: Sequence[int]) -> Block:
        """Return where a block lies."""
        ranges = [own[at][0] for own, at in zip(self.windows, index, strict=True)]
        chunks = [own[at : at + 2] for own, at in zip(self.edges, index, strict=True)]
        space = list(zip(ranges, chunks, strict=True))[self._before :]
        return Block(
            tuple(ranges[: self._before]),
            tuple(start for (start, _), _ in space),
            tuple(slice(begin - start, end - start) for (start, _), (begin, end) in space),
        )
