"""Groups of similar patches: what they are, and how compiled loops filter them in strips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from subband.engines.filters.launch import TaskKernels
from subband.engines.memory import allocate
from subband.engines.threads import get_threads
from subband.typing import Array

__all__ = ["GroupGrid", "Groups", "filter_strips", "find_floor", "find_grid"]

_groups = TaskKernels("subband.engines.filters.loops.groups")

#: Reference patches of a strip, along the first axis. It does not depend on the number of threads, so neither do sums.
_STRIP = 8

#: Strips that there is memory for at the same time, for each thread.
_STRIPS_OF_A_THREAD = 4


@dataclass(frozen=True)
class Groups:
    """How similar patches are looked for, and how much the guide is trusted.

    Attributes
    ----------
    patch : int
        Samples of a patch along each axis.
    reach : int
        How far similar patches are from their reference patch, at most, along each axis.
    step : int
        Distance of reference patches.
    count : int
        Patches of a group.
    trust : float
        How much of the energy of a group is taken from the guide; what is left is that of the noisy patches.
    is_sharp : bool
        Whether estimates weigh one over the variance that they have left, and not the power of 3/4 of that: edges gain
        and textures lose.

    Examples
    --------
    >>> Groups(8, 18, 4, 32, 0.85).margin
    43
    """

    patch: int
    reach: int
    step: int
    count: int
    trust: float = 1.0
    is_sharp: bool = False

    @property
    def margin(self) -> int:
        """How far samples are away, at most, that have a say in a result."""
        return 2 * self.reach + self.patch - 1


class GroupGrid(NamedTuple):
    """Three axes of a plane, of its patches, of half windows and of steps; an image has one sample along the second."""

    space: tuple[int, ...]
    patch: tuple[int, ...]
    reach: tuple[int, ...]
    step: tuple[int, ...]

    @property
    def references(self) -> tuple[int, ...]:
        """How many reference patches there are along each axis."""
        return tuple(-(-(n - p) // s) + 1 for n, p, s in zip(self.space, self.patch, self.step, strict=True))


def find_grid(space: tuple[int, ...], groups: Groups) -> GroupGrid:
    """Return how groups lie in planes.

    Examples
    --------
    >>> find_grid((480, 640), Groups(8, 18, 4, 32)).space
    (480, 1, 640)
    """
    whole = {1: (1, 1, *space), 2: (space[0], 1, space[-1]), 3: space}[len(space)]
    patch = tuple(min(groups.patch, length) for length in whole)
    reach = tuple(min(groups.reach, length - p) for length, p in zip(whole, patch, strict=True))
    return GroupGrid(whole, patch, reach, (groups.step,) * 3)


def find_floor(dtype: np.dtype[np.floating]) -> float:
    """Return the least variance of noise, as a part of the energy of a group, that a precision can tell from none.

    Half precision is computed in single.

    Examples
    --------
    >>> find_floor(np.dtype(np.float32)) < 1e-6
    True
    """
    return 8 * float(np.finfo(np.float64 if dtype == np.float64 else np.float32).eps)


def filter_strips(planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
    """Return planes filtered by groups that are found in the first plane of the guide; see `Filters.filter_groups`."""
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
    # without noise nothing was summed
    is_noisy = noise > 0
    result = planes.copy()
    result[is_noisy] = (sums[is_noisy, 0] / sums[is_noisy, 1]).reshape(-1, *planes.shape[1:])
    return result


def _cut_strips(references: int, most: int) -> Iterator[Array]:
    """Yield tables of at most so many tasks, each a strip."""
    edges = [*range(0, references, _STRIP), references]
    for start in range(0, len(edges) - 1, most):
        own = edges[start : start + most + 1]
        rows = [(0, begin, end, 0, 0, k) for k, (begin, end) in enumerate(pairwise(own))]
        yield np.array(rows, np.int64)
