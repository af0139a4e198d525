"""Frames of film through the wavelet domain: a source of frames, an operation, and frames again.

Frames come as the bytes they were decoded to and go back as such. In between lie a change of colours, a transform,
thresholds and gains, and the way back; on a device, nothing of it returns to the host. Frames overlap there: while one
is computed, the next is uploaded and the one before is downloaded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

import numpy as np

from subband.engines import Engine, get_engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.pointwise import Pointwise, prepare_values
from subband.engines.streaming import Conveyor, HostConveyor, Slot, host_memory_for, make_conveyor
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, from_ycbcr, to_ycbcr
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, LevelError, ShapeError, suggest_names
from subband.plan import TransformPlan, transform_plan
from subband.transforms import decompose, reconstruct, threshold, threshold_firm
from subband.transforms.decomposition import choose_level, choose_modes
from subband.typing import Array
from subband.wavelets import WaveletLike, as_wavelet

__all__ = ["Pipeline", "Shrink", "process_frames"]

_MODES = ("soft", "hard", "garrote", "firm")

#: The bands of a level, in the order of thresholds and gains.
_DETAILS = ("ad", "da", "dd")

#: A number for all bands, one for each level, for each level and channel, or for each level, band and channel.
PerBand: TypeAlias = float | Sequence[Any] | Array


@dataclass(frozen=True)
class Shrink:
    """Shrinks the coefficients of a frame, and amplifies or weakens its bands.

    A frame of colours is treated as Y'CbCr. What thresholds and gains can be: one number; one for each level, the
    finest first; levels × channels; or levels × bands × channels with the bands ``ad``, ``da`` and ``dd``. An axis of
    length 1 stands for all. The approximation stays as it is.

    Parameters
    ----------
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int
        Number of levels.
    mode : {"soft", "hard", "garrote", "firm"}
        How coefficients shrink; see `subband.threshold` and `subband.threshold_firm`.
    threshold : float or sequence
        In the units of the frame: out of 255 for uint8, out of 65535 for uint16.
    upper : float or sequence, optional
        The upper threshold of mode ``'firm'``.
    gains : float or sequence
        What the bands are multiplied by after that: more than 1 sharpens, less than 1 smoothes.
    boundary : str, optional
        How frames go on outside their borders; the wavelet's own choice if left out.

    Raises
    ------
    ArgumentError
        If there is no such mode, or thresholds are negative, too many or missing.

    Examples
    --------
    >>> Shrink(threshold=6.0)
    Shrink(wavelet='cdf97', level=3, mode='soft', threshold=6.0, upper=None, gains=1.0, boundary=None)

    Twice as much from the colours as from the brightness, and the finest details a little stronger:

    >>> operation = Shrink(threshold=[[4.0, 8.0, 8.0]], gains=[1.2, 1.0, 1.0])
    """

    wavelet: WaveletLike = "cdf97"
    level: int = 3
    mode: str = "soft"
    threshold: PerBand = 0.0
    upper: PerBand | None = None
    gains: PerBand = 1.0
    boundary: str | None = None

    def __post_init__(self) -> None:
        as_wavelet(self.wavelet)
        if self.mode not in _MODES:
            hint = suggest_names(self.mode, _MODES) if isinstance(self.mode, str) else ""
            raise ArgumentError(f"mode={self.mode!r} is not a threshold{hint}; use one of {', '.join(_MODES)}")
        if isinstance(self.level, bool) or not isinstance(self.level, int | np.integer) or self.level < 0:
            raise LevelError(f"level={self.level!r} is not a number of levels; use 0 or more")
        if (self.upper is None) == (self.mode == "firm"):
            need = "needs an upper threshold" if self.upper is None else "has no upper threshold"
            raise ArgumentError(
                f"mode={self.mode!r} {need}; that belongs to 'firm': give upper with it, and only there"
            )
        names = ("threshold", "gains") if self.upper is None else ("threshold", "upper", "gains")
        for name in names:
            # lists and arrays become tuples, so that an operation is a key and cannot change
            object.__setattr__(self, name, _as_numbers(name, getattr(self, name), self.level))
        if np.min(self.threshold, initial=0) < 0:
            raise ArgumentError(f"threshold={self.threshold} is negative; use 0 or more")
        if self.upper is not None:
            low, high, _ = self.spread(3)
            if (high < low).any():
                raise ArgumentError(f"upper={self.upper} is less than threshold={self.threshold}; use at least that")

    def spread(self, channels: int) -> tuple[Array, Array, Array]:
        """Return threshold, upper threshold and gain of each level, band and channel.

        Examples
        --------
        >>> low, high, gain = Shrink(level=2, threshold=[6, 3]).spread(1)
        >>> low.shape, low[:, 0, 0]
        ((2, 3, 1), array([6., 3.]))
        """
        low = _spread("threshold", self.threshold, self.level, channels)
        high = low if self.upper is None else _spread("upper", self.upper, self.level, channels)
        return low, high, _spread("gains", self.gains, self.level, channels)


def process_frames(
    frames: Iterable[Any],
    operation: Shrink,
    *,
    engine: str | Engine | None = None,
    in_flight: int = 3,
) -> Iterator[Array]:
    """Carry frames through an operation.

    Parameters
    ----------
    frames : iterable of array_like
        Rows × columns, or rows × columns × 3 for red, green and blue, of uint8 or uint16. Shape and dtype may change
        from one frame to the next, which makes the engine prepare anew.
    operation : Shrink
        What is done to each.
    engine : str, optional
        Who computes; see `subband.set_engine`.
    in_flight : int
        Frames that a device works on while the caller has one. With 0, each comes back before the next is taken from
        `frames`. The CPU's engines work on one frame at a time in any case.

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
    >>> frames = [data.photograph()[:120, :160] for _ in range(5)]
    >>> [frame.shape for frame in process_frames(frames, Shrink(threshold=4.0))]
    [(120, 160, 3), (120, 160, 3), (120, 160, 3), (120, 160, 3), (120, 160, 3)]
    """
    return Pipeline(operation, engine=engine, in_flight=in_flight).process(frames)


class Pipeline:
    """An operation that is ready for frames, with the memory that they need.

    Parameters are those of `process_frames`. A pipeline may be used for one film after the other, and for several at
    the same time.

    Examples
    --------
    >>> pipeline = Pipeline(Shrink(level=1, threshold=4.0), engine="cpu")
    >>> def film():
    ...     for brightness in (10, 200):
    ...         frame = pipeline.buffer((32, 48))
    ...         frame[...] = brightness
    ...         yield frame
    >>> [int(frame.max()) for frame in pipeline.process(film())]
    [10, 200]
    """

    def __init__(self, operation: Shrink, *, engine: str | Engine | None = None, in_flight: int = 3) -> None:
        if not isinstance(operation, Shrink):
            raise ArgumentTypeError(f"operation is a {type(operation).__name__}; use Shrink")
        if isinstance(in_flight, bool) or not hasattr(in_flight, "__index__") or index(in_flight) < 0:
            raise ArgumentError(f"in_flight={in_flight!r} is not a number of frames; use 0 or more")
        self.operation = operation
        self.engine = get_engine(engine)
        self.in_flight = index(in_flight)
        self._device = self.engine.device if isinstance(self.engine, DeviceEngine) else None
        self._memory = host_memory_for(self._device)
        self._pointwise = None if self._device is None else Pointwise(self._device)
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

    def process(self, frames: Iterable[Any]) -> Iterator[Array]:
        """Carry frames through the operation; see `process_frames`."""
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
        plan = _plan(self.operation, shape)
        if self._device is None:
            return HostConveyor(lambda frame: _apply(self.operation, plan, frame, self.engine))
        assert isinstance(self.engine, DeviceEngine)
        assert self._pointwise is not None
        program = _DeviceProgram(self.engine, self._pointwise, self.operation, plan)
        return make_conveyor(self._device, self._memory, program, shape, dtype, self.in_flight + 1)


def _receive(waiting: deque[tuple[Conveyor, Slot]]) -> Array:
    """Wait for the oldest frame; it stays among those waiting until it is there, so that an error drains it too."""
    conveyor, slot = waiting[0]
    frame = conveyor.receive(slot)
    waiting.popleft()
    return frame


class _DeviceProgram:
    """The work on one frame, as a device does it."""

    def __init__(self, engine: DeviceEngine, pointwise: Pointwise, operation: Shrink, plan: TransformPlan) -> None:
        self._engine = engine
        self._pointwise = pointwise
        self._mode = operation.mode
        self._plan = plan
        matrices = (TO_YCBCR, FROM_YCBCR) if plan.shape[0] == 3 else (np.zeros((0, 0)),) * 2
        self._matrices = [matrix.tolist() for matrix in matrices]
        low, high, gain = operation.spread(plan.shape[0])
        values = prepare_values(low, high, gain).astype(np.float32)
        # a level that stays as it is need not be read and written
        changes = ((low > 0) | (gain != 1)).any(axis=(1, 2))
        self._values = [
            engine.device.upload(own) if is_changed else None for own, is_changed in zip(values, changes, strict=True)
        ]

    def __call__(self, pixels: Any, result: Any) -> None:
        x = self._engine.device.allocate(self._plan.shape, np.dtype(np.float32))
        self._pointwise.split_pixels(pixels, x, self._matrices[0])
        details = []
        for level, values in zip(self._plan.levels, self._values, strict=True):
            bands = self._engine.forward(level, x)
            if values is not None:
                self._pointwise.shrink(bands, values, self._mode)
            x = bands.pop("aa")
            details.append(bands)
        for level in reversed(self._plan.levels):
            # popped, so that a level is freed as soon as it is put together
            x = self._engine.inverse(level, {"aa": x, **details.pop()})
        self._pointwise.join_planes(x, result, self._matrices[1])


def _apply(operation: Shrink, plan: TransformPlan, frame: Array, engine: Engine) -> Array:
    """Do on the host what `_DeviceProgram` does on a device."""
    is_colour = frame.ndim == 3
    planes = to_ycbcr(frame) if is_colour else frame[np.newaxis].astype(np.float32)
    low, high, gain = operation.spread(plan.shape[0])

    def shrink(band: Array, level: int, key: str) -> Array:
        if key not in _DETAILS:
            return band
        place = level - 1, _DETAILS.index(key)
        limits, gains = low[place], gain[place].astype(band.dtype)
        if operation.mode == "firm":
            band = np.stack([threshold_firm(*each) for each in zip(band, limits, high[place], strict=True)])
        elif limits.any():
            band = threshold(band, limits.astype(band.dtype)[:, np.newaxis, np.newaxis], operation.mode)
        return band * gains[:, np.newaxis, np.newaxis] if (gains != 1).any() else band

    pyramid = decompose(planes, operation.wavelet, plan.level, plan.modes, (1, 2), engine)
    planes = reconstruct(pyramid.map(shrink), engine)
    pixels = from_ycbcr(planes) if is_colour else planes[0]
    np.clip(pixels, 0, np.iinfo(frame.dtype).max, out=pixels)
    pixels += 0.5
    # first to bytes, plane by plane, and then interleaved: strides over bytes cost less than over numbers
    return np.ascontiguousarray(pixels.astype(frame.dtype.newbyteorder("=")))


def _plan(operation: Shrink, shape: tuple[int, ...]) -> TransformPlan:
    """Plan the transform of the planes of a frame."""
    planes = (shape[2] if len(shape) == 3 else 1, *shape[:2])
    operation.spread(planes[0])
    axes = (1, 2)
    wavelets = (as_wavelet(operation.wavelet),) * 2
    modes = choose_modes(operation.boundary, wavelets, axes)
    level = choose_level(operation.level, planes, axes, wavelets, modes, stationary=False)
    return transform_plan(planes, axes, wavelets, modes, level)


def _as_frame(frame: Any) -> Array:
    """Refuse what is no frame."""
    pixels = np.asarray(frame)
    if pixels.dtype.name not in ("uint8", "uint16"):
        raise DtypeError(f"a frame has dtype {pixels.dtype}; frames hold uint8 or uint16")
    if pixels.size == 0 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)):
        raise ShapeError(
            f"a frame has shape {pixels.shape}; it needs rows × columns, or rows × columns × 3, and at least 1 pixel"
        )
    return pixels


def _as_numbers(name: str, value: Any, level: int) -> Any:
    """Return thresholds or gains as a number or tuples of numbers, refusing what does not fit the levels."""
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}={value!r} holds something that is not a number, or ragged lists") from None
    if np.isnan(numbers).any() or (name == "gains" and np.isinf(numbers).any()):
        raise ArgumentError(f"{name}={value!r} is not finite; use numbers such as 1.5")
    sizes = ((1, level), (1, 3), (1, 3))[: numbers.ndim]
    if numbers.ndim > 3 or any(size not in known for size, known in zip(numbers.shape, sizes, strict=True)):
        raise ShapeError(
            f"{name} has shape {numbers.shape}; for {level} levels it is one number, {level} of them, or an array of "
            "levels × channels or levels × 3 bands × channels"
        )
    return _freeze(numbers.tolist())


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _spread(name: str, value: PerBand, level: int, channels: int) -> Array:
    """Return a number for each level, band and channel."""
    numbers = np.asarray(value, np.float64)
    if numbers.ndim == 2:
        numbers = numbers[:, np.newaxis]
    else:
        numbers = numbers.reshape(numbers.shape + (1,) * (3 - numbers.ndim))
    if numbers.shape[2] not in (1, channels):
        raise ShapeError(
            f"{name} is given for {numbers.shape[2]} channels, and a frame has {channels}; give one for each"
        )
    return np.broadcast_to(numbers, (level, 3, channels))
