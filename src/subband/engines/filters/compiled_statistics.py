"""Statistics of planes on the CPU: mean square, median, and sums for Stein's estimate, gathered by several tasks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from subband.engines.filters.cells import BINS as BINS_OF_CELLS
from subband.engines.filters.cells import CLIPPED, LEAST_OWN, SET_BACK, Cells, conclude, find_largest
from subband.engines.filters.constants import LARGEST_FACTOR, MAGNITUDES, NEIGHBOUR_WINDOWS, SURE_BINS, TILE
from subband.engines.filters.launch import TaskKernels, cut_tasks, invert_noise, repeat_tasks
from subband.engines.filters.median import find_bracket
from subband.engines.filters.tallies import BINS
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["count_magnitudes", "count_neighbours", "measure_median", "measure_power", "measure_smooth"]

_cells = TaskKernels("subband.engines.filters.loops.cells")
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

    A histogram says in which bin the middle is; see `subband.engines.filters.median`.

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
    counts = _split_by_plane(table, planes_count)
    brackets = [find_bracket(own.sum(axis=0, dtype=np.int64)) for own in counts]
    inside = np.array(
        [own[:, each.first : each.last + 1].sum(axis=1) for own, each in zip(counts, brackets, strict=True)], np.int64
    )
    ends = np.cumsum(inside).reshape(inside.shape)
    bins = np.array([bracket[:2] for bracket in brackets])[tasks[:, 0]]
    numbers = np.column_stack([bins, (ends - inside).ravel()])
    found = allocate((int(ends[-1, -1]),), planes.dtype)
    _statistics.collect_magnitudes(tasks, (found, planes, chosen), numbers, sizes, planes.size)
    parts = np.split(found, ends[:-1, -1])
    return np.array([bracket.select(part) for bracket, part in zip(brackets, parts, strict=True)])


def measure_smooth(
    band: Array,
    gain: float,
    others: Sequence[tuple[Array, float]],
    cells: Cells,
    known: Array | None = None,
    samples: Array | None = None,
) -> Array:
    """Return the noise of each plane in smooth cells; see `Filters.measure_smooth`.

    Examples
    --------
    >>> from subband.engines.filters.cells import cut_cells
    >>> x = np.full((1, 32, 40), 3.0)
    >>> measure_smooth(x, 1.5, [(x, 1.0)] * 2, cut_cells((32, 40), 2))
    array([2.])
    """
    own, *around = _measure_energies([(band, gain), *others], cells)
    beside = around[0]
    for energies in around[1:]:
        beside += energies
    beside /= len(others)
    if samples is not None:
        _set_back(beside, own, samples, cells)
    if known is not None:
        beside, own = (np.ascontiguousarray(energies[:, known]) for energies in (beside, own))
    planes, count = own.shape
    largest = beside.max(axis=1)
    if not np.isfinite(largest).all():
        largest = np.array([find_largest(energies) for energies in beside])
    tasks = cut_tasks(planes, 1, count)
    tallies = np.empty((len(tasks), 3, BINS_OF_CELLS))
    _cells.count_cells(tasks, (tallies, beside, own), largest, (count,), own.size)
    return np.array([conclude(tally) for tally in tallies.reshape(planes, -1, 3, BINS_OF_CELLS).sum(axis=1)])


def _set_back(others: Array, own: Array, samples: Array, cells: Cells) -> None:
    """Do what `Cells.set_back` does, in place."""
    ahead = (1,) * (3 - len(cells.counts))
    slices, rows, columns = ahead + cells.counts
    space = (1,) * (4 - samples.ndim) + samples.shape[1:]
    starts = (0,) * len(ahead) + cells.starts
    sizes = *space, slices, rows, columns, *ahead, *cells.spans, *starts, len(samples)
    tasks = cut_tasks(len(others) * slices, rows, columns, TILE)
    numbers = CLIPPED, LEAST_OWN, SET_BACK, 1 / prod(cells.spans)
    _cells.set_back(tasks, (others, np.ascontiguousarray(samples), own), numbers, sizes, samples.size)


def _measure_energies(bands: Sequence[tuple[Array, float]], cells: Cells) -> Array:
    """Return the energies of cells of bands with their gains: bands × planes × cells; see `Cells.measure_energies`."""
    count = len(bands[0][0])
    energies = allocate((len(bands), count, cells.total), np.dtype(np.float64))
    slices, rows, columns = (1,) * (3 - len(cells.counts)) + cells.counts
    begin, sides = (0,) * (3 - len(cells.sides)) + cells.begin, (1,) * (3 - len(cells.sides)) + cells.sides
    calls = []
    for goal, (band, gain) in zip(energies, bands, strict=True):
        space = (1,) * (4 - band.ndim) + band.shape[1:]
        sizes = *space, slices, rows, columns, *sides, *begin, cells.step
        calls.append(((goal, band), (1 / (gain * gain * prod(sides)),), sizes))
    tasks = repeat_tasks(len(bands), count * slices, rows, columns, TILE)
    _cells.sum_cells.run_each(tasks, calls, energies.size * prod(sides))
    return energies


def count_magnitudes(band: Array, noise: Array, step: float) -> Array:
    """Count magnitudes over the noise, and sum their squares; see `Filters.count_magnitudes`."""
    size = band[0].size
    tasks = cut_tasks(len(band), 1, size)
    found = np.empty((len(tasks), 2, BINS))
    _statistics.count_risk(tasks, (found, band), [step, *noise], (size, BINS), band.size)
    return np.asarray(_split_by_plane(found, len(band)).sum(axis=1))


def count_neighbours(band: Array, noise: Array, inner: Sequence[slice], rows: Array) -> Array:
    """Sum what the risk of factors and windows needs; see `Filters.count_neighbours`."""
    space = band.shape[1:]
    depth, height, width = (1,) * (3 - len(space)) + space
    slices = range(*inner[0].indices(depth)) if len(space) == 3 else range(1)
    begin, end, _ = inner[-1].indices(width)
    first, last = int(rows[0]), int(rows[-1])
    distance = int(rows[1]) - first if len(rows) > 1 else 1
    tables = np.zeros((len(band), len(NEIGHBOUR_WINDOWS), 3, BINS))
    tasks = cut_tasks(len(band) * len(slices), last + 1 - first, end - begin, TILE)
    if not len(tasks):
        return tables
    if (len(slices), first, begin) != (depth, 0, 0):
        tasks = _move_tasks(tasks, slices, depth, first, begin)
    inverse = [invert_noise(n) if n else 0.0 for n in noise.tolist()]
    found = np.empty((len(tasks), 3, BINS))
    for number, window in enumerate(NEIGHBOUR_WINDOWS):
        sizes = depth, height, width, len(space), window, BINS, distance, first
        numbers = [LARGEST_FACTOR / SURE_BINS, 1 / window ** len(space), *inverse]
        samples = prod((len(band), len(slices), len(rows), end - begin))
        _windows.count_neighbours(tasks, (found, band), numbers, sizes, samples)
        tables[:, number] = _split_by_plane(found, len(band)).sum(axis=1)
    return tables


def _move_tasks(tasks: Array, slices: range, depth: int, row: int, column: int) -> Array:
    """Return the tasks of a part as those of the planes that it is cut out of."""
    moved = tasks.copy()
    plane, position = np.divmod(tasks[:, 0], len(slices))
    moved[:, 0] = plane * depth + slices.start + position
    moved[:, 1:3] += row
    moved[:, 3:5] += column
    return moved


def _split_by_plane(table: Array, count: int) -> Array:
    """Return what tasks have gathered as planes × tasks of a plane × the rest."""
    return table.reshape(count, -1, *table.shape[1:])
