"""Stages without decimation: all bands are as large as the array, and arrays of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask.delayed import Delayed
from dask.graph_manipulation import bind

from subband.engines import Engine
from subband.enhance.noise import combine_gains
from subband.enhance.passage import Passage
from subband.enhance.stages import Denoise, Shrink
from subband.errors import ArgumentError
from subband.integrations.dask.decomposition import extend_array
from subband.integrations.dask.engine import DaskEngine
from subband.integrations.dask.margins import draw_blocks
from subband.integrations.dask.noise import draw_band_noise, draw_band_powers
from subband.integrations.dask.planes import BandStage, LevelShrink
from subband.pipeline.reach import Reach
from subband.stationary import stationary_plan
from subband.typing import Bands

__all__ = ["run_undecimated"]


def run_undecimated(
    stage: Denoise | Shrink,
    passage: Passage,
    planes: Any,
    noise: Any,
    shrinks: Sequence[LevelShrink],
    engine: str | Engine | None,
) -> tuple[Any, Any, Any]:
    """Return planes that went through such a stage, the planes as they were read for it, and the noise in them.

    Parameters
    ----------
    stage : Denoise or Shrink
        What is done.
    passage : Passage
        Its transform.
    planes : dask array
        Leading axes, then those of space.
    noise : ndarray or None
        Its strength in each plane; measured if None.
    shrinks : sequence of LevelShrink
        What happens on each level.
    engine : str, Engine or None
        Who computes.
    """
    if stage.filters:
        raise ArgumentError(
            "form='undecimated' with filters is not there for arrays of Dask; use form='decimated' or 'spun', or put "
            "the filters behind the stage"
        )
    dimensions = shrinks[0].dimensions
    if isinstance(stage, Denoise):
        known: list[Any] = [noise, None]
        if noise is None or stage.method == "bayes":
            _, details = _forward(passage, planes, dimensions, engine)
            diagonal = "d" * len(passage.axes)
            if noise is None:
                gain = combine_gains(passage.wavelets, 1, diagonal)
                known[0] = draw_band_noise(details[0][diagonal], gain, dimensions)
            if stage.method == "bayes":
                known[1] = draw_band_powers(details, dimensions)
        noise, statistic = known
        waited = [each for each in known if isinstance(each, Delayed)]
        if waited:
            planes = bind(planes, waited)
    else:
        statistic = None
    x, details = _forward(passage, planes, dimensions, engine)
    draw = DaskEngine(engine)
    axes = _find_axes(passage, planes.ndim - dimensions)
    for number in range(passage.level, 0, -1):
        shrink, bands = shrinks[number - 1], details[number - 1]
        half = shrink.window // 2
        shrunk: Bands = {}
        for key, band in bands.items():
            parent = details[number][key] if shrink.looks_around and number < passage.level else None
            work = BandStage(shrink, key)
            shrunk[key] = draw_blocks(band, parent, work, [Reach(half, half)] * dimensions, noise, statistic)
        plan = stationary_plan(tuple(x.shape), axes, passage.wavelets, number)
        x = draw.stationary_inverse(plan, {"a" * len(axes): x, **shrunk})
    inner = [slice(None)] * planes.ndim
    for axis in axes:
        margin = _find_margin(passage)
        inner[axis] = slice(margin, margin + planes.shape[axis])
    return x[tuple(inner)].rechunk(planes.chunks), planes, noise


def _forward(passage: Passage, planes: Any, dimensions: int, engine: str | Engine | None) -> tuple[Any, list[Bands]]:
    """Return approximation and details, the finest first, of planes with margins around them."""
    axes = _find_axes(passage, planes.ndim - dimensions)
    x = planes
    for axis in axes:
        x = extend_array(x, axis, "reflect", _find_margin(passage), _find_margin(passage))
    draw, details = DaskEngine(engine), []
    for number in range(1, passage.level + 1):
        bands = draw.stationary_forward(stationary_plan(tuple(x.shape), axes, passage.wavelets, number), x)
        x = bands.pop("a" * len(axes))
        details.append(bands)
    return x, details


def _find_axes(passage: Passage, before: int) -> tuple[int, ...]:
    return tuple(axis + before for axis in passage.axes)


def _find_margin(passage: Passage) -> int:
    return int((2**passage.level - 1) * (passage.wavelets[0].dec_len // 2))
