"""The largest image that is read: protection against decompression bombs."""

from __future__ import annotations

import os

from subband.errors import ArgumentError, FormatError

__all__ = ["MOST_PIXELS", "MOST_PIXELS_VARIABLE", "TooLargeError", "choose_most_pixels", "refuse_bomb"]

#: Rows × columns of an image or frame that is read without further permission: 16384².
MOST_PIXELS = 2**28

#: The environment variable that sets another limit for the whole process.
MOST_PIXELS_VARIABLE = "SUBBAND_MOST_PIXELS"


class TooLargeError(FormatError):
    """An image has more pixels than are allowed.

    Attributes
    ----------
    pixels : int
        How many it has.
    """

    def __init__(self, message: str, pixels: int) -> None:
        super().__init__(message)
        self.pixels = pixels


def choose_most_pixels(most_pixels: int | None = None) -> int:
    """Return the limit that holds: the argument, else the environment variable, else `MOST_PIXELS`.

    Raises
    ------
    ArgumentError
        If it is not a positive number.

    Examples
    --------
    >>> choose_most_pixels(1000)
    1000
    >>> choose_most_pixels(0)
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: most_pixels=0 is not a positive number of pixels
    """
    if most_pixels is not None:
        name, value = "most_pixels", str(most_pixels)
    elif MOST_PIXELS_VARIABLE in os.environ:
        name, value = MOST_PIXELS_VARIABLE, os.environ[MOST_PIXELS_VARIABLE]
    else:
        return MOST_PIXELS
    try:
        limit = int(value.replace("_", ""))
    except ValueError:
        limit = 0
    if limit < 1:
        raise ArgumentError(f"{name}={value} is not a positive number of pixels")
    return limit


def refuse_bomb(name: str, rows: int, columns: int, most_pixels: int) -> None:
    """Refuse an image that would take far more memory than its file lets expect.

    Raises
    ------
    TooLargeError
        If `rows` × `columns` is more than `most_pixels`.

    Examples
    --------
    >>> refuse_bomb("big.png", 100_000, 100_000, MOST_PIXELS)
    Traceback (most recent call last):
        ...
    subband.media.limits.TooLargeError: 'big.png' has 100000 × 100000 = 10000000000 pixels, more than the limit of
    268435456; if that is right, pass most_pixels=10000000000 or set SUBBAND_MOST_PIXELS
    """
    pixels = rows * columns
    if pixels > most_pixels:
        raise TooLargeError(
            f"{name!r} has {columns} × {rows} = {pixels} pixels, more than the limit of {most_pixels}; "
            f"if that is right, pass most_pixels={pixels} or set {MOST_PIXELS_VARIABLE}",
            pixels,
        )
