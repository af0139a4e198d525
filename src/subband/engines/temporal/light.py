"""Changes of light between frames of video: what fades, flashes or is lit otherwise has not moved.

A prediction that is off by a part of the noise looks right sample by sample, and what it is off by adds up from frame
to frame. Means of blocks have a fraction of the noise: they tell a change of all of the frame, a gain and an offset
that are then applied to the prediction, and what is left in a part of it, where that counts as doubt.
"""

from __future__ import annotations

import numpy as np

from subband.tracking import (
    DRIFT_SLACK,
    DRIFT_WORTH,
    LIGHT_ROUNDS,
    LIGHT_SPREAD,
    LIGHT_WORTH,
    MOST_GAIN,
)
from subband.typing import Array

__all__ = ["find_light", "measure_drift"]


def find_light(new: Array, old: Array, variance: Array) -> tuple[float, float]:
    """Return the gain and the offset that lead from the means of blocks of a prediction to those of the frame.

    Blocks that do not follow hardly count. Where most do not, or noise explains the difference too, nothing changes.

    Parameters
    ----------
    new, old : ndarray
        Means of the frame and of the prediction.
    variance : ndarray
        Of the noise of their difference.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> old = rng.uniform(20, 200, 400)
    >>> new = 0.9 * old + 3 + rng.normal(0, 1, 400)
    >>> new[:80] = rng.uniform(20, 200, 80)
    >>> gain, offset = find_light(new, old, np.ones(400))
    >>> abs(gain - 0.9) < 0.01, abs(offset - 3) < 1
    (True, True)
    >>> find_light(old + rng.normal(0, 1, 400), old, np.ones(400))
    (1.0, 0.0)
    """
    x, y, noise = (np.ravel(each).astype(np.float64) for each in (old, new, variance))
    before = y - x
    gain, offset, after, spread = 1.0, 0.0, before, np.inf
    for _ in range(LIGHT_ROUNDS):
        scale = noise + min(spread, float(np.mean(np.square(after))))
        weight = 1 / (scale + np.square(after))
        total = weight.sum()
        middle, level = (weight @ x) / total, (weight @ y) / total
        gain = float((weight * (x - middle)) @ (y - level)) / max(float(weight @ np.square(x - middle)), 1e-9 * total)
        offset = float(level - gain * middle)
        after = y - gain * x - offset
        spread = float(weight @ np.square(after) / total)
    weight = 1 / (scale + np.square(after))
    worth = float(weight @ (np.square(before) - np.square(after)))
    contrast = float(weight @ np.square(y - level) / total)
    # where blocks hardly differ, as in a sky, an offset leads from any image to any other
    is_alike = spread <= LIGHT_SPREAD * contrast
    if worth < LIGHT_WORTH or not is_alike or not 1 / MOST_GAIN < gain < MOST_GAIN:
        return 1.0, 0.0
    return gain, offset


def measure_drift(difference: Array, noise: Array) -> Array:
    """Return by how much more than noise blocks differ from their prediction, as excess of the energy of samples.

    Parameters
    ----------
    difference : ndarray of shape (planes, blocks, blocks)
        Means of blocks less those of the prediction, over the standard deviation of such a difference of samples.
    noise : ndarray of shape (blocks, blocks)
        Variance of the noise of that.

    Examples
    --------
    >>> measure_drift(np.full((1, 2, 3), 0.5), np.full((2, 3), 1 / 256)).round(2)
    array([[2.46, 2.46, 2.46],
           [2.46, 2.46, 2.46]], dtype=float32)
    """
    around = np.square(_average_neighbours(difference)).max(axis=0)
    return np.asarray(DRIFT_WORTH * np.maximum(around - DRIFT_SLACK / 9 * _average_neighbours(noise), 0), np.float32)


def _average_neighbours(x: Array) -> Array:
    """Return means over 3 × 3 blocks; the outermost ones are repeated."""
    rows, columns = x.shape[-2:]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(1, 1)] * 2, mode="edge")
    lines = padded[..., :rows, :] + padded[..., 1 : rows + 1, :] + padded[..., 2:, :]
    return np.asarray((lines[..., :columns] + lines[..., 1 : columns + 1] + lines[..., 2:]) / 9)
