"""Graphs of tasks: work on blocks that are fetched from chunks, and the arrays and small results that come of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import List, Task, TaskRef

from subband.integrations.dask.blocks import Part, Recipe, compute_all, compute_one, cut, gather
from subband.integrations.dask.grids import Band, Bundle, Grid, Index, Key, divide, find_grid, find_meta, put_above
from subband.integrations.dask.results import ComputedArray
from subband.integrations.dask.windows import Edges, Segment, Window, walk_segments

__all__ = ["BlockMap", "draw_array", "draw_bundle", "draw_statistic"]

# How many results are merged by one task.
_FAN = 16


class BlockMap(NamedTuple):
    """Work that is done to all blocks of some arrays.

    Attributes
    ----------
    work : callable
        ``work(where, *blocks, *given)``; a function, or a dataclass of what it has to know.
    edges : sequence of tuple of int
        Of the chunks of results along each axis.
    sources : sequence of (array, list of list of Window)
        What is read, and along each axis a window for each chunk of results; an array of fewer axes has the last ones.
    locate : callable
        Says of the numbers of a chunk where it lies: an object whose `inner` says what counts of the result.
    """

    work: Callable[..., Any]
    edges: Sequence[Edges]
    sources: Sequence[tuple[Any, Sequence[Sequence[Window]]]]
    locate: Callable[[Index], Any]

    def describe(self) -> tuple[Any, ...]:
        """Return all that makes it, in a form that has the same token in every process."""
        return _describe(self.work), tuple(self.edges), [(x.name, windows) for x, windows in self.sources]


#: Several kinds of work that are done to the same chunks by one task, by name; all take what else is given.
BlockMaps = Mapping[str, BlockMap]


def draw_array(
    own: BlockMap, title: str, given: Sequence[Any] = (), meta: Any = None, lengths: Sequence[int] | None = None
) -> Any:
    """Return an array each chunk of which is computed from a block.

    Parameters
    ----------
    own : BlockMap
        Its work returns an array, of which counts what `locate` says.
    title : str
        For its name.
    given : sequence
        What else the work takes: numbers, or small results.
    meta : array, optional
        An empty array of the kind and dtype of the chunks; that of the first source if left out.
    lengths : sequence of int, optional
        How long chunks should be that are parts of those of the work.
    """
    draft = _Draft(title, {"": own}, given)
    draft.add_blocks(draft.name, {"": own}, compute_one, given)
    meta = find_meta(own.sources[0][0]) if meta is None else meta
    grid = Grid(draft.name, tuple(own.edges))
    graph = draft.finish([own], given)
    if lengths is None:
        return ComputedArray(graph, draft.name, grid.chunks, meta=meta)
    parts, tasks = divide(grid, draft.name.replace(title, "samples"), lengths)
    return put_above(graph, draft.name, parts, tasks, meta)


def draw_bundle(
    maps: BlockMaps, title: str, given: Sequence[Any] = (), edges: Mapping[str, Any] | None = None, meta: Any = None
) -> Bundle:
    """Return bands, all of which are computed by one task for each chunk.

    Parameters
    ----------
    maps : mapping of BlockMap
        Each gives the band of its name, as in `draw_array`; or the only one gives a dictionary of all bands.
    title, given, meta
        As in `draw_array`.
    edges : mapping, optional
        Of the bands of that dictionary.
    """
    draft = _Draft(title, maps, given)
    draft.add_blocks(draft.name, maps, compute_all if edges is None else compute_one, given)
    own = {key: tuple(each.edges) for key, each in maps.items()} if edges is None else edges
    meta = find_meta(next(iter(maps.values())).sources[0][0]) if meta is None else meta
    return Bundle(draft.name, draft.finish(list(maps.values()), given), own, meta)


def draw_statistic(
    groups: Sequence[BlockMaps],
    title: str,
    merge: Callable[[list[Any]], Any],
    conclude: Callable[..., Any],
    *,
    given: Sequence[Any] = (),
    facts: Sequence[Any] = (),
) -> Delayed:
    """Return a small result that follows from all blocks.

    Parameters
    ----------
    groups : sequence of mapping of BlockMap
        What is gathered from each block, as dictionaries.
    title : str
        For its name.
    merge : callable
        Merges what was gathered from several blocks; called with some at a time.
    conclude : callable
        Returns the result: ``conclude(merged, *facts)``.
    given, facts : sequence
        What else the work and the conclusion take.
    """
    every = {f"{number} {key}": own for number, group in enumerate(groups) for key, own in group.items()}
    draft = _Draft(title, every, (*given, conclude, *facts))
    keys: list[Key] = []
    for number, group in enumerate(groups):
        keys += draft.add_blocks(f"{draft.name}-look{number}", group, gather, given)
    level = 0
    while len(keys) > 1 or level == 0:
        parts = [keys[first : first + _FAN] for first in range(0, len(keys), _FAN)]
        keys = [draft.add((f"{draft.name}-merge", level, at), merge, own) for at, own in enumerate(parts)]
        level += 1
    name = draft.add(f"{draft.name}-result", conclude, TaskRef(keys[0]), *map(_refer, facts))
    return Delayed(name, draft.finish(list(every.values()), (*given, *facts)), layer=draft.name)


class _Draft:
    """A graph in the making.

    Parameters
    ----------
    title : str
        For the name of its layer.
    maps, given
        What tells it from others.
    """

    def __init__(self, title: str, maps: BlockMaps, given: Sequence[Any]) -> None:
        about = {key: own.describe() for key, own in maps.items()}
        self.name = f"subband-{title}-{tokenize(about, list(map(_describe, given)))}"
        self.tasks: dict[Key, Any] = {}
        self._shared: dict[Any, Any] = {}

    def add_blocks(self, name: str, maps: BlockMaps, function: Callable[..., Any], given: Sequence[Any]) -> list[Key]:
        """Add a task for each block, and return the keys."""
        works = {key: own.work for key, own in maps.items()}
        sources = [
            ((key, number), find_grid(x), windows)
            for key, own in maps.items()
            for number, (x, windows) in enumerate(own.sources)
        ]
        others = list(map(_refer, given))
        keys = []
        for index in Grid(name, tuple(next(iter(maps.values())).edges)).walk():
            numbers: dict[Key, int] = {}
            parts: dict[Any, Part] = {}
            for at, grid, axes in sources:
                windows = [own[n] for own, n in zip(axes, index[-len(axes) :], strict=True)]
                recipe, needed = self._request(grid, windows)
                picks = tuple([numbers.setdefault(key, len(numbers)) for key in needed])
                parts[at] = self._share(("part", id(recipe), picks, grid.band), partial(Part, recipe, picks, grid.band))
            about = "parts", tuple((at, id(part)) for at, part in parts.items())
            wheres = {key: own.locate(index) for key, own in maps.items()}
            shared = self._share(about, partial(dict, parts))
            keys.append(self.add((name, *index), function, works, wheres, shared, list(numbers), *others))
        return keys

    def add(self, key: Key, function: Callable[..., Any], *arguments: Any) -> Key:
        """Add a task, and return its key; lists hold keys of other tasks, and `TaskRef` stands for a single one."""
        given = [List(*map(TaskRef, each)) if type(each) is list else each for each in arguments]
        self.tasks[key] = Task(key, function, *given)
        return key

    def finish(self, maps: Sequence[BlockMap], given: Sequence[Any]) -> HighLevelGraph:
        """Return the graph, with those of the arrays and small results that it stands on."""
        needed: dict[str, Any] = {}
        for own in maps:
            for x, _ in own.sources:
                if isinstance(x, Band):
                    needed[x.bundle.name] = Delayed(x.bundle.name, x.bundle.graph, layer=x.bundle.name)
                else:
                    needed[x.name] = x
        waited = [*needed.values(), *(each for each in given if isinstance(each, Delayed))]
        return HighLevelGraph.from_collections(self.name, self.tasks, dependencies=waited)

    def _share(self, about: Hashable, make: Callable[[], Any]) -> Any:
        """Return one object for all tasks that are alike: most chunks lie in the middle, where all look the same."""
        if about not in self._shared:
            self._shared[about] = make()
        return self._shared[about]

    def _request(self, grid: Grid, windows: Sequence[Window]) -> tuple[Recipe, list[Key]]:
        """Return how a block is put together, and the keys of its pieces.

        Of neighbours only what is needed is asked for, cut off where it lies.
        """
        axes = [
            self._share(("segments", edges, window), partial(list, walk_segments(edges, window)))
            for edges, window in zip(grid.edges, windows, strict=True)
        ]
        about = "recipe", tuple(tuple(each[1:] for each in own) for own in axes)
        recipe, taken = self._share(about, lambda: _make_recipe(axes))
        keys = []
        for segments, choice in zip(product(*axes), taken, strict=True):
            key = (grid.name, *(each.number for each in segments))
            if choice is not None:
                axis, part = choice
                slices = (*(slice(None),) * axis, part)
                whole, key = key, (f"{self.name}-cut", *key, axis, part.start, part.stop)
                if key not in self.tasks:
                    self.tasks[key] = Task(key, cut, TaskRef(whole), slices)
            keys.append(key)
        return recipe, keys


def _make_recipe(axes: Sequence[Sequence[Segment]]) -> tuple[Recipe, list[tuple[int, slice] | None]]:
    """Return a recipe, and for each piece what is cut off where it lies: along one axis, as several blocks share it."""
    regions, cuts, taken = [], [], []
    for segments in product(*axes):
        regions.append(tuple(slice(each.offset, each.offset + each.end - each.begin) for each in segments))
        parts = {axis: slice(each.begin, each.end) for axis, each in enumerate(segments) if _is_partial(each)}
        first: tuple[int, slice] | None = None
        if parts:
            thinnest = min(parts, key=lambda axis: (parts[axis].stop - parts[axis].start) / segments[axis].length)
            first = thinnest, parts.pop(thinnest)
        taken.append(first)
        cuts.append(tuple(parts.get(axis, slice(None)) for axis in range(len(segments))) if parts else None)
    shape = tuple(sum(each.end - each.begin for each in own) for own in axes)
    return Recipe(shape, tuple(regions), tuple(cuts)), taken


def _is_partial(segment: Segment) -> bool:
    return segment.end - segment.begin < segment.length


def _refer(value: Any) -> Any:
    """Return what stands for a small result, or a number, in a task."""
    return TaskRef(value.key) if isinstance(value, Delayed) else value


def _describe(value: Any) -> Any:
    """Return what tells a function, a small result or a number from others, and is the same in every process."""
    if isinstance(value, Delayed):
        return value.key
    if not callable(value) or hasattr(value, "__dask_tokenize__"):
        return value
    owner = getattr(value, "__self__", value)
    return getattr(value, "__qualname__", ""), "" if hasattr(owner, "__qualname__") else repr(owner)
