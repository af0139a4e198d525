"""Recording of the camera: the frames that a page is shown, as a video of a steady rate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event
from time import perf_counter
from typing import Literal

import numpy as np

from subband.errors import ArgumentError
from subband.media import Frame, SourceInfo, open_sink
from subband.media.formats import list_endings
from subband.pipeline import CancelledError, Progress
from subband.typing import Array

__all__ = ["ENDING", "Recording"]

#: What a recording is written as.
ENDING = list_endings("video")[0]

_RATE = 25
#: Frames that may wait for the encoder; others are left out, and the one before them is repeated.
_MOST_WAITING = 8
#: Seconds of a recording.
_LONGEST = 600.0
#: Seconds between two looks at whether it is to end.
_PATIENCE = 0.1


class Recording:
    """Frames that come as they come, written at a steady rate.

    Examples
    --------
    >>> recording = Recording()
    >>> recording.add(np.zeros((48, 64, 3), np.uint8), 10.0)
    >>> recording.add(np.zeros((48, 64, 3), np.uint8), 10.2)
    >>> recording.stop()
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     recording.write(Path(folder, "camera.mp4"), lambda progress: None, Event())
    6
    """

    def __init__(self) -> None:
        self._waiting: Queue[tuple[Array, float]] = Queue(_MOST_WAITING)
        self._is_over = Event()

    def add(self, pixels: Array, now: float) -> None:
        """Take a frame that was shown at a time; one too many is left out."""
        if not self._is_over.is_set():
            with suppress(Full):
                self._waiting.put_nowait((pixels, now))

    def stop(self) -> None:
        """End with the last frame that was added."""
        self._is_over.set()

    def write(self, path: Path, on_progress: Callable[[Progress], None], cancelled: Event) -> int:
        """Write all frames until it is stopped, and return how many the video has.

        Raises
        ------
        ArgumentError
            If there was none.
        CancelledError
            If it is cancelled; nothing is left then.
        """
        first = self._take(cancelled)
        if first is None:
            raise ArgumentError("nothing was recorded; the camera has to show an image meanwhile")
        pixels, begun = first
        shape, count, started = pixels.shape, 0, perf_counter()
        colours: Literal["rgb", "grey"] = "rgb" if len(shape) == 3 else "grey"
        info = SourceInfo("film", shape, np.dtype(np.uint8), colours, rate=Fraction(_RATE))
        with open_sink(path, info) as sink:
            following: tuple[Array, float] | None = first
            while following is not None and following[1] - begun < _LONGEST:
                if following[0].shape == shape and following[0].dtype == np.uint8:
                    # until this one was shown, the one before it was
                    while count < round((following[1] - begun) * _RATE):
                        sink.write(Frame(pixels, count))
                        count += 1
                    pixels = following[0]
                    on_progress(Progress(count, None, perf_counter() - started))
                following = self._take(cancelled)
            sink.write(Frame(pixels, count))
        self.stop()
        return count + 1

    def _take(self, cancelled: Event) -> tuple[Array, float] | None:
        """Return the next frame; None after the last."""
        while True:
            is_over = self._is_over.is_set()
            if cancelled.is_set():
                self.stop()
                raise CancelledError("the recording was given up")
            try:
                return self._waiting.get(block=not is_over, timeout=_PATIENCE)
            except Empty:
                if is_over:
                    return None
