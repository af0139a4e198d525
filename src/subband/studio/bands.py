"""Gains and thresholds of bands as one line of text, as settings and addresses hold them."""

from __future__ import annotations

from math import isfinite

from subband.enhance.per_band import DETAILS
from subband.errors import ArgumentError

__all__ = ["read_gains"]

_LARGEST = 100.0


def read_gains(text: str, level: int, name: str = "bands") -> tuple[tuple[float, ...], ...] | None:
    """Return a number for each level, the finest first, and each of its bands; None if all are 1.

    Levels beyond `level` are left out, and so may numbers of 1 be in the text. `name` is that of the setting.

    Raises
    ------
    ArgumentError
        If the text cannot be read.

    Examples
    --------
    >>> read_gains("1:ad=1.5,dd=0;2:da=2", 2)
    ((1.5, 1.0, 0.0), (1.0, 2.0, 1.0))
    >>> read_gains("", 3) is None
    True
    """
    gains = [[1.0] * len(DETAILS) for _ in range(level)]
    for entry in filter(None, text.split(";")):
        number, colon, values = entry.partition(":")
        if not colon or not number.strip().isdecimal() or int(number) < 1:
            raise ArgumentError(f"{name}={text!r} cannot be read at {entry!r}; write 1:ad=1.5,da=1,dd=1;2:dd=0")
        for pair in filter(None, values.split(",")):
            band, _, value = pair.partition("=")
            gain = _read_gain(value)
            if band.strip() not in DETAILS or gain is None:
                raise ArgumentError(f"{name}={text!r} cannot be read at {pair!r}; write 1:ad=1.5,da=1,dd=1;2:dd=0")
            if int(number) <= level:
                gains[int(number) - 1][DETAILS.index(band.strip())] = gain
    found = tuple(map(tuple, gains))
    return found if any(gain != 1 for row in found for gain in row) else None


def _read_gain(text: str) -> float | None:
    try:
        gain = float(text)
    except ValueError:
        return None
    return gain if isfinite(gain) and 0 <= gain <= _LARGEST else None
