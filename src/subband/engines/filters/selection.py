"""What the CPU's filters choose from statistics that several tasks have gathered: medians and thresholds."""

from __future__ import annotations

from math import log, prod, sqrt

import numpy as np

from subband.engines.filters.constants import ENOUGH, LARGEST_FACTOR, MAGNITUDES, NEIGHBOUR_WINDOWS, SURE_BINS, TILE
from subband.engines.filters.launch import TaskKernels, cut_tasks, invert_noise
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["choose_neighbours", "choose_sure", "measure_median", "measure_power"]

_statistics = TaskKernels("subband.engines.filters.loops.statistics")
_windows = TaskKernels("subband.engines.filters.loops.windows")


def measure_power(planes: Array) -> Array:
    """Return the mean square of each plane.

    Examples
    --------
    >>> measure_power(np.array([[1.0, 7.0]]))
    array([25.])
    """
    count = planes[0].size
    tasks = cut_tasks(len(planes), 1, count)
    sums = np.empty(len(tasks))
    _statistics.sum_squares(tasks, (sums, planes), (), (count,), planes.size)
    return np.asarray(_split_by_plane(sums, len(planes)).sum(axis=1) / count)


def measure_median(planes: Array, mask: Array | None = None) -> Array:
    """Return the median magnitude of each plane: of those where a mask is not 0, if there is one.

    A histogram says in which bin the middle is; only what lies in it is sorted, and only as far as need be.

    Examples
    --------
    >>> measure_median(np.array([[-3.0, 1.0, 2.0, 0.0]]))
    array([1.5])
    """
    count, planes_count = planes[0].size, len(planes)
    tasks = cut_tasks(planes_count, 1, count)
    chosen = np.ones(1, np.uint8) if mask is None else np.ascontiguousarray(mask, np.uint8)
    sizes = count, int(mask is not None)
    table = allocate((len(tasks), MAGNITUDES), np.dtype(np.int32))
    _statistics.count_magnitudes(tasks, (table, planes, chosen), (), sizes, planes.size)
    per_plane = _split_by_plane(table, planes_count)
    # how many are in the first bin of a plane and those below it
    heights = np.cumsum(per_plane.sum(axis=1, dtype=np.int64), axis=1)
    middle = np.stack([(heights[:, -1] - 1) // 2, heights[:, -1] // 2])
    first, last = ((heights <= rank[:, np.newaxis]).sum(axis=1) for rank in middle)
    inside = np.array(
        [own[:, a : b + 1].sum(axis=1) for own, a, b in zip(per_plane, first, last, strict=True)], np.int64
    ).ravel()
    ends = np.cumsum(inside)
    numbers = np.stack([first[tasks[:, 0]], last[tasks[:, 0]], ends - inside], axis=1)
    found = allocate((int(ends[-1]),), planes.dtype)
    _statistics.collect_magnitudes(tasks, (found, planes, chosen), numbers, sizes, planes.size)
    medians = np.empty(planes_count)
    edges = [0, *_split_by_plane(ends, planes_count)[:, -1]]
    for plane in range(planes_count):
        part = found[edges[plane] : edges[plane + 1]]
        below = heights[plane, first[plane] - 1] if first[plane] else 0
        ranks = [int(rank[plane] - below) for rank in middle]
        part.partition(ranks)
        medians[plane] = (float(part[ranks[0]]) + float(part[ranks[1]])) / 2
    return medians


def choose_sure(planes: Array, noise: Array) -> Array:
    """Return the soft threshold of each plane with the least of Stein's estimate of the risk.

    See `subband.engines.filters.Filters.find_sure_threshold`; `noise` is that of the band.

    Examples
    --------
    >>> choose_sure(np.array([[0.5, -0.5, 9.0, 0.25]]), np.ones(1)).round(3)
    array([0.52])
    """
    count, bins = planes[0].size, SURE_BINS + 1
    step = sqrt(2 * log(max(count, 1))) / SURE_BINS
    if step == 0:
        return np.zeros(len(planes))
    tasks = cut_tasks(len(planes), 1, count)
    table = np.empty((len(tasks), 2, bins))
    _statistics.count_risk(tasks, (table, planes), [step, *noise], (count, bins), planes.size)
    counts, squares = np.moveaxis(_split_by_plane(table, len(planes)).sum(axis=1), 1, 0)
    candidates = np.arange(bins) * step
    below = _sum_below(counts)
    risks = count - 2 * below + _sum_below(squares) + (count - below) * candidates**2
    return np.where(noise == 0, 0.0, noise * candidates[np.argmin(risks, axis=1)])


def choose_neighbours(planes: Array, noise: Array) -> tuple[Array, Array]:
    """Return the factor and the window of each plane with the least of Stein's estimate of the risk.

    See `subband.engines.filters.Filters.shrink_neighbours`; `noise` is that of the band.

    Examples
    --------
    >>> factors, sides = choose_neighbours(np.zeros((1, 4, 4)), np.ones(1))
    >>> factors.tolist(), sides.tolist()
    ([0.1875], [3])
    """
    space, bins, step = planes.shape[1:], SURE_BINS + 1, LARGEST_FACTOR / SURE_BINS
    depth, height, width = (1,) * (3 - len(space)) + space
    tasks = cut_tasks(len(planes) * depth, height, width, TILE)
    table = np.empty((len(tasks), 3, bins))
    inverse = [invert_noise(n) if n else 0.0 for n in noise.tolist()]
    candidates = np.arange(bins) * step
    least = np.full(len(planes), np.inf)
    factors, sides = np.zeros(len(planes)), np.full(len(planes), NEIGHBOUR_WINDOWS[0])
    for window in NEIGHBOUR_WINDOWS:
        sizes = depth, height, width, len(space), window, bins, max(1, prod(space) // ENOUGH)
        numbers = [step, 1 / window ** len(space), *inverse]
        _windows.count_neighbours(tasks, (table, planes), numbers, sizes, planes.size)
        gone, squares, shares = np.moveaxis(_split_by_plane(table, len(planes)).sum(axis=1), 1, 0)
        squares, shares = (np.sum(kind, axis=1, keepdims=True) - _sum_below(kind) for kind in (squares, shares))
        slope = 4 * squares / window ** len(space) - 2 * shares
        risks = np.nan_to_num(_sum_below(gone) + candidates**2 * squares + candidates * slope, nan=np.inf)
        best = np.argmin(risks, axis=1)
        smallest = risks[np.arange(len(planes)), best]
        better = smallest < least
        least, factors = np.where(better, smallest, least), np.where(better, candidates[best], factors)
        sides = np.where(better, window, sides)
    return np.where(noise == 0, 0.0, factors), sides


def _split_by_plane(table: Array, count: int) -> Array:
    """Return what tasks have gathered as planes × tasks of a plane × the rest."""
    return table.reshape(count, -1, *table.shape[1:])


def _sum_below(bins: Array) -> Array:
    """Return for every bin the sum of those before it, along the last axis."""
    return np.cumsum(bins, axis=-1) - bins
