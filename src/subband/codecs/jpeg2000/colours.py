"""Samples to planes around zero and back: the level shift, and the colour transform of the first three components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.parameters import ComponentSize
from subband.compiled import Kernels
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.typing import Array

__all__ = ["find_range", "join_planes", "split_planes"]

_loops = Kernels("subband.codecs.jpeg2000.loops.colour")

# Samples that a thread treats at once.
_RUN = 1 << 15


def find_range(component: ComponentSize) -> tuple[int, int, int]:
    """Return the level shift of a component, its lowest sample and its highest.

    Examples
    --------
    >>> find_range(ComponentSize(8)), find_range(ComponentSize(8, is_signed=True))
    ((128, 0, 255), (0, -128, 127))
    """
    half = 1 << (component.precision - 1)
    return (0, -half, half - 1) if component.is_signed else (half, 0, 2 * half - 1)


def join_planes(planes: Array, out: Array, components: Sequence[ComponentSize], *, has_colour_transform: bool) -> None:
    """Write planes as samples: colours restored, shifted, rounded and clipped.

    Parameters
    ----------
    planes : int32 or float32 array
        Components × rows × columns; integers are those of the reversible transform.
    out : array of integers
        Rows × columns × components; written to. May be a part of a larger array.
    components : sequence of ComponentSize
        One for each plane.
    has_colour_transform : bool
        Whether the three planes are luma and two differences of colour.

    Examples
    --------
    >>> out = np.empty((1, 1, 3), np.uint8)
    >>> planes = np.array([10, -4, 8], np.int32).reshape(3, 1, 1)
    >>> join_planes(planes, out, [ComponentSize(8)] * 3, has_colour_transform=True)
    >>> out.tolist()
    [[[145, 137, 133]]]
    """
    is_integer = planes.dtype.kind == "i"
    shifts, lows, highs = _tabulate_ranges(tuple(components))
    if has_colour_transform:
        _run(planes, lambda a, b: _loops.join_three(planes, out, a, b, shifts, lows, highs, is_integer))
        return
    for plane, number in zip(planes, range(len(planes)), strict=True):
        part = out[..., number]
        limits = (shifts[number], lows[number], highs[number], is_integer)
        _run(plane, _bind(_loops.join_one, plane, part, limits))


def split_planes(
    samples: Sequence[Array], components: Sequence[ComponentSize], *, is_reversible: bool, has_colour_transform: bool
) -> Array:
    """Return samples as planes around zero; the inverse of `join_planes`.

    Parameters
    ----------
    samples : sequence of arrays of integers
        One for each component, rows × columns, all of the same shape.
    components : sequence of ComponentSize
        One for each.
    is_reversible : bool
        Whether the planes are to be int32, or else float32.
    has_colour_transform : bool
        Whether the three components are to become luma and two differences of colour.

    Returns
    -------
    array
        Components × rows × columns.

    Examples
    --------
    >>> samples = [np.array([[value]], np.uint8) for value in (145, 137, 133)]
    >>> split_planes(samples, [ComponentSize(8)] * 3, is_reversible=True, has_colour_transform=True).ravel().tolist()
    [10, -4, 8]
    """
    dtype = np.dtype(np.int32 if is_reversible else np.float32)
    planes = allocate((len(samples), *samples[0].shape), dtype)
    shifts = np.array([find_range(component)[0] for component in components], np.int64)
    if has_colour_transform:
        red, green, blue = samples
        _run(planes, lambda a, b: _loops.split_three(red, green, blue, planes, a, b, shifts, is_reversible))
        return planes
    for number, sample in enumerate(samples):
        _run(planes[number], _bind(_loops.split_one, sample, planes[number], (shifts[number],)))
    return planes


@lru_cache(maxsize=64)
def _tabulate_ranges(components: tuple[ComponentSize, ...]) -> tuple[Array, Array, Array]:
    """Return the level shifts of components, their lowest samples and their highest."""
    shifts, lows, highs = (np.array(column, np.int64) for column in zip(*map(find_range, components), strict=True))
    return shifts, lows, highs


def _bind(loop: Callable[..., Any], first: Array, second: Array, rest: tuple[Any, ...]) -> Callable[[int, int], None]:
    """Return the loop as a function of the rows alone."""

    def run(start: int, stop: int) -> None:
        loop(first, second, start, stop, *rest)

    return run


def _run(planes: Array, work: Callable[[int, int], None]) -> None:
    """Call `work` for runs of rows, in as many threads as there are."""
    rows = planes.shape[-2]
    if planes.size < 2 * _RUN:
        work(0, rows)
        return
    # a run of less than some ten thousand samples is over before another thread has woken up
    count = max(1, min(4 * get_threads(), planes.size // _RUN))
    edges = [rows * number // count for number in range(count + 1)]
    run_tasks(work, [(a, b) for a, b in pairwise(edges) if a < b])
