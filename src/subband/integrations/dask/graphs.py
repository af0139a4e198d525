"""Graphs of tasks: which chunks a block is fetched from, and the arrays that come of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from operator import getitem
from typing import Any

from dask.array.utils import meta_from_array
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.task_spec import Alias, List, Task, TaskRef

from subband.integrations.dask.blocks import Part, Recipe, cut
from subband.integrations.dask.results import ComputedArray
from subband.integrations.dask.windows import Edges, Segment, Window, walk_segments

__all__ = [
    "Band",
    "Bundle",
    "Draft",
    "Grid",
    "SubbandLayer",
    "divide",
    "find_grid",
    "find_longest",
    "find_meta",
    "list_windows",
    "make_array",
    "rename",
]

Index = tuple[int, ...]
Slices = tuple[slice, ...]
Key = Any

# A piece that is thinner than this part of its chunk is cut along its thin axis alone, so that several blocks share it.
_THIN = 4


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
    def shape(self) -> tuple[int, ...]:
        """Number of samples along each axis."""
        return tuple(own[-1] for own in self.edges)

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the chunks along each axis, as Dask has them."""
        return tuple(tuple(b - a for a, b in pairwise(own)) for own in self.edges)

    def key(self, index: Index) -> Key:
        """Return the key of a chunk."""
        return (self.name, *index)

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
    target, origin : tuple of int or None
        As of `SubbandLayer`.
    """

    name: str
    graph: HighLevelGraph
    edges: Mapping[str, tuple[Edges, ...]]
    meta: Any
    target: tuple[int, ...] | None = None
    origin: tuple[int, ...] | None = None

    def list_bands(self) -> dict[str, Band]:
        """Return all bands, for other tasks to be drawn from."""
        return {key: Band(self, key) for key in self.edges}

    def make_arrays(self) -> dict[str, Any]:
        """Return all bands as Dask arrays."""
        arrays = {}
        for key, edges in self.edges.items():
            name = self.name.replace("-split-", f"-{key}-")
            grid = Grid(name, edges)
            tasks = {
                (name, *index): Task((name, *index), getitem, TaskRef((self.name, *index)), key)
                for index in grid.walk()
            }
            arrays[key] = make_array(self.graph, self.name, name, grid, tasks, self.meta, self.target, self.origin)
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
    edges = []
    for lengths in x.chunks:
        own = [0]
        for length in lengths:
            own.append(own[-1] + int(length))
        edges.append(tuple(own))
    return Grid(x.name, tuple(edges))


def find_meta(x: Any) -> Any:
    """Return an empty array of the kind and dtype of the chunks of a Dask array, or of a band."""
    return x.bundle.meta if isinstance(x, Band) else meta_from_array(x)


def find_longest(edges: Sequence[Edges]) -> tuple[int, ...]:
    """Return the length of the longest chunk along each axis."""
    return tuple(max((b - a for a, b in pairwise(own)), default=0) for own in edges)


def rename(grid: Grid, source: Grid) -> dict[Key, Any]:
    """Return the tasks of an array whose chunks are those of another."""
    tasks = {}
    for index in grid.walk():
        key = grid.key(index)
        tasks[key] = Alias(key, source.key(index))
    return tasks


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
    edges, places = [], []
    for own, length in zip(blocks.edges, lengths, strict=True):
        parts = [
            (number, slice(at - begin, min(at + length, end) - begin))
            for number, (begin, end) in enumerate(pairwise(own))
            for at in range(begin, end, max(length, 1))
        ]
        places.append(parts)
        edges.append((0, *(own[number] + part.stop for number, part in parts)))
    grid = Grid(name, tuple(edges))
    if grid.edges == blocks.edges:
        return grid, rename(grid, blocks)
    tasks = {}
    for index in grid.walk():
        chosen = [places[axis][at] for axis, at in enumerate(index)]
        key = (name, *index)
        # not copied: all parts of a block together are no more than the block
        tasks[key] = Task(
            key, getitem, TaskRef(blocks.key(tuple(each for each, _ in chosen))), tuple(p for _, p in chosen)
        )
    return grid, tasks


def list_windows(edges: Edges) -> list[Window]:
    """Return the windows of an axis that is carried along: the chunks as they are."""
    return [Window(b - a, ((a, b),), (0, b - a)) for a, b in pairwise(edges)]


class SubbandLayer(MaterializedLayer):  # type: ignore[misc]  # Dask is untyped
    """Tasks of a transform, with what the next level has to know.

    Attributes
    ----------
    target : tuple of int or None
        How long chunks of coefficients are along each axis, except where blocks begin and end.
    origin : tuple of int or None
        The same of the samples that they come from, for the way back.
    """

    def __init__(
        self,
        mapping: Mapping[Key, Any],
        target: tuple[int, ...] | None = None,
        origin: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(mapping)
        self.target = target
        self.origin = origin


class Draft:
    """A graph in the making.

    Parameters
    ----------
    name : str
        Of its layer; the keys of its tasks begin with it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: dict[Key, Any] = {}
        self._shared: dict[Any, Any] = {}
        self._held: list[Any] = []

    def share(self, about: Hashable, make: Callable[[], Any]) -> Any:
        """Return one object for all tasks that are alike: most chunks lie in the middle, where all look the same."""
        if about not in self._shared:
            self._shared[about] = make()
        return self._shared[about]

    def request(self, grid: Grid, windows: Sequence[Window]) -> tuple[Recipe, list[Key]]:
        """Return how a block is put together, and the keys of its pieces.

        Of neighbours only what is needed is asked for, cut off where it lies.
        """
        axes = [self._list_segments(own, window) for own, window in zip(grid.edges, windows, strict=True)]
        about = tuple(
            (window.size if window.is_plain else id(window), tuple(each[1:] for each in own))
            for window, own in zip(windows, axes, strict=True)
        )
        recipe, taken = self.share(("recipe", about), lambda: self._make_recipe(axes, windows))
        keys = []
        for segments, choice in zip(product(*axes), taken, strict=True):
            whole = grid.key(tuple(each[0] for each in segments))
            keys.append(whole if choice is None else self._cut(whole, *choice))
        return recipe, keys

    def request_all(self, wanted: Iterable[tuple[Any, Grid, Sequence[Window]]]) -> tuple[dict[Any, Part], list[Key]]:
        """Return how several blocks are put together, by name, and the keys of the pieces of all of them."""
        numbers: dict[Key, int] = {}
        parts: dict[Any, Part] = {}
        for name, grid, windows in wanted:
            recipe, keys = self.request(grid, windows)
            picks = tuple([numbers.setdefault(key, len(numbers)) for key in keys])
            parts[name] = self.share(("part", id(recipe), picks, grid.band), partial(Part, recipe, picks, grid.band))
        about = "parts", tuple((name, id(part)) for name, part in parts.items())
        return self.share(about, lambda: parts), list(numbers)

    def _list_segments(self, edges: Edges, window: Window) -> tuple[Segment, ...]:
        """Return number and range of each piece along an axis, where it goes, and the length of its chunk."""
        about = "segments", edges, window.runs, window.is_direct, window.room[0]
        found: tuple[Segment, ...] = self.share(about, lambda: tuple(walk_segments(edges, window)))
        return found

    def _make_recipe(
        self, axes: Sequence[Sequence[Segment]], windows: Sequence[Window]
    ) -> tuple[Recipe, list[tuple[Slices, tuple[int, ...]] | None]]:
        """Return a recipe, and for each piece what is cut off where it lies, with numbers for its key."""
        # a window is told from others by where it lies in memory, and so must stay there
        self._held += windows
        shape = tuple(window.size if window.is_direct else window.fetched for window in windows)
        places, cuts, taken = [], [], []
        for segments in product(*axes):
            places.append(tuple(slice(each.at, each.at + each.end - each.begin) for each in segments))
            first, rest = _choose_cuts(segments)
            taken.append(first)
            cuts.append(rest)
        return Recipe(shape, tuple(places), tuple(cuts), tuple(map(_forget_place, windows))), taken

    def _cut(self, whole: Key, slices: Slices, numbers: tuple[int, ...]) -> Key:
        """Return the key of a piece of a chunk; several blocks share it."""
        key = (f"{self.name}-cut", *whole, *numbers)
        if key not in self.tasks:
            self.tasks[key] = Task(key, cut, TaskRef(whole), slices)
        return key

    def add(self, index: Index, function: Callable[..., Any], *arguments: Any, name: str | None = None) -> Key:
        """Add a task, and return its key; lists hold keys of other tasks, and `TaskRef` stands for a single one."""
        key = (name or self.name, *index)
        given = [List(*map(TaskRef, each)) if type(each) is list else each for each in arguments]
        self.tasks[key] = Task(key, function, *given)
        return key

    def finish(self, dependencies: Sequence[Any]) -> HighLevelGraph:
        """Return the graph, with those of the arrays that it needs."""
        return self._connect(self.tasks, dependencies)

    def make_array(
        self,
        dependencies: Sequence[Any],
        edges: Sequence[Edges],
        meta: Any,
        target: tuple[int, ...] | None = None,
        origin: tuple[int, ...] | None = None,
    ) -> Any:
        """Return the Dask array whose chunks are those tasks that have the name of the draft."""
        graph = self._connect(SubbandLayer(self.tasks, target, origin), dependencies)
        return ComputedArray(graph, self.name, Grid(self.name, tuple(edges)).chunks, meta=meta)

    def _connect(self, layer: Mapping[Key, Any], dependencies: Sequence[Any]) -> HighLevelGraph:
        bundles = {each.bundle.name: each.bundle for each in dependencies if isinstance(each, Band)}
        waited = [Delayed(name, bundle.graph, layer=name) for name, bundle in bundles.items()]
        waited += [each for each in dependencies if not isinstance(each, Band)]
        return HighLevelGraph.from_collections(self.name, layer, dependencies=waited)


def make_array(
    graph: HighLevelGraph,
    below: str,
    name: str,
    grid: Grid,
    tasks: Mapping[Key, Any],
    meta: Any,
    target: tuple[int, ...] | None = None,
    origin: tuple[int, ...] | None = None,
) -> Any:
    """Return a Dask array whose tasks stand on a layer of a graph."""
    layers = {**graph.layers, name: SubbandLayer(tasks, target, origin)}
    dependencies = {**graph.dependencies, name: {below}}
    return ComputedArray(HighLevelGraph(layers, dependencies), name, grid.chunks, meta=meta)


def _choose_cuts(segments: Sequence[Segment]) -> tuple[tuple[Slices, tuple[int, ...]] | None, Slices | None]:
    """Return what is cut off a chunk where it lies, and what its receiver has to cut off besides."""
    partial = [axis for axis, each in enumerate(segments) if each.end - each.begin < each.length]
    if not partial:
        return None, None
    thinnest = min(partial, key=lambda axis: (segments[axis].end - segments[axis].begin) / segments[axis].length)
    thin = segments[thinnest]
    taken = [thinnest] if (thin.end - thin.begin) * _THIN <= thin.length else partial
    slices = [slice(None)] * len(segments)
    rest = list(slices)
    numbers: list[int] = []
    for axis in partial:
        each = segments[axis]
        if axis in taken:
            slices[axis] = slice(each.begin, each.end)
            numbers += axis, each.begin, each.end
        else:
            rest[axis] = slice(each.begin, each.end)
    return (tuple(slices), tuple(numbers)), (tuple(rest) if len(taken) < len(partial) else None)


def _forget_place(window: Window) -> Window:
    """Return what the receiver of pieces has to know of a window: not where in the array they come from."""
    return replace(window, runs=((0, window.fetched),) if window.runs else ())
