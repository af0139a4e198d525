"""Bivariate shrinkage: the energies of a coefficient and of its parent, and those around both."""

from __future__ import annotations

from collections.abc import Sequence
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
        return self.shrink_bands(filters, [band])[0]

    def shrink_bands(self, filters: Filters, bands: Sequence[Band]) -> list[Any]:
        """Return bands, shrunk in one go."""
        flat, first = [_leave_out_axes(band) for band in bands], bands[0]
        shrunk = filters.shrink_bivariate_bands(
            [band.values for band in flat],
            [band.parent for band in flat],
            first.noise,
            [band.gain for band in flat],
            [band.parent_gain for band in flat],
            self.measure_window(first.dimensions),
            first.shift,
            first.scale,
        )
        return [
            values if own is band else values.reshape(tuple(band.values.shape))
            for values, own, band in zip(shrunk, flat, bands, strict=True)
        ]


def _leave_out_axes(band: Band) -> Band:
    """Return a band without axes along which nothing is beside a coefficient: a slice of a volume is an image."""
    shape = tuple(band.values.shape)
    alone = shape if band.parent is None else tuple(map(max, shape, band.parent.shape))
    if band.dimensions == len(shape) - 1 or 1 not in alone[1:]:
        return band
    kept = [0, *(axis for axis in range(1, len(shape)) if alone[axis] > 1)] if max(alone[1:]) > 1 else [0, 1]
    values, parent = (
        None if x is None else x.reshape([x.shape[axis] for axis in kept]) for x in (band.values, band.parent)
    )
    return replace(band, values=values, parent=parent)


METHOD = Bivariate()
