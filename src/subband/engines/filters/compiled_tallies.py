"""The counts and sums of `tallies`, by the compiled loops of the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from subband.engines.filters.constants import LARGEST_FACTOR, NEIGHBOUR_WINDOWS, SURE_BINS, TILE
from subband.engines.filters.launch import TaskKernels, cut_tasks, invert_noise
from subband.engines.filters.tallies import BINS
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["count_magnitudes", "count_neighbours", "scale_neighbours"]

_statistics = TaskKernels("subband.engines.filters.loops.statistics")
_windows = TaskKernels("subband.engines.filters.loops.windows")


def count_magnitudes(band: Array, noise: Array, step: float) -> Array:
    """Count magnitudes over the noise, and sum their squares; see `Filters.count_magnitudes`."""
    size = band[0].size
    tasks = cut_tasks(len(band), 1, size)
    found = np.empty((len(tasks), 2, BINS))
    _statistics.count_risk(tasks, (found, band), [step, *noise], (size, BINS), band.size)
    return np.asarray(found.reshape(len(band), -1, 2, BINS).sum(axis=1))


def count_neighbours(band: Array, noise: Array, inner: Sequence[slice], rows: Array) -> Array:
    """Sum what the risk of factors and windows needs; see `Filters.count_neighbours`."""
    space = band.shape[1:]
    depth, height, width = (1,) * (3 - len(space)) + space
    slices = range(*inner[0].indices(depth)) if len(space) == 3 else range(1)
    begin, end, _ = inner[-1].indices(width)
    tiles = [(at, min(at + TILE, end)) for at in range(begin, end, TILE)]
    is_dense = len(rows) == rows[-1] - rows[0] + 1
    strips = [(int(rows[0]), int(rows[-1]) + 1)] if is_dense else [(int(row), int(row) + 1) for row in rows]
    boxes = [
        (plane * depth + z, *strip, *tile) for plane in range(len(band)) for z in slices for strip in strips
        for tile in tiles
    ]  # fmt: skip
    tables = np.zeros((len(band), len(NEIGHBOUR_WINDOWS), 3, BINS))
    if not boxes:
        return tables
    tasks = np.array([(*box, number) for number, box in enumerate(boxes)], np.int64)
    inverse = [invert_noise(n) if n else 0.0 for n in noise.tolist()]
    found = np.empty((len(tasks), 3, BINS))
    for number, window in enumerate(NEIGHBOUR_WINDOWS):
        sizes = depth, height, width, len(space), window, BINS, 1
        numbers = [LARGEST_FACTOR / SURE_BINS, 1 / window ** len(space), *inverse]
        _windows.count_neighbours(tasks, (found, band), numbers, sizes, prod(rows.shape) * width)
        tables[:, number] = found.reshape(len(band), -1, 3, BINS).sum(axis=1)
    return tables


def scale_neighbours(band: Array, noise: Array, chosen: Array) -> Array:
    """Return coefficients multiplied by ``max(1 - k / m, 0)``; see `Filters.scale_neighbours`."""
    space = band.shape[1:]
    out = allocate(band.shape, band.dtype)
    inverse = [invert_noise(n) for n in noise.tolist()]
    numbers = np.stack([inverse, *chosen.T, 1 / chosen[:, 1] ** len(space)], axis=1)
    depth, height, width = (1,) * (3 - len(space)) + space
    tasks = cut_tasks(len(band) * depth, height, width, TILE)
    _windows.scale_neighbours(tasks, (out, band), numbers, (depth, height, width, len(space)), band.size)
    return out
