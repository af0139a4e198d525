"""Trimming a source, and changing its frame rate."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from subband.errors import ArgumentError
from subband.media.base import Frame, Source
from subband.media.faults import LossWarning
from subband.media.video import FilmSource

__all__ = ["CutSource", "Trim"]

# Seconds that are decoded sooner than found by an index.
_FAR = 2

_TIME = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True)
class Trim:
    """Where a part of a source begins and ends.

    Attributes
    ----------
    start : Fraction
        The first frame that belongs to it, or its time in seconds.
    end : Fraction or None
        The first one that does not; None for the end of the source.
    unit : {"seconds", "frames"}
        What both are.

    Examples
    --------
    >>> from subband.media import Trim
    >>> Trim.read("1.5:4")
    Trim(start=Fraction(3, 2), end=Fraction(4, 1), unit='seconds')
    >>> Trim.read("100f:")
    Trim(start=Fraction(100, 1), end=None, unit='frames')
    """

    start: Fraction = Fraction(0)
    end: Fraction | None = None
    unit: str = "seconds"

    @classmethod
    def read(cls, text: str) -> Trim:
        """Read ``START:END`` in seconds, such as ``1.5:4``, or in frames, such as ``100f:250f``; either may be empty.

        Hours and minutes are written with a dash between start and end: ``1:02:03-1:03:00``.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        before, dash, behind = text.partition("-")
        if not dash:
            before, dash, behind = text.partition(":")
        words = [word.strip() for word in (before, behind)]
        given = [word for word in words if word]
        unit = "frames" if any(word.endswith("f") for word in given) else "seconds"
        try:
            if not dash or not given or (dash == ":" and ":" in behind):
                raise ValueError
            start, end = (_read_word(word, unit) for word in words)
            if end is not None and end <= (start or 0):
                raise ValueError
        except ValueError:
            raise ArgumentError(
                f"{text!r} is no part of a video; write START:END in seconds, as 1.5:4, in frames, as 100f:250f, or "
                "with minutes, as 1:30-2:00; START or END may be left out, and END comes after START"
            ) from None
        return cls(start or Fraction(0), end, unit)


class CutSource(Source):
    """A part of a source, whose times begin at 0, or all of it at another rate.

    Parameters
    ----------
    source : Source
        Of frames that follow each other in time; it is closed with this one.
    trim : Trim, optional
        Which part.
    rate : Fraction or float, optional
        Frames in a second; each is then shown as long as the others. Sound does not fit any more and is left out, with
        a `LossWarning`.

    Examples
    --------
    >>> from subband.media import TestSource
    >>> part = CutSource(TestSource(64, 48, count=50), Trim.read("10f:14f"), rate=10)
    >>> [round(frame.time, 1) for frame in part]
    [0.0, 0.1, 0.2, 0.3]
    """

    def __init__(self, source: Source, trim: Trim | None = None, rate: Fraction | float | None = None) -> None:
        self._source, self._trim = source, Trim() if trim is None else trim
        info = source.info
        self._rate = None if rate is None else _check_rate(rate)
        pace = info.rate or Fraction(25)
        start, end = self._trim.start, self._trim.end
        if self._trim.unit == "frames":
            span = (start / pace, None if end is None else end / pace)
        else:
            span = (start, end)
        count = info.count
        if trim is not None and count is not None:
            length = Fraction(count) / pace
            count = max(0, round((min(length, length if span[1] is None else span[1]) - span[0]) * pace))
        if count == 0 and trim is not None:
            raise ArgumentError(f"the part begins at {float(span[0]):g} s, and there are only {info.count} frames")
        changes: dict[str, Any] = {
            "count": count,
            "duration": None if count is None else float(count / (self._rate or pace)),
        }
        if self._rate is not None:
            if self._rate != info.rate and (info.has_audio or info.has_extras):
                warnings.warn(
                    f"sound, subtitles and chapters are left out, because they do not fit {float(self._rate):g} frames "
                    f"per second instead of {float(pace):g}",
                    LossWarning,
                    stacklevel=4,
                )
            if self._rate != info.rate:
                changes |= {"has_audio": False, "has_extras": False}
            changes |= {"rate": self._rate, "time_base": None}
        self.info = replace(info, span=span, **changes)
        if isinstance(source, FilmSource) and self._trim.unit == "seconds" and start > _FAR:
            source.skip_to(start)

    def __iter__(self) -> Iterator[Frame]:
        first: float | None = None
        number = 0
        for frame in self._source:
            position = Fraction(frame.number) if self._trim.unit == "frames" else Fraction(frame.time)
            # half of a millisecond is what times in files are rounded by
            if position < self._trim.start - Fraction(1, 2000):
                continue
            if self._trim.end is not None and position >= self._trim.end - Fraction(1, 2000):
                return
            first = frame.time if first is None else first
            time = frame.time - first if self._rate is None else float(number / self._rate)
            yield replace(frame, number=number, time=time if self._trim.start or self._rate else frame.time)
            number += 1

    def close(self) -> None:
        """Close the file."""
        self._source.close()


def _check_rate(rate: Fraction | float) -> Fraction:
    chosen = Fraction(rate).limit_denominator(1001)
    if not 0 < chosen <= 100_000:
        raise ArgumentError(f"rate={rate} is not a number of frames per second; use such as 25 or 30000/1001")
    return chosen


def _read_word(word: str, unit: str) -> Fraction | None:
    if not word:
        return None
    if unit == "frames":
        return Fraction(int(word.removesuffix("f")))
    match = _TIME.fullmatch(word)
    if match is None:
        raise ValueError
    hours, minutes, seconds = (Fraction(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds
