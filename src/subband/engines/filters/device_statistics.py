"""Statistics of planes on a device: noise, thresholds and windows, which stay there."""

from __future__ import annotations

from math import gcd, log, sqrt
from typing import Any

import numpy as np

from subband.engines.filters.constants import LARGEST_FACTOR, NORMAL_MEDIAN, SURE_BINS
from subband.engines.filters.device_launcher import MOST_GROUPS, Launcher, Space, count_items, find_space
from subband.kernels.dialects import LANES
from subband.kernels.statistics import BINS, PARTS, StatisticSpec, render_statistic
from subband.kernels.windows import WINDOWS

__all__ = ["choose_window", "find_bayes_threshold", "find_sure_threshold", "measure_noise"]

# a lane has one candidate, and the threshold of zero needs none
assert SURE_BINS == LANES

#: Groups that count, at most: each has a histogram of its own in local memory, so that no more run at a time on a GPU,
#: and a CPU runs few. And how many times each counts, at least, because to clear and to add a histogram takes time too.
_MOST_COUNTERS, _MOST_COUNTERS_OF_CPU, _FEWEST_TURNS = 2048, 64, 16

#: Rows of sums, at most.
_MOST_ROWS = 4096

#: Coefficients from which a window is chosen, about; more would not change the choice.
_MOST_SAMPLES = 1 << 18


def measure_noise(launcher: Launcher, band: Any, gain: float, mask: Any, dtype: np.dtype[Any]) -> Any:
    """Return the median magnitude of each plane over that of noise with standard deviation one."""
    device, space = launcher.device, find_space(band.shape)
    numbers = device.allocate((space.planes,), dtype)
    counts = device.make_zeros((space.planes * (len(PARTS) * BINS + 2),), np.dtype(np.uint32))
    each = launcher.choose_run(space.size, band, *(() if mask is None else (mask,)))
    spec = StatisticSpec("histogram", band.dtype.name, each, mask is not None)
    values = launcher.list_values(dtype, 1 / (NORMAL_MEDIAN * gain))
    most = _MOST_COUNTERS if device.is_gpu else _MOST_COUNTERS_OF_CPU
    turns = -(-space.size // (each * LANES * _FEWEST_TURNS))
    groups = (min(turns, most), 1, min(space.planes, MOST_GROUPS))
    for part, (shift, length) in enumerate(PARTS):
        table = launcher.tabulate(space.size // each, space.planes, part, shift, length)
        arguments = (band, band if mask is None else mask, counts, table)
        launcher.run(render_statistic, spec, groups, *arguments, block=1)
        pick = StatisticSpec("pick", dtype.name)
        launcher.run(render_statistic, pick, (1, 1, groups[2]), counts, numbers, table, values, block=1)
    return numbers


def find_bayes_threshold(launcher: Launcher, band: Any, noise: Any, gain: float) -> Any:
    """Return BayesShrink's threshold of each plane."""
    space = find_space(band.shape)
    each = launcher.choose_run(space.size, band)
    rows = _count_rows(space.size // each)
    sums = launcher.device.allocate((space.planes, rows, LANES), noise.dtype)
    spec = StatisticSpec("squares", band.dtype.name, each)
    table = launcher.tabulate(space.size // each, space.planes, rows)
    launcher.run(render_statistic, spec, (rows, 1, min(space.planes, MOST_GROUPS)), band, sums, table)
    return _decide(launcher, "bayes", sums, noise, gain, 1 / space.size)


def find_sure_threshold(launcher: Launcher, band: Any, noise: Any, gain: float) -> Any:
    """Return the threshold of each plane with the least of Stein's estimate of the risk."""
    space = find_space(band.shape)
    rows = _count_rows(space.size)
    distance = sqrt(2 * log(space.size)) / SURE_BINS
    sums = launcher.device.allocate((space.planes, rows, LANES), noise.dtype)
    table = launcher.tabulate(space.size, space.planes, rows)
    values = launcher.list_values(noise.dtype, gain, distance)
    spec = StatisticSpec("risks", band.dtype.name)
    launcher.run(render_statistic, spec, (rows, 1, min(space.planes, MOST_GROUPS)), band, sums, table, values, noise)
    return _decide(launcher, "sure", sums, noise, gain, distance)


def choose_window(launcher: Launcher, band: Any, noise: Any, gain: float) -> Any:
    """Return for each plane a factor, and whether the wider window is better, for `Filters.shrink_neighbours`."""
    space, axes = find_space(band.shape), band.ndim - 1
    taken, apart = choose_samples(space)
    rows = min(taken, _MOST_ROWS)
    distance = LARGEST_FACTOR / SURE_BINS
    sums = launcher.device.allocate((space.planes, rows, 2 * LANES), noise.dtype)
    table = launcher.tabulate(*space, rows, taken, apart)
    values = launcher.list_values(noise.dtype, gain, distance, *(float(window) ** -axes for window in WINDOWS))
    spec = StatisticSpec("neighbours", band.dtype.name, axes=axes)
    launcher.run(render_statistic, spec, (rows, 1, min(space.planes, MOST_GROUPS)), band, sums, table, values, noise)
    return _decide(launcher, "window", sums, noise, gain, distance)


def choose_samples(space: Space) -> tuple[int, int]:
    """Return how many times 32 neighbours of a plane are looked at, and how far apart these are.

    Examples
    --------
    >>> choose_samples(Space(1, 1, 512, 500))
    (8192, 1)
    >>> choose_samples(Space(1, 1, 4096, 4096))
    (8066, 65)
    """
    across = -(-space.width // LANES)
    pieces = across * space.height * space.depth
    apart = max(1, pieces * LANES // _MOST_SAMPLES)
    # no common divisor, so that they do not stand below each other
    while gcd(apart, across) > 1:
        apart += 1
    return -(-pieces // apart), apart


def _count_rows(items: int) -> int:
    return max(1, min(-(-items // LANES), _MOST_ROWS))


def _decide(launcher: Launcher, task: Any, sums: Any, noise: Any, gain: float, step: float) -> Any:
    """Add rows of sums until one is left for each plane, and return what follows from it."""
    planes, rows, length = sums.shape
    while rows > 1:
        goal = -(-rows // LANES)
        fewer = launcher.device.allocate((planes, goal, length), sums.dtype)
        table = launcher.tabulate(planes, rows, goal, length)
        groups = (goal, length // LANES, min(planes, MOST_GROUPS))
        launcher.run(render_statistic, StatisticSpec("fold", sums.dtype.name), groups, sums, fewer, table)
        sums, rows = fewer, goal
    results = launcher.device.allocate((planes,) if task != "window" else (planes, 2), sums.dtype)
    values = launcher.list_values(sums.dtype, gain, step)
    arguments = (sums, results, launcher.tabulate(planes), values, noise)
    launcher.run(render_statistic, StatisticSpec(task, sums.dtype.name), count_items(planes, 1), *arguments)
    return results
