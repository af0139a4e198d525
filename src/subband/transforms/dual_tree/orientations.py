"""Complex bands of single orientations, made of the real bands of both trees along each axis, and back.

With the coefficients ``e`` and ``o`` of the two trees, ``e + i o`` along one axis is a complex coefficient whose
wavelet has frequencies of one sign alone. Of several axes the product of ``e ± i o`` has one orientation for each
choice of signs; the last axis always has ``+``, because all signs reversed give the same numbers, conjugate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from subband.arrays import concatenate, flip, rearrange
from subband.typing import Bands

__all__ = ["ORIENTATIONS", "combine", "separate", "take_trees"]


def _list_keys(bands: Sequence[str]) -> tuple[str, ...]:
    """Return each band with the signs of all axes but the last."""
    return tuple(f"{band}{''.join(signs)}" for band in bands for signs in product("+-", repeat=len(band) - 1))


#: The complex bands of a level in the order of `DualTreePyramid.highpasses`, by the number of axes: low (a) or high (d)
#: along each axis, and the signs of all axes but the last.
ORIENTATIONS: dict[int, tuple[str, ...]] = {
    1: _list_keys(("d",)),
    # 15, 45, 75, 105, 135 and 165 degrees
    2: ("da+", "dd+", "ad+", "ad-", "dd-", "da-"),
    3: _list_keys(("ada", "daa", "dda", "aad", "add", "dad", "ddd")),
}


def combine(bands: Mapping[str, Any], axes: Sequence[int]) -> dict[str, tuple[Any, Any]]:
    """Return real and imaginary parts of the complex bands of a level.

    Parameters
    ----------
    bands : mapping of str to array
        The folded detail bands.
    axes : sequence of int
        The transformed axes.

    Returns
    -------
    dict of str to pair of arrays
        In the order of `ORIENTATIONS`.

    Examples
    --------
    >>> import numpy as np
    >>> combine({"d": np.array([5.0, 7.0, 6.0, 4.0])}, (0,))
    {'d': (array([4., 6.]), array([5., 7.]))}
    """
    count = len(axes)
    corners = {band: [_take_corner(bands[band], axes, band, sides) for sides in _list_sides(count)] for band in bands}
    parts = {}
    for key in ORIENTATIONS[count]:
        real, imaginary = _list_weights(key[count:])
        parts[key] = (_sum(real, corners[key[:count]]), _sum(imaginary, corners[key[:count]]))
    return parts


def separate(parts: Mapping[str, tuple[Any, Any]], axes: Sequence[int]) -> Bands:
    """Undo `combine`.

    Examples
    --------
    >>> import numpy as np
    >>> separate({"d": (np.array([4.0, 6.0]), np.array([5.0, 7.0]))}, (0,))
    {'d': array([5., 7., 6., 4.])}
    """
    count = len(axes)
    bands: Bands = {}
    for band in dict.fromkeys(key[:count] for key in parts):
        own = {key: pair for key, pair in parts.items() if key.startswith(band)}
        corners = [take_trees(own, sides) for sides in _list_sides(count)]
        bands[band] = _join_corners(corners, axes, band)
    return bands


def take_trees(parts: Mapping[str, tuple[Any, Any]], sides: Sequence[int]) -> Any:
    """Return the real coefficients of one tree along each axis, the first or the second: 0 or 1.

    Parameters
    ----------
    parts : mapping of str to pair of arrays
        The complex bands that have the same letters, each with its signs.
    sides : sequence of int
        Which tree, along each axis.

    Examples
    --------
    >>> import numpy as np
    >>> parts = combine({"d": np.array([5.0, 7.0, 6.0, 4.0])}, (0,))
    >>> take_trees(parts, (0,)), take_trees(parts, (1,))
    (array([4., 6.]), array([5., 7.]))
    """
    corner = sum(2**axis for axis, side in enumerate(reversed(sides)) if side)
    # the weights are those of a rotation, which its transpose undoes
    weights, arrays = [], []
    for key, pair in parts.items():
        real, imaginary = (numbers[corner] for numbers in _list_weights(key[len(sides) :]))
        weights.append(real or imaginary)
        arrays.append(pair[0 if real else 1])
    return _sum(weights, arrays)


def _list_sides(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the corners of a folded band: 0 for the even and 1 for the odd coefficients along each axis."""
    return product((0, 1), repeat=count)


@cache
def _list_weights(signs: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weight of each corner in the real and in the imaginary part."""
    units = [-1j if sign == "-" else 1j for sign in f"{signs}+"]
    scale = 2.0 ** (-len(signs) / 2)
    weights = []
    for sides in _list_sides(len(units)):
        weight: complex = scale
        for unit, side in zip(units, sides, strict=True):
            weight *= unit if side else 1
        weights.append(weight)
    return tuple(weight.real for weight in weights), tuple(weight.imag for weight in weights)


def _sum(weights: Sequence[float], arrays: Sequence[Any]) -> Any:
    """Return the weighted sum of arrays, whose weights are the same number with either sign, or zero."""
    (scale, total), *others = [(weight, x) for weight, x in zip(weights, arrays, strict=True) if weight]
    for weight, x in others:
        total = total + x if weight == scale else total - x
    return total if scale == 1 else total * scale


def _take_corner(x: Any, axes: Sequence[int], band: str, sides: Sequence[int]) -> Any:
    """Return the coefficients of one tree along each axis."""

    def take(x: Any) -> Any:
        for axis, letter, side in zip(axes, band, sides, strict=True):
            before, half = (slice(None),) * axis, x.shape[axis] // 2
            # odd coefficients come first among high-pass ones
            is_first = (side == 0) == (letter == "a")
            x = x[(*before, slice(half))] if is_first else flip(x[(*before, slice(half, None))], axis)
        return x

    return rearrange(take, x)


def _join_corners(corners: Sequence[Any], axes: Sequence[int], band: str) -> Any:
    """Undo `_take_corner` for all corners."""

    def join(*corners: Any) -> Any:
        for axis, letter in zip(reversed(axes), reversed(band), strict=True):
            corners = tuple(
                concatenate([even, flip(odd, axis)] if letter == "a" else [odd, flip(even, axis)], axis)
                for even, odd in zip(corners[::2], corners[1::2], strict=True)
            )
        return corners[0]

    return rearrange(join, *corners)
