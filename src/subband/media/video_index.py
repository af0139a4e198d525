"""Where the frames of a video lie: the times of all of them, and from which decoding can begin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["FrameIndex", "guess_index", "read_index"]


@dataclass(frozen=True)
class FrameIndex:
    """The frames of a video in the order in which they are shown.

    Attributes
    ----------
    times : list of int
        When each is shown, in units of the stream.
    keys : list of int
        Those of the frames that need no other to be decoded.

    Examples
    --------
    >>> index = FrameIndex([0, 40, 80, 120], [0, 80])
    >>> list(index.find_keys(3)), list(index.find_keys(1))
    ([80, 0], [0])
    """

    times: list[int]
    keys: list[int]

    def find_keys(self, number: int) -> Iterator[int]:
        """Return the times of frames from which a frame can be decoded, the nearest first."""
        yield from reversed(self.keys[: bisect_right(self.keys, self.times[number])])


def guess_index(stream: Any) -> FrameIndex | None:
    """Return the index of a video whose frames follow each other steadily, as far as its header says; else None.

    Whether a frame is there shows when it is sought. Any may be one from which decoding can begin.
    """
    rate, duration = stream.average_rate, stream.duration
    if not rate or not duration or not stream.frames or rate != stream.base_rate:
        return None
    step = 1 / (rate * stream.time_base)
    if step.denominator != 1 or duration != stream.frames * step:
        return None
    start = stream.start_time or 0
    times = [start + number * int(step) for number in range(stream.frames)]
    return FrameIndex(times, times)


def read_index(container: Any, stream: Any) -> FrameIndex | None:
    """Return the index of a video, from its packets alone; None if not all of them say when they are shown.

    Parameters
    ----------
    container, stream
        Of PyAV, opened for this alone: it is read to its end.
    """
    times: list[int] = []
    keys: list[int] = []
    for packet in container.demux(stream):
        if packet.size == 0 or packet.is_discard:
            continue
        if packet.pts is None:
            return None
        times.append(packet.pts)
        if packet.is_keyframe:
            keys.append(packet.pts)
    return FrameIndex(sorted(times), sorted(keys)) if keys and len(set(times)) == len(times) else None
