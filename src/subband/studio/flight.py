"""Frames on their way to a page: how many there may be, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass

from subband.studio.encoding import Link

__all__ = ["MOST_UNANSWERED", "Flight", "Sent"]

#: Frames that are on their way to the page without an answer.
MOST_UNANSWERED = 2


@dataclass(frozen=True)
class Sent:
    """A frame that was sent.

    Attributes
    ----------
    begun : float
        When it began to be encoded.
    format : str
        As what it was sent.
    pixels : int
        How many it has.
    expires : float or None
        When it counts as drawn, if the page need not answer to it.
    """

    begun: float
    format: str = ""
    pixels: int = 0
    expires: float | None = None


class Flight:
    """The frames that a page has not answered to.

    Parameters
    ----------
    link : Link
        Told how long frames take.

    Examples
    --------
    >>> flight = Flight(Link(is_near=True))
    >>> flight.send(1, Sent(0.0, "raw", 100))
    >>> flight.send(2, Sent(0.1, "raw", 100))
    >>> flight.find_room(0.2) is None
    True
    >>> flight.answer(1, 0.3), flight.find_room(0.3)
    (True, 0)
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sent: dict[int, Sent] = {}

    def send(self, frame: int, sent: Sent) -> None:
        """Remember a frame."""
        self._sent[frame] = sent

    def answer(self, frame: int, now: float) -> bool:
        """Note that a frame was drawn; False if there was none of that number."""
        sent = self._sent.pop(frame, None)
        if sent is None:
            return False
        self._link.note(sent.format, sent.pixels, now - sent.begun)
        return True

    def find_room(self, now: float) -> float | None:
        """Return how many seconds the page cannot take a further frame: 0 if it can, None until it answers."""
        self._sent = {frame: sent for frame, sent in self._sent.items() if sent.expires is None or sent.expires > now}
        if len(self._sent) < MOST_UNANSWERED:
            return 0
        ends = [sent.expires for sent in self._sent.values() if sent.expires is not None]
        return min(ends) - now if ends else None
