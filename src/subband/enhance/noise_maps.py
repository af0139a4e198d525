"""Noise that is not equally strong everywhere: its map, as the coefficients of every level see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.engines.filters import Filters
from subband.enhance.roundtrip import Coefficients
from subband.typing import Array

__all__ = ["NoiseMap"]


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
        self._variances = [np.asarray(variance, np.float32)]

    def level(self, coefficients: Coefficients) -> None:
        """Divide details by the strength of their noise, in place."""
        for bands, maps in zip(coefficients.details, self._list_maps(coefficients), strict=True):
            for key, band in bands.items():
                bands[key] = self._filters.divide(band, maps[band.shape[1:]], 1.0)

    def restore(self, coefficients: Coefficients) -> None:
        """Undo `level`, in place."""
        for bands, maps in zip(coefficients.details, self._list_maps(coefficients), strict=True):
            for key, band in bands.items():
                bands[key] = self._filters.multiply(band, maps[band.shape[1:]], 1.0)

    def _list_maps(self, coefficients: Coefficients) -> list[dict[tuple[int, ...], Any]]:
        """Return the standard deviation at the coefficients of each level, by the shape of bands."""
        found = []
        for number, bands in enumerate(coefficients.details, 1):
            shapes = {tuple(band.shape[1:]) for band in bands.values()}
            dtype = next(iter(bands.values())).dtype
            found.append({shape: self._draw(number, shape, coefficients, dtype) for shape in shapes})
        return found

    def _draw(self, level: int, shape: tuple[int, ...], coefficients: Coefficients, dtype: Any) -> Any:
        while len(self._variances) <= level:
            self._variances.append(_halve(self._variances[-1]))
        variance = self._variances[level]
        step = 2**level if coefficients.is_decimated else 1
        begin = coefficients.begin or (0,) * len(shape)
        # a coefficient of an expansive transform stands further to the left
        away = coefficients.shift * (2**level - 1)
        for axis, length in enumerate(shape):
            indices = (np.arange(length) * step + step // 2 - away - begin[axis]) // 2**level
            variance = np.take(variance, np.clip(indices, 0, variance.shape[axis] - 1), axis)
        deviation = self._filters.upload(np.sqrt(variance, dtype=np.float32))
        return self._filters.read_pixels(deviation.reshape(*shape, 1), None, dtype)


def _halve(x: Array) -> Array:
    """Return the means of 2 × 2 samples; at an odd end, of fewer."""
    rows, columns = (n + n % 2 for n in x.shape)
    wide = np.pad(x, ((0, rows - x.shape[0]), (0, columns - x.shape[1])), "edge")
    mean: Array = (wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]) / 4
    return mean
