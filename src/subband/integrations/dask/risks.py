"""Stein's estimate of the risk, chunk by chunk: what is counted in a chunk, and what the counts of all decide.

The candidates for a threshold are the same for all coefficients of a band, so that counts and sums between them are all
that has to be known. They are added in any order, and nothing is lost by that: what is decided is what the whole band
decides in memory, to the rounding of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod, sqrt
from typing import Any

import numpy as np

from subband.arrays import namespace, to_host
from subband.engines.filters import Filters
from subband.engines.filters.base import SURE_BINS
from subband.engines.filters.compiled import CompiledFilters
from subband.engines.filters.launch import cut_tasks
from subband.engines.filters.loops import statistics, windows
from subband.engines.filters.plain import PlainFilters
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = [
    "WIDEST",
    "choose_neighbours",
    "choose_threshold",
    "count_magnitudes",
    "count_neighbours",
    "find_distance",
    "scale_neighbours",
]

#: Windows and the largest factor that there are to choose from, as in memory.
_WINDOWS, _LARGEST_FACTOR = (3, 5), 6.0

#: Samples along each axis that the wider window has.
WIDEST = _WINDOWS[-1]

#: What an empty neighbourhood is taken for.
_EMPTY = 1e-9

#: Of a plane with more coefficients than this only some rows are looked at to choose a factor, as in memory.
_ENOUGH = 1 << 17

_BINS = SURE_BINS + 1


def count_magnitudes(filters: Filters, band: Any, noise: Array, count: int) -> Array:
    """Count magnitudes over the noise, and sum their squares, between the candidates for a threshold.

    Parameters
    ----------
    filters : Filters
        Who computes.
    band : array
        Planes × space, a part of it.
    noise : ndarray
        Standard deviation in this band, of each plane.
    count : int
        Coefficients of a plane of the whole band.

    Returns
    -------
    ndarray of shape (planes, 2, candidates)
        To be added to those of the other parts.

    Examples
    --------
    >>> counts = count_magnitudes(PlainFilters(), np.array([[0.5, -0.5, 9.0, 0.25]]), np.ones(1), 4)
    >>> float(counts[0, 0].sum())
    4.0
    """
    step = sqrt(2 * log(max(count, 1))) / SURE_BINS
    tables = np.zeros((len(band), 2, _BINS))
    if step == 0 or 0 in band.shape:
        return tables
    if isinstance(filters, CompiledFilters):
        size = band[0].size
        tasks = cut_tasks(len(band), 1, size)
        found = np.empty((len(tasks), 2, _BINS))
        statistics.count_risk(tasks, (found, band), [step, *noise], (size, _BINS), band.size)
        return np.asarray(found.reshape(len(band), -1, 2, _BINS).sum(axis=1))
    for table, plane, n in zip(tables, band, noise.tolist(), strict=True):
        if n:
            ratio = abs(plane.astype(np.float64)).ravel() / n
            places = _find_bins(ratio, step)
            table[:] = [_add_up(places), _add_up(places, ratio * ratio)]
    return tables


def choose_threshold(tables: Array, noise: Array, count: int) -> Array:
    """Return the soft threshold of each plane with the least risk, from the sums of all parts of a band.

    Examples
    --------
    >>> band = np.array([[0.5, -0.5, 9.0, 0.25]])
    >>> parts = [count_magnitudes(PlainFilters(), part, np.ones(1), 4) for part in (band[:, :1], band[:, 1:])]
    >>> choose_threshold(sum(parts), np.ones(1), 4).round(3)
    array([0.52])
    """
    candidates = np.arange(_BINS) * (sqrt(2 * log(max(count, 1))) / SURE_BINS)
    counts, squares = tables[:, 0], tables[:, 1]
    below = _sum_below(counts)
    risks = count - 2 * below + _sum_below(squares) + (count - below) * candidates**2
    return np.where(noise == 0, 0.0, noise * candidates[np.argmin(risks, axis=1)])


def find_distance(filters: Filters, count: int) -> int:
    """Return how far rows are apart that count when a window is chosen for a band of so many coefficients.

    Examples
    --------
    >>> find_distance(CompiledFilters(), 4096 * 4096), find_distance(PlainFilters(), 4096 * 4096)
    (128, 1)
    """
    return 1 if isinstance(filters, PlainFilters) else max(1, count // _ENOUGH)


def count_neighbours(
    filters: Filters, band: Any, noise: Array, inner: Sequence[slice], first: int, distance: int
) -> Array:
    """Sum what the risk of factors and windows needs, for each bin of the mean square m over a window of w = v / n.

    Parameters
    ----------
    filters : Filters
        Who computes.
    band : array
        Planes × space: a part of it, and half a window around that.
    noise : ndarray
        Standard deviation in this band, of each plane.
    inner : sequence of slice
        Where the part is, along each axis of space.
    first : int
        Number of the first row of `band` in the whole.
    distance : int
        How far the rows are apart that count, from row 0 of the whole on.

    Returns
    -------
    ndarray of shape (planes, windows, 3, candidates)
        For each window the sums of w² - 2, of w² / m² and of 1 / m; to be added to those of the other parts.
    """
    space = tuple(band.shape[1:])
    tables = np.zeros((len(band), len(_WINDOWS), 3, _BINS))
    rows = _choose_rows(space, inner, first, distance)
    if 0 in band.shape or not len(rows):
        return tables
    if isinstance(filters, CompiledFilters):
        return _count_compiled(band, noise, tuple(inner), rows, is_dense=distance == 1)
    xp = namespace(band, "a band")
    chosen = [own.indices(length) for own, length in zip(inner, space, strict=True)]
    places = [xp.arange(*own) for own in chosen]
    if len(space) > 1:
        places[-2] = xp.asarray(rows)
    for plane, n in enumerate(noise.tolist()):
        if n == 0:
            continue
        squares = xp.square(band[plane].astype(np.float64) / n)
        here = xp.ix_(*places)
        square = squares[here].ravel()
        for number, window in enumerate(_WINDOWS):
            m = _average(squares, window, xp)[here].ravel() + _EMPTY
            bins = _find_bins(m, _LARGEST_FACTOR / SURE_BINS)
            sums = square - 2, square / (m * m), 1 / m
            tables[plane, number] = [_add_up(bins, each) for each in sums]
    return tables


def choose_neighbours(tables: Array, noise: Array, dimensions: int) -> Array:
    """Return the factor and the window of each plane with the least risk, from the sums of all parts of a band.

    Returns
    -------
    ndarray of shape (planes, 2)
        A factor of 0 leaves all as it is.

    Examples
    --------
    >>> tables = count_neighbours(PlainFilters(), np.zeros((1, 4, 4)), np.ones(1), [slice(4), slice(4)], 0, 1)
    >>> choose_neighbours(tables, np.ones(1), 2)
    array([[0.1875, 3.    ]])
    """
    candidates = np.arange(_BINS) * (_LARGEST_FACTOR / SURE_BINS)
    planes = len(tables)
    least, chosen = np.full(planes, np.inf), np.zeros((planes, 2))
    chosen[:, 1] = _WINDOWS[0]
    for number, window in enumerate(_WINDOWS):
        gone, squares, shares = np.moveaxis(tables[:, number], 1, 0)
        squares, shares = (np.sum(kind, axis=1, keepdims=True) - _sum_below(kind) for kind in (squares, shares))
        slope = 4 * squares / window**dimensions - 2 * shares
        risks = np.nan_to_num(_sum_below(gone) + candidates**2 * squares + candidates * slope, nan=np.inf)
        best = np.argmin(risks, axis=1)
        smallest = risks[np.arange(planes), best]
        better = smallest < least
        least = np.where(better, smallest, least)
        chosen[better] = np.stack([candidates[best], np.full(planes, window)], axis=1)[better]
    chosen[noise == 0, 0] = 0.0
    return chosen


def scale_neighbours(filters: Filters, band: Any, noise: Array, chosen: Array) -> Any:
    """Return coefficients multiplied by ``max(1 - k / m, 0)``, with factor and window from `choose_neighbours`.

    Examples
    --------
    >>> scale_neighbours(PlainFilters(), np.full((1, 3, 3), 2.0), np.ones(1), np.array([[1.0, 3.0]]))[0, 0].round(3)
    array([1.5, 1.5, 1.5])
    """
    if isinstance(filters, CompiledFilters):
        space = band.shape[1:]
        out = allocate(band.shape, band.dtype)
        inverse = [windows.invert_noise(n) for n in noise.tolist()]
        numbers = np.stack([inverse, *chosen.T, 1 / chosen[:, 1] ** len(space)], axis=1)
        depth, height, width = (1,) * (3 - len(space)) + space
        tasks = cut_tasks(len(band) * depth, height, width, windows.TILE)
        windows.scale_neighbours(tasks, (out, band), numbers, (depth, height, width, len(space)), band.size)
        return out
    xp = namespace(band, "a band")
    result = band.copy()
    for place, (n, (factor, window)) in enumerate(zip(noise.tolist(), chosen.tolist(), strict=True)):
        if n and factor:
            values = band[place].astype(np.float64)
            m = _average(xp.square(values / n), int(window), xp) + _EMPTY
            result[place] = values * xp.maximum(1 - factor / m, 0)
    return result


def _choose_rows(space: tuple[int, ...], inner: Sequence[slice], first: int, distance: int) -> Array:
    """Return the rows of a block that count; a signal is a row by itself."""
    if len(space) == 1:
        return np.arange(1)
    rows = np.arange(*inner[-2].indices(space[-2]))
    counted: Array = rows[(rows + first) % distance == 0]
    return counted


def _count_compiled(band: Array, noise: Array, inner: tuple[slice, ...], rows: Array, *, is_dense: bool) -> Array:
    """Sum up with the loops of the CPU, told which rows and columns count."""
    space = band.shape[1:]
    depth, height, width = (1,) * (3 - len(space)) + space
    slices = range(*inner[0].indices(depth)) if len(space) == 3 else range(1)
    begin, end, _ = inner[-1].indices(width)
    tiles = [(at, min(at + windows.TILE, end)) for at in range(begin, end, windows.TILE)]
    strips = [(int(rows[0]), int(rows[-1]) + 1)] if is_dense else [(int(row), int(row) + 1) for row in rows]
    boxes = [
        (plane * depth + z, *strip, *tile) for plane in range(len(band)) for z in slices for strip in strips
        for tile in tiles
    ]  # fmt: skip
    tables = np.zeros((len(band), len(_WINDOWS), 3, _BINS))
    if not boxes:
        return tables
    tasks = np.array([(*box, number) for number, box in enumerate(boxes)], np.int64)
    inverse = [windows.invert_noise(n) if n else 0.0 for n in noise.tolist()]
    found = np.empty((len(tasks), 3, _BINS))
    for number, window in enumerate(_WINDOWS):
        sizes = depth, height, width, len(space), window, _BINS, 1
        numbers = [_LARGEST_FACTOR / SURE_BINS, 1 / window ** len(space), *inverse]
        windows.count_neighbours(tasks, (found, band), numbers, sizes, prod(rows.shape) * width)
        tables[:, number] = found.reshape(len(band), -1, 3, _BINS).sum(axis=1)
    return tables


def _find_bins(values: Any, step: float) -> Any:
    """Return the last candidate that is not above each value, whatever a division rounds."""
    xp = namespace(values, "a band")
    places = xp.minimum(values / step, _BINS - 1).astype(np.int64)
    places = places - (values < places * step).astype(np.int64)
    return places + ((places < _BINS - 1) & (values >= (places + 1) * step)).astype(np.int64)


def _add_up(places: Any, weights: Any = None) -> Array:
    xp = namespace(places, "a band")
    return to_host(xp.bincount(places, weights, minlength=_BINS))


def _sum_below(bins: Array) -> Array:
    """Return for every bin the sum of those before it, along the last axis."""
    return np.cumsum(bins, axis=-1) - bins


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
