"""Statistics of a whole array, as small tasks: the strength of its noise, and the power of its bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from dask._task_spec import TaskRef
from dask.base import tokenize
from dask.delayed import Delayed, delayed

from subband.engines import Engine
from subband.engines.filters.base import NORMAL_MEDIAN
from subband.enhance.noise import combine_gains
from subband.enhance.passage import Passage
from subband.integrations.dask.graphs import Draft, Grid, find_grid, list_windows
from subband.integrations.dask.levels import cut_coefficients, find_reach
from subband.integrations.dask.planes import sketch_chunk, sketch_planes
from subband.integrations.dask.shrinkage import draw_forward, draw_powers, draw_spin, find_leading, localise
from subband.integrations.dask.sketch import Sketch, merge_sketches
from subband.integrations.dask.windows import join_chunks
from subband.plan import level_plan, transform_plan
from subband.typing import Array

__all__ = ["draw_band_noise", "draw_band_powers", "draw_noise", "draw_statistics"]

# How many results are merged by one task.
_FAN = 16


def draw_noise(planes: Any, passage: Passage, dimensions: int, engine: str | Engine | None) -> Delayed:
    """Return the standard deviation of noise in each plane, from sketches of the finest diagonal coefficients.

    Parameters
    ----------
    planes : dask array
        Leading axes, then those of space.
    passage : Passage
        Its wavelets and boundaries count.
    dimensions : int
        Number of axes of space.
    engine : str, Engine or None
        Who computes.
    """
    before = planes.ndim - dimensions
    axes = tuple(axis + before for axis in passage.axes)
    plan = level_plan(planes.shape, axes, passage.wavelets, passage.modes)
    grid = find_grid(planes)
    token = tokenize(planes.name, passage.modes, [wavelet.name for wavelet in passage.wavelets], str(engine))
    draft = Draft(f"subband-sketch-{token}")
    joined = list(grid.edges)
    cuts = {}
    for axis, own in zip(plan.axes, plan.plans, strict=True):
        joined[axis] = join_chunks(joined[axis], find_reach(own))
        cuts[axis] = cut_coefficients(own, joined[axis])
    carried = {axis: list_windows(own) for axis, own in enumerate(joined) if axis not in cuts}
    edges = tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(joined))
    diagonal = "d" * len(axes)
    by_planes: dict[Any, list[Any]] = {}
    for index in Grid(draft.name, edges).walk():
        windows = [cuts[axis].low[at] if axis in cuts else carried[axis][at] for axis, at in enumerate(index)]
        recipe, keys = draft.request(grid, windows)
        key = draft.add(
            index, sketch_chunk, localise(draft, plan, cuts, index, engine), recipe, keys, diagonal, dimensions
        )
        leading = tuple((part.start, part.stop) for part in find_leading(edges, index, dimensions))
        by_planes.setdefault(leading, []).append(key)
    return _finish_noise(draft, by_planes, planes, before, combine_gains(passage.wavelets, 1, diagonal), token)


def draw_band_noise(band: Any, gain: float, dimensions: int) -> Delayed:
    """Return the standard deviation of noise in each plane, from the finest diagonal band itself."""
    before = band.ndim - dimensions
    grid = find_grid(band)
    token = tokenize(band.name, gain)
    draft = Draft(f"subband-sketch-{token}")
    by_planes: dict[Any, list[Any]] = {}
    for index in grid.walk():
        key = draft.add(index, sketch_planes, TaskRef(grid.key(index)), dimensions)
        leading = tuple((part.start, part.stop) for part in find_leading(grid.edges, index, dimensions))
        by_planes.setdefault(leading, []).append(key)
    return _finish_noise(draft, by_planes, band, before, gain, token)


def _finish_noise(
    draft: Draft, by_planes: dict[Any, list[Any]], planes: Any, before: int, gain: float, token: str
) -> Delayed:
    """Merge the sketches of all chunks, and find the noise in them."""
    merged = [_merge_tree(draft, keys, number) for number, keys in enumerate(by_planes.values())]
    name = f"subband-noise-{token}"
    draft.tasks[name] = (_find_noise, merged, {"places": list(by_planes)}, planes.shape[:before], gain)
    return Delayed(name, draft.finish([planes]), layer=draft.name)


def _merge_tree(draft: Draft, keys: Sequence[Any], number: int) -> Any:
    """Merge the sketches of all chunks, a few at a time, and return the key of the last."""
    level, name = 0, f"{draft.name}-merge"
    while len(keys) > 1 or level == 0:
        groups = [list(keys[place : place + _FAN]) for place in range(0, len(keys), _FAN)]
        keys = [draft.add((number, level, at), _merge_planes, own, name=name) for at, own in enumerate(groups)]
        level += 1
    return keys[0]


def _merge_planes(sketches: list[list[Sketch]]) -> list[Sketch]:
    """Merge the sketches of several chunks, plane by plane."""
    return [merge_sketches(own) for own in zip(*sketches, strict=True)]


def _find_noise(merged: list[list[Sketch]], where: dict[str, Any], leading: Any, gain: float) -> Array:
    """Return the standard deviation of noise in each plane."""
    noise = np.zeros(tuple(leading))
    for sketches, places in zip(merged, where["places"], strict=True):
        part = tuple(slice(*place) for place in places)
        medians = np.array([sketch.median for sketch in sketches])
        noise[part] = medians.reshape(noise[part].shape) / (NORMAL_MEDIAN * gain)
    return noise


def draw_statistics(
    planes: Any, passage: Passage, dimensions: int, engine: str | Engine | None, steps: Mapping[int, int]
) -> Delayed:
    """Return the mean square of all details, in each plane, for the positions 0 and 1 of the planes.

    The second position is moved by `steps` along each axis; there is none if nothing moves.
    """
    before = planes.ndim - dimensions
    axes = tuple(axis + before for axis in passage.axes)
    token = tokenize(planes.name, passage.modes, [w.name for w in passage.wavelets], passage.level, str(engine), steps)
    draft = Draft(f"subband-powers-{token}")
    grid = find_grid(planes)
    found, counts = [], {}
    for position, source in enumerate([grid, draw_spin(draft, grid, steps)] if any(steps.values()) else [grid]):
        plan = transform_plan(source.shape, axes, passage.wavelets, passage.modes, passage.level)
        levels = draw_forward(draft, source, plan, position, engine)
        found += draw_powers(draft, levels, dimensions, position)
        for number, bundles in enumerate(levels, 1):
            for key in bundles.details:
                counts[position, number, key] = prod(bundles.plan.band_shapes[key][-dimensions:])
    name = f"subband-power-{token}"
    where = {"places": [[(part.start, part.stop) for part in own] for _, own in found]}
    draft.tasks[name] = (_sum_powers, [key for key, _ in found], where, {"counts": counts}, planes.shape[:before])
    return Delayed(name, draft.finish([planes]), layer=draft.name)


def _sum_powers(sums: list[dict[Any, Array]], where: dict[str, Any], counts: dict[str, Any], leading: Any) -> Any:
    """Return the mean square of each band in each plane."""
    powers = {at: np.zeros(tuple(leading)) for at in counts["counts"]}
    for own, places in zip(sums, where["places"], strict=True):
        part = tuple(slice(*place) for place in places)
        for at, squares in own.items():
            powers[at][part] += squares.reshape(powers[at][part].shape)
    return {at: total / max(counts["counts"][at], 1) for at, total in powers.items()}


def draw_band_powers(details: Sequence[Mapping[str, Any]], dimensions: int) -> Delayed:
    """Return the mean square of all details, in each plane, from the bands themselves; the finest come first."""
    means = {}
    for number, bands in enumerate(details, 1):
        for key, band in bands.items():
            wide = band.astype(np.float64)
            means[0, number, key] = (wide * wide).mean(axis=tuple(range(band.ndim - dimensions, band.ndim)))
    keys: list[Any] = list(means)
    collected: Delayed = delayed(_collect)({"keys": keys}, list(means.values()))
    return collected


def _collect(names: dict[str, Any], values: list[Array]) -> dict[Any, Array]:
    return dict(zip(names["keys"], values, strict=True))
