"""Blocks with margins: the graph of a stage that is run on each chunk and what lies around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import TaskRef

from subband.integrations.dask.graphs import Draft, Grid, find_grid, list_windows, make_array, rename
from subband.integrations.dask.planes import BlockTask, Works
from subband.integrations.dask.shrinkage import find_leading
from subband.integrations.dask.windows import Edges, Window, plain_window
from subband.pipeline.reach import Reach

__all__ = ["draw_blocks"]


def draw_blocks(
    planes: Any, guess: Any, stage: Works, reaches: Sequence[Reach], noise: Any, statistic: Any = None
) -> Any:
    """Return an array each chunk of which is computed from itself and what lies within reach of it.

    Parameters
    ----------
    planes : dask array
        Leading axes, then those of space.
    guess : dask array or None
        A second one, of the same shape.
    stage : Works
        What is done.
    reaches : sequence of Reach
        One for each axis of space.
    noise : ndarray, Delayed or None
        Its strength in each plane.
    statistic : Delayed or None
        What else has to be known of the whole.
    """
    grid = find_grid(planes)
    before = planes.ndim - len(reaches)
    windows: list[list[Window]] = [list_windows(own) for own in grid.edges[:before]]
    crops: list[list[slice]] = [[slice(None)] * len(own) for own in windows]
    for own, reach in zip(grid.edges[before:], reaches, strict=True):
        pairs = [_widen(own, at, reach) for at in range(len(own) - 1)]
        windows.append([window for window, _ in pairs])
        crops.append([crop for _, crop in pairs])
    name = f"subband-blocks-{tokenize(planes.name, getattr(guess, 'name', ''), repr(stage), str(reaches), str(noise))}"
    draft = Draft(f"{name}-work")
    other = None if guess is None else find_grid(guess)
    known, powers = (TaskRef(each.key) if isinstance(each, Delayed) else each for each in (noise, statistic))
    for index in grid.walk():
        chosen = [windows[axis][at] for axis, at in enumerate(index)]
        recipe, keys = draft.request(grid, chosen)
        task = BlockTask(recipe, None, tuple(crops[axis][at] for axis, at in enumerate(index)), ())
        if other is not None:
            second, more = draft.request(other, chosen)
            task, keys = replace(task, guess=second), keys + more
        task = replace(task, leading=find_leading(grid.edges, index, len(reaches)))
        draft.add(index, stage.run, task, keys, known, powers)
    waited = [each for each in (planes, guess, noise, statistic) if hasattr(each, "__dask_graph__")]
    results = Grid(name, grid.edges)
    tasks = rename(results, Grid(draft.name, grid.edges))
    return make_array(draft.finish(waited), draft.name, name, results, tasks, planes._meta)


def _widen(edges: Edges, at: int, reach: Reach) -> tuple[Window, slice]:
    """Return the window of a chunk and its margins, and where the chunk is in it."""
    begin, end, length = edges[at], edges[at + 1], edges[-1]
    stop = min(end + reach.behind, length)
    start = max(min(begin - reach.before, stop - reach.before - reach.behind), 0) // reach.step * reach.step
    stop = min(max(stop, start + reach.before + reach.behind), length)
    return plain_window(start, stop), slice(begin - start, end - start)
