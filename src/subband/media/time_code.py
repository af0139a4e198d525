"""The time as a pattern of blocks in an image, so that a link's delay is measured from end to end."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from subband.errors import ShapeError
from subband.typing import Array

__all__ = ["draw_time", "measure_delay"]

# Blocks down and across, their largest side and the least, in pixels.
_ROWS, _COLUMNS, _LARGEST, _LEAST = 4, 12, 32, 4

# Units in a second, and bits of the time: three years; the other blocks are a check.
_UNITS, _BITS, _CHECK = 10_000, 40, 8

# What a block must differ from grey by, of the largest value.
_CONTRAST = 0.15


def _find_side(shape: tuple[int, ...]) -> int:
    """Return the side of a block; 0 if an image is too small."""
    side = min(shape[0] // (_ROWS + 2), shape[1] // (_COLUMNS + 2), _LARGEST)
    return side if side >= _LEAST else 0


def _add_check(number: int) -> int:
    return number << _CHECK | crc32(number.to_bytes(_BITS // 8, "big")) & (1 << _CHECK) - 1


def draw_time(pixels: Array, seconds: float) -> None:
    """Draw a time into the upper left corner of an image: dark and bright blocks.

    Parameters
    ----------
    pixels : ndarray of uint8 or uint16
        Rows × columns × 3; the blocks go into the first channel, which is luma or red.
    seconds : float
        Such as `time.time` has it.

    Raises
    ------
    ShapeError
        If the image has no room.

    Examples
    --------
    >>> pixels = np.full((48, 64, 3), 128, np.uint8)
    >>> draw_time(pixels, 1000.0)
    >>> measure_delay(pixels, 1000.04)
    0.04
    """
    side = _find_side(pixels.shape)
    if not side:
        raise ShapeError(
            f"an image of {pixels.shape[1]} × {pixels.shape[0]} has no room for a time; use at least "
            f"{_LEAST * (_COLUMNS + 2)} × {_LEAST * (_ROWS + 2)}"
        )
    word = _add_check(round(seconds * _UNITS) % (1 << _BITS))
    bits = np.array([word >> k & 1 for k in range(_ROWS * _COLUMNS)], np.bool_).reshape(_ROWS, _COLUMNS)
    most = np.iinfo(pixels.dtype).max
    blocks = np.where(bits, most - most // 8, most // 8).repeat(side, 0).repeat(side, 1)
    pixels[side : side + blocks.shape[0], side : side + blocks.shape[1], 0] = blocks


def measure_delay(pixels: Array, now: float) -> float | None:
    """Return the seconds since the time that `draw_time` drew into an image; None if there is none.

    Examples
    --------
    >>> measure_delay(np.zeros((48, 64, 3), np.uint8), 0.0) is None
    True
    """
    side = _find_side(pixels.shape) if pixels.ndim == 3 else 0
    if not side or pixels.dtype.kind != "u":
        return None
    area = pixels[side : side * (_ROWS + 1), side : side * (_COLUMNS + 1), 0]
    means = area.reshape(_ROWS, side, _COLUMNS, side).mean((1, 3)).reshape(-1) / np.iinfo(pixels.dtype).max - 0.5
    if np.abs(means).min() < _CONTRAST:
        return None
    word = sum(1 << k for k, mean in enumerate(means.tolist()) if mean > 0)
    number = word >> _CHECK
    if _add_check(number) != word:
        return None
    # a clock that is a little behind makes a delay below zero
    units, half = round(now * _UNITS) - number, 1 << _BITS - 1
    return ((units + half) % (1 << _BITS) - half) / _UNITS
