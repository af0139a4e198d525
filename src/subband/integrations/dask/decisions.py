"""What follows from all coefficients of a band before the first of them is changed: thresholds, factors and windows.

Chunks count, the counts are added a few at a time, and one small task decides for all bands of all planes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from dask.task_spec import TaskRef

from subband.engines import Engine
from subband.enhance.roundtrip import Roundtrip
from subband.integrations.dask.findings import Statistic
from subband.integrations.dask.graphs import Draft, Grid, find_grid
from subband.integrations.dask.noise import merge_tree
from subband.integrations.dask.rules import LevelShrink
from subband.integrations.dask.shrinkage import draw_forward, draw_spin, draw_tallies
from subband.integrations.dask.stationary import forward_stationary
from subband.integrations.dask.tallies import add_tallies
from subband.plan import transform_plan
from subband.typing import Array

__all__ = ["draw_decisions", "draw_stationary_decisions"]


def draw_decisions(
    planes: Any,
    passage: Roundtrip,
    engine: str | Engine | None,
    steps: Mapping[int, int],
    shrinks: Sequence[LevelShrink],
    noise: Any,
) -> Delayed:
    """Return what a method has to know of whole bands, in each plane, for the positions 0 and 1 of the planes.

    Parameters
    ----------
    planes : dask array
        Leading axes, then those of space.
    passage : Roundtrip
        Its transform.
    engine : str, Engine or None
        Who computes.
    steps : mapping of int
        How far the second position is moved along each axis; there is none if nothing moves.
    shrinks : sequence of LevelShrink
        What is to be done on each level.
    noise : ndarray, Delayed or None
        Its strength in each plane, if the method has to know that first.
    """
    dimensions = shrinks[0].dimensions
    before = planes.ndim - dimensions
    axes = tuple(axis + before for axis in passage.axes)
    names = [wavelet.name for wavelet in passage.wavelets]
    about = planes.name, passage.modes, names, passage.level, str(engine), steps, repr(shrinks), str(noise)
    draft = Draft(f"subband-statistic-{tokenize(*about)}")
    grid = find_grid(planes)
    given = TaskRef(noise.key) if isinstance(noise, Delayed) else noise
    found: list[Any] = []
    rules: dict[Any, Any] = {}
    for position, source in enumerate([grid, draw_spin(draft, grid, steps)] if any(steps.values()) else [grid]):
        plan = transform_plan(source.shape, axes, passage.wavelets, passage.modes, passage.level)
        for bundles, shrink in zip(draw_forward(draft, source, plan, position, engine), shrinks, strict=True):
            grids = {key: bundles.grid(key) for key in bundles.details}
            _draw_level(draft, found, rules, grids, axes, replace(shrink, position=position), given)
    return _finish(draft, found, rules, planes, before, noise)


def draw_stationary_decisions(
    planes: Any, passage: Roundtrip, engine: str | Engine | None, shrinks: Sequence[LevelShrink], noise: Any
) -> Delayed:
    """Return what a method has to know of whole bands without decimation; see `draw_decisions`."""
    dimensions = shrinks[0].dimensions
    before = planes.ndim - dimensions
    axes = tuple(axis + before for axis in passage.axes)
    _, details = forward_stationary(planes, passage, dimensions, engine, passage.level)
    sources: list[Any] = [band for bands in details for band in bands.values()]
    about = [band.name for band in sources], repr(shrinks), str(noise)
    draft = Draft(f"subband-statistic-{tokenize(*about)}")
    given = TaskRef(noise.key) if isinstance(noise, Delayed) else noise
    found: list[Any] = []
    rules: dict[Any, Any] = {}
    for bands, shrink in zip(details, shrinks, strict=True):
        _draw_level(draft, found, rules, {key: find_grid(band) for key, band in bands.items()}, axes, shrink, given)
    return _finish(draft, found, rules, planes, before, noise, sources)


def _draw_level(
    draft: Draft,
    found: list[Any],
    rules: dict[Any, Any],
    grids: Mapping[str, Grid],
    axes: Sequence[int],
    shrink: LevelShrink,
    noise: Any,
) -> None:
    """Draw what is counted on one level, and note who decides about it."""
    full = {key: grid for key, grid in grids.items() if 0 not in grid.shape}
    if shrink.weight == 0 or not full:
        return
    found += draw_tallies(draft, full, axes, shrink, noise)
    for key, grid in full.items():
        rules[shrink.position, shrink.level, key] = shrink, prod(grid.shape[-shrink.dimensions :])


def _finish(
    draft: Draft,
    found: Sequence[Any],
    rules: Mapping[Any, Any],
    planes: Any,
    before: int,
    noise: Any,
    sources: Sequence[Any] = (),
) -> Delayed:
    """Add what was counted in all chunks, and decide."""
    by_planes: dict[Any, list[Any]] = {}
    for key, leading in found:
        by_planes.setdefault(tuple((part.start, part.stop) for part in leading), []).append(key)
    merged = [merge_tree(draft, keys, number, add_tallies) for number, keys in enumerate(by_planes.values())]
    name = draft.name.replace("-statistic-", "-decision-")
    given = noise.key if isinstance(noise, Delayed) else noise
    where = {"places": list(by_planes)}
    draft.tasks[name] = (_decide, merged, where, {"rules": dict(rules)}, planes.shape[:before], given)
    waited = [*(sources or [planes]), *([noise] if isinstance(noise, Delayed) else [])]
    return Delayed(name, draft.finish(waited), layer=draft.name)


def _decide(
    merged: list[dict[Any, Array]], where: dict[str, Any], given: dict[str, Any], leading: Any, noise: Any
) -> Statistic:
    """Return what follows from all that was counted, for each band and each plane."""
    statistic: dict[Any, Array] = {}
    for tallies, places in zip(merged, where["places"], strict=True):
        part = tuple(slice(*place) for place in places)
        numbers = None if noise is None else noise[part].reshape(-1)
        for at, tally in tallies.items():
            shrink, count = given["rules"][at]
            own = shrink.decide(at[2], tally, numbers, count)
            if at not in statistic:
                statistic[at] = np.zeros((*leading, *own.shape[1:]))
            statistic[at][part] = own.reshape(statistic[at][part].shape)
    return statistic
