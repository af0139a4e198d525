"""Gains of the bands of a surface: a factor for each level and orientation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log2
from typing import Any, TypeAlias

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError, LevelError
from subband.typing import Array

__all__ = ["BANDS", "BandGains", "draw_gains", "parse_gains", "read_gain", "read_gains"]

#: Details along rows' numbers, along columns' numbers, and along both: the order of PyWavelets' (cH, cV, cD).
BANDS = ("da", "ad", "dd")

#: One number for all bands; levels with a number or three, for horizontal, vertical and diagonal; or a matrix,
#: levels × 3, the finest level first.
BandGains: TypeAlias = float | Mapping[int, Any] | Sequence[Any] | Array

#: Larger gains are slips, and tear a surface into needles that take minutes to draw.
_MOST_GAIN = 1000.0

_LETTERS = {"h": 0, "v": 1, "d": 2}
_WORD = re.compile(r"\s*([0-9]{1,3}|a)([hvd]?)\s*:\s*([^\s,]+)\s*")


def read_gains(gains: BandGains, level: int) -> Array:
    """Return gains as a matrix, levels × 3, the finest level first.

    Parameters
    ----------
    gains : float, mapping, sequence or matrix
        See `BandGains`. Levels that a mapping leaves out, and those beyond the end of a sequence, keep 1.
    level : int
        Number of levels.

    Raises
    ------
    LevelError
        If a level is named that is not there.
    ArgumentError
        If a gain is beyond 1000, or there are neither one nor three for a level.

    Examples
    --------
    >>> read_gains({1: 1.5, 3: (0.0, 1.0, 2.0)}, 3)
    array([[1.5, 1.5, 1.5],
           [1. , 1. , 1. ],
           [0. , 1. , 2. ]])
    """
    matrix = np.ones((level, 3))
    if isinstance(gains, Mapping):
        entries = list(gains.items())
    elif isinstance(gains, int | float | np.number) or (isinstance(gains, np.ndarray) and gains.ndim == 0):
        matrix[:] = read_gain(gains, "gains")
        return matrix
    elif isinstance(gains, Sequence | np.ndarray) and not isinstance(gains, str):
        entries = list(enumerate(gains, start=1))
    else:
        raise ArgumentTypeError(f"gains={gains!r} are no gains; give a number, or levels and their gains as {{1: 1.5}}")
    for number, value in entries:
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise ArgumentTypeError(f"gains name level {number!r}, which is no integer; the finest level is 1")
        if not 1 <= number <= level:
            have = f"there are levels 1 to {level}" if level else "there are no levels"
            raise LevelError(f"gains name level {number}, and {have}; leave it out, or take more levels")
        row = [read_gain(each, f"gains of level {number}") for each in np.atleast_1d(np.asarray(value, object))]
        if len(row) not in (1, 3):
            raise ArgumentError(
                f"gains of level {number} are {len(row)}; give one, or three: horizontal, vertical, diagonal"
            )
        matrix[number - 1] = row
    return matrix


def parse_gains(text: str, level: int) -> tuple[Array, float]:
    """Read gains as people write them.

    Parameters
    ----------
    text : str
        Such as ``"1:1.5,2:0.3,3d:0,a:1.1"``: levels, perhaps with one of h, v and d, and their gains. ``a`` is the
        approximation. What is said of one orientation goes before what is said of its level.
    level : int
        Number of levels.

    Returns
    -------
    matrix : ndarray of float
        Levels × 3.
    approximation : float
        1 if it is not named.

    Raises
    ------
    ArgumentError
        If the text cannot be read, names something twice, or a gain is beyond 1000.

    Examples
    --------
    >>> from subband.edit.surfaces import parse_gains
    >>> parse_gains("1:1.5, 2h:0", 2)
    (array([[1.5, 1.5, 1.5],
           [0. , 1. , 1. ]]), 1.0)
    """
    matrix, approximation = np.ones((level, 3)), 1.0
    single: dict[tuple[int, int], float] = {}
    named: set[str] = set()
    if not isinstance(text, str):
        raise ArgumentTypeError(f"text={text!r} is no text; write gains such as 1:1.5,2:0.3")
    for word in text.split(","):
        found = _WORD.fullmatch(word)
        if found is None or (found[1] == "a" and found[2]):
            raise ArgumentError(
                f"{word.strip()!r} in {text!r} is no gain; write level:gain, such as 1:1.5, or 2h:0.3 for one of h, v "
                "and d, or a:1.1 for the approximation"
            )
        if found[1] + found[2] in named:
            raise ArgumentError(f"{text!r} names {found[1] + found[2]} twice; give each band one gain")
        named.add(found[1] + found[2])
        value = read_gain(found[3], f"the gain of {found[1] + found[2]}")
        if found[1] == "a":
            approximation = value
            continue
        number = int(found[1])
        row = read_gains({number: value}, level)[number - 1]
        if found[2]:
            single[number - 1, _LETTERS[found[2]]] = value
        else:
            matrix[number - 1] = row
    for key, value in single.items():
        matrix[key] = value
    return matrix, approximation


def draw_gains(gains: BandGains, level: int, size: int = 128, approximation: float = 1.0) -> Array:
    """Draw gains as the mosaic of bands: grey for 1, darker for more, lighter for less.

    White is 0 or less, and black 4 or more.

    Parameters
    ----------
    gains : float, mapping, sequence or matrix
        See `BandGains`.
    level : int
        Number of levels.
    size : int
        Rows and columns of the mosaic.
    approximation : float
        That of the coarsest band, in the first corner.

    Returns
    -------
    ndarray of uint8
        Size × size.

    Examples
    --------
    >>> from subband.edit.surfaces import draw_gains
    >>> draw_gains({1: (0, 1, 4)}, 1, 4)[[1, 1, 3, 3], [1, 3, 1, 3]]
    array([128, 128, 255,   0], dtype=uint8)
    """
    matrix, approximation = read_gains(gains, level), read_gain(approximation, "approximation")
    mosaic = np.empty((size, size), np.uint8)
    mosaic[:] = _shade(approximation)
    extent = size
    for row in matrix:
        half = extent // 2
        for key, gain in zip(BANDS, row, strict=True):
            down, right = (slice(half, extent) if letter == "d" else slice(0, half) for letter in key)
            mosaic[down, right] = _shade(float(gain))
        extent = half
    mosaic[:extent, :extent] = _shade(approximation)
    extent = size
    for _ in matrix:
        # thin seams, where there is room for them
        half = extent // 2
        if half >= 4:
            mosaic[half - 1, :extent] = mosaic[:extent, half - 1] = 255
        extent = half
    return mosaic


def _shade(gain: float) -> int:
    if gain <= 1:
        return round(255 - 127 * max(gain, 0))
    return round(128 * max(1 - log2(gain) / 2, 0))


def read_gain(value: Any, what: str) -> float:
    """Return a gain as a number, or refuse it under the name `what`.

    Examples
    --------
    >>> read_gain("1.5", "gains")
    1.5
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{what} is {value!r}, which is no number") from None
    if isinstance(value, bool) or not abs(number) <= _MOST_GAIN:
        raise ArgumentError(f"{what} is {value}, which is not finite or beyond {_MOST_GAIN:g}; use such as 1.5")
    return number
