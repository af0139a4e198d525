"""SureShrink: one threshold for each band, by Stein's estimate of the risk."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from subband.arrays import namespace
from subband.engines.filters import Filters
from subband.engines.filters.constants import SURE_BINS
from subband.enhance.methods.base import Band, DecidingMethod, Part
from subband.typing import Array

__all__ = ["METHOD", "Sure", "choose_threshold", "count_magnitudes"]


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
        return count_magnitudes(filters, inner, noise, part.count)

    def decide(self, tally: Array, noise: Array | None, part: Part) -> Array:
        """Return the threshold of each plane."""
        assert noise is not None
        return choose_threshold(tally, noise, part.count)

    def follow(self, filters: Filters, band: Band, decision: Array) -> Any:
        """Return a part, shrunk by the threshold of the whole."""
        return filters.shrink(band.values, filters.upload(np.ascontiguousarray(decision)), band.mode)


def count_magnitudes(filters: Filters, band: Any, noise: Array, count: int) -> Array:
    """Count magnitudes over the noise, and sum their squares, between the candidates for a threshold.

    Parameters
    ----------
    filters : Filters
        Who computes.
    band : array
        Planes × space, a part of it.
    noise : ndarray
        Standard deviation in this band, of each plane.
    count : int
        Coefficients of a plane of the whole band.

    Returns
    -------
    ndarray of shape (planes, 2, candidates)
        To be added to those of the other parts.

    Examples
    --------
    >>> from subband.engines.filters import PlainFilters
    >>> counts = count_magnitudes(PlainFilters(), np.array([[0.5, -0.5, 9.0, 0.25]]), np.ones(1), 4)
    >>> float(counts[0, 0].sum())
    4.0
    """
    step = sqrt(2 * log(max(count, 1))) / SURE_BINS
    if step == 0 or 0 in band.shape:
        return np.zeros((len(band), 2, SURE_BINS + 1))
    return filters.count_magnitudes(band, noise, step)


def choose_threshold(tables: Array, noise: Array, count: int) -> Array:
    """Return the soft threshold of each plane with the least risk, from the sums of all parts of a band.

    Examples
    --------
    >>> from subband.engines.filters import PlainFilters
    >>> band = np.array([[0.5, -0.5, 9.0, 0.25]])
    >>> parts = [count_magnitudes(PlainFilters(), part, np.ones(1), 4) for part in (band[:, :1], band[:, 1:])]
    >>> choose_threshold(sum(parts), np.ones(1), 4).round(3)
    array([0.52])
    """
    candidates = np.arange(SURE_BINS + 1) * (sqrt(2 * log(max(count, 1))) / SURE_BINS)
    counts, squares = tables[:, 0], tables[:, 1]
    below, energy = (np.cumsum(each, axis=-1) - each for each in (counts, squares))
    risks = count - 2 * below + energy + (count - below) * candidates**2
    return np.where(noise == 0, 0.0, noise * candidates[np.argmin(risks, axis=1)])


METHOD = Sure()
