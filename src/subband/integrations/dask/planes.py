"""What workers do with planes: transform them, and shrink the coefficients of one level of a chunk.

Planes have any number of leading axes, such as channels or frames, and then one to three axes of space. Here the
leading ones become a single one, as filters want it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol

import numpy as np

from subband.arrays import namespace
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.engines.filters import Filters, find_filters
from subband.enhance.methods import find_method
from subband.enhance.roundtrip import Coefficients, Roundtrip, apply_spatial
from subband.enhance.shrinking import denoise_guess, filter_by_guide, make_shrinker
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Stage
from subband.integrations.dask.blocks import (
    LocalLevel,
    Parts,
    Recipe,
    compact,
    fetch,
    merge_bands,
    share_cores,
    split_samples,
    stay_with,
)
from subband.integrations.dask.findings import Statistic, narrow
from subband.integrations.dask.rules import LevelShrink
from subband.typing import Array, Bands

__all__ = [
    "BandStage",
    "BlockStage",
    "BlockTask",
    "Works",
    "flatten",
    "merge_planes",
    "shrink_chunk",
    "split_planes",
]


def shrink_chunk(
    shrink: LevelShrink,
    parts: Parts,
    crops: Mapping[str, tuple[slice, ...]],
    pieces: Sequence[Any],
    noise: Any,
    statistic: Any,
    leading: tuple[slice, ...],
) -> Bands:
    """Return the details of one chunk, shrunk; the parents of a band have its name twice."""
    with share_cores(), stay_with(next(iter(pieces[0].values())) if isinstance(pieces[0], dict) else pieces[0]):
        shrunk: Bands = {}
        numbers, chosen = narrow(noise, statistic, leading)
        for key, crop in crops.items():
            band = parts[key].fetch(pieces, key)
            above = parts.get(key + key)
            parent = None if above is None else flatten(above.fetch(pieces, key), shrink.dimensions)
            result = shrink.run(flatten(band, shrink.dimensions), parent, key, numbers, chosen)
            shrunk[key] = compact(result.reshape(band.shape)[crop], band.size)
        return shrunk


def flatten(x: Any, dimensions: int) -> Any:
    """Return planes with a single leading axis, C-contiguous.

    Examples
    --------
    >>> flatten(np.zeros((2, 3, 8, 8)), 2).shape
    (6, 8, 8)
    """
    if x is None:
        return None
    xp = namespace(x, "planes")
    return xp.ascontiguousarray(x.reshape(-1, *x.shape[x.ndim - dimensions :]))


def split_planes(level: LocalLevel, recipe: Recipe, pieces: Sequence[Any], key: str) -> Bands:
    """Fetch a block of planes, or of an approximation, and return its share of all bands."""
    with share_cores(), stay_with(pieces[0] if not isinstance(pieces[0], dict) else pieces[0][key]):
        return split_samples(level, fetch(recipe, pieces, key))


def merge_planes(level: LocalLevel, parts: Parts, pieces: Sequence[Any], other: Any = None) -> Array:
    """Fetch bands, and return the planes they come from; if there are `other` ones, the mean of both."""
    with share_cores(), stay_with(next(iter(pieces[0].values())) if isinstance(pieces[0], dict) else pieces[0]):
        planes = merge_bands(level, {key: part.fetch(pieces, key) for key, part in parts.items()})
        if other is None:
            return planes
        half = planes.dtype.type(0.5)
        mean: Array = other * half
        mean += planes * half
        return mean


@dataclass(frozen=True)
class BlockTask:
    """Where a block comes from, and what counts of it.

    Attributes
    ----------
    recipe : Recipe
        Of the block.
    guess : Recipe or None
        Of a second one, whose pieces stand behind those of the first.
    crop : tuple of slice
        What counts of the result.
    leading : tuple of slice
        Which planes these are.
    """

    recipe: Recipe
    guess: Recipe | None
    crop: tuple[slice, ...]
    leading: tuple[slice, ...]

    def fetch(self, pieces: Sequence[Any], dimensions: int) -> tuple[Any, Any]:
        """Return both blocks, with a single leading axis."""
        half = len(self.recipe.places)
        second = None if self.guess is None else flatten(fetch(self.guess, pieces[half:]), dimensions)
        return fetch(self.recipe, pieces[:half]), second


class Works(Protocol):
    """Something that is done to blocks with margins."""

    def run(self, task: BlockTask, pieces: Sequence[Any], noise: Any, statistic: Any) -> Array:
        """Fetch a block, and return what counts of the result."""


@dataclass(frozen=True)
class BandStage:
    """The shrinking of one band that is as large as the array.

    Attributes
    ----------
    shrink : LevelShrink
        How.
    key : str
        Which band of its level.
    """

    shrink: LevelShrink
    key: str

    def run(self, task: BlockTask, pieces: Sequence[Any], noise: Any, statistic: Any) -> Array:
        """Fetch a block of a band, and of its parent if it has one, and return the band, shrunk."""
        with share_cores(), stay_with(pieces[0]):
            block, parent = task.fetch(pieces, self.shrink.dimensions)
            numbers, chosen = narrow(noise, statistic, task.leading)
            result = self.shrink.run(flatten(block, self.shrink.dimensions), parent, self.key, numbers, chosen)
            return compact(result.reshape(block.shape)[task.crop], block.size)


@dataclass(frozen=True)
class BlockStage:
    """A stage that is run on a block with a margin, as wide as it reaches, that is cut off again.

    Attributes
    ----------
    stage : Stage
        What is done; its number of levels is fixed.
    dimensions : int
        Number of axes of space.
    samples : int
        Number of samples of a plane of the whole array.
    kind : str
        ``"stage"``, or ``"guide"`` for the second step of the method ``'wiener'``.
    weaker : float
        How many times as weak noise is after it was refined.
    model : NoiseModel or None
        Refines it.
    shrinks : tuple of LevelShrink
        What happens on each level, if the method decides by whole bands.
    engine : str, Engine or None
        Who computes.
    """

    stage: Stage
    dimensions: int
    samples: int
    kind: str = "stage"
    weaker: float = 1.0
    model: Any = None
    shrinks: tuple[LevelShrink, ...] = ()
    engine: str | Engine | None = None

    def run(self, task: BlockTask, pieces: Sequence[Any], noise: Any, statistic: Any = None) -> Array:
        """Fetch a block, or two where there is a guess as well, and return what counts of the result."""
        with share_cores(), stay_with(pieces[0]):
            block, guess = task.fetch(pieces, self.dimensions)
            planes = flatten(block, self.dimensions)
            engine = engine_for(planes, self.engine)
            filters = find_filters(engine)
            own, decided = narrow(noise, statistic, task.leading)
            if decided is not None:
                result = self._follow(planes, own, decided, engine, filters)
            else:
                numbers = None if own is None else filters.upload(np.ascontiguousarray(own))
                result = self._work(planes, guess, numbers, engine, filters)
            return compact(result.reshape(block.shape)[task.crop], block.size)

    def _follow(self, planes: Any, noise: Array | None, decided: Statistic, engine: Engine, filters: Filters) -> Any:
        """Shrink by what was decided for whole bands."""
        assert isinstance(self.stage, Denoise)

        def work(coefficients: Coefficients, is_first: bool) -> None:
            for shrink, bands in zip(self.shrinks, coefficients.details, strict=True):
                placed = replace(shrink, position=0 if is_first else 1)
                for key, band in bands.items():
                    bands[key] = placed.run(band, None, key, noise, decided)

        return Roundtrip(self.stage, planes.shape, engine, filters).run(planes, work)

    def _work(self, planes: Any, guess: Any, noise: Any, engine: Engine, filters: Filters) -> Any:
        stage = self.stage
        if isinstance(stage, Blur | Sharpen):
            return apply_spatial(filters, stage, planes)
        if isinstance(stage, Shrink):
            shrinker = make_shrinker(stage, len(planes), self.dimensions, filters)
            return Roundtrip(stage, planes.shape, engine, filters).run(planes, shrinker)
        if self.kind == "guide":
            if self.model is not None:
                planes = self.model.refine(planes, guess)
            return filter_by_guide(stage, planes, guess, noise, self.weaker, engine, filters)
        # some thresholds grow with the number of samples, and those of the whole array count
        ratio = find_method(stage.method).compensate_part(self.samples, prod(planes.shape[1:]))
        guess, _ = denoise_guess(replace(stage, strength=stage.strength * ratio), planes, noise, engine, filters)
        return guess
