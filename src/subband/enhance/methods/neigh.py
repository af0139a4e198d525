"""NeighShrink: the energy around each coefficient, as much as Stein's estimate of the risk advises."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.engines.filters import Filters
from subband.engines.filters.constants import NEIGHBOUR_WINDOWS
from subband.engines.filters.tallies import BINS, choose_neighbours, choose_rows
from subband.enhance.methods.base import Band, DecidingMethod, Part
from subband.enhance.phases import shrink_phases
from subband.typing import Array

__all__ = ["METHOD", "Neigh"]


class Neigh(DecidingMethod):
    """Shrinks by the energy of a neighbourhood; factor and window have the least estimated risk.

    References
    ----------
    D. Zhou and W. Cheng, Image denoising with an optimal threshold and neighbouring window, Pattern Recognition Letters
    29, 2008, doi:10.1016/j.patrec.2008.04.014.
    """

    name = "neigh"
    title = "NeighShrink"
    looks_at = "the energy around each coefficient, as much as Stein's estimate of the risk advises"
    advice = "nearly as good"
    form = "spun"
    rank = 2
    is_in_place = False

    def measure_window(self, dimensions: int) -> int:  # noqa: ARG002 - the same for all
        """Return how many samples along each axis the wider window has."""
        return NEIGHBOUR_WINDOWS[-1]

    def shrink(self, filters: Filters, band: Band) -> Any:
        """Return the band, shrunk."""
        if band.step > 1:
            return shrink_phases(filters, band.values, band.noise, band.gain, band.step)
        return filters.shrink_neighbours(band.values, band.noise, band.gain)

    def find_obstacle(self, form: str) -> str:
        """Say that bands without decimation consist of many, each with a decision of its own."""
        if form != "undecimated":
            return ""
        return f"method={self.name!r} takes form='undecimated' apart into bands that reach across all chunks"

    def tally(self, filters: Filters, values: Any, noise: Array | None, part: Part) -> Array:
        """Return what the risk of factors and windows needs."""
        assert noise is not None
        rows = choose_rows(values.shape[1:], part.inner, part.row, filters.choose_row_distance(part.count))
        if 0 in values.shape or not len(rows):
            return np.zeros((len(values), len(NEIGHBOUR_WINDOWS), 3, BINS))
        return filters.count_neighbours(values, noise, part.inner, rows)

    def decide(self, tally: Array, noise: Array | None, part: Part) -> Array:
        """Return factor and window of each plane."""
        assert noise is not None
        return choose_neighbours(tally, noise, part.dimensions)

    def follow(self, filters: Filters, band: Band, decision: Array) -> Any:
        """Return a part, shrunk by factor and window of the whole."""
        noise = np.asarray(to_host(band.noise), np.float64) * band.gain
        return filters.scale_neighbours(band.values, noise, decision)


METHOD = Neigh()
