"""Groups of similar patches: what they are, and how they lie in planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["GroupGrid", "Groups", "find_floor", "find_grid"]


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
