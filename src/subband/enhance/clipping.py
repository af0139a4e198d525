"""Noise where samples were clipped: how much of it is left, and what it was before.

A sample that noise would have made darker than black is black. Of normal noise around a mean, clipping at one bound
leaves a variance and moves the mean; both depend only on how many standard deviations the mean was away from the bound,
so that what is left tells what there was.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, inf, pi, sqrt

import numpy as np

from subband.typing import Array

__all__ = ["find_clipped", "measure_clipping"]

#: Where so many samples have the least or the greatest value, they were clipped.
_CLIPPED = 2e-3

#: How often each bound is looked at, given what the other one has taken; and the least that counts as left.
_ROUNDS, _LEAST = 8, 0.01


def find_clipped(plane: Array) -> tuple[Array, float, float]:
    """Tell which samples were clipped, and at which values: infinite ones if none were.

    Examples
    --------
    >>> noisy = np.random.default_rng(0).normal(5, 10, (64, 64))
    >>> is_clipped, least, most = find_clipped(np.clip(noisy, 0, 255))
    >>> bool(is_clipped.mean() > 0.2), least, most
    (True, 0.0, inf)
    """
    is_clipped = np.zeros(plane.shape, np.bool_)
    bounds = []
    for bound, nowhere in ((float(plane.min()), -inf), (float(plane.max()), inf)):
        is_bound = plane == bound
        if _CLIPPED < is_bound.mean() < 1:
            is_clipped |= is_bound
            bounds.append(bound)
        else:
            bounds.append(nowhere)
    return is_clipped, bounds[0], bounds[1]


def measure_clipping(variance: Array, below: Array, above: Array) -> tuple[Array, Array]:
    """Return the part of the variance of normal noise that clipping has left, and how far it has moved the mean.

    Parameters
    ----------
    variance : ndarray
        What is left.
    below, above : ndarray
        How far the mean that is left is from the lower and the upper bound; infinite if there is none.

    Examples
    --------
    Of noise around black, a third is left, and it is no longer around black:

    >>> noisy = np.maximum(np.random.default_rng(0).normal(0, 10, 100_000), 0)
    >>> left, shift = measure_clipping(np.array([noisy.var()]), np.array([noisy.mean()]), np.array([np.inf]))
    >>> left.round(2), np.sqrt(noisy.var() / left).round(1), (noisy.mean() - shift).round(1)
    (array([0.34]), array([10.]), array([0.]))
    """
    left_above = np.ones_like(variance)
    for _ in range(_ROUNDS):
        left_below, from_below = _look_up(variance / left_above, below)
        left_above, from_above = _look_up(variance / left_below, above)
    left = np.maximum(left_below * left_above, _LEAST)
    return left, np.sqrt(variance / left) * (from_below - from_above)


def _look_up(variance: Array, distance: Array) -> tuple[Array, Array]:
    """Return what one bound leaves, and by how many standard deviations of the noise it has moved the mean."""
    ratios, left, moved = _tabulate()
    ratio = variance / np.square(distance)
    return np.interp(ratio, ratios, left), np.interp(ratio, ratios, moved)


@lru_cache(maxsize=1)
def _tabulate() -> tuple[Array, Array, Array]:
    """Return what clipping at 0 does to normal noise of variance 1, for means from far above to below that.

    The variance over the squared mean after clipping, the variance, and by how much the mean has moved.
    """
    mean = np.linspace(8.0, -3.0, 1101)
    density = np.exp(-np.square(mean) / 2) / sqrt(2 * pi)
    inside = np.array([erfc(-each / sqrt(2)) / 2 for each in mean])
    clipped = density + mean * inside
    variance = (1 + np.square(mean)) * inside + mean * density - np.square(clipped)
    return variance / np.square(clipped), variance, clipped - mean
