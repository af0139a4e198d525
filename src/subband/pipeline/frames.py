"""Frames of video through the wavelet domain: a source of frames, an operation, and frames again.

Frames come as the bytes they were decoded to and go back as such. In between are a change of colours, a transform,
thresholds and gains, and the way back; on a device, nothing of it returns to the host. Frames overlap there: while one
is computed, the next is uploaded and the one before is downloaded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from operator import index
from typing import Any

import numpy as np

from subband.engines import Engine, get_engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.host_memory import host_memory_for
from subband.engines.memory import allocate
from subband.engines.streaming import Conveyor, HostConveyor, Slot, make_conveyor
from subband.enhance.enhancer import Enhancer
from subband.enhance.program import Program
from subband.enhance.stages import Stage
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from subband.pipeline.ahead import count_ahead, run_ahead
from subband.pipeline.sequence import Sequence
from subband.typing import Array

__all__ = ["Pipeline", "process_frames"]


def process_frames(
    frames: Iterable[Any],
    operation: Enhancer | Stage,
    *,
    engine: str | Engine | None = None,
    in_flight: int = 3,
) -> Iterator[Array]:
    """Apply an operation to frames of video.

    Parameters
    ----------
    frames : iterable of array_like
        Rows × columns, or rows × columns × 3 for red, green and blue, of uint8 or uint16. Shape and dtype may change
        from one frame to the next, which makes the engine prepare anew.
    operation : Enhancer or Stage
        What is done to each. A stage by itself, such as `Shrink`, is the only one of an `Enhancer`.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    in_flight : int
        Frames that a device works on while the caller has one. With 0, each comes back before the next is taken from
        `frames`. The CPU's engines work on one frame at a time in any case, but for averages over time.

    Returns
    -------
    iterator of ndarray
        One frame for each, in order, of the same shape and dtype, rounded and clipped.

    Raises
    ------
    ArgumentError
        If `in_flight` is negative.
    ShapeError, DtypeError
        From the iterator, when a frame is not one.
    LevelError
        From the iterator, when a frame is too small for the levels.

    Notes
    -----
    An error of the source, or of a frame, is raised after the frames before it have come back. The iterator may be
    closed at any time. Memory of a frame that nobody holds any more is used again: frames that are all kept, in a list
    for instance, cost a GPU's pipeline most of its speed.

    Examples
    --------
    >>> from subband import data
    >>> from subband.enhance import Shrink
    >>> from subband.pipeline import process_frames
    >>> frames = [data.photograph()[:120, :160] for _ in range(5)]
    >>> [frame.shape for frame in process_frames(frames, Shrink(threshold=4.0))]
    [(120, 160, 3), (120, 160, 3), (120, 160, 3), (120, 160, 3), (120, 160, 3)]
    """
    return Pipeline(operation, engine=engine, in_flight=in_flight).process(frames)


class Pipeline:
    """An operation that is ready for frames, with the memory that they need.

    Parameters are those of `process_frames`. A pipeline may be used for one video after the other, and for several at
    the same time.

    Examples
    --------
    >>> from subband.enhance import Shrink
    >>> from subband.pipeline import Pipeline
    >>> pipeline = Pipeline(Shrink(level=1, threshold=4.0), engine="cpu")
    >>> def video():
    ...     for brightness in (10, 200):
    ...         frame = pipeline.buffer((32, 48))
    ...         frame[...] = brightness
    ...         yield frame
    >>> [int(frame.max()) for frame in pipeline.process(video())]
    [10, 200]
    """

    def __init__(self, operation: Enhancer | Stage, *, engine: str | Engine | None = None, in_flight: int = 3) -> None:
        if not isinstance(operation, Enhancer | Stage):
            raise ArgumentTypeError(f"operation is a {type(operation).__name__}; use an Enhancer, or a stage")
        if isinstance(in_flight, bool) or not hasattr(in_flight, "__index__") or index(in_flight) < 0:
            raise ArgumentError(f"in_flight={in_flight!r} is not a number of frames; use 0 or more")
        self.operation = operation
        self.enhancer = operation if isinstance(operation, Enhancer) else Enhancer((operation,))
        self.engine = get_engine(engine)
        self.in_flight = index(in_flight)
        self._device = self.engine.device if isinstance(self.engine, DeviceEngine) else None
        self._memory = host_memory_for(self._device)
        self._parked: dict[object, Conveyor] = {}

    def buffer(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
        """Return an array to put a frame into: it goes to a device from there, without another copy.

        It must not be changed after it has been handed to `process`; take a new one for the next frame. Its memory
        comes back when nobody holds it any more, so that this costs microseconds.

        Parameters
        ----------
        shape : tuple of int
            Of a frame.
        dtype : dtype
            uint8 or uint16.
        """
        return self._memory.lend(tuple(shape), np.dtype(dtype))

    def process(self, frames: Iterable[Any]) -> Generator[Array, None, None]:
        """Apply the operation to frames; see `process_frames`."""
        if self.enhancer.model.needs_image:
            frames = iter(frames)
            for frame in frames:
                known, _ = self.enhancer.find_noise(_as_frame(frame), axes=(0, 1))
                resolved = Pipeline(known, engine=self.engine, in_flight=self.in_flight)
                yield from resolved.process(chain([frame], frames))
            return
        if self._device is not None and not self.enhancer.model.is_pointwise:
            # such models look at an image on the host
            yield from (self.enhancer.apply(_as_frame(frame), engine=self.engine) for frame in frames)
            return
        if self.enhancer.temporal:
            sequence = Sequence(self.enhancer, self.engine)
            jobs = (sequence.follow(_as_frame(frame)) for frame in frames)
            yield from run_ahead(jobs, min(self.in_flight, count_ahead(self.engine)))
            return
        waiting: deque[tuple[Conveyor, Slot]] = deque()
        key: object = None
        conveyor: Conveyor | None = None
        failure: Exception | None = None
        source = iter(frames)
        try:
            while failure is None:
                try:
                    frame = _as_frame(next(source))
                    if key != (frame.shape, frame.dtype.name):
                        key = (frame.shape, frame.dtype.name)
                        conveyor = self._parked.pop(key, None) or self._prepare(
                            frame.shape, frame.dtype.newbyteorder("=")
                        )
                    assert conveyor is not None
                    waiting.append((conveyor, conveyor.send(frame)))
                except StopIteration:
                    break
                except Exception as error:  # noqa: BLE001 - raised below, after the frames that are on their way
                    failure = error
                    break
                while len(waiting) > self.in_flight or (waiting and waiting[0][0].is_done(waiting[0][1])):
                    yield _receive(waiting)
            while waiting:
                yield _receive(waiting)
        finally:
            for busy in {each for each in (conveyor, *(sent for sent, _ in waiting)) if each is not None}:
                busy.drain()
            if conveyor is not None and failure is None:
                self._parked = {key: conveyor}
        if failure is not None:
            try:
                raise failure
            finally:
                # an error refers to this call by its traceback, and would keep the memory of the frames
                del failure

    def measure_stages(self, shape: tuple[int, ...], dtype: Any = np.uint8, turns: int = 20) -> dict[str, float]:
        """Measure how long upload, computation and download of a frame take, each by itself.

        Parameters
        ----------
        shape, dtype
            Of a frame.
        turns : int
            The mean of so many is taken.

        Returns
        -------
        dict of str to float
            Seconds of ``upload``, ``compute`` and ``download``, and of ``both`` transfers at the same time. The slowest
            limits how fast frames can follow each other. Empty for engines that do not overlap them.
        """
        kind = np.dtype(dtype)
        key = (tuple(shape), kind.name)
        conveyor = self._parked.pop(key, None) or self._prepare(tuple(shape), kind)
        stages = conveyor.measure_stages(turns)
        self._parked = {key: conveyor}
        return stages

    def _prepare(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Conveyor:
        channels = shape[2] if len(shape) == 3 else 1
        program = Program(self.enhancer, shape[:2], channels, self.engine)
        if self._device is None:
            return HostConveyor(lambda frame: _compute(program, frame))

        def compute(pixels: Any, result: Any) -> None:
            program.compute(*(each.reshape(*shape[:2], channels) for each in (pixels, result)))

        return make_conveyor(self._device, self._memory, compute, shape, dtype, self.in_flight + 1)


def _compute(program: Program, frame: Array) -> Array:
    """Return a frame of the host, enhanced."""
    shape = (*program.space, program.channels)
    result = allocate(shape, frame.dtype.newbyteorder("="))
    program.run(np.ascontiguousarray(frame, result.dtype).reshape(shape), result)
    return result.reshape(frame.shape)


def _receive(waiting: deque[tuple[Conveyor, Slot]]) -> Array:
    """Wait for the oldest frame; it stays among those waiting until it is there, so that an error drains it too."""
    conveyor, slot = waiting[0]
    frame = conveyor.receive(slot)
    waiting.popleft()
    return frame


def _as_frame(frame: Any) -> Array:
    """Check that an array is a frame: uint8 or uint16, rows × columns, or rows × columns × 3."""
    pixels = np.asarray(frame)
    if pixels.dtype.name not in ("uint8", "uint16"):
        raise DtypeError(f"a frame has dtype {pixels.dtype}; frames hold uint8 or uint16")
    if pixels.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)):
        raise ShapeError(
            f"a frame has shape {pixels.shape}; it needs rows × columns, or rows × columns × 3, and at least 1 pixel"
        )
    return pixels
