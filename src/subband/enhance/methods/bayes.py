"""BayesShrink: one threshold for each band, by how much of it is signal."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.engines.filters import Filters
from subband.enhance.methods.base import Band, DecidingMethod, Part
from subband.typing import Array

__all__ = ["METHOD", "Bayes"]


class Bayes(DecidingMethod):
    """The threshold n² / √(mean square − n²) of each band.

    References
    ----------
    S. G. Chang, B. Yu and M. Vetterli, Adaptive wavelet thresholding for image denoising and compression, IEEE
    Transactions on Image Processing 9, 2000, doi:10.1109/83.862633.
    """

    name = "bayes"
    title = "BayesShrink"
    looks_at = "one threshold for each band, by how much of it is signal"
    advice = "what scikit-image does by default"
    rank = 3
    takes_mode = True
    needs_noise = False

    def find_threshold(self, filters: Filters, band: Band) -> Any:
        """Return the threshold of each plane."""
        return filters.find_bayes_threshold(band.values, band.noise, band.gain)

    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the band, shrunk by its threshold."""
        return filters.shrink(band.values, self.find_threshold(filters, band), band.mode)

    def tally(self, filters: Filters, values: Any, noise: Array | None, part: Part) -> Array:  # noqa: ARG002 - sums of squares
        """Return the sum of squares of each plane."""
        inner = values[(slice(None), *part.inner)]
        return np.array([float((plane.astype(np.float64) ** 2).sum()) for plane in inner])

    def decide(self, tally: Array, noise: Array | None, part: Part) -> Array:  # noqa: ARG002 - the noise comes in later
        """Return the mean square of each plane."""
        return tally / max(part.count, 1)

    def follow(self, filters: Filters, band: Band, decision: Array) -> Any:
        """Return a part, shrunk by the threshold that follows from the mean square of the whole."""
        variance = np.square(to_host(band.noise) * band.gain)
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = variance / np.sqrt(np.maximum(decision - variance, 0))
        threshold = np.where(variance == 0, 0.0, threshold)
        return filters.shrink(band.values, filters.upload(np.ascontiguousarray(threshold)), band.mode)


METHOD = Bayes()
