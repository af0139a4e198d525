"""The bands of a pyramid side by side: as one array, and as grey values that people can look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from subband.arrays import assemble
from subband.plan import LevelPlan
from subband.typing import Array

__all__ = ["Tones", "arrange_bands"]


def arrange_bands(levels: Sequence[LevelPlan], approximation: Array, details: Sequence[Mapping[str, Array]]) -> Array:
    """Return all bands in one array, the approximation in the first corner.

    Parameters
    ----------
    levels : sequence of LevelPlan
        What was done, the finest level first.
    approximation : array
        The coarsest band.
    details : sequence of dict
        The bands of each level, the coarsest first.

    Returns
    -------
    array
        As large as the array that was transformed; bands of an expansive mode are cut to what fits half of the level
        above.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose
    >>> pyramid = decompose(np.array([1.0, 1.0, 5.0]), "cdf53", level=1)
    >>> arrange_bands(pyramid.plan.levels, pyramid.approximation, pyramid.details).shape
    (3,)
    """
    mosaic = approximation.copy()
    for bands, plan in zip(details, reversed(levels), strict=True):
        halves = _find_halves(plan)
        shape = tuple(sum(halves[axis]) for axis in range(mosaic.ndim))
        parts = []
        for key, band in {"a" * len(plan.axes): mosaic, **bands}.items():
            corner = [slice(0, length) for length in shape]
            for letter, axis in zip(key, plan.axes, strict=True):
                low = halves[axis][0]
                corner[axis] = slice(0, low) if letter == "a" else slice(low, shape[axis])
            fitting = tuple(slice(0, span.stop - span.start) for span in corner)
            parts.append((tuple(corner), band[fitting]))
        mosaic = assemble(parts, shape, mosaic, mosaic.dtype)
    return mosaic


class Tones(NamedTuple):
    """The grey values of bands: the approximation as an image, details around mid-grey.

    Attributes
    ----------
    low, high : float
        What is black and white, in the approximation.
    gain : float
        How much the details are amplified.
    """

    low: float
    high: float
    gain: float

    @classmethod
    def fit(cls, approximation: Array, gain: float) -> Self:
        """Return the tones that go from the least to the most of an approximation."""
        return cls(float(approximation.min()), float(approximation.max()), gain)

    def shift(self, band: Array, doublings: int, key: str) -> Array:
        """Return a band in the values of the approximation.

        Parameters
        ----------
        band : ndarray
            Its coefficients.
        doublings : int
            Levels between the coarsest and its own, times transformed axes: details of deeper levels grow with the gain
            of the low-pass filter.
        key : str
            Which band it is.
        """
        if "d" not in key:
            return np.asarray(band, float)
        weight = self.gain * 2.0 ** (doublings / 2)
        return np.asarray(band * weight + (self.high + self.low) / 2)

    def draw(self, mosaic: Array) -> Array:
        """Return values of the approximation as 8-bit grey."""
        pixels = (mosaic - self.low) * (255.0 / ((self.high - self.low) or 1.0))
        return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def _find_halves(plan: LevelPlan) -> dict[int, tuple[int, ...]]:
    """Return for each axis the lengths that the low and the high part have in a mosaic."""
    halves: dict[int, tuple[int, ...]] = {axis: (length,) for axis, length in enumerate(plan.shape)}
    for axis, axis_plan in zip(plan.axes, plan.plans, strict=True):
        halves[axis] = ((axis_plan.length + 1) // 2, axis_plan.length // 2)
    return halves
