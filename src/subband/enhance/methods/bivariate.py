"""Bivariate shrinkage: the energies of a coefficient and of its parent, and those around both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from subband.engines.filters import Filters
from subband.enhance.methods.base import Band, Method

__all__ = ["METHOD", "Bivariate"]

#: Samples along each axis over which the energy around a coefficient is averaged, by the number of axes.
_WINDOWS = {1: 15, 2: 7, 3: 3}


class Bivariate(Method):
    """Shrinks by the energy of a coefficient and of its parent, beside the energies around both.

    Both variables come from Şendur and Selesnick. In place of their rule, which follows from one law of probability for
    all coefficients, it is a smooth function of these energies, whose few numbers were fitted to photographs: what is
    signal for certain is kept, and what stands alone goes.

    References
    ----------
    L. Şendur and I. W. Selesnick, Bivariate shrinkage with local variance estimation, IEEE Signal Processing Letters
    9, 2002, doi:10.1109/LSP.2002.806054.
    """

    name = "bivariate"
    title = "Bivariate shrinkage"
    looks_at = (
        "the energies of each coefficient and of its parent, one level coarser, and those around both; cycle spinning"
    )
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
        # a slice of a volume, in which nothing is beside a coefficient along one axis, is an image
        shape = tuple(band.values.shape)
        alone = shape if band.parent is None else tuple(map(max, shape, band.parent.shape))
        if band.dimensions < len(shape) - 1 and 1 in alone[1:]:
            kept = [0, *(axis for axis in range(1, len(shape)) if alone[axis] > 1)] if max(alone[1:]) > 1 else [0, 1]
            values, parent = (
                None if x is None else x.reshape([x.shape[axis] for axis in kept]) for x in (band.values, band.parent)
            )
            flat = replace(band, values=values, parent=parent)
            return self.shrink(filters, flat).reshape(shape)
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
