"""How the details of one level shrink, and what has to be known of a whole band for that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subband.arrays import namespace
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.engines.filters import find_filters
from subband.enhance.methods import _WINDOWS, make_shrinker
from subband.enhance.noise import combine_gains
from subband.enhance.passage import Coefficients
from subband.enhance.stages import Denoise, Shrink
from subband.integrations.dask.findings import Statistic
from subband.integrations.dask.risks import (
    WIDEST,
    choose_neighbours,
    choose_threshold,
    count_magnitudes,
    count_neighbours,
    find_distance,
    scale_neighbours,
)
from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["LevelShrink"]


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
        if self.is_neighbourly:
            return WIDEST
        return _WINDOWS[len(self.wavelets)] if self.looks_around else 1

    @property
    def is_neighbourly(self) -> bool:
        """Whether the neighbours of a coefficient have a say, by a rule that was chosen for the whole band."""
        return isinstance(self.stage, Denoise) and self.stage.method == "neigh" and self.weight != 0

    def tally(
        self, band: Array, key: str, noise: Array | None, inner: tuple[slice, ...], row: int, count: int
    ) -> Array:
        """Return what the method has to know of a part of a band, planes first, to be added to that of the others.

        Parameters
        ----------
        band : array
            Planes × space, with half a window around the part if neighbours have a say.
        key : str
            Which band of its level.
        noise : ndarray or None
            Its standard deviation in each plane.
        inner : tuple of slice
            Where the part is.
        row : int
            Number of the first row of `band` in the whole.
        count : int
            Coefficients of a plane of the whole band.
        """
        filters = find_filters(engine_for(band, self.engine))
        assert isinstance(self.stage, Denoise)
        if self.is_neighbourly:
            distance = find_distance(filters, count)
            return count_neighbours(filters, band, self._find_noise(noise, key), inner, row, distance)
        part = namespace(band, "a band").ascontiguousarray(band[(slice(None), *inner)])
        if self.stage.method == "sure":
            return count_magnitudes(filters, part, self._find_noise(noise, key), count)
        return np.array([float((plane.astype(np.float64) ** 2).sum()) for plane in part])

    def decide(self, key: str, tally: Array, noise: Array | None, count: int) -> Array:
        """Return what follows from the sums of all parts of a band, for each plane: what `run` needs to know."""
        assert isinstance(self.stage, Denoise)
        if self.is_neighbourly:
            return choose_neighbours(tally, self._find_noise(noise, key), self.dimensions)
        if self.stage.method == "sure":
            return choose_threshold(tally, self._find_noise(noise, key), count)
        return tally / max(count, 1)

    def _find_noise(self, noise: Array | None, key: str) -> Array:
        """Return the standard deviation of noise in a band."""
        assert noise is not None
        return np.asarray(noise, np.float64) * (combine_gains(self.wavelets, self.level, key) * self.weight)

    def run(
        self, band: Array, parent: Array | None, key: str, noise: Array | None, statistic: Statistic | None = None
    ) -> Array:
        """Return a band, planes first, that has shrunk."""
        if 0 in band.shape or self.weight == 0:
            return band
        filters = find_filters(engine_for(band, self.engine))
        if isinstance(self.stage, Shrink):
            # at most one stage works at a time, so that others of its thresholds cannot be touched
            alone = Coefficients(None, [{} for _ in range(self.level - 1)] + [{key: band.copy()}], self.wavelets)
            make_shrinker(self.stage, len(band), self.dimensions, filters)(alone, True)
            return alone.details[-1][key]
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
            assert statistic is not None
            own = statistic[self.position, self.level, key]
            if self.is_neighbourly:
                scaled: Array = scale_neighbours(filters, band, self._find_noise(noise, key), own)
                return scaled
            threshold = filters.upload(np.ascontiguousarray(self._find_threshold(own, noise, gain)))
        shrunk: Array = filters.shrink(band.copy(), threshold, self.stage.mode)
        return shrunk

    def _find_threshold(self, own: Array, noise: Array, gain: float) -> Array:
        """Return the threshold that was chosen for the band, or that of ``'bayes'`` from its mean square."""
        assert isinstance(self.stage, Denoise)
        if self.stage.method == "sure":
            return own
        variance = np.square(np.asarray(noise, np.float64) * gain)
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = variance / np.sqrt(np.maximum(own - variance, 0))
        return np.where(variance == 0, 0.0, threshold)
