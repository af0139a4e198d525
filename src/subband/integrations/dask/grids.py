"""The chunks of arrays and of bands: where they begin and end, and the arrays of Dask that are made of their tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from operator import getitem
from typing import Any

from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Alias, Task, TaskRef

from subband.integrations.dask.results import ComputedArray
from subband.integrations.dask.windows import Edges

__all__ = ["Band", "Bundle", "Grid", "Index", "Key", "divide", "find_grid", "find_longest", "find_meta", "put_above"]

#: The numbers of a chunk along each axis.
Index = tuple[int, ...]

#: Of a task: a name, and for chunks of arrays their numbers.
Key = Any


@dataclass(frozen=True)
class Grid:
    """The chunks of an array.

    Attributes
    ----------
    name : str
        What the keys of the chunks begin with.
    edges : tuple of tuple of int
        Where chunks begin along each axis, and where the axis ends.
    band : str or None
        Which of several bands that chunks hold, if they are bundles.
    """

    name: str
    edges: tuple[Edges, ...]
    band: str | None = None

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the chunks along each axis, as Dask has them."""
        return tuple(tuple(b - a for a, b in pairwise(own)) for own in self.edges)

    def walk(self) -> Iterator[Index]:
        """Yield the numbers of all chunks."""
        yield from product(*(range(len(own) - 1) for own in self.edges))


@dataclass(frozen=True)
class Bundle:
    """Several bands, chunk by chunk: each task gives a dictionary, so that whoever needs all of them asks once.

    Attributes
    ----------
    name : str
        Of the layer, and what the keys of the tasks begin with.
    graph : HighLevelGraph
        The tasks, and what they need.
    edges : mapping of tuple of tuple of int
        Of each band; all have the same number of chunks.
    meta : array
        An empty array of the kind and dtype of the bands.
    """

    name: str
    graph: HighLevelGraph
    edges: Mapping[str, tuple[Edges, ...]]
    meta: Any

    def list_bands(self) -> dict[str, Band]:
        """Return all bands, for other tasks to be drawn from."""
        return {key: Band(self, key) for key in self.edges}

    def make_arrays(self, origin: tuple[int, ...] | None = None) -> dict[str, Any]:
        """Return all bands as Dask arrays, which remember how long the chunks were that they come from."""
        arrays = {}
        for key, edges in self.edges.items():
            name = f"subband-{key.rstrip('0123456789')}-{tokenize(self.name, key)}"
            grid = Grid(name, edges)
            tasks = {
                (name, *index): Task((name, *index), getitem, TaskRef((self.name, *index)), key)
                for index in grid.walk()
            }
            arrays[key] = put_above(self.graph, self.name, grid, tasks, self.meta, origin)
        return arrays


@dataclass(frozen=True)
class Band:
    """A band of a bundle, which is asked for what it shares with a Dask array."""

    bundle: Bundle
    key: str

    @property
    def name(self) -> str:
        """What tells it from others."""
        return f"{self.bundle.name} {self.key}"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of coefficients along each axis."""
        return tuple(own[-1] for own in self.bundle.edges[self.key])

    @property
    def dtype(self) -> Any:
        """Of the coefficients."""
        return self.bundle.meta.dtype


def find_grid(x: Any) -> Grid:
    """Return the grid of a Dask array, or of a band.

    Examples
    --------
    >>> import dask.array as da
    >>> find_grid(da.zeros((10, 6), chunks=(4, 6))).edges
    ((0, 4, 8, 10), (0, 6))
    """
    if isinstance(x, Band):
        return Grid(x.bundle.name, x.bundle.edges[x.key], x.key)
    return Grid(x.name, tuple(tuple(accumulate(map(int, lengths), initial=0)) for lengths in x.chunks))


def find_meta(x: Any) -> Any:
    """Return an empty array of the kind and dtype of the chunks of a Dask array, or of a band."""
    return x.bundle.meta if isinstance(x, Band) else meta_from_array(x)


def find_longest(edges: Sequence[Edges]) -> tuple[int, ...]:
    """Return the length of the longest chunk along each axis."""
    return tuple(max((b - a for a, b in pairwise(own)), default=0) for own in edges)


def divide(blocks: Grid, name: str, lengths: Sequence[int]) -> tuple[Grid, dict[Key, Any]]:
    """Return the grid and the tasks of an array whose chunks are parts of larger blocks.

    Parameters
    ----------
    blocks : Grid
        What is there.
    name : str
        Of the array.
    lengths : sequence of int
        How long its chunks should be along each axis.

    Examples
    --------
    >>> grid, tasks = divide(Grid("block", ((0, 8, 12),)), "part", [4])
    >>> grid.edges, len(tasks)
    (((0, 4, 8, 12),), 3)
    """
    axes = [
        [
            (number, slice(at - begin, min(at + length, end) - begin))
            for number, (begin, end) in enumerate(pairwise(own))
            for at in range(begin, end, max(length, 1))
        ]
        for own, length in zip(blocks.edges, lengths, strict=True)
    ]
    edges = tuple(
        (0, *(own[number] + part.stop for number, part in parts)) for own, parts in zip(blocks.edges, axes, strict=True)
    )
    grid = Grid(name, edges)
    tasks: dict[Key, Any] = {}
    for index, chosen in zip(grid.walk(), product(*axes), strict=True):
        key, whole = (name, *index), (blocks.name, *(number for number, _ in chosen))
        # not copied: all parts of a block together are no more than the block
        parts = tuple(part for _, part in chosen)
        tasks[key] = Alias(key, whole) if edges == blocks.edges else Task(key, getitem, TaskRef(whole), parts)
    return grid, tasks


def put_above(
    graph: HighLevelGraph, below: str, grid: Grid, tasks: Mapping[Key, Any], meta: Any, origin: Any = None
) -> Any:
    """Return a Dask array whose tasks stand on a layer of a graph."""
    layers = {**graph.layers, grid.name: tasks}
    dependencies = {**graph.dependencies, grid.name: {below}}
    return ComputedArray(HighLevelGraph(layers, dependencies), grid.name, grid.chunks, meta=meta, origin=origin)
