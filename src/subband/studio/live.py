"""Live video as something that pages open: a source is walked through once, and every page sees its newest frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Condition, Event, Thread

from subband.errors import SubbandError
from subband.media import Frame, Source, SourceInfo

__all__ = ["Live"]

#: Seconds after which a page that waits for a frame is shown the last one again.
_PATIENCE = 0.5


class Live:
    """Keeps the newest frame of a source, which a thread walks through.

    Parameters
    ----------
    source : Source
        The first one; closed at its end.
    reopen : callable
        Returns the next one; raises a `SubbandError` if there is none.
    """

    def __init__(self, source: Source, reopen: Callable[[], Source]) -> None:
        self.info: SourceInfo = source.info
        self._source, self._reopen = source, reopen
        self._newest: tuple[int, Frame] | None = None
        self._has_come = Condition()
        self._is_closed = Event()
        self._thread = Thread(target=self._walk, name="subband live", daemon=True)
        self._thread.start()

    def _walk(self) -> None:
        count = 0
        with suppress(SubbandError):
            while not self._is_closed.is_set():
                with self._source:
                    for frame in self._source:
                        with self._has_come:
                            self.info, self._newest = self._source.info, (count, frame)
                            self._has_come.notify_all()
                        count += 1
                        if self._is_closed.is_set():
                            return
                self._source = self._reopen()

    def view(self) -> Source:
        """Return the frames from now on, as many as somebody has time for."""
        return _View(self)

    def wait(self, last: int) -> tuple[int, Frame] | None:
        """Return a frame with a number beyond `last` if one comes soon, else the one that is there."""
        with self._has_come:
            self._has_come.wait_for(lambda: self._newest is not None and self._newest[0] > last, _PATIENCE)
            return self._newest

    def close(self) -> None:
        """End the thread after the frame that it waits for, or at once if the source has been told to end."""
        self._is_closed.set()
        self._thread.join(1.0)


class _View(Source):
    """What one page sees."""

    def __init__(self, live: Live) -> None:
        self._live, self._is_closed = live, False
        # a video whose length nobody knows
        self.info = replace(live.info, kind="film", count=None, duration=None)

    def __iter__(self) -> Iterator[Frame]:
        last, number = -1, 0
        while not self._is_closed:
            found = self._live.wait(last)
            if found is not None:
                last, frame = found
                yield replace(frame, number=number)
                number += 1

    def close(self) -> None:
        """Show no further frame."""
        self._is_closed = True
