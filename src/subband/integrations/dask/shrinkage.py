"""Denoising level by level: the graph of a stage that transforms, shrinks and transforms back.

The bands of a chunk stay together in one task's result, so that whoever needs the borders of all of them asks once.
Going up again, a chunk depends on those chunks only whose samples can have a say in it; what it needs has been computed
when its neighbours were, and nothing waits for the end of the array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from dask.task_spec import TaskRef

from subband.boundary import Extension, extend
from subband.engines import Engine
from subband.integrations.dask.blocks import LocalLevel, gather
from subband.integrations.dask.graphs import Draft, Grid, list_windows
from subband.integrations.dask.levels import AxisCut, cut_coefficients, cut_samples, find_reach
from subband.integrations.dask.planes import merge_planes, shrink_chunk, split_planes
from subband.integrations.dask.rules import LevelShrink
from subband.integrations.dask.tallies import TallyTask, tally_chunk
from subband.integrations.dask.windows import Edges, Window, join_chunks, open_window, plain_window
from subband.plan import LevelPlan, TransformPlan

__all__ = [
    "Bundles",
    "draw_forward",
    "draw_inverse",
    "draw_shrinkage",
    "draw_spin",
    "draw_tallies",
    "find_leading",
    "localise",
]


@dataclass(frozen=True)
class Bundles:
    """The bands of a level, chunk by chunk.

    Attributes
    ----------
    name : str
        What the keys of the chunks begin with; each holds a dictionary of bands.
    edges : tuple of tuple of int
        Of the low coefficients, along all axes.
    plan : LevelPlan
        Of the whole array.
    """

    name: str
    edges: tuple[Edges, ...]
    plan: LevelPlan

    @property
    def low(self) -> str:
        """The key of the approximation."""
        return "a" * len(self.plan.axes)

    @property
    def details(self) -> list[str]:
        """The keys of the other bands."""
        return [key for key in self.plan.band_shapes if "d" in key]

    def grid(self, key: str) -> Grid:
        """Return the chunks of one band."""
        shape = self.plan.band_shapes[key]
        return Grid(self.name, tuple(tuple(min(e, n) for e in own) for own, n in zip(self.edges, shape, strict=True)))


def draw_forward(
    draft: Draft, grid: Grid, plan: TransformPlan, position: int, engine: str | Engine | None
) -> list[Bundles]:
    """Draw all levels of planes, and return the bundles of each, the finest first."""
    levels: list[Bundles] = []
    source, key = grid, ""
    for number, level in enumerate(plan.levels, 1):
        joined = list(source.edges)
        cuts: dict[int, AxisCut] = {}
        for axis, own in zip(level.axes, level.plans, strict=True):
            joined[axis] = join_chunks(joined[axis], find_reach(own))
            cuts[axis] = cut_coefficients(own, joined[axis])
        carried = {axis: list_windows(own) for axis, own in enumerate(joined) if axis not in cuts}
        edges = tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(joined))
        name = f"{draft.name}-split{position}{number}"
        for index in Grid(name, edges).walk():
            windows = [cuts[axis].low[at] if axis in cuts else carried[axis][at] for axis, at in enumerate(index)]
            recipe, keys = draft.request(source, windows)
            local = localise(draft, level, cuts, index, engine)
            draft.add(index, split_planes, local, recipe, keys, key, name=name)
        levels.append(Bundles(name, edges, level))
        key = levels[-1].low
        source = levels[-1].grid(key)
    return levels


def draw_shrinkage(
    draft: Draft, levels: Sequence[Bundles], shrinks: Sequence[LevelShrink], noise: Any, statistic: Any
) -> list[Bundles]:
    """Draw the shrinking of all details, and return bundles without approximations."""
    shrunk = []
    for number, (bundles, shrink) in enumerate(zip(levels, shrinks, strict=True)):
        above = levels[number + 1] if number + 1 < len(levels) and shrink.takes_parent else None
        result = Bundles(bundles.name.replace("-split", "-shrink"), bundles.edges, bundles.plan)
        grids = {key: bundles.grid(key) for key in bundles.details}
        parents_of = {} if above is None else {key: above.grid(key) for key in bundles.details}
        for index in Grid(result.name, result.edges).walk():
            crops: dict[str, tuple[slice, ...]] = {}
            wanted, families = [], []
            for key in bundles.details:
                grid = grids[key]
                windows, starts, crops[key] = _look_around(grid, index, bundles.plan.axes, shrink.window // 2)
                wanted.append((key, grid, windows))
                if above is not None:
                    family = parents_of[key]
                    found = _find_parents(family, windows, starts, bundles.plan.axes, shrink.shift)
                    families.append((f"{key}{key}", family, found))
            parts, pieces = draft.request_all([*wanted, *families])
            about = "crops", tuple((key, tuple((part.start, part.stop) for part in own)) for key, own in crops.items())
            crop = draft.share(about, partial(dict, crops))
            leading = _Opaque(find_leading(result.edges, index, shrink.dimensions))
            arguments = shrink, parts, crop, pieces, noise, statistic, leading
            draft.add(index, shrink_chunk, *arguments, name=result.name)
        shrunk.append(result)
    return shrunk


def draw_inverse(
    draft: Draft,
    levels: Sequence[Bundles],
    shrunk: Sequence[Bundles],
    edges: Sequence[Edges],
    position: int,
    engine: str | Engine | None,
    others: Grid | None = None,
) -> Grid:
    """Draw the way back, and return the planes, cut at `edges`; or the mean of them and `others`."""
    low = levels[-1].low
    approximation = levels[-1].grid(low)
    for number in reversed(range(len(levels))):
        bundles = levels[number]
        goal = levels[number - 1].edges if number else tuple(edges)
        cuts = {
            axis: cut_samples(own, bundles.edges[axis], goal[axis])
            for axis, own in zip(bundles.plan.axes, bundles.plan.plans, strict=True)
        }
        carried = {axis: list_windows(own) for axis, own in enumerate(goal) if axis not in cuts}
        name = f"{draft.name}-merge{position}{number}"
        sources = {low: approximation, **{key: shrunk[number].grid(key) for key in bundles.details}}
        result = Grid(name, goal)
        for index in result.walk():
            wanted = []
            for key, grid in sources.items():
                letters = dict(zip(bundles.plan.axes, key, strict=True))
                windows = [
                    carried[axis][at]
                    if axis in carried
                    else (cuts[axis].low if letters[axis] == "a" else cuts[axis].high)[at]
                    for axis, at in enumerate(index)
                ]
                wanted.append((key, grid, windows))
            parts, pieces = draft.request_all(wanted)
            other = TaskRef(others.key(index)) if others is not None and number == 0 else None
            local = localise(draft, bundles.plan, cuts, index, engine)
            draft.add(index, merge_planes, local, parts, pieces, other, name=name)
        approximation = result
    return approximation


def draw_spin(draft: Draft, grid: Grid, steps: Mapping[int, int]) -> Grid:
    """Return planes with some samples more before each axis, mirrored; only the first chunks are new ones."""
    name = f"{draft.name}-spin"
    edges = []
    windows: list[list[Window]] = []
    for axis, own in enumerate(grid.edges):
        step, length = steps.get(axis, 0), own[-1]
        edges.append((0, *(edge + step for edge in own[1:])))

        def mirror(start: int, stop: int, length: int = length) -> Extension:
            return extend("reflect", length, start, stop)

        starts = (-step, *own[1:-1])
        windows.append([open_window(mirror, length, a, b) for a, b in zip(starts, own[1:], strict=True)])
    aliases = {}
    for index in grid.walk():
        if any(steps.get(axis, 0) and place == 0 for axis, place in enumerate(index)):
            recipe, keys = draft.request(grid, [windows[axis][place] for axis, place in enumerate(index)])
            draft.add(index, gather, recipe, keys, name=name)
        else:
            aliases[index] = grid.key(index)
    return Grid(name, tuple(edges), aliases)


def draw_tallies(
    draft: Draft, grids: Mapping[str, Grid], axes: Sequence[int], shrink: LevelShrink, noise: Any
) -> list[tuple[Any, tuple[slice, ...]]]:
    """Draw what is counted in the details of one level; return keys, and to which planes each belongs.

    Parameters
    ----------
    draft : Draft
        Where to.
    grids : mapping of Grid
        Of each band; all are cut at the same places.
    axes : sequence of int
        The transformed ones.
    shrink : LevelShrink
        What is to be done to the bands then.
    noise : ndarray, TaskRef or None
        Its strength in each plane, if that has to be known.
    """
    found = []
    name = f"{draft.name}-tally{shrink.position}{shrink.level}"
    dimensions, reach = shrink.dimensions, shrink.window // 2
    counts = {key: prod(grid.shape[-dimensions:]) for key, grid in grids.items()}
    longest = max(grids.values(), key=lambda grid: grid.shape)
    for index in longest.walk():
        inner: dict[str, tuple[slice, ...]] = {}
        rows: dict[str, int] = {}
        wanted = []
        for key, grid in grids.items():
            windows, starts, inner[key] = _look_around(grid, index, axes, reach)
            rows[key] = starts.get(len(grid.edges) - 2, 0) if dimensions > 1 else 0
            wanted.append((key, grid, windows))
        parts, pieces = draft.request_all(wanted)
        leading = find_leading(longest.edges, index, dimensions)
        key = draft.add(
            index, tally_chunk, shrink, TallyTask(parts, inner, rows, counts, leading), pieces, noise, name=name
        )
        found.append((key, leading))
    return found


class _Opaque(tuple[Any, ...]):
    """Slices, into which Dask does not look for keys."""

    __slots__ = ()


def localise(
    draft: Draft, plan: LevelPlan, cuts: Mapping[int, AxisCut], index: Sequence[int], engine: Any
) -> LocalLevel:
    """Return what a level does to one block."""
    low = tuple(cuts[axis].low_parts[index[axis]] for axis in plan.axes)
    high = tuple(cuts[axis].high_parts[index[axis]] for axis in plan.axes)
    wavelets = tuple(own.wavelet for own in plan.plans)

    def make() -> LocalLevel:
        return LocalLevel(plan.axes, wavelets, low, high, 0, False, plan.amplifies, engine)

    about = "level", plan.axes, plan.amplifies, tuple((part.start, part.stop) for part in (*low, *high))
    found: LocalLevel = draft.share(about, make)
    return found


def find_leading(edges: Sequence[Edges], index: Sequence[int], dimensions: int) -> tuple[slice, ...]:
    """Return which planes a chunk holds."""
    count = len(edges) - dimensions
    return tuple(slice(edges[axis][index[axis]], edges[axis][index[axis] + 1]) for axis in range(count))


def _look_around(
    grid: Grid, index: Sequence[int], axes: Sequence[int], reach: int
) -> tuple[list[Window], dict[int, int], tuple[slice, ...]]:
    """Return the windows of a chunk of coefficients with those around it, where they begin, and where the chunk is."""
    windows, starts, crop = [], {}, []
    for axis, (own, at) in enumerate(zip(grid.edges, index, strict=True)):
        begin, end = own[at], own[at + 1]
        if axis not in axes:
            windows.append(plain_window(begin, end))
            crop.append(slice(None))
            continue
        # from an even one on, so that parents keep their places
        first = max(begin - reach, 0) // 2 * 2
        last = min(end + reach, own[-1])
        starts[axis] = first
        windows.append(plain_window(first, last))
        crop.append(slice(begin - first, end - first))
    return windows, starts, tuple(crop)


def _find_parents(
    grid: Grid, windows: Sequence[Window], starts: Mapping[int, int], axes: Sequence[int], shift: int
) -> list[Window]:
    """Return the windows of the parents of coefficients."""
    found = list(windows)
    for axis in axes:
        length = grid.edges[axis][-1]
        if length == 0 or windows[axis].size == 0:
            found[axis] = plain_window(0, 0)
            continue
        first = min(starts[axis] // 2, length - 1)
        last = min((starts[axis] + windows[axis].size - 1 + shift) // 2 + 1, length)
        found[axis] = plain_window(first, max(last, first + 1))
    return found
