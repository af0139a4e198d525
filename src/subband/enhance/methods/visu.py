"""VisuShrink: one threshold for all, beyond which noise hardly ever reaches."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from subband.engines.filters import Filters
from subband.enhance.methods.base import Band, Method

__all__ = ["METHOD", "Visu"]


class Visu(Method):
    """The universal threshold, n √(2 ln N) with the noise n of a band and N samples of the image.

    References
    ----------
    D. L. Donoho and I. M. Johnstone, Ideal spatial adaptation by wavelet shrinkage, Biometrika 81, 1994,
    doi:10.1093/biomet/81.3.425.
    """

    name = "visu"
    title = "VisuShrink"
    looks_at = "one threshold for all, beyond which noise hardly ever reaches"
    advice = "safe, but it removes much of the image, too"
    rank = 5
    takes_mode = True

    def find_threshold(self, filters: Filters, band: Band) -> Any:  # noqa: ARG002 - needs no statistics
        """Return the threshold of each plane."""
        return band.noise * (band.gain * _universal(band.count))

    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the band, shrunk by the threshold."""
        return filters.shrink(band.values, self.find_threshold(filters, band), band.mode)

    def compensate_part(self, whole: int, part: int) -> float:
        """Return how much higher the threshold of the whole is than that of a part."""
        return _universal(whole) / _universal(part)


def _universal(count: int) -> float:
    return sqrt(2 * log(max(count, 2)))


METHOD = Visu()
