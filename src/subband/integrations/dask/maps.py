"""Work on chunks with margins, as graphs: arrays that come of it, and small results that all chunks have a part in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import Task, TaskRef

from subband.enhance.blockwise import Block, Reach, widen
from subband.integrations.dask.blocks import Parts, compact, share_cores, stay_with
from subband.integrations.dask.graphs import Bundle, Draft, Grid, find_grid, find_meta
from subband.integrations.dask.windows import Edges, Window, plain_window

__all__ = ["Blocks", "Look", "draw_array", "draw_bundle", "draw_statistic"]

#: A window for each chunk of results along each axis; an array of fewer axes has the last ones.
Windows = Sequence[Sequence[Window]]

#: What is read, and how; as the chunks of results lie if there are no windows.
Source = tuple[Any, Windows | None]

# How many results are merged by one task.
_FAN = 16


class Blocks:
    """Chunks of results, and the blocks that they are computed from.

    Parameters
    ----------
    edges : sequence of tuple of int
        Where chunks begin along each axis, and where it ends.
    reaches : sequence of Reach
        How far blocks reach beyond their chunks, along the last axes, which are those of space.
    """

    def __init__(self, edges: Sequence[Edges], reaches: Sequence[Reach]) -> None:
        self.edges = tuple(edges)
        self._before = len(self.edges) - len(reaches)
        self.ranges = [list(pairwise(own)) for own in self.edges[: self._before]]
        for own, reach in zip(self.edges[self._before :], reaches, strict=True):
            fewest = reach.before + reach.behind
            self.ranges.append([widen(a, b, own[-1], reach, fewest) for a, b in pairwise(own)])

    @cached_property
    def windows(self) -> list[list[Window]]:
        """What each block is made of, along each axis."""
        return [[plain_window(*each) for each in own] for own in self.ranges]

    def find(self, index: Sequence[int]) -> Block:
        """Return where a block lies."""
        ranges = [own[at] for own, at in zip(self.ranges, index, strict=True)]
        chunks = [own[at : at + 2] for own, at in zip(self.edges, index, strict=True)]
        space = list(zip(ranges, chunks, strict=True))[self._before :]
        return Block(
            tuple(ranges[: self._before]),
            tuple(start for (start, _), _ in space),
            tuple(slice(begin - start, end - start) for (start, _), (begin, end) in space),
        )


class Look(NamedTuple):
    """What is done to all blocks of some arrays: ``work(block, *values, *given)``."""

    work: Callable[..., Any]
    blocks: Blocks
    sources: Sequence[Source]

    def describe(self) -> tuple[Any, ...]:
        """Return all that makes it, in a form that has the same token in every process."""
        read = [[[window.runs for window in each] for each in own or ()] for _, own in self.sources]
        return _describe(self.work), self.blocks.edges, self.blocks.ranges, [x.name for x, _ in self.sources], read

    def request(self, index: Sequence[int]) -> Iterator[tuple[int, Grid, list[Window]]]:
        """Yield what is read for one block."""
        for place, (x, own) in enumerate(self.sources):
            windows = self.blocks.windows if own is None else own
            yield place, find_grid(x), [each[at] for each, at in zip(windows, index[-len(windows) :], strict=True)]


#: Several things that are done to the same chunks by one task, by name; all take what else is given.
Looks = Mapping[str, Look]


def draw_array(look: Look, title: str, given: Sequence[Any] = (), meta: Any = None) -> Any:
    """Return an array each chunk of which is computed from a block.

    Parameters
    ----------
    look : Look
        Its work returns a block of the size of the first one that it is given, from which the margins are cut off.
    title : str
        For its name.
    given : sequence
        What else the work takes: numbers, or small results.
    meta : array, optional
        An empty array of the kind and dtype of the chunks; that of the first source if left out.
    """
    draft = _draw(title, {"": look}, compute_chunk, given)
    first = look.sources[0][0]
    return draft.make_array(_list_needs([look], given), look.blocks.edges, find_meta(first) if meta is None else meta)


def draw_bundle(looks: Looks, title: str, given: Sequence[Any] = ()) -> Bundle:
    """Return bands, all of which are computed by one task for each chunk; `draw_array` says how."""
    draft = _draw(title, looks, compute_chunks, given)
    graph = draft.finish(_list_needs(list(looks.values()), given))
    meta = find_meta(next(iter(looks.values())).sources[0][0])
    return Bundle(draft.name, graph, {key: look.blocks.edges for key, look in looks.items()}, meta)


def draw_statistic(
    groups: Sequence[Looks],
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
    groups : sequence of mapping of Look
        What is gathered from each block, as dictionaries.
    title : str
        For its name.
    merge : callable
        Merges what was gathered from several blocks; called with some at a time.
    conclude : callable
        Returns the result: ``conclude(merged, *facts)``.
    given, facts : sequence
        What else the looks and the conclusion take.
    """
    about = [[look.describe() for look in group.values()] for group in groups]
    token = tokenize(about, _describe(conclude), list(map(_describe, (*given, *facts))))
    draft = Draft(f"subband-{title}-{token}")
    keys: list[Any] = []
    for number, group in enumerate(groups):
        keys += _add_tasks(draft, f"{draft.name}-look{number}", group, gather_from_chunk, given)
    level = 0
    while len(keys) > 1 or level == 0:
        parts = [list(keys[place : place + _FAN]) for place in range(0, len(keys), _FAN)]
        keys = [draft.add((level, at), merge, own, name=f"{draft.name}-merge") for at, own in enumerate(parts)]
        level += 1
    name = f"{draft.name}-result"
    draft.tasks[name] = Task(name, conclude, TaskRef(keys[0]), *map(_refer, facts))
    looks = [look for group in groups for look in group.values()]
    return Delayed(name, draft.finish(_list_needs(looks, (*given, *facts))), layer=draft.name)


def _draw(title: str, looks: Looks, function: Callable[..., Any], given: Sequence[Any]) -> Draft:
    """Return a draft with a task for each block."""
    about = [(key, look.describe()) for key, look in looks.items()]
    draft = Draft(f"subband-{title}-{tokenize(about, list(map(_describe, given)))}")
    _add_tasks(draft, draft.name, looks, function, given)
    return draft


def _add_tasks(draft: Draft, name: str, looks: Looks, function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
    """Add a task for each block, and return the keys."""
    works = {key: look.work for key, look in looks.items()}
    others = list(map(_refer, given))
    keys = []
    for index in Grid(name, next(iter(looks.values())).blocks.edges).walk():
        wanted = [
            ((key, place), grid, windows) for key, look in looks.items() for place, grid, windows in look.request(index)
        ]
        parts, pieces = draft.request_all(wanted)
        blocks = {key: look.blocks.find(index) for key, look in looks.items()}
        keys.append(draft.add(index, function, works, blocks, parts, pieces, *others, name=name))
    return keys


def _work(works: Any, blocks: Mapping[str, Block], parts: Parts, pieces: Sequence[Any], given: Any) -> dict[str, Any]:
    """Fetch what each work reads, and return what it makes of that."""
    with share_cores(), stay_with(pieces[0]):
        return {
            key: work(blocks[key], *(part.fetch(pieces) for (own, _), part in parts.items() if own == key), *given)
            for key, work in works.items()
        }


def gather_from_chunk(works: Any, blocks: Any, parts: Parts, pieces: Sequence[Any], *given: Any) -> dict[Any, Any]:
    """Return what was gathered by all works."""
    found = _work(works, blocks, parts, pieces, given)
    return {key: value for own in found.values() for key, value in own.items()}


def compute_chunks(works: Any, blocks: Any, parts: Parts, pieces: Sequence[Any], *given: Any) -> dict[str, Any]:
    """Return what counts of the blocks that works make."""
    found = _work(works, blocks, parts, pieces, given)
    return {key: compact(x[(..., *blocks[key].inner)], x.size) for key, x in found.items()}


def compute_chunk(works: Any, blocks: Any, parts: Parts, pieces: Sequence[Any], *given: Any) -> Any:
    """Return what counts of the block that the only work makes."""
    (chunk,) = compute_chunks(works, blocks, parts, pieces, *given).values()
    return chunk


def _refer(value: Any) -> Any:
    """Return what stands for a small result, or a number, in a task."""
    return TaskRef(value.key) if isinstance(value, Delayed) else value


def _list_needs(looks: Sequence[Look], given: Sequence[Any]) -> list[Any]:
    """Return the arrays and small results that tasks stand on."""
    return [
        *(x for look in looks for x, _ in look.sources),
        *(each for each in given if isinstance(each, Delayed)),
    ]


def _describe(value: Any) -> Any:
    """Return what tells a function, a small result or a number from others, and is the same in every process."""
    if isinstance(value, Delayed):
        return value.key
    if not callable(value):
        return value
    owner = getattr(value, "__self__", value)
    return getattr(value, "__qualname__", ""), "" if hasattr(owner, "__qualname__") else repr(owner)
