"""Groups of similar patches on the CPU: strips that several threads sum, added up in their order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

import numpy as np

from subband.engines.filters.groups import Groups, find_floor, find_grid
from subband.engines.filters.launch import TaskKernels
from subband.engines.memory import allocate
from subband.engines.threads import get_threads
from subband.typing import Array

__all__ = ["filter_strips"]

_groups = TaskKernels("subband.engines.filters.loops.groups")

#: Reference patches of a strip, along the first axis, so few that threads end together even in a small volume. It does
#: not depend on the number of threads, so neither do sums.
_STRIP = 2

#: Noise that is stronger than this part of the largest sample is a thousand times as strong as its rounding.
_ROUNDING = 1e3 * float(np.finfo(np.float32).eps)

#: Strips that there is memory for at the same time, for each thread.
_STRIPS_OF_A_THREAD = 4


def filter_strips(planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
    """Return planes filtered by groups that are found in the first plane of the guide; see `Filters.filter_groups`.

    Double precision is computed in single, which takes half the time, where noise is far above its rounding.
    """
    is_noisy = noise > 0
    # without noise nothing is summed
    result = planes.copy()
    if not is_noisy.any():
        return result
    means, scale = guide.mean(axis=tuple(range(1, planes.ndim)), keepdims=True), float(noise[is_noisy].min())
    largest = max(float(np.abs(each - means).max()) for each in (planes, guide))
    if planes.dtype == np.float64 and largest * _ROUNDING < scale:
        # in units of the noise, so that those of the image do not matter
        single = [((each - means) / scale).astype(np.float32) for each in (planes, guide)]
        sums = _sum_strips(single[0], single[1], noise / scale, groups)
    else:
        means, scale, sums = np.zeros_like(means), 1.0, _sum_strips(planes, guide, noise, groups)
    estimates = (sums[is_noisy, 0] / sums[is_noisy, 1]).reshape(-1, *planes.shape[1:])
    result[is_noisy] = estimates * scale + means[is_noisy]
    return result


def _sum_strips(planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
    """Return the sums of all weighted estimates, and of their weights, of each plane: planes × 2 × depth × others."""
    grid = find_grid(planes.shape[1:], groups)
    depth, row = grid.space[0], prod(grid.space[1:])
    slices = _STRIP * groups.step + 2 * grid.reach[0] + grid.patch[0]
    count = len(planes)
    numbers = [groups.trust, find_floor(planes.dtype), *noise.tolist()]
    sizes = count, *grid.space, *grid.patch, *grid.reach, *grid.step, groups.count, slices, int(groups.is_sharp)
    sums = np.zeros((count, 2, depth, row), planes.dtype)
    for strips in _cut_strips(grid.references[0], _STRIPS_OF_A_THREAD * get_threads()):
        found = allocate((len(strips), count, 2, slices, row), planes.dtype)
        # many operations for each sample, so that a small image is worth several threads
        _groups.filter_groups(strips, (found, planes, guide), numbers, sizes, planes.size * groups.count)
        for strip, own in zip(strips, found, strict=True):
            first = max(0, min(int(strip[1]) * groups.step, depth - grid.patch[0]) - grid.reach[0])
            sums[:, :, first : first + slices] += own[:, :, : depth - first]
    return sums


def _cut_strips(references: int, most: int) -> Iterator[Array]:
    """Yield tables of at most so many tasks, each a strip."""
    edges = [*range(0, references, _STRIP), references]
    for start in range(0, len(edges) - 1, most):
        own = edges[start : start + most + 1]
        rows = [(0, begin, end, 0, 0, k) for k, (begin, end) in enumerate(pairwise(own))]
        yield np.array(rows, np.int64)
