"""What workers do with planes: turn pixels into them and back, and shrink the coefficients of one level of a chunk.

Planes have any number of leading axes, such as channels or frames, and then one to three axes of space. Here the
leading ones become a single one, as filters want it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, prod, sqrt
from typing import Any, Protocol

import numpy as np

from subband.arrays import namespace
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.engines.filters import Filters, find_filters
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import check_pixels
from subband.enhance.methods import _WINDOWS, _filter_by_guide, denoise_planes, make_shrinker
from subband.enhance.noise import combine_gains
from subband.enhance.passage import Coefficients, Passage, apply_spatial
from subband.enhance.program import Program, prepare_program
from subband.enhance.stacks import as_dtype
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Stage
from subband.errors import ArgumentError
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
from subband.integrations.dask.sketch import Sketch, sketch_magnitudes
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = [
    "BandStage",
    "BlockStage",
    "BlockTask",
    "LevelShrink",
    "PixelForm",
    "Works",
    "measure_power",
    "merge_planes",
    "shrink_chunk",
    "sketch_chunk",
    "sketch_planes",
    "split_planes",
]


@dataclass(frozen=True)
class PixelForm:
    """How pixels become planes, and planes pixels.

    Attributes
    ----------
    enhancer : Enhancer
        Its noise model and colours count.
    space : tuple of int
        Of the whole array.
    channels : int
        How many planes belong to each other: 3 for colour, else 1.
    dtype : dtype
        Of the pixels.
    engine : str, Engine or None
        Who computes.
    """

    enhancer: Enhancer
    space: tuple[int, ...]
    channels: int
    dtype: np.dtype[Any]
    engine: str | Engine | None = None

    def enter(self, block: Any) -> Any:
        """Turn a block of pixels, channels first, into planes."""
        with share_cores(), stay_with(block):
            pixels = check_pixels(block, "image")
            if pixels.dtype.kind == "f":
                _refuse_nonfinite(pixels)
            return self._reshape(pixels, lambda each: self._program(each)._enter(each), is_entering=True)

    def leave(self, block: Any) -> Any:
        """Turn a block of planes into pixels."""
        with share_cores(), stay_with(block):
            # integers that filters do not write are rounded afterwards
            known = check_pixels(np.empty(1, self.dtype), "image").dtype

            def work(planes: Any) -> Any:
                return self._program(planes)._leave(planes, known, None)

            return as_dtype(self._reshape(block, work, is_entering=False), self.dtype)

    def _program(self, block: Any) -> Program:
        return prepare_program(
            self.enhancer, self.space, self.channels, engine_for(block, self.engine), self.channels == 3
        )

    def _reshape(self, block: Any, work: Callable[[Any], Any], *, is_entering: bool) -> Any:
        """Work on pixels whose channels come last, or on planes whose channels come first, and put axes back."""
        xp = namespace(block, "a picture")
        shape, count = block.shape, len(self.space)
        flat = block.reshape(-1, self.channels, *shape[len(shape) - count :])
        results = []
        for each in flat:
            given = xp.ascontiguousarray(xp.moveaxis(each, 0, -1) if is_entering else each)
            result = work(given)
            results.append(result if is_entering else xp.moveaxis(result, -1, 0))
        stacked = results[0][np.newaxis] if len(results) == 1 else xp.stack(results)
        return xp.ascontiguousarray(stacked).reshape(shape)


def _refuse_nonfinite(pixels: Any) -> None:
    total = float(pixels.sum(dtype=np.float64))
    if np.isfinite(total):
        return
    xp = namespace(pixels, "a picture")
    count = int((~xp.isfinite(pixels)).sum())
    if count:
        raise ArgumentError(
            f"image has {count} pixels in one chunk that are NaN or infinite; replace them, as with "
            "dask.array.nan_to_num(x)"
        )


@dataclass(frozen=True)
class LevelShrink:
    """How the details of one level shrink.

    Attributes
    ----------
    stage : Denoise or Shrink
        The method.
    wavelets : tuple of Wavelet
        Along each transformed axis.
    level, levels : int
        Which, from 1, the finest; and how many there are.
    weight : float
        What the noise of this level is multiplied by.
    shift : int
        The parent of coefficient k stands at ``(k + shift) // 2``.
    dimensions : int
        Number of axes of space.
    threshold : float
        In units of the noise, for the method that has one for all bands.
    is_decimated : bool
        Whether a level has half as many coefficients as the one before along each axis.
    position : int
        Which of several positions of the picture this is.
    engine : str, Engine or None
        Who computes.
    """

    stage: Denoise | Shrink
    wavelets: tuple[Wavelet, ...]
    level: int
    levels: int
    weight: float
    shift: int
    dimensions: int
    threshold: float = 0.0
    is_decimated: bool = True
    position: int = 0
    engine: str | Engine | None = None

    @property
    def looks_around(self) -> bool:
        """Whether a coefficient's neighbours and parent have a say."""
        return isinstance(self.stage, Denoise) and self.stage.method in ("bivariate", "wiener") and self.weight != 0

    @property
    def window(self) -> int:
        """Samples along each axis that have a say."""
        return _WINDOWS[len(self.wavelets)] if self.looks_around else 1

    def run(self, band: Array, parent: Array | None, key: str, noise: Array | None, statistic: Any = None) -> Array:
        """Return a band, planes first, that has shrunk."""
        if 0 in band.shape or self.weight == 0:
            return band
        filters = find_filters(engine_for(band, self.engine))
        if isinstance(self.stage, Shrink):
            # at most one stage works at a time, so that others of its thresholds cannot be touched
            own = Coefficients(None, [{} for _ in range(self.level - 1)] + [{key: band.copy()}], self.wavelets)
            make_shrinker(self.stage, len(band), self.dimensions, filters)(own, True)
            return own.details[-1][key]
        assert noise is not None
        numbers = filters.upload(np.ascontiguousarray(noise))
        gain = combine_gains(self.wavelets, self.level, key) * self.weight
        if self.looks_around:
            above = combine_gains(self.wavelets, self.level + 1, key) * self.weight
            if parent is not None and 0 in parent.shape:
                parent = None
            shift, scale = (self.shift, 2) if self.is_decimated else (0, 1)
            new: Array = filters.shrink_bivariate(band, parent, numbers, gain, above, self.window, shift, scale)
            return new
        if self.stage.method == "visu":
            threshold = numbers * (gain * self.threshold)
        else:
            threshold = filters.upload(np.ascontiguousarray(self._find_threshold(statistic, key, noise, gain)))
        shrunk: Array = filters.shrink(band.copy(), threshold, self.stage.mode)
        return shrunk

    def _find_threshold(self, statistic: Any, key: str, noise: Array, gain: float) -> Array:
        """Return the threshold of ``'bayes'`` from the mean square of the whole band."""
        variance = np.square(np.asarray(noise, np.float64) * gain)
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = variance / np.sqrt(np.maximum(statistic[self.position, self.level, key] - variance, 0))
        return np.where(variance == 0, 0.0, threshold)


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
        numbers = None if noise is None else noise[leading].reshape(-1)
        chosen = None if statistic is None else {at: power[leading].reshape(-1) for at, power in statistic.items()}
        for key, crop in crops.items():
            band = parts[key].fetch(pieces, key)
            above = parts.get(key + key)
            parent = None if above is None else _flatten(above.fetch(pieces, key), shrink.dimensions)
            result = shrink.run(_flatten(band, shrink.dimensions), parent, key, numbers, chosen)
            shrunk[key] = compact(result.reshape(band.shape)[crop], band.size)
        return shrunk


def _flatten(x: Any, dimensions: int) -> Any:
    """Return planes with a single leading axis, C-contiguous."""
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


def sketch_chunk(level: LocalLevel, recipe: Recipe, pieces: Sequence[Any], key: str, dimensions: int) -> list[Sketch]:
    """Return sketches of the finest diagonal coefficients of a chunk, one for each plane."""
    with share_cores(), stay_with(pieces[0]):
        band = split_samples(level, fetch(recipe, pieces))[key]
        return [sketch_magnitudes(plane) for plane in _flatten(band, dimensions)]


def sketch_planes(band: Any, dimensions: int) -> list[Sketch]:
    """Return sketches of a chunk of a band, one for each plane."""
    return [sketch_magnitudes(plane) for plane in _flatten(band, dimensions)]


def measure_power(bundle: Bands, dimensions: int, position: int, level: int) -> dict[Any, Array]:
    """Return the sum of squares of each plane of all details of a chunk."""
    sums: dict[Any, Array] = {}
    for key, band in bundle.items():
        if "d" in key:
            flat = _flatten(band, dimensions)
            squares = [float((plane.astype(np.float64) ** 2).sum()) for plane in flat]
            sums[position, level, key] = np.array(squares)
    return sums


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
        second = None if self.guess is None else _flatten(fetch(self.guess, pieces[half:]), dimensions)
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
            numbers = None if noise is None else noise[task.leading].reshape(-1)
            powers = None
            if statistic is not None:
                powers = {at: power[task.leading].reshape(-1) for at, power in statistic.items()}
            result = self.shrink.run(_flatten(block, self.shrink.dimensions), parent, self.key, numbers, powers)
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
    engine : str, Engine or None
        Who computes.
    """

    stage: Stage
    dimensions: int
    samples: int
    kind: str = "stage"
    weaker: float = 1.0
    model: Any = None
    engine: str | Engine | None = None

    def run(self, task: BlockTask, pieces: Sequence[Any], noise: Any, statistic: Any = None) -> Array:  # noqa: ARG002
        """Fetch a block, or two where there is a guess as well, and return what counts of the result."""
        with share_cores(), stay_with(pieces[0]):
            block, guess = task.fetch(pieces, self.dimensions)
            planes = _flatten(block, self.dimensions)
            engine = engine_for(planes, self.engine)
            filters = find_filters(engine)
            numbers = None
            if noise is not None:
                numbers = filters.upload(np.ascontiguousarray(noise[task.leading].reshape(-1)))
            result = self._work(planes, guess, numbers, engine, filters)
            return compact(result.reshape(block.shape)[task.crop], block.size)

    def _work(self, planes: Any, guess: Any, noise: Any, engine: Engine, filters: Filters) -> Any:
        stage = self.stage
        if isinstance(stage, Blur | Sharpen):
            return apply_spatial(filters, stage, planes)
        if isinstance(stage, Shrink):
            shrinker = make_shrinker(stage, len(planes), self.dimensions, filters)
            return Passage(stage, planes.shape, engine, filters).run(planes, shrinker)
        if self.kind == "guide":
            if self.model is not None:
                planes = self.model.refine(planes, guess)
            return _filter_by_guide(stage, planes, guess, noise, self.weaker, engine, filters)
        if stage.method == "wiener":
            stage = replace(stage, method="bivariate", filters=())
        elif stage.method == "visu":
            # its threshold grows with the number of samples, and those of the whole array count
            ratio = sqrt(log(max(self.samples, 2)) / log(max(prod(planes.shape[1:]), 2)))
            stage = replace(stage, strength=stage.strength * ratio)
        return denoise_planes(stage, planes, noise, engine, filters)
