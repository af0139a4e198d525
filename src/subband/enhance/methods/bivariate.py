"""Bivariate shrinkage: a coefficient, its parent and the energy around it."""

from __future__ import annotations

from typing import Any

from subband.engines.filters import Filters
from subband.enhance.methods.base import Band, Method

__all__ = ["METHOD", "Bivariate"]

#: Samples along each axis over which the energy around a coefficient is averaged, by the number of axes.
_WINDOWS = {1: 15, 2: 7, 3: 3}


class Bivariate(Method):
    """Shrinks by the magnitude of a coefficient and of its parent, beside the energy of its neighbourhood.

    References
    ----------
    L. Şendur and I. W. Selesnick, Bivariate shrinkage with local variance estimation, IEEE Signal Processing Letters
    9, 2002, doi:10.1109/LSP.2002.806054.
    """

    name = "bivariate"
    title = "Bivariate shrinkage"
    looks_at = "each coefficient, its parent one level coarser, and the energy around it; cycle spinning, two shifts"
    advice = "the default: the best for its time"
    form = "spun"
    rank = 0
    takes_parent = True
    is_in_place = False

    def measure_window(self, dimensions: int) -> int:
        """Return how many samples along each axis have a say."""
        return _WINDOWS[dimensions]

    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the band, shrunk."""
        return filters.shrink_bivariate(
            band.values,
            band.parent,
            band.noise,
            band.gain,
            band.parent_gain,
            self.measure_window(band.dimensions),
            band.shift,
            band.scale,
        )


METHOD = Bivariate()
