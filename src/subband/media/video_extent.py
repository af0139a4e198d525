"""How long a video says it is, how much of it was read, and whether that is less."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

from subband.media.video_streams import has_audio

__all__ = ["MICROSECONDS", "Extent"]

#: FFmpeg's own times are in millionths of a second.
MICROSECONDS = 1_000_000


class Extent:
    """How far the images of a video reach: by its header, and by the packets and frames that were noted.

    Parameters
    ----------
    container, stream
        An open file of PyAV, and its images.
    """

    def __init__(self, container: Any, stream: Any) -> None:
        self._container = container
        self._stream = stream
        self._end = Fraction(0)
        self._shown: Fraction | None = None
        self._longest = Fraction(0)
        self._packets = 0

    def note_packet(self, packet: Any) -> None:
        """Take in a packet that was read, the empty one at the end too."""
        if packet.pts is not None:
            self._end = max(self._end, (packet.pts + (packet.duration or 0)) * Fraction(packet.time_base))
        self._packets += packet.size > 0

    def note_frame(self, frame: Any) -> None:
        """Take in a frame that was decoded, to know the longest time that one was shown."""
        if frame.pts is None:
            return
        time = frame.pts * Fraction(frame.time_base)
        if self._shown is not None:
            self._longest = max(self._longest, time - self._shown)
        self._shown = time

    @property
    def rate(self) -> Fraction | None:
        """Frames per second (fps), if the file tells."""
        rate = self._stream.average_rate or self._stream.guessed_rate
        return Fraction(rate) if rate else None

    def find_duration(self) -> Fraction | None:
        """Return the seconds of video, or those of the whole file where nothing is said about the video alone."""
        duration = self._declare_duration()
        if duration is None and self._container.duration is not None:
            return Fraction(self._container.duration, MICROSECONDS)
        return duration

    @property
    def is_short(self) -> bool:
        """Whether less was noted than the file promises."""
        declared = self._declare_duration()
        if declared is None:
            return False
        begin = Fraction((self._stream.start_time or 0) * self._stream.time_base)
        missing = declared - (self._end - begin)
        frame = 1 / (self.rate or Fraction(25))
        if self._stream.frames:
            return bool(self._packets < self._stream.frames and missing > 1.5 * frame)
        # Without a number of frames, durations are often rounded, or counted to the end of the last frame's display.
        limit = max(2 * frame, Fraction(1, 4))
        if self._read_own_duration() is not None:
            # Some programs count from the first frame, others from the beginning of the file.
            missing = min(missing, declared - self._end)
            limit = min(limit, Fraction(3, 2) * max(frame, self._longest))
        return missing > limit

    def tell_expected(self) -> str:
        """Return what the file promises, in words."""
        if self._stream.frames:
            return f"{self._stream.frames}"
        return f"{float(self._declare_duration() or 0):.2f} seconds"

    def _declare_duration(self) -> Fraction | None:
        """Return the seconds of video that the file promises, if that kind of file promises any."""
        stream, name = self._stream, self._container.format.name
        if stream.duration is not None and name.startswith(("mov", "avi", "asf")):
            return Fraction(stream.duration * stream.time_base)
        if not name.startswith("matroska"):
            return None
        written = self._read_own_duration()
        if written is not None:
            return written
        if self._container.duration is not None and not has_audio(self._container):
            return Fraction(self._container.duration, MICROSECONDS)
        return None

    def _read_own_duration(self) -> Fraction | None:
        """Return the seconds that Matroska notes for the images alone."""
        written = {key.upper(): value for key, value in self._stream.metadata.items()}.get("DURATION")
        if written and self._container.format.name.startswith("matroska"):
            with contextlib.suppress(ValueError):
                hours, minutes, seconds = written.split(":")
                return int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)
        return None
