"""Recording a camera: for a time, for some frames, or until somebody has seen enough."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.enhance import Enhancer
    from subband.media import Frame, Sink, Source, SourceInfo
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
    open_source: Callable[[], Source],
    open_sink: Callable[[SourceInfo], Sink],
    enhancer: Enhancer,
    *,
    seconds: float | None = None,
    frames: int | None = None,
    engine: str | None = None,
    on_progress: Observe | None = None,
    cancelled: Event | None = None,
    enough: Event | None = None,
) -> Report:
    """Record a camera through an enhancer.

    Parameters
    ----------
    open_source, open_sink : callable
        Open the camera, and the film for what it gives.
    enhancer : Enhancer
        Whose numbers are those of 8 bits.
    seconds, frames : optional
        When to end, whichever comes first.
    engine, on_progress, cancelled
        As in `subband.pipeline.enhance_file`.
    enough : threading.Event, optional
        Ends the film in good order when it is set; see `end_by_interrupt`.
    """
    from dataclasses import replace

    from subband.pipeline.files import choose_work
    from subband.pipeline.relay import relay_frames

    with open_source() as source:
        info = source.info
        count = frames
        if seconds is not None and info.rate is not None:
            lasting = max(1, round(seconds * info.rate))
            count = lasting if count is None else min(count, lasting)
        work = choose_work(info, enhancer, engine=engine)
        sink = open_sink(replace(info, count=count))
        taken = _take(source, seconds, count, enough or Event())
        return relay_frames(
            taken, work, sink, count=count, on_progress=on_progress, cancelled=cancelled, by_fields=True
        )


def _take(source: Source, seconds: float | None, count: int | None, enough: Event) -> Iterator[Frame]:
    """Take frames until it is enough; at least one, so that there is a film."""
    for number, frame in enumerate(source):
        if number and (number == count or (seconds is not None and frame.time >= seconds)):
            return
        yield frame
        if enough.is_set():
            return


@contextmanager
def end_by_interrupt() -> Iterator[Event]:
    """Let the first Ctrl-C say that it is enough; a second one interrupts as usual."""
    enough = Event()
    if threading.current_thread() is not threading.main_thread():
        yield enough
        return
    usual = signal.getsignal(signal.SIGINT)

    def end(_number: int, _frame: Any) -> None:
        enough.set()
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, end)
    try:
        yield enough
    finally:
        signal.signal(signal.SIGINT, usual)
