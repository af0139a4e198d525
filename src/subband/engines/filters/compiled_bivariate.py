"""Bivariate shrinkage on the CPU: the bands of several levels in one launch, for most of them are small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from subband.engines.filters import launch
from subband.engines.filters.constants import BIVARIATE, MOST, TILE
from subband.engines.filters.launch import TaskKernels, cut_tasks, join_tasks
from subband.engines.filters.plain import choose_near
from subband.engines.memory import prepare_allocation
from subband.errors import ShapeError
from subband.typing import Array

__all__ = ["shrink_bands"]

_windows = TaskKernels("subband.engines.filters.loops.windows")

#: Tasks are so many times smaller than others. Each loads the rows before its first one that a window reaches over, but
#: that costs little, and large bands are few.
_FINER = 2

#: The shape of a band, and that of its parent if it has one.
_Form = tuple[tuple[int, ...], tuple[int, ...] | None]


class _Launch(NamedTuple):
    """What is given to the kernel for bands of some shapes, but for what depends on noise.

    Attributes
    ----------
    tasks, calls, numbers : ndarray
        See `subband.engines.filters.tables`.
    indices, sources : ndarray of int
        Where one over the noise of a plane stands in `numbers`, and which of bands × noise it is.
    samples : int
        Of all bands.
    allocate : callable
        Makes new arrays for the results, the last one first.
    """

    tasks: Array
    calls: Array
    numbers: Array
    indices: Array
    sources: Array
    samples: int
    allocate: Callable[[], list[Array]]


def shrink_bands(
    bands: Sequence[Array],
    parents: Sequence[Array | None],
    noise: Array,
    gains: Sequence[float],
    parent_gains: Sequence[float],
    window: int,
    shift: int,
    scale: int,
) -> list[Array]:
    """Return bands shrunk by their energies and those of their parents; see `Filters.shrink_bivariate_bands`.

    Examples
    --------
    >>> bands = [np.full((1, 4, 4), 9.0), np.zeros((1, 4, 4))]
    >>> large, none = shrink_bands(bands, [None] * 2, np.ones(1), [1.0] * 2, [1.0] * 2, 3, 0, 2)
    >>> bool(8.9 < large[0, 0, 0] < 9), bool(none.any())
    (True, False)
    """
    dtype = bands[0].dtype
    forms = tuple(
        (band.shape, None if parent is None else parent.shape) for band, parent in zip(bands, parents, strict=True)
    )
    own = _prepare(forms, len(noise), window, shift, scale, dtype, launch.TASK // _FINER)
    # from the smallest on, as memory is lent the quickest
    results = own.allocate()[::-1]
    inverse, ratio = _invert_noise(np.asarray(noise, np.float64), np.array(gains), np.array(parent_gains))
    numbers = own.numbers.copy()
    numbers[own.indices] = inverse.ravel()[own.sources]
    numbers[own.indices + 1] = ratio.ravel()[own.sources]
    above = [band if parent is None else parent for band, parent in zip(bands, parents, strict=True)]
    arrays = [*results, *bands, *above]
    _windows.shrink_bivariate.run_calls(own.tasks, own.calls, numbers, arrays, own.samples)
    return results


def _invert_noise(noise: Array, gains: Array, parent_gains: Array) -> tuple[Array, Array]:
    """Return what `launch.invert_noise` does for bands × noise, and the same for parents."""
    scaled = gains[:, np.newaxis] * noise
    inverse = np.where(scaled == 0, np.inf, 1 / np.maximum(scaled, 1 / MOST))
    return inverse, inverse * (gains / parent_gains)[:, np.newaxis]


@lru_cache(maxsize=256)
def _prepare(
    forms: tuple[_Form, ...], count: int, window: int, shift: int, scale: int, dtype: np.dtype[Any], task: int
) -> _Launch:
    """Return all that follows from shapes, and from how many numbers of noise there are."""
    total = len(forms)
    tasks, calls, indices, sources = [], [], [], []
    numbers: list[float] = []
    for call, (shape, above) in enumerate(forms):
        planes, axes = shape[0], len(shape) - 1
        if planes % count:
            raise ShapeError(f"noise has {count} numbers; a band has {planes} planes, which is no multiple of that")
        depth, height, width = _as_volume(shape)
        tasks.append(cut_tasks(planes * depth, height, width, TILE, task))
        near = choose_near(window, axes, scale)
        parent = (0, 0, 0) if above is None else _as_volume(above)
        arrays = call, total + call, 2 * total + call
        calls.append((*arrays, len(numbers), depth, height, width, axes, *parent, window, shift, scale, near))
        numbers += _list_numbers(window**axes, near**axes, above is not None)
        for plane in range(planes):
            indices.append(len(numbers))
            sources.append(call * count + plane % count)
            numbers += 0.0, 0.0
    return _Launch(
        join_tasks(tasks),
        np.array(calls, np.int64),
        np.array(numbers),
        np.array(indices, np.int64),
        np.array(sources, np.int64),
        sum(prod(shape) for shape, _ in forms),
        prepare_allocation([(shape, dtype) for shape, _ in reversed(forms)]),
    )


def _list_numbers(samples: int, fewer: int, has_parent: bool) -> tuple[float, ...]:
    """Return the numbers that all planes share, from how many samples either window has."""
    fixed = BIVARIATE
    # without a parent the energy around a coefficient stands for its own and for that around it
    weights = (1.0, fixed.parent) if has_parent else (1 + fixed.parent, 0.0)
    means = weights[0] / samples, weights[1] / fewer, 1 / samples, 1 / fewer
    return *means, fixed.slope, fixed.floor, fixed.half, fixed.own, fixed.least, fixed.far, fixed.most


def _as_volume(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return depth, height and width of planes; what they do not have is 1."""
    return (1,) * (4 - len(shape)) + shape[1:]
