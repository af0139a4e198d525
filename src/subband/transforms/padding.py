"""Extending an array as a boundary mode says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from subband.arrays import as_numbers, cast, is_functional, namespace
from subband.boundary import Extension, extend
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, ShapeError
from subband.transforms.modes import mode_name
from subband.typing import Array

__all__ = ["extend_axis", "fold_axis", "pad"]

#: Extensions by more samples than these are not worth remembering.
_SHORT = 4096


@takes_arrays("x", transforms=False)
def pad(x: Any, pad_widths: Any, mode: str) -> Array:
    """Pad an array as a boundary mode extends it.

    Parameters
    ----------
    x : array_like
        Numbers of any dtype, which the result has too.
    pad_widths : int, pair of int, or one pair for each axis
        How many samples to add before and after.
    mode : str or int
        The boundary mode. ``periodization`` first repeats the last sample of an odd axis.

    Returns
    -------
    ndarray
        The extended array.

    Raises
    ------
    ArgumentError
        If a width is negative, the widths do not fit the axes, or there is no such mode.
    DtypeError
        If `x` holds no numbers.

    Examples
    --------
    >>> from subband import pad
    >>> pad([1, 2, 3], 2, "symmetric")
    array([2, 1, 1, 2, 3, 3, 2])
    >>> pad([1, 2, 3], (0, 3), "smooth")
    array([1, 2, 3, 4, 5, 6])
    """
    array = as_numbers(x, "x")
    name = mode_name(mode)
    widths = _read_widths(pad_widths, array.ndim)
    for axis, length in enumerate(array.shape):
        if length == 0:
            raise ShapeError(f"axis {axis} of an array of shape {array.shape} is empty; there is nothing to extend")
        if length % 2 and name == "periodization":
            before, after = widths[axis]
            widths[axis] = before, after + 1
    if type(array) is np.ndarray:
        return _surround(array, name, widths)
    for axis, (before, after) in enumerate(widths):
        length = array.shape[axis]
        array = extend_axis(array, axis, extend(name, length, -before, length + after))
    return array


def _surround(x: Array, mode: str, widths: Sequence[tuple[int, int]]) -> Array:
    """Extend an array of the host: its samples are copied as they are, and only those around them looked up."""
    inner, shape = [], []  # of axes that come later only the middle is there
    for axis, (before, after) in enumerate(widths):
        inner.append(slice(before, before + x.shape[axis]))
        shape.append(before + x.shape[axis] + after)
    extended = np.empty(shape, x.dtype)
    extended[tuple(inner)] = source = x
    for axis, (before, after) in enumerate(widths):
        along, length = (slice(None),) * axis, x.shape[axis]
        inner[axis] = slice(None)
        goal = extended[tuple(inner)]
        for part, start, count in ((slice(before), -before, before), (slice(before + length, None), length, after)):
            if count:
                find = _find_outside if count <= _SHORT else _find_outside.__wrapped__
                extension, index = find(mode, length, start, start + count)
                outside = extend_axis(source, axis, extension) if index is None else source[(*along, index)]
                goal[(*along, part)] = outside
        source = goal
    return extended


@lru_cache(maxsize=256)
def _find_outside(mode: str, length: int, start: int, stop: int) -> tuple[Extension, slice | Array | None]:
    """Return the extension of some positions, and the samples that it repeats, if it does no more than that."""
    extension = extend(mode, length, start, stop)
    if not (extension.weight == 1).all() or extension.first.any() or extension.last.any():
        return extension, None
    first, last = int(extension.index[0]), int(extension.index[-1])
    for step, end in ((1, last + 1), (-1, last - 1 if last else None)):
        if np.array_equal(extension.index, np.arange(length)[first:end:step]):
            return extension, slice(first, end, step)  # a view, which is copied much faster
    return extension, extension.index


def extend_axis(x: Array, axis: int, extension: Extension) -> Array:
    """Extend one axis of a native array.

    Examples
    --------
    >>> extend_axis(np.array([[1], [2]]), 0, extend("reflect", 2, -1, 2)).ravel()
    array([2, 1, 2])
    """
    xp = namespace(x, "extending an array at its borders")
    if xp is np and axis == x.ndim - 1:
        return extension.apply(x)
    if xp is np:
        return np.moveaxis(extension.apply(np.moveaxis(x, axis, -1)), -1, axis)
    along = [1] * x.ndim
    along[axis] = -1
    weight, first, last = (
        xp.asarray(numbers).astype(x.dtype).reshape(along)
        for numbers in (extension.weight, extension.first, extension.last)
    )
    extended: Array = xp.take(x, xp.asarray(extension.index), axis) * weight
    for part, index in ((first, 0), (last, -1)):
        if xp.any(part):
            extended += part * xp.take(x, xp.asarray([index]), axis)
    return extended


def fold_axis(x: Array, axis: int, mode: str, margin: int) -> Array:
    """Apply the transpose of an extension by `margin` samples at both ends: add each of these to what it was made of.

    Examples
    --------
    >>> fold_axis(np.array([1.0, 2.0, 3.0, 4.0]), 0, "symmetric", 1)
    array([3., 7.])
    """
    inner = x[(slice(None),) * axis + (slice(margin, x.shape[axis] - margin),)]
    outside, affected, weights = _tabulate_fold(mode, inner.shape[axis], margin)
    if not outside.size:
        return inner
    xp = namespace(x, f"the adjoint in mode {mode!r}")
    if is_functional(x):
        # an engine, which is loaded when it is needed
        from subband.engines.array import add_products

        return add_products(inner, axis, affected, np.take(x, outside, axis), weights)
    folded: Array = inner.copy()
    margins = xp.moveaxis(xp.take(x, xp.asarray(outside), axis), axis, -1)
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    sums = xp.moveaxis(cast(margins, wide) @ xp.asarray(weights, wide), -1, axis)
    chosen = (*(slice(None),) * axis, xp.asarray(affected))
    folded[chosen] = cast(cast(folded[chosen], wide) + sums, x.dtype)
    return folded


@lru_cache(maxsize=256)
def _tabulate_fold(mode: str, length: int, margin: int) -> tuple[Array, Array, Array]:
    """Return which positions are folded, the samples that they were made of, and the weights."""
    outside = np.concatenate([np.arange(margin), np.arange(margin + length, length + 2 * margin)])
    whole = extend(mode, length, -margin, length + margin)
    extension = Extension(*(part[outside] for part in (whole.index, whole.weight, whole.first, whole.last)))
    weights = extension.fold(np.eye(outside.size), length)
    (affected,) = np.nonzero(weights.any(axis=0))
    return outside, affected, weights[:, affected]


def _read_widths(pad_widths: Any, ndim: int) -> list[tuple[int, int]]:
    """Return one pair of widths for each axis."""
    if type(pad_widths) is int and pad_widths >= 0:
        return [(pad_widths, pad_widths)] * ndim
    try:
        widths = np.broadcast_to(np.asarray(pad_widths), (ndim, 2))
    except ValueError:
        raise ArgumentError(
            f"pad_widths={pad_widths!r} does not fit {ndim} axes; give a number, a pair, or one pair for each axis"
        ) from None
    if widths.dtype.kind not in "iu":
        raise ArgumentError(
            f"pad_widths={pad_widths!r} are not integers; give a number, a pair, or one pair for each axis"
        )
    if widths.size and widths.min() < 0:
        raise ArgumentError(f"pad_widths={pad_widths!r} has a negative width; use 0 or more")
    return [(int(before), int(after)) for before, after in widths]
