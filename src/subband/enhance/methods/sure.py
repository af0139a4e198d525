"""SureShrink: one threshold for each band, by Stein's estimate of the risk."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import namespace
from subband.engines.filters import Filters
from subband.engines.filters.tallies import BINS, choose_threshold, find_step
from subband.enhance.methods.base import Band, DecidingMethod, Part
from subband.typing import Array

__all__ = ["METHOD", "Sure"]


class Sure(DecidingMethod):
    """The soft threshold of each band with the least of Stein's unbiased estimate of the risk.

    References
    ----------
    D. L. Donoho and I. M. Johnstone, Adapting to unknown smoothness via wavelet shrinkage, Journal of the American
    Statistical Association 90, 1995, doi:10.1080/01621459.1995.10476626.
    """

    name = "sure"
    title = "SureShrink"
    looks_at = "one threshold for each band, by Stein's estimate of the risk"
    rank = 4
    takes_mode = True

    def find_threshold(self, filters: Filters, band: Band) -> Any:
        """Return the threshold of each plane."""
        return filters.find_sure_threshold(band.values, band.noise, band.gain)

    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the band, shrunk by its threshold."""
        return filters.shrink(band.values, self.find_threshold(filters, band), band.mode)

    def tally(self, filters: Filters, values: Any, noise: Array | None, part: Part) -> Array:
        """Return counts and sums of squares between the candidates."""
        assert noise is not None
        inner = namespace(values, "a band").ascontiguousarray(values[(slice(None), *part.inner)])
        if find_step(part.count) == 0 or 0 in inner.shape:
            return np.zeros((len(inner), 2, BINS))
        return filters.count_magnitudes(inner, noise, find_step(part.count))

    def decide(self, tally: Array, noise: Array | None, part: Part) -> Array:
        """Return the threshold of each plane."""
        assert noise is not None
        return choose_threshold(tally, noise, part.count)

    def follow(self, filters: Filters, band: Band, decision: Array) -> Any:
        """Return a part, shrunk by the threshold of the whole."""
        return filters.shrink(band.values, filters.upload(np.ascontiguousarray(decision)), band.mode)


METHOD = Sure()
