"""Folding: two trees along an axis as one periodic sequence, that of the even samples and then the odd ones, reversed.

With half-sample symmetric borders the even samples ``e`` of a sequence go on, beyond its end, as its odd samples ``o``
in reverse: ``e[0] … e[m - 1], o[m - 1] … o[0], e[0] …``. This is the folded sequence, whose period has as many samples
as both trees together. A filter over it is the filter over the even samples and, reversed, over the odd ones. High-pass
coefficients come half a step late, so that those of odd positions come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from subband.arrays import concatenate, flip, namespace, rearrange

__all__ = ["fold", "lengthen", "mirror", "shorten", "unfold", "unmirror"]


def mirror(x: Any, axes: Sequence[int]) -> Any:
    """Return samples and their mirror image along each axis; an odd axis repeats its last sample before that.

    Examples
    --------
    >>> import numpy as np
    >>> mirror(np.array([1, 2, 3]), (0,))
    array([1, 2, 3, 3, 3, 3, 2, 1])
    """

    def along(x: Any, axis: int) -> Any:
        length = x.shape[axis]
        last = [_take(x, axis, length - 1, length)] * (2 * (length % 2))
        return concatenate([x, *last, flip(x, axis)], axis)

    return _rearrange_axes(x, axes, along)


def unmirror(x: Any, axes: Sequence[int], shape: Sequence[int]) -> Any:
    """Undo `mirror`: the mean of the samples and their mirror image, cut to a shape.

    Examples
    --------
    >>> import numpy as np
    >>> unmirror(mirror(np.array([1.0, 2.0, 3.0]), (0,)), (0,), (3,))
    array([1., 2., 3.])
    """
    for axis in axes:
        length, whole = shape[axis], x.shape[axis]
        first = rearrange(partial(_take, axis=axis, start=0, stop=length), x)
        second = rearrange(partial(_take_back, axis=axis, start=whole - length), x)
        x = first + second
    return x * 0.5 ** len(axes)


def fold(x: Any, axes: Sequence[int]) -> Any:
    """Return an interleaved array, both trees in turn along each axis, as a folded one.

    Examples
    --------
    >>> import numpy as np
    >>> fold(np.array([0, 1, 2, 3, 4, 5]), (0,))
    array([0, 2, 4, 5, 3, 1])
    """

    def along(x: Any, axis: int) -> Any:
        return concatenate([_take(x, axis, 0, None, 2), flip(_take(x, axis, 1, None, 2), axis)], axis)

    return _rearrange_axes(x, axes, along)


def unfold(x: Any, axes: Sequence[int]) -> Any:
    """Undo `fold`.

    Examples
    --------
    >>> import numpy as np
    >>> unfold(np.array([0, 2, 4, 5, 3, 1]), (0,))
    array([0, 1, 2, 3, 4, 5])
    """

    def along(x: Any, axis: int) -> Any:
        half = x.shape[axis] // 2
        halves = [_take(x, axis, 0, half), flip(_take(x, axis, half, None), axis)]
        return namespace(x, "joining two trees").stack(halves, axis + 1).reshape(x.shape)

    return _rearrange_axes(x, axes, along)


def lengthen(x: Any, axes: Sequence[int]) -> Any:
    """Repeat the first and the last sample of the sequence that was folded.

    Each tree has to have an even number of samples to be transformed further.

    Examples
    --------
    >>> import numpy as np
    >>> unfold(lengthen(fold(np.array([0, 1, 2, 3, 4, 5]), (0,)), (0,)), (0,))
    array([0, 0, 1, 2, 3, 4, 5, 5])
    """

    def along(x: Any, axis: int) -> Any:
        # one sample further on, each tree has the samples that the other one had
        half, back = x.shape[axis] // 2, flip(x, axis)
        first, last = _take(x, axis, 0, 1), _take(x, axis, half, half + 1)
        return concatenate([first, _take(back, axis, 0, half), last, _take(back, axis, half, None)], axis)

    return _rearrange_axes(x, axes, along)


def shorten(x: Any, axes: Sequence[int]) -> Any:
    """Undo `lengthen`.

    Examples
    --------
    >>> import numpy as np
    >>> shorten(lengthen(np.array([0, 2, 4, 5, 3, 1]), (0,)), (0,))
    array([0, 2, 4, 5, 3, 1])
    """

    def along(x: Any, axis: int) -> Any:
        half, back = x.shape[axis] // 2, flip(x, axis)
        return concatenate([_take(back, axis, 0, half - 1), _take(back, axis, half, 2 * half - 1)], axis)

    return _rearrange_axes(x, axes, along)


def _rearrange_axes(x: Any, axes: Sequence[int], along: Callable[[Any, int], Any]) -> Any:
    """Apply a function of an array and an axis along each axis, the elements being moved once where that is dear."""
    if not axes:
        return x

    def function(x: Any) -> Any:
        for axis in axes:
            x = along(x, axis)
        return x

    return rearrange(function, x)


def _take_back(x: Any, axis: int, start: int) -> Any:
    return flip(_take(x, axis, start, None), axis)


def _take(x: Any, axis: int, start: int, stop: int | None, step: int = 1) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop, step),)]
