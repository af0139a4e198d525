"""When frames of video are shown: exact in the units of their file, and steady where that had to round."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from subband.media.base import Frame, SourceInfo

__all__ = ["Clock"]

# How much finer than a frame times are kept that come from no file; about a hundred thousandth of a second.
_FINEST = 90_000
# The most parts of a second that containers and encoders take.
_MOST = 1_000_000
# A time that is this near to that of a steady rate, in frames, was rounded by the program that it comes from.
_ROUNDED = Fraction(1, 20)


class Clock:
    """Turns the times of frames into ticks.

    Parameters
    ----------
    info : SourceInfo
        Of the frames.
    rate : Fraction
        Frames in a second.
    is_steady : bool
        Whether frames can only follow each other at that rate.

    Attributes
    ----------
    time_base : Fraction
        Seconds of a tick.

    Examples
    --------
    >>> import numpy as np
    >>> info = SourceInfo("film", (48, 64), np.dtype("uint8"), rate=Fraction(25), time_base=Fraction(1, 600))
    >>> clock = Clock(info, Fraction(25), is_steady=False)
    >>> [clock.tick(Frame(np.zeros((48, 64), np.uint8), time=time)) for time in (0.0, 0.04, 0.1)]
    [0, 24, 60]
    """

    def __init__(self, info: SourceInfo, rate: Fraction, *, is_steady: bool) -> None:
        self._rate, self._is_steady = rate, is_steady
        self._last = -1
        self._count = 0
        # slices and images have no time
        self._is_timeless = info.kind in ("volume", "still")
        base = None if self._is_timeless or is_steady else info.time_base
        common = None if base is None else _find_common(base, 1 / rate)
        if base is not None and (common is not None or base.denominator <= _MOST):
            self.time_base = base if common is None else common
            # where frames of this rate lie between its units, the file has rounded them to the nearest
            is_exact = common == base or common is None
            self._near = Fraction(0) if is_exact else base
        else:
            # A whole part of a frame, so that a steady rate stays one.
            self.time_base = 1 / (rate * (1 if is_steady else max(1, int(_FINEST / rate))))
            self._near = _ROUNDED / rate

    def tick(self, frame: Frame) -> int:
        """Return when the next frame is shown, after the one before."""
        time = Fraction(self._count, 1) / self._rate if self._is_timeless else Fraction(frame.time)
        self._count += 1
        nearest = round(time * self._rate) / self._rate
        if self._is_steady or abs(time - nearest) < self._near:
            time = nearest
        chosen = round(time / self.time_base)
        if chosen <= self._last:
            # one without a time follows at the usual distance
            chosen = self._last + (1 if frame.time else max(1, round(1 / (self._rate * self.time_base))))
        self._last = chosen
        return chosen


def _find_common(first: Fraction, second: Fraction) -> Fraction | None:
    """Return the largest time that both are multiples of; None if no container has units as small as that."""
    denominator = first.denominator * second.denominator // gcd(first.denominator, second.denominator)
    numerators = (int(first * denominator), int(second * denominator))
    common = Fraction(gcd(*numerators), denominator)
    return common if common.denominator <= _MOST else None
