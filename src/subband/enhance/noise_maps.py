"""Noise that is not equally strong everywhere: its map, as the coefficients of every level see it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from subband.compiled import Kernels
from subband.engines.filters import Filters
from subband.engines.memory import allocate
from subband.enhance.motion import share_rows
from subband.enhance.roundtrip import Coefficients
from subband.typing import Array

__all__ = ["NoiseMap"]

#: Rows that a thread takes at a time.
_ROWS = 128

_loops = Kernels("subband.enhance.temporal_loops")


class NoiseMap:
    """Where noise is how strong, beside one number for all of a plane.

    Coefficients are divided by it before they shrink, so that their noise is equally strong, and multiplied after.

    Parameters
    ----------
    variance : ndarray of shape (rows, columns)
        Variance of the noise of each sample over that of the plane.
    noise : numbers
        Standard deviation of the noise of each plane.
    filters : Filters
        What computes.
    """

    def __init__(self, variance: Array, noise: Any, filters: Filters) -> None:
        self.noise = noise
        self._filters = filters
        self._variances = [np.ascontiguousarray(variance, np.float32)]
        self._deviations: dict[int, Array] = {}
        self._maps: dict[object, Any] = {}

    @property
    def typical(self) -> float:
        """The standard deviation of all noise, over that of the plane."""
        return float(np.sqrt(np.mean(self._variances[0])))

    def level(self, coefficients: Coefficients) -> None:
        """Divide details by the strength of their noise, in place."""
        for number, bands in enumerate(coefficients.details, 1):
            for key, band in bands.items():
                bands[key] = self._filters.divide(band, self._find_map(number, band, coefficients), 1.0)

    def restore(self, coefficients: Coefficients) -> None:
        """Undo `level`, in place."""
        for number, bands in enumerate(coefficients.details, 1):
            for key, band in bands.items():
                bands[key] = self._filters.multiply(band, self._find_map(number, band, coefficients), 1.0)

    def _find_map(self, level: int, band: Any, coefficients: Coefficients) -> Any:
        """Return the standard deviation at each coefficient of a band, as one plane."""
        shape = tuple(band.shape[1:])
        key = level, shape, coefficients.begin, coefficients.is_decimated
        if key not in self._maps:
            drawn = self._draw(level, shape, coefficients)
            self._maps[key] = self._filters.upload_planes(drawn[np.newaxis], band.dtype)
        return self._maps[key]

    def _draw(self, level: int, shape: tuple[int, ...], coefficients: Coefficients) -> Array:
        if level not in self._deviations:
            while len(self._variances) <= level:
                self._variances.append(_halve(self._variances[-1]))
            self._deviations[level] = np.sqrt(self._variances[level])
        drawn = allocate(shape, np.dtype(np.float32))
        step = 2**level if coefficients.is_decimated else 1
        # a coefficient of an expansive transform stands further to the left
        away = step // 2 - coefficients.shift * (2**level - 1)
        begin = [away - before for before in coefficients.begin or (0, 0)]
        share_rows(shape[0], partial(_loops.draw, self._deviations[level], drawn, step, level, *begin), _ROWS)
        return drawn


def _halve(x: Array) -> Array:
    """Return the means of 2 × 2 samples; at an odd end, of fewer."""
    means = allocate((-(-x.shape[0] // 2), -(-x.shape[1] // 2)), np.dtype(np.float32))
    share_rows(len(means), partial(_loops.average, x, means), _ROWS)
    return means
