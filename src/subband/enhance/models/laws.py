"""Moments of the laws that noise follows: the logarithm of speckle, and counts under Anscombe's transform."""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, pi, sqrt

import numpy as np

from subband.typing import Array

__all__ = ["digamma", "mean_root", "tabulate_correction", "trigamma"]

#: Entries of the table of the inverse, counts at its end, and points that integrals are summed over.
_ENTRIES, _MOST_COUNTS, _FINE = 1025, 100, 2001


def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, for x > 0."""
    result = 0.0
    while x < 10:
        result -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return result + log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """Return the derivative of `digamma`, for x > 0."""
    result = 0.0
    while x < 10:
        result += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - square * 5 / 66))))
    return result + (1 + 0.5 / x + series) / x


def mean_root(shape: float) -> float:
    """Return the mean of the root of a gamma variable: Γ(shape + ½) / Γ(shape)."""
    return exp(lgamma(shape + 0.5) - lgamma(shape))


@lru_cache(maxsize=64)
def tabulate_correction(sigma: float) -> tuple[float, float, Array]:
    """Tabulate the exact unbiased inverse of Anscombe's transform, less its asymptotic form, over equal steps."""
    # positions whose transforms are about evenly spaced, from a count of 0 to where the asymptotic form holds
    root = np.linspace(0, 1, _FINE)
    counts = _MOST_COUNTS * root**2
    means = _transform_mean(counts, sigma)
    positions = np.linspace(means[0], means[-1], _ENTRIES)
    entries = np.interp(positions, means, counts) - (positions**2 / 4 - 1 / 8 - sigma**2)
    entries.flags.writeable = False
    return float(means[0]), float(positions[1] - positions[0]), entries


def _transform_mean(counts: Array, sigma: float) -> Array:
    """Return the mean of transformed samples, for each mean number of counts."""
    possible = np.arange(int(_MOST_COUNTS + 12 * sqrt(_MOST_COUNTS)) + 40)
    centre = possible + 3 / 8 + sigma**2
    if sigma == 0:
        transformed = 2 * np.sqrt(centre)
    else:
        # the mean over normal noise, with the root itself as the variable: nothing is then left of its kink at 0
        low, high = np.sqrt(np.maximum(centre - 10 * sigma, 0)), np.sqrt(centre + 10 * sigma)
        variable = low + (high - low) * np.linspace(0, 1, _FINE)[:, np.newaxis]
        density = np.exp(-0.5 * ((variable**2 - centre) / sigma) ** 2) / (sqrt(2 * pi) * sigma)
        # both ends of the sum are nothing, so that the rule of trapezoids is a mere sum
        transformed = np.sum(4 * variable**2 * density, axis=0) * (high - low) / (_FINE - 1)
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(possible[1:]))])
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = np.where(possible == 0, 0, possible * np.log(counts)[:, np.newaxis])
    chances = np.exp(exponents - counts[:, np.newaxis] - log_factorials)
    return np.asarray(chances @ transformed)
