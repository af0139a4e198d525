"""Rates of frames and bytes over the last second."""

from __future__ import annotations

from collections import deque

__all__ = ["Meter"]

_SPAN = 1.5


class Meter:
    """Counts amounts over the last moments.

    Examples
    --------
    >>> meter = Meter()
    >>> for number in range(11):
    ...     meter.note(number / 25, 100)
    >>> round(meter.measure_rate(0.4), 1), round(meter.measure_amount(0.4))
    (25.0, 2500)
    """

    def __init__(self) -> None:
        self._notes: deque[tuple[float, float]] = deque()
        # kept up to date, so that hundreds of notes are not added up again for each frame
        self._total = 0.0

    def note(self, now: float, amount: float = 1.0) -> None:
        """Remember that something came."""
        self._notes.append((now, amount))
        self._total += amount
        self._forget(now)

    def measure_rate(self, now: float) -> float:
        """Return how many came per second."""
        seconds = self._count_seconds(now)
        return (len(self._notes) - 1) / seconds if seconds else 0.0

    def measure_amount(self, now: float) -> float:
        """Return the amount per second."""
        seconds = self._count_seconds(now)
        return (self._total - self._notes[0][1]) / seconds if seconds else 0.0

    def _count_seconds(self, now: float) -> float:
        self._forget(now)
        return now - self._notes[0][0] if len(self._notes) > 1 else 0.0

    def _forget(self, now: float) -> None:
        while self._notes and now - self._notes[0][0] > _SPAN:
            self._total -= self._notes.popleft()[1]
