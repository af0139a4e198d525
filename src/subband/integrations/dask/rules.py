"""How the details of one level shrink, and what has to be known of a whole band for that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.engines.filters import find_filters
from subband.enhance.methods import Band, DecidingMethod, Method, Part, find_method
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Coefficients
from subband.enhance.shrinking import make_shrinker
from subband.enhance.stages import Denoise, Shrink
from subband.integrations.dask.findings import Statistic
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
    samples : int
        Of a plane of the whole array.
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
    samples: int = 1
    is_decimated: bool = True
    position: int = 0
    engine: str | Engine | None = None

    @property
    def method(self) -> Method | None:
        """Who decides, if it is not given thresholds, and if there is something to decide."""
        return find_method(self.stage.method) if isinstance(self.stage, Denoise) and self.weight != 0 else None

    @property
    def takes_parent(self) -> bool:
        """Whether the next coarser level has a say."""
        return self.method is not None and self.method.takes_parent

    @property
    def window(self) -> int:
        """Samples along each axis that have a say."""
        return 1 if self.method is None else self.method.measure_window(len(self.wavelets))

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
        part = Part(count, self.dimensions, inner, row)
        return self._get_decider().tally(filters, band, self._find_noise(noise, key), part)

    def decide(self, key: str, tally: Array, noise: Array | None, count: int) -> Array:
        """Return what follows from the sums of all parts of a band, for each plane: what `run` needs to know."""
        return self._get_decider().decide(tally, self._find_noise(noise, key), Part(count, self.dimensions))

    def _get_decider(self) -> DecidingMethod:
        assert isinstance(self.method, DecidingMethod)
        return self.method

    def _find_noise(self, noise: Array | None, key: str) -> Array | None:
        """Return the standard deviation of noise in a band, as far as it is known."""
        if noise is None:
            return None
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
        assert self.method is not None
        gain, parent_gain = (
            combine_gains(self.wavelets, number, key) * self.weight for number in (self.level, self.level + 1)
        )
        if parent is not None and 0 in parent.shape:
            parent = None
        whole = Band(
            band.copy() if self.method.is_in_place else band,
            filters.upload(np.ascontiguousarray(noise)),
            gain,
            self.stage.mode,
            self.samples,
            len(self.wavelets),
            1 if self.is_decimated else 2**self.level,
            parent,
            parent_gain,
            *((self.shift, 2) if self.is_decimated else (0, 1)),
        )
        if not isinstance(self.method, DecidingMethod):
            shrunk: Array = self.method.shrink(filters, whole)
            return shrunk
        assert statistic is not None
        followed: Array = self.method.follow(filters, whole, statistic[self.position, self.level, key])
        return followed
