"""Counts and sums over parts of a band, between the candidates for Stein's estimate of the risk, and what they decide.

The candidates are the same for all coefficients of a band, so that counts and sums between them are all that has to be
known. They are added in any order: what is decided by them is what the whole band decides, to the rounding of sums.
These functions take arrays of any library that speaks NumPy; the loops of the CPU are in `compiled_statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from subband.arrays import namespace, to_host
from subband.engines.filters.constants import LARGEST_FACTOR, NEIGHBOUR_WINDOWS, SURE_BINS
from subband.typing import Array

__all__ = [
    "BINS",
    "EMPTY",
    "choose_neighbours",
    "choose_rows",
    "choose_threshold",
    "count_magnitudes",
    "count_neighbours",
    "find_step",
    "scale_neighbours",
]

#: Candidates, 0 among them.
BINS = SURE_BINS + 1

#: What an empty neighbourhood is taken for.
EMPTY = 1e-9


def count_magnitudes(band: Any, noise: Array, step: float) -> Array:
    """Count magnitudes over the noise, and sum their squares; see `Filters.count_magnitudes`."""
    tables = np.zeros((len(band), 2, BINS))
    for table, plane, n in zip(tables, band, noise.tolist(), strict=True):
        if n:
            ratio = abs(plane.astype(np.float64)).ravel() / n
            bins = _find_bins(ratio, step)
            table[:] = [_add_up(bins), _add_up(bins, ratio * ratio)]
    return tables


def count_neighbours(band: Any, noise: Array, inner: Sequence[slice], rows: Array) -> Array:
    """Sum what the risk of factors and windows needs; see `Filters.count_neighbours`."""
    space = tuple(band.shape[1:])
    tables = np.zeros((len(band), len(NEIGHBOUR_WINDOWS), 3, BINS))
    xp = namespace(band, "a band")
    indices = [xp.arange(*own.indices(length)) for own, length in zip(inner, space, strict=True)]
    if len(space) > 1:
        indices[-2] = xp.asarray(rows)
    here = xp.ix_(*indices)
    for plane, n in enumerate(noise.tolist()):
        if n == 0:
            continue
        squares = xp.square(band[plane].astype(np.float64) / n)
        square = squares[here].ravel()
        for number, window in enumerate(NEIGHBOUR_WINDOWS):
            m = _average(squares, window, xp)[here].ravel() + EMPTY
            bins = _find_bins(m, LARGEST_FACTOR / SURE_BINS)
            sums = square - 2, square / (m * m), 1 / m
            tables[plane, number] = [_add_up(bins, each) for each in sums]
    return tables


def scale_neighbours(band: Any, noise: Array, chosen: Array) -> Any:
    """Return coefficients multiplied by ``max(1 - k / m, 0)``; see `Filters.scale_neighbours`."""
    xp = namespace(band, "a band")
    result = band.copy()
    for number, (n, (factor, window)) in enumerate(zip(noise.tolist(), chosen.tolist(), strict=True)):
        if n and factor:
            values = band[number].astype(np.float64)
            m = _average(xp.square(values / n), int(window), xp) + EMPTY
            result[number] = values * xp.maximum(1 - factor / m, 0)
    return result


def find_step(count: int) -> float:
    """Return the distance between candidates for a threshold, over the noise, of a band of so many coefficients."""
    return sqrt(2 * log(max(count, 1))) / SURE_BINS


def choose_threshold(tables: Array, noise: Array, count: int) -> Array:
    """Return the soft threshold of each plane with the least risk, from the sums of all parts of a band.

    Parameters
    ----------
    tables : ndarray of shape (planes, 2, candidates)
        From `count_magnitudes`, added.
    noise : ndarray
        Standard deviation in this band, of each plane.
    count : int
        Coefficients of a plane of the whole band.

    Examples
    --------
    >>> band = np.array([[0.5, -0.5, 9.0, 0.25]])
    >>> parts = [count_magnitudes(part, np.ones(1), find_step(4)) for part in (band[:, :1], band[:, 1:])]
    >>> choose_threshold(sum(parts), np.ones(1), 4).round(3)
    array([0.52])
    """
    candidates = np.arange(BINS) * find_step(count)
    counts, squares = tables[:, 0], tables[:, 1]
    below = _sum_below(counts)
    risks = count - 2 * below + _sum_below(squares) + (count - below) * candidates**2
    return np.where(noise == 0, 0.0, noise * candidates[np.argmin(risks, axis=1)])


def choose_neighbours(tables: Array, noise: Array, dimensions: int) -> Array:
    """Return the factor and the window of each plane with the least risk, from the sums of all parts of a band.

    Returns
    -------
    ndarray of shape (planes, 2)
        A factor of 0 leaves all as it is.

    Examples
    --------
    >>> tables = count_neighbours(np.zeros((1, 4, 4)), np.ones(1), (slice(4), slice(4)), np.arange(4))
    >>> choose_neighbours(tables, np.ones(1), 2)
    array([[0.1875, 3.    ]])
    """
    candidates = np.arange(BINS) * (LARGEST_FACTOR / SURE_BINS)
    planes = len(tables)
    least, factors, windows = np.full(planes, np.inf), np.zeros(planes), np.full(planes, NEIGHBOUR_WINDOWS[0])
    for number, window in enumerate(NEIGHBOUR_WINDOWS):
        gone, squares, shares = np.moveaxis(tables[:, number], 1, 0)
        squares, shares = (np.sum(kind, axis=1, keepdims=True) - _sum_below(kind) for kind in (squares, shares))
        slope = 4 * squares / window**dimensions - 2 * shares
        risks = np.nan_to_num(_sum_below(gone) + candidates**2 * squares + candidates * slope, nan=np.inf)
        best = np.argmin(risks, axis=1)
        smallest = risks[np.arange(planes), best]
        better = smallest < least
        least, factors = np.where(better, smallest, least), np.where(better, candidates[best], factors)
        windows = np.where(better, window, windows)
    return np.stack([np.where(noise == 0, 0.0, factors), windows], axis=1)


def _sum_below(bins: Array) -> Array:
    """Return for every bin the sum of those before it, along the last axis."""
    return np.cumsum(bins, axis=-1) - bins


def choose_rows(space: tuple[int, ...], inner: Sequence[slice], first: int, distance: int) -> Array:
    """Return the rows of a block that count; a signal is a row by itself."""
    if len(space) == 1:
        return np.arange(1)
    rows = np.arange(*inner[-2].indices(space[-2]))
    counted: Array = rows[(rows + first) % distance == 0]
    return counted


def _find_bins(values: Any, step: float) -> Any:
    """Return the last candidate that is not above each value, whatever a division rounds."""
    xp = namespace(values, "a band")
    bins = xp.minimum(values / step, BINS - 1).astype(np.int64)
    bins = bins - (values < bins * step).astype(np.int64)
    return bins + ((bins < BINS - 1) & (values >= (bins + 1) * step)).astype(np.int64)


def _add_up(bins: Any, weights: Any = None) -> Array:
    xp = namespace(bins, "a band")
    return to_host(xp.bincount(bins, weights, minlength=BINS))


def _average(values: Any, window: int, xp: Any) -> Any:
    """Return the mean over a window around every sample; borders are mirrored, the last sample repeated."""
    reach = window // 2
    for axis, length in enumerate(values.shape):
        borders = [(0, 0)] * values.ndim
        borders[axis] = (reach, reach)
        wide = xp.moveaxis(xp.pad(values, borders, mode="symmetric"), axis, 0)
        total = wide[:length].copy()
        for start in range(1, window):
            total += wide[start : start + length]
        values = xp.moveaxis(total / window, 0, axis)
    return values
