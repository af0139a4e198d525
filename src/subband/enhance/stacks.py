"""Stacks of colour images, processed one by one, and conversion of results to the input dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subband.arrays import is_opencl, namespace
from subband.enhance.layout import Layout

__all__ = ["as_dtype", "find_stack", "map_stack"]

#: Integers of more bits are not exact as the doubles in which they are computed.
_MOST_BYTES = 4


def find_stack(shape: tuple[int, ...], layout: Layout) -> int | None:
    """Return an axis that is a stack of colour images; None if there is none.

    Examples
    --------
    >>> find_stack((5, 480, 640, 3), Layout((1, 2), 3))
    0
    >>> find_stack((480, 640, 3), Layout((0, 1), 2)) is None
    True
    """
    if layout.channel is None or shape[layout.channel] != 3:
        return None
    others = [axis for axis in range(len(shape)) if axis not in layout.space and axis != layout.channel]
    return others[0] if others else None


def map_stack(pixels: Any, axis: int, layout: Layout, work: Callable[[Any, tuple[int, ...], int], Any]) -> Any:
    """Apply `work` to each image of a stack, with its spatial and channel axes, and stack the results."""
    xp = namespace(pixels, "a stack of colour images")
    assert layout.channel is not None
    space = tuple(old - (old > axis) for old in layout.space)
    channel = layout.channel - (layout.channel > axis)
    results = [work(image, space, channel) for image in xp.moveaxis(pixels, axis, 0)]
    return xp.ascontiguousarray(xp.moveaxis(xp.stack(results), 0, axis))


def as_dtype(pixels: Any, dtype: Any) -> Any:
    """Return pixels as integers, rounded and clipped, if those went in; others stay.

    Examples
    --------
    >>> as_dtype(np.array([1.6, -40000.0]), np.dtype(np.int16))
    array([     2, -32768], dtype=int16)
    """
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or dtype.itemsize > _MOST_BYTES:
        return pixels
    if is_opencl(pixels) or pixels.dtype.kind in "iu":
        return pixels
    xp = namespace(pixels, "an image")
    limits = np.iinfo(dtype)
    return xp.clip(xp.rint(pixels), limits.min, limits.max).astype(dtype.newbyteorder("="))
