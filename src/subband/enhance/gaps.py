"""Filling the pixels of an image that are not known, from those around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.arrays import namespace
from subband.typing import Array

__all__ = ["fill_gaps", "fill_known", "halve_known"]


def fill_gaps(pixels: Any, known: Array) -> Any:
    """Fill unknown pixels by averages of known ones, weighted by distance.

    Each gap is filled from the image at half the size, where known pixels are averaged, and so on until there is no
    gap left.
    """
    xp = namespace(pixels, "filling what is not known")
    values = xp.where(xp.asarray(known)[..., np.newaxis], pixels, 0).astype(np.float64)
    filled = fill_known(values, xp.asarray(known.astype(np.float64))[..., np.newaxis])
    if pixels.dtype.kind in "iu":
        filled = xp.rint(filled)
    return xp.ascontiguousarray(filled.astype(pixels.dtype))


def fill_known(values: Any, weight: Any, below: Any = None, steps: int = -1) -> Any:
    """Return values where weight is 1, and averages of known values where it is 0.

    Parameters
    ----------
    values, weight : array of float64
        Space × planes, and space × 1.
    below : array, optional
        What is known to come so many `steps` down, of the size of the values there.
    steps : int
        How often sizes are halved before that.
    """
    xp = namespace(values, "filling what is not known")
    if below is None and (bool((weight > 0).all()) or max(weight.shape[:-1]) == 1):
        return values
    if steps:
        below = fill_known(*halve_known(values, weight), below, steps - 1)
        for axis, length in enumerate(values.shape[:-1]):
            below = xp.take(below, xp.arange(length) // 2, axis)
    return xp.where(weight > 0, values, below)


def halve_known(values: Any, weight: Any) -> tuple[Any, Any]:
    """Return the known values at half the size, averaged, and where there are any."""
    xp = namespace(values, "filling what is not known")
    coarse, share = values * weight, weight
    for axis in range(values.ndim - 1):
        coarse, share = (_halve(x, axis, xp) for x in (coarse, share))
    with np.errstate(divide="ignore", invalid="ignore"):
        coarse = xp.where(share > 0, coarse / share, 0)
    return coarse, (share > 0).astype(np.float64)


def _halve(x: Any, axis: int, xp: Any) -> Any:
    """Add neighbours along an axis, two by two."""
    length = x.shape[axis]
    if length % 2:
        borders = [(0, 0)] * x.ndim
        borders[axis] = (0, 1)
        x = xp.pad(x, borders)
    shape = (*x.shape[:axis], -1, 2, *x.shape[axis + 1 :])
    return x.reshape(shape).sum(axis=axis + 1)
