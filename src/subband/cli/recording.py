"""Recording a camera: for a time, for some frames, or until somebody has seen enough."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from subband.errors import ArgumentError
from subband.media.base import Frame, Source

if TYPE_CHECKING:
    from subband.enhance import Enhancer
    from subband.pipeline.files import OpenSink, OpenSource
    from subband.pipeline.relay import Observe, Report

__all__ = ["end_by_interrupt", "open_camera", "record_camera"]


def open_camera(
    device: str,
    size: str | None = None,
    rate: float | None = None,
    colours: Literal["rgb", "ycbcr"] = "rgb",
) -> Source:
    """Open a camera by its number or name; see `subband.media.open_source` for its colours.

    Raises
    ------
    ArgumentError
        If `size` is none.
    NoDeviceError
        If there is no such camera.
    """
    from subband.media import open_source
    from subband.media.camera import is_camera

    name = device if is_camera(device) else f"camera:{device}"
    wanted = None
    if size is not None:
        match = re.fullmatch(r"(\d+)[x×](\d+)", size)
        if match is None:
            raise ArgumentError(f"--size {size} is no size; write it as 1280x720")
        wanted = (int(match[1]), int(match[2]))
    if name == "test:":
        name += (f"{wanted[0]}x{wanted[1]}" if wanted else "") + (f"@{rate:g}" if rate else "")
    return open_source(name, colours=colours, size=wanted, rate=rate)


def record_camera(
    open_source: OpenSource,
    open_sink: OpenSink,
    enhancer: Enhancer,
    *,
    seconds: float | None = None,
    frames: int | None = None,
    engine: str | None = None,
    on_progress: Observe | None = None,
    cancelled: Event | None = None,
    enough: Event | None = None,
) -> Report:
    """Record a camera through an enhancer; Ctrl-C, SIGTERM and SIGHUP end the video in good order.

    Parameters
    ----------
    open_source, open_sink : callable
        Open the camera, and the video for what it gives; as in `subband.pipeline.enhance_file`.
    enhancer : Enhancer
        Whose numbers are those of 8 bits.
    seconds, frames : optional
        When to end, whichever comes first.
    engine, on_progress, cancelled
        As in `subband.pipeline.enhance_file`.
    enough : threading.Event, optional
        Ends the video in good order when it is set; see `end_by_interrupt`.
    """
    from subband.pipeline import enhance_file

    return enhance_file(
        lambda colours: _Beginning(open_source(colours), seconds, frames, enough or Event()),
        open_sink,
        enhancer,
        engine=engine,
        on_progress=on_progress,
        cancelled=cancelled,
    )


class _Beginning(Source):
    """The frames of a source until it is enough; at least one, so that there is a video."""

    def __init__(self, source: Source, seconds: float | None, count: int | None, enough: Event) -> None:
        rate = source.info.rate
        if seconds is not None and rate is not None:
            lasting = max(1, round(seconds * rate))
            count = lasting if count is None else min(count, lasting)
        self.info = replace(source.info, count=count)
        self._source, self._seconds, self._enough = source, seconds, enough

    def __iter__(self) -> Iterator[Frame]:
        for number, frame in enumerate(self._source):
            if number and (number == self.info.count or (self._seconds is not None and frame.time >= self._seconds)):
                return
            yield frame
            if self._enough.is_set():
                return

    def close(self) -> None:
        """Close the source."""
        self._source.close()


@contextmanager
def end_by_interrupt() -> Iterator[Event]:
    """Let the first Ctrl-C, SIGTERM or SIGHUP say that it is enough; a second one interrupts.

    What a camera has seen does not come again, so a recording is not thrown away because its terminal is closed.
    """
    enough = Event()
    if threading.current_thread() is not threading.main_thread():
        yield enough
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    known = {number: signal.getsignal(number) for number in numbers}
    usual = {number: handler for number, handler in known.items() if handler not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    def end(_number: int, _frame: Any) -> None:
        enough.set()
        restore()

    for number in usual:
        signal.signal(number, end)
    try:
        yield enough
    finally:
        restore()
