"""Statistics of planes on a device: noise, thresholds and windows, which stay there."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, log, prod, sqrt
from typing import Any

import numpy as np

from subband.engines.filters import cells as rule
from subband.engines.filters.cells import Cells
from subband.engines.filters.constants import LARGEST_FACTOR, NORMAL_MEDIAN, SURE_BINS
from subband.engines.filters.device_launcher import MOST_GROUPS, Launcher, Space, count_items, count_rows, find_space
from subband.kernels.cells import CellSpec, Rule, render_cells
from subband.kernels.dialects import LANES
from subband.kernels.statistics import BINS, PARTS, StatisticSpec, render_statistic
from subband.kernels.windows import WINDOWS

__all__ = ["RULE", "choose_window", "find_bayes_threshold", "find_sure_threshold", "measure_median", "measure_smooth"]

# a lane has one candidate, and the threshold of zero needs none
assert SURE_BINS == LANES

#: Groups that count, at most: each has a histogram of its own in local memory, so that no more run at a time on a GPU,
#: and a CPU runs few. And how many times each counts, at least, because to clear and to add a histogram takes time too.
_MOST_COUNTERS, _MOST_COUNTERS_OF_CPU, _FEWEST_TURNS = 2048, 64, 16

#: Rows of sums, at most.
_MOST_ROWS = 4096

#: Cells that a lane adds up, at least.
_CELLS_OF_A_LANE = 32

#: Where noise is, for kernels.
RULE = Rule(
    rule.FIRST,
    rule.BINS,
    rule.LEFT_OUT,
    empty=rule.EMPTY,
    parts=rule.PARTS,
    enough=rule.ENOUGH,
    jump=rule.JUMP,
    least_clipped=rule.LEAST_CLIPPED,
    most_clipped=rule.MOST_CLIPPED,
    even=rule.EVEN,
    white=rule.WHITE,
    dense=rule.DENSE,
    clipped=rule.CLIPPED,
    least_own=rule.LEAST_OWN,
    set_back=rule.SET_BACK,
)

#: Coefficients from which a window is chosen, about; more would not change the choice.
_MOST_SAMPLES = 1 << 18


def measure_median(launcher: Launcher, band: Any, gain: float, mask: Any, dtype: np.dtype[Any]) -> Any:
    """Return the median magnitude of each plane over that of noise with standard deviation one."""
    device, space = launcher.device, find_space(band.shape)
    numbers = device.allocate((space.planes,), dtype)
    counts = device.make_zeros((space.planes * (len(PARTS) * BINS + 2),), np.dtype(np.uint32))
    each = launcher.choose_run(space.size, band, *(() if mask is None else (mask,)))
    spec = StatisticSpec("histogram", band.dtype.name, each, mask is not None)
    values = launcher.list_values(dtype, 1 / (NORMAL_MEDIAN * gain))
    groups = (_count_counters(launcher, -(-space.size // each)), 1, min(space.planes, MOST_GROUPS))
    for part, (shift, length) in enumerate(PARTS):
        table = launcher.tabulate(space.size // each, space.planes, part, shift, length)
        arguments = (band, band if mask is None else mask, counts, table)
        launcher.run(render_statistic, spec, groups, *arguments, block=1)
        pick = StatisticSpec("pick", dtype.name)
        launcher.run(render_statistic, pick, (1, 1, groups[2]), counts, numbers, table, values, block=1)
    return numbers


def measure_smooth(
    launcher: Launcher,
    band: Any,
    gain: float,
    others: Sequence[tuple[Any, float]],
    cells: Cells,
    known: Any,
    samples: Any,
    dtype: np.dtype[Any],
) -> Any:
    """Return the noise of each plane in smooth cells; see `Filters.measure_smooth`."""
    device, space = launcher.device, find_space(band.shape)
    planes, most = space.planes, min(space.planes, MOST_GROUPS)
    begin, starts, sides, counts = (
        (fill,) * (3 - len(numbers)) + numbers
        for fill, numbers in ((0, cells.begin), (0, cells.starts), (1, cells.sides), (1, cells.counts))
    )
    single = np.dtype(np.float32)
    beside, own = (device.allocate((planes, cells.total), single) for _ in range(2))
    bands = [band, *(other for other, _ in others)]
    sizes = [size for each in bands for size in find_space(each.shape)[1:]]
    if samples is not None:
        bands.append(samples)
        sizes += [*find_space(samples.shape), *starts]
    table = launcher.tabulate(planes, *counts, *begin, cells.step, *sizes)
    scale = 1 / prod(sides)
    weights = [scale / gain**2, *(scale / (len(others) * each**2) for _, each in others)]
    deep, high, wide = sides
    is_clipped = samples is not None
    spec = CellSpec(
        "energies", band.dtype.name, len(others), (deep, high, wide), is_clipped, rule=RULE if is_clipped else None
    )
    values = launcher.list_values(dtype, *weights)
    launcher.run(render_cells, spec, count_rows(Space(planes, *counts)), *bands, beside, own, table, values)
    has_mask, mask = known is not None, own if known is None else known
    bins = device.make_zeros((planes * (RULE.bins + 1),), np.dtype(np.uint32))
    spec = CellSpec("count", "float32", has_mask=has_mask, rule=RULE)
    for is_counted in (0, 1):
        table = launcher.tabulate(cells.total, planes, is_counted)
        groups = (_count_counters(launcher, cells.total), 1, most)
        launcher.run(render_cells, spec, groups, beside, mask, bins, table, block=1)
    rows = max(1, min(cells.total // (LANES * _CELLS_OF_A_LANE), _MOST_ROWS))
    sums = device.allocate((planes, rows, (2 * RULE.parts + 1) * LANES), dtype)
    spec = CellSpec("parts", dtype.name, has_mask=has_mask, rule=RULE)
    table = launcher.tabulate(cells.total, planes, rows)
    launcher.run(render_cells, spec, (rows, 1, most), beside, own, mask, bins, sums, table, block=1)
    sums = _fold(launcher, sums)
    numbers = device.allocate((planes,), dtype)
    spec = CellSpec("noise", dtype.name, rule=RULE)
    launcher.run(render_cells, spec, count_items(planes, 1), sums, numbers, launcher.tabulate(planes))
    return numbers


def _count_counters(launcher: Launcher, items: int) -> int:
    """Return how many groups count so many items."""
    most = _MOST_COUNTERS if launcher.device.is_gpu else _MOST_COUNTERS_OF_CPU
    return min(-(-items // (LANES * _FEWEST_TURNS)), most)


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


def _fold(launcher: Launcher, sums: Any) -> Any:
    """Add rows of sums until one is left for each plane."""
    planes, rows, length = sums.shape
    while rows > 1:
        goal = -(-rows // LANES)
        fewer = launcher.device.allocate((planes, goal, length), sums.dtype)
        table = launcher.tabulate(planes, rows, goal, length)
        groups = (goal, length // LANES, min(planes, MOST_GROUPS))
        launcher.run(render_statistic, StatisticSpec("fold", sums.dtype.name), groups, sums, fewer, table)
        sums, rows = fewer, goal
    return sums


def _decide(launcher: Launcher, task: Any, sums: Any, noise: Any, gain: float, step: float) -> Any:
    """Add rows of sums until one is left for each plane, and return what follows from it."""
    sums, planes = _fold(launcher, sums), sums.shape[0]
    results = launcher.device.allocate((planes,) if task != "window" else (planes, 2), sums.dtype)
    values = launcher.list_values(sums.dtype, gain, step)
    arguments = (sums, results, launcher.tabulate(planes), values, noise)
    launcher.run(render_statistic, StatisticSpec(task, sums.dtype.name), count_items(planes, 1), *arguments)
    return results
