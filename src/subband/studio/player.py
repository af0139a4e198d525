"""Playback: the frames of a source, repeated if asked for, and the clock of their rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

from subband.media import Frame, Source, SourceInfo
from subband.media.faults import DamageWarning
from subband.studio.library import Item, as_bytes
from subband.typing import Array

__all__ = ["Clock", "DisplayFrame", "Player"]

#: Frames that are left out at once where computing is slower than the video.
_MOST_SKIPPED = 8
#: Seconds that a video may lag behind before its clock is set anew.
_LONGEST_LAG = 0.5
_USUAL_RATE = 25.0
#: Frames between two looks at whether somebody wants to go elsewhere.
_STRIDE = 8


@dataclass(frozen=True)
class DisplayFrame:
    """A frame in 8 bits, as a screen shows it.

    Attributes
    ----------
    pixels : ndarray of uint8
        Rows × columns, or rows × columns × 3.
    number : int
        Its position in the video.
    seconds : float
        How long it took to decode.
    """

    pixels: Array
    number: int
    seconds: float


class Clock:
    """When the next frame is due.

    Parameters
    ----------
    rate : float
        Frames per second.

    Examples
    --------
    >>> clock = Clock(25.0)
    >>> clock.start(10.0)
    >>> clock.advance(10.0), round(clock.due, 2)
    (0, 10.04)
    >>> clock.advance(10.14), round(clock.due, 2)
    (2, 10.16)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.due = 0.0

    def start(self, now: float) -> None:
        """Let the next frame be due now."""
        self.due = now

    def restart(self, now: float) -> None:
        """Let the next frame be due one interval after the one that is shown now."""
        self.due = now + 1 / self.rate

    def advance(self, now: float) -> int:
        """Note that a frame is taken now, and return how many before it are too late and left out."""
        skipped = min(max(int((now - self.due) * self.rate), 0), _MOST_SKIPPED)
        self.due += (skipped + 1) / self.rate
        if now - self.due > _LONGEST_LAG:
            self.due = now
        return skipped


class Player:
    """A source that can be walked through again, and looked at in any position.

    Parameters
    ----------
    item : Item
        What is opened.

    Notes
    -----
    Video is decoded from its beginning to the position that is sought, because that is the only way that every kind of
    video has. One frame is decoded ahead, while the one before is computed.
    """

    def __init__(self, item: Item) -> None:
        self.item = item
        self.is_looping = True
        self._source: Source | None = None
        self._frames: Iterator[Frame] = iter(())
        self._ahead: DisplayFrame | None = None
        self._decoded = 0
        self.current: DisplayFrame | None = None
        self.info = self._open()
        self.count = self.info.count

    @property
    def rate(self) -> float:
        """Frames per second."""
        return float(self.info.rate) if self.info.rate else _USUAL_RATE

    @property
    def is_video(self) -> bool:
        """Whether there is more than one frame."""
        return self.info.kind in ("film", "sequence")

    @property
    def is_at_end(self) -> bool:
        """Whether the last frame is shown."""
        return self.current is not None and self.count is not None and self.current.number + 1 >= self.count

    def take(self, skipped: int = 0) -> DisplayFrame | None:
        """Return the next frame after some that are left out; None at the end of a video that is not repeated.

        The last frame of a video that is not repeated is never left out.
        """
        found: DisplayFrame | None = None
        for _ in range(skipped + 1):
            self.prefetch()
            if self._ahead is None:
                break
            found, self._ahead = self._ahead, None
        if found is not None:
            self.current = found
        return found

    def prefetch(self) -> None:
        """Decode the next frame, if that has not been done; of a video that is repeated, the first after the last."""
        if self._ahead is not None:
            return
        self._ahead = self._decode()
        if self._ahead is None and self.is_looping and self.is_video and self.current is not None:
            self._open()
            self._ahead = self._decode()

    def _decode(self) -> DisplayFrame | None:
        start = perf_counter()
        try:
            frame = next(self._frames, None)
        except DamageWarning:
            # where warnings are errors, too, a damaged video is shown as far as it goes
            frame = None
        if frame is None:
            if self._decoded:
                self.count = self._decoded
            return None
        self._decoded = frame.number + 1
        return DisplayFrame(as_bytes(frame.pixels), frame.number, perf_counter() - start)

    def seek(self, position: int, is_wanted: Callable[[], bool] = lambda: True) -> DisplayFrame | None:
        """Return the frame at a position, or the last one if the video is shorter.

        Parameters
        ----------
        position : int
            Counted from 0.
        is_wanted : callable
            Asked now and then whether to go on.
        """
        if self.current is not None and position == self.current.number:
            return self.current
        if not self.is_video:
            return self.current or self.take()
        if self.current is None or position < (self._ahead or self.current).number:
            self._open()
        looping, self.is_looping = self.is_looping, False
        try:
            while (frame := self.take()) is not None and frame.number < position:
                if frame.number % _STRIDE == 0 and not is_wanted():
                    break
        finally:
            self.is_looping = looping
        return self.current

    def close(self) -> None:
        """Close the file."""
        self._frames = iter(())
        self._ahead = None
        if self._source is not None:
            self._source.close()
            self._source = None

    def _open(self) -> SourceInfo:
        self.close()
        self._source = self.item.open()
        self._frames = iter(self._source)
        return self._source.info
