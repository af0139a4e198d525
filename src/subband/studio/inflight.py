"""In-flight frames: those that a page has been sent and has not drawn yet, and how fast they come and go."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Any

from subband.studio.encoding import Link
from subband.studio.jobs import Message
from subband.studio.meter import Meter

__all__ = ["InFlight"]

#: Frames that may be in flight.
_MOST_UNANSWERED = 2
#: Seconds after which a message that shows no frame counts as drawn, since pages do not answer to it.
_PATIENCE = 0.5
#: Measurements whose median is told: the first of a filter is that of a cold start.
_MEASURED = 9


@dataclass(frozen=True)
class _Sent:
    """A frame in flight: when it began to be encoded, as what, and when it counts as drawn without an answer."""

    begun: float
    format: str
    pixels: int
    expires: float | None


class InFlight:
    """The frames that a page has not answered to.

    Parameters
    ----------
    link : Link
        Told how long frames take.

    Examples
    --------
    >>> frames = InFlight(Link(is_near=True))
    >>> message = Message({"type": "frame", "stats": {}}, (b"pixels",), "raw", 6)
    >>> [frames.send(message, dropped=0, now=now)["frame"] for now in (0.0, 0.1)]
    [1, 2]
    >>> frames.find_room(0.2) is None
    True
    >>> frames.answer(1, 0.3)
    >>> frames.find_room(0.3)
    0
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sent: dict[int, _Sent] = {}
        self._number = 0
        self._arrivals = Meter()
        self._bytes = Meter()
        self._filter_seconds: deque[float] = deque(maxlen=_MEASURED)

    def send(self, message: Message, *, dropped: int, now: float) -> dict[str, Any]:
        """Remember a message that is sent now; return its header with its number and what was measured so far.

        Parameters
        ----------
        message : Message
            With a header.
        dropped : int
            Frames that were left out so far.
        now : float
            The time.
        """
        assert message.header is not None
        self._number += 1
        header = {**message.header, "frame": self._number}
        is_frame = header["type"] == "frame"
        if is_frame:
            if "filter" in message.seconds:
                # else a result was shown again, through another window
                self._filter_seconds.append(message.seconds["filter"])
            header["stats"] = {
                **header["stats"],
                "fps": round(self._arrivals.measure_rate(now), 2),
                "engine_fps": round(1 / max(median(self._filter_seconds or (0.0,)), 1e-5), 1),
                "stages": {name: round(seconds * 1000, 3) for name, seconds in message.seconds.items()},
                "dropped": dropped,
                "bytes_per_second": round(self._bytes.measure_amount(now)),
            }
            self._bytes.note(now, sum(map(len, message.payload)))
        self._sent[self._number] = _Sent(
            now - message.seconds.get("encode", 0.0),
            message.format,
            message.pixels,
            None if is_frame else now + _PATIENCE,
        )
        return header

    def answer(self, frame: int, now: float) -> None:
        """Note that the page has drawn a frame."""
        sent = self._sent.pop(frame, None)
        if sent is not None:
            self._link.note(sent.format, sent.pixels, now - sent.begun)
            self._arrivals.note(now)

    def find_room(self, now: float) -> float | None:
        """Return how many seconds the page cannot take a further frame: 0 if it can, None until it answers."""
        self._sent = {frame: sent for frame, sent in self._sent.items() if sent.expires is None or sent.expires > now}
        if len(self._sent) < _MOST_UNANSWERED:
            return 0
        ends = [sent.expires for sent in self._sent.values() if sent.expires is not None]
        return min(ends) - now if ends else None
