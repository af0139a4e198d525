"""Decoding, computing and encoding at the same time, with a few frames between them and no more.

Frames are decoded in one thread and encoded in another; the caller's own thread computes. Between them are queues of
a few frames, so that memory does not grow with the length of a video. Whatever goes wrong in one of the three stops the
others, and is raised in the caller's thread; so are Ctrl-C and a wish to cancel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from subband.enhance.blind import NoiseReport
from subband.errors import SubbandError
from subband.media.base import Frame, Sink, fit_pixels
from subband.typing import Array

__all__ = ["CancelledError", "Observe", "Progress", "Report", "Work", "relay_frames"]

#: Turns pixels into pixels, one for one and in order; it may read ahead.
Work: TypeAlias = Callable[[Iterator[Array]], Iterator[Array]]

# Frames between two stages: enough for one to be late, and few enough for frames of 100 MB.
_BETWEEN = 3
# Seconds between two looks at whether all is over; a frame that arrives is seen at once.
_PATIENCE = 0.1
# A camera may never answer again, and must not hold the end of the program.
_FAREWELL = 5.0


class CancelledError(SubbandError):
    """The work was cancelled from outside; nothing of it is left, or what the sink was told to keep."""


@dataclass(frozen=True)
class Progress:
    """How far a file is.

    Attributes
    ----------
    frames : int
        How many have been computed.
    count : int or None
        How many there will be, as far as that is known.
    seconds : float
        Since the beginning.

    Examples
    --------
    >>> from subband.pipeline import Progress
    >>> progress = Progress(frames=50, count=200, seconds=2.0)
    >>> progress.rate, progress.seconds_left
    (25.0, 6.0)
    """

    frames: int
    count: int | None
    seconds: float

    @property
    def rate(self) -> float:
        """Frames per second (fps), so far."""
        return self.frames / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest will take, if that can be said."""
        if self.count is None or not self.rate:
            return None
        return max(self.count - self.frames, 0) / self.rate


@dataclass(frozen=True)
class Report:
    """What a file took.

    Attributes
    ----------
    frames : int
        How many.
    seconds : float
        From the first to the end of the file.
    decode, compute, encode : float
        Seconds that each stage was busy. They add up to more than `seconds` where stages work at the same time;
        transfers to a device and back count as computing.
    noise : NoiseReport or None
        What was found about the noise of the first frame, if the enhancer had to know.

    Examples
    --------
    >>> from subband.pipeline import Report
    >>> report = Report(frames=100, seconds=4.0, decode=1.0, compute=3.0, encode=1.0)
    >>> report.rate, report.shares
    (25.0, {'decode': 0.2, 'compute': 0.6, 'encode': 0.2})
    """

    frames: int
    seconds: float
    decode: float
    compute: float
    encode: float
    noise: NoiseReport | None = None

    @property
    def rate(self) -> float:
        """Frames per second (fps)."""
        return self.frames / self.seconds if self.seconds > 0 else 0.0

    @property
    def shares(self) -> dict[str, float]:
        """The part of the work that each stage has."""
        busy = {"decode": self.decode, "compute": self.compute, "encode": self.encode}
        total = sum(busy.values()) or 1.0
        return {name: seconds / total for name, seconds in busy.items()}


#: Is told how far it is, in the caller's thread; what it raises stops the work.
Observe: TypeAlias = Callable[[Progress], None]


class _StoppedError(Exception):
    """Another stage has ended everything."""


class _Queue:
    """A bounded queue whose waiting threads are released when the work is stopped."""

    def __init__(self, stop: Event) -> None:
        self._queue: Queue[Any] = Queue(_BETWEEN)
        self._stop = stop

    def put(self, thing: Any, cancelled: Event | None = None) -> None:
        while True:
            self._check(cancelled)
            try:
                return self._queue.put(thing, timeout=_PATIENCE)
            except Full:
                continue

    def get(self, cancelled: Event | None = None) -> Any:
        while True:
            self._check(cancelled)
            try:
                return self._queue.get(timeout=_PATIENCE)
            except Empty:
                continue

    def _check(self, cancelled: Event | None) -> None:
        if self._stop.is_set():
            raise _StoppedError
        if cancelled is not None and cancelled.is_set():
            raise CancelledError("the work was cancelled")


class _End:
    """The last thing in a queue: the end of the frames, and why, if there is a reason."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def relay_frames(
    frames: Iterable[Frame],
    work: Work,
    sink: Sink,
    *,
    count: int | None = None,
    on_progress: Observe | None = None,
    cancelled: Event | None = None,
    by_fields: bool = False,
) -> Report:
    """Apply some work to frames, write them to a sink and finish it; or abort it, if anything goes wrong.

    Parameters
    ----------
    frames : iterable of Frame
        Walked through in a thread of its own.
    work : callable
        From an iterator of pixels to one of as many results; runs in this thread.
    sink : Sink
        Takes the results in a thread of its own; floats are rounded and clipped to the dtype of the frame. It is
        finished or aborted when this returns.
    count : int, optional
        How many frames there will be.
    on_progress : callable, optional
        Called with a `Progress` after each frame.
    cancelled : threading.Event, optional
        Set it to stop; see `CancelledError`.
    by_fields : bool
        Let the work have the two fields of an interlaced frame as two images of half the height, because they were
        recorded at different times, and weave the results.

    Returns
    -------
    Report
        What it took.

    Raises
    ------
    CancelledError
        If it was.
    SubbandError, OSError
        What the source, the work or the sink raise.
    """
    stop = Event()
    decoded, computed = _Queue(stop), _Queue(stop)
    decoder, encoder = _Decoder(frames, decoded), _Encoder(computed, sink, stop)
    start = perf_counter()
    waiting: deque[Frame] = deque()
    idle = 0.0

    def feed() -> Iterator[Array]:
        nonlocal idle
        while True:
            begin = perf_counter()
            thing = decoded.get(cancelled)
            idle += perf_counter() - begin
            if isinstance(thing, _End):
                if thing.error is not None:
                    raise thing.error
                return
            # the pixels belong to the work now, and may be let go of before their frame is written
            waiting.append(replace(thing, pixels=thing.pixels[:0]))
            if by_fields and _has_fields(thing):
                for field in (0, 1):
                    yield thing.pixels[field::2].copy()
            else:
                yield thing.pixels

    def weave(results: Iterator[Array]) -> Iterator[Array]:
        for pixels in results:
            yield _weave(pixels, next(results)) if by_fields and _has_fields(waiting[0]) else pixels

    try:
        decoder.start()
        encoder.start()
        done = 0
        for pixels in weave(iter(work(feed()))):
            begin = perf_counter()
            computed.put(_complete(waiting.popleft(), pixels), cancelled)
            done += 1
            if on_progress is not None:
                on_progress(Progress(done, count, perf_counter() - start))
            idle += perf_counter() - begin
        compute = perf_counter() - start - idle
        computed.put(_End(), cancelled)
        encoder.join()
        if encoder.error is not None:
            raise encoder.error
        begin = perf_counter()
        sink.finish()
        end = perf_counter()
        return Report(done, end - start, decoder.seconds, compute, encoder.seconds + end - begin)
    except _StoppedError:
        assert encoder.error is not None
        raise encoder.error from None
    finally:
        stop.set()
        try:
            if encoder.ident is not None:
                # a frame is always written at last, and a sink must not be closed under it
                encoder.join()
        finally:
            # nothing happens here to a sink that has been finished
            sink.abort()
        if decoder.ident is not None:
            decoder.join(_FAREWELL)


def _has_fields(frame: Frame) -> bool:
    return "fields" in frame.metadata


def _weave(top: Array, bottom: Array) -> Array:
    """Interlace the rows of two fields."""
    woven = np.empty((top.shape[0] + bottom.shape[0], *top.shape[1:]), top.dtype)
    woven[0::2], woven[1::2] = top, bottom
    return woven


def _complete(frame: Frame, pixels: Array) -> Frame:
    """Return a frame with its result; what is transparent stays so if the size has not changed."""
    keeps_size = frame.alpha is not None and frame.alpha.shape == pixels.shape[:2]
    fits = fit_pixels(pixels, frame.pixels.dtype) if pixels.dtype.kind == "f" else pixels
    return replace(frame, pixels=fits, alpha=frame.alpha if keeps_size else None)


class _Decoder(Thread):
    """Walks through a source."""

    def __init__(self, frames: Iterable[Frame], queue: _Queue) -> None:
        super().__init__(name="subband decoder", daemon=True)
        self.seconds = 0.0
        self._frames = frames
        self._queue = queue

    def run(self) -> None:
        """Hand over frame after frame, and the end."""
        try:
            end = _End()
            try:
                source = iter(self._frames)
                while True:
                    begin = perf_counter()
                    frame = next(source, None)
                    self.seconds += perf_counter() - begin
                    if frame is None:
                        break
                    self._queue.put(frame)
            except _StoppedError:
                raise
            except BaseException as error:  # noqa: BLE001 - raised where the frames are used, after those before it
                end = _End(error)
            self._queue.put(end)
        except _StoppedError:
            pass


class _Encoder(Thread):
    """Writes into a sink."""

    def __init__(self, queue: _Queue, sink: Sink, stop: Event) -> None:
        super().__init__(name="subband encoder", daemon=True)
        self.seconds = 0.0
        self.error: BaseException | None = None
        self._queue = queue
        self._sink = sink
        self._over = stop

    def run(self) -> None:
        """Write frame after frame, up to the end."""
        try:
            while not isinstance(frame := self._queue.get(), _End):
                begin = perf_counter()
                self._sink.write(frame)
                self.seconds += perf_counter() - begin
        except _StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised by the caller's thread, which waits for it
            self.error = error
            self._over.set()
