"""Noise that is not equally strong everywhere: its map, as the coefficients of every level see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import concatenate
from subband.engines.filters import Filters
from subband.engines.temporal import Grid, TemporalFilters
from subband.enhance.roundtrip import Coefficients

__all__ = ["NoiseMap"]


class NoiseMap:
    """Where noise is how strong, beside one number for all of a plane.

    Coefficients are divided by it before they shrink, so that their noise is equally strong, and multiplied after.

    Parameters
    ----------
    variance : array of shape (rows, columns)
        Variance of the noise of each sample over that of the plane, where `temporal` computes.
    noise : numbers
        Standard deviation of the noise of each plane.
    filters, temporal : Filters and TemporalFilters
        What computes.
    """

    def __init__(self, variance: Any, noise: Any, filters: Filters, temporal: TemporalFilters) -> None:
        self.noise = noise
        self._filters = filters
        self._temporal = temporal
        self._variances = [variance]
        self._maps: dict[tuple[Grid, ...], Any] = {}

    def measure_typical(self, planes: int) -> Any:
        """Return the standard deviation of all noise over that of the plane, once for each of some planes."""
        typical = self._temporal.measure_typical(self._variances[0], planes)
        return self._filters.upload(typical) if isinstance(typical, np.ndarray) else typical

    def level(self, coefficients: Coefficients) -> None:
        """Divide details by the strength of their noise, in place."""
        self._weigh(coefficients, is_product=False)

    def restore(self, coefficients: Coefficients) -> None:
        """Undo `level`, in place."""
        self._weigh(coefficients, is_product=True)

    def _weigh(self, coefficients: Coefficients, *, is_product: bool) -> None:
        levels = coefficients.details
        if (missing := len(levels) + 1 - len(self._variances)) > 0:
            self._variances += self._temporal.halve(self._variances[-1], missing)
        bands = [(own, key, band) for own in levels for key, band in own.items()]
        grids = [_list_grids(x, level, coefficients) for level, own in enumerate(levels, 1) for x in own.values()]
        self._draw([each for each in dict.fromkeys(grids) if each not in self._maps], bands[0][2].dtype)
        maps = [self._maps[each] for each in grids]
        weighed = self._filters.weigh_bands([x for _, _, x in bands], maps, is_product=is_product)
        for (own, key, _), band in zip(bands, weighed, strict=True):
            own[key] = band

    def _draw(self, wanted: list[tuple[Grid, ...]], dtype: Any) -> None:
        """Make maps, with a plane for each position that a band has."""
        drawn = iter(self._temporal.draw(self._variances, [grid for grids in wanted for grid in grids]))
        for grids in wanted:
            own = [next(drawn) for _ in grids]
            if isinstance(own[0], np.ndarray):
                self._maps[grids] = self._filters.upload_planes(np.stack(own), dtype)
            else:
                self._maps[grids] = own[0] if len(own) == 1 else concatenate(own, 0)


def _list_grids(band: Any, level: int, coefficients: Coefficients) -> tuple[Grid, ...]:
    """Return where the coefficients of a band are among the samples, for each position that it has."""
    step = 2**level if coefficients.is_decimated else 1
    # a coefficient of an expansive transform stands further to the left
    away = step // 2 - coefficients.shift * (2**level - 1)
    height, width = band.shape[1:]
    begins = [begin or (0, 0) for begin in coefficients.list_begins(level)]
    return tuple(Grid(level, step, (away - down, away - across), (height, width)) for down, across in begins)
