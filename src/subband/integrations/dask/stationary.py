"""Stages without decimation: all bands are as large as the array, and arrays of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from subband.engines import Engine
from subband.enhance.roundtrip import Roundtrip
from subband.integrations.dask.decomposition import extend_array
from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.margins import draw_blocks
from subband.integrations.dask.planes import BandStage
from subband.integrations.dask.rules import LevelShrink
from subband.pipeline.reach import Reach
from subband.stationary import stationary_plan
from subband.typing import Bands

__all__ = ["forward_stationary", "run_stationary"]


def forward_stationary(
    planes: Any, passage: Roundtrip, dimensions: int, engine: str | Engine | None, levels: int
) -> tuple[Any, list[Bands]]:
    """Return the approximation after some levels, and their details, the finest first, of planes with margins."""
    axes = tuple(axis + planes.ndim - dimensions for axis in passage.axes)
    margin = passage.margin
    x = planes
    for axis in axes:
        x = extend_array(x, axis, "reflect", margin, margin)
    draw, details = DaskEngine(engine), []
    for number in range(1, levels + 1):
        bands = draw.stationary_forward(stationary_plan(tuple(x.shape), axes, passage.wavelets, number), x)
        x = bands.pop("a" * len(axes))
        details.append(bands)
    return x, details


def run_stationary(
    passage: Roundtrip,
    planes: Any,
    noise: Any,
    statistic: Any,
    shrinks: Sequence[LevelShrink],
    engine: str | Engine | None,
) -> Any:
    """Return planes that went through such a stage.

    Parameters
    ----------
    passage : Roundtrip
        Its transform.
    planes : dask array
        Leading axes, then those of space.
    noise : ndarray, Delayed or None
        Its strength in each plane.
    statistic : Delayed, mapping or None
        What the method has to know of whole bands.
    shrinks : sequence of LevelShrink
        What happens on each level.
    engine : str, Engine or None
        Who computes.
    """
    dimensions = shrinks[0].dimensions
    x, details = forward_stationary(planes, passage, dimensions, engine, passage.level)
    draw, margin = DaskEngine(engine), passage.margin
    axes = tuple(axis + planes.ndim - dimensions for axis in passage.axes)
    for number in range(passage.level, 0, -1):
        shrink, bands = shrinks[number - 1], details[number - 1]
        half = shrink.window // 2
        shrunk: Bands = {}
        for key, band in bands.items():
            parent = details[number][key] if shrink.takes_parent and number < passage.level else None
            work = BandStage(shrink, key)
            shrunk[key] = draw_blocks(band, parent, work, [Reach(half, half)] * dimensions, noise, statistic)
        plan = stationary_plan(tuple(x.shape), axes, passage.wavelets, number)
        x = draw.stationary_inverse(plan, {"a" * len(axes): x, **shrunk})
    inner = [slice(None)] * planes.ndim
    for axis in axes:
        inner[axis] = slice(margin, margin + planes.shape[axis])
    return x[tuple(inner)].rechunk(planes.chunks)
