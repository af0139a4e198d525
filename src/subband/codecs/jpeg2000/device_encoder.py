"""Encoding video to HTJ2K on a device: samples go there as they are, and come back as the bytes of code-blocks.

The host only writes the headers of packets and puts the bytes in order, while the device is at work on the frames that
follow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.device_blocks import BlockEncoder
from subband.codecs.jpeg2000.device_frames import MOST_SAMPLES, FrameSpec, FrameTransform, tabulate_bands
from subband.codecs.jpeg2000.files import resolve_settings
from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.parameters import HIGH_THROUGHPUT_STREAM, CodingDefault, ComponentSize, ImageSize
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.single_layer import SingleLayerPacker
from subband.codecs.jpeg2000.steps import Quantiser
from subband.codecs.jpeg2000.streams import StreamWriter
from subband.codecs.jpeg2000.transform import find_scale
from subband.engines.device_engine import DeviceEngine
from subband.engines.registry import get_engine
from subband.engines.streaming import copy_frame, host_memory_for
from subband.engines.threads import get_threads
from subband.engines.tracks import make_track
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["Encoder", "find_device_engine"]

# The step of the quantiser as a part of the range of samples, unless one is asked for.
_USUAL = 1 / 512
# What a device cannot do, or what needs more than one look at an image.
_EXCLUDED = ("rate", "size", "psnr", "layers", "tile", "origin", "tile_origin")
_GUARD_BITS, _MOST_GUARD_BITS = 2, 7
# Bytes that are fetched before the number of all is known, as a multiple of the most so far.
_AHEAD = 1.125
# Frames whose packets are written at the same time.
_THREADS = 4


def find_device_engine(engine: str | Any | None) -> DeviceEngine:
    """Return an engine that has a device.

    Raises
    ------
    ArgumentError
        If it has none.
    """
    found = get_engine(engine)
    if not isinstance(found, DeviceEngine):
        raise ArgumentError(f"engine={found.name!r} has no device; use 'cuda' or 'opencl', or `encode` and `decode`")
    return found


class Encoder:
    """Encodes frames of one shape to HTJ2K codestreams on a device.

    Parameters
    ----------
    shape : (int, int) or (int, int, int)
        Rows, columns, and components if there are several.
    dtype : dtype
        Of frames: uint8 or uint16.
    bits : int, optional
        Bits of a sample; those of the dtype if left out.
    engine : str or Engine, optional
        ``"cuda"`` or ``"opencl"``; the engine of the process if left out.
    in_flight : int
        Frames that are under way at the same time.
    **settings
        See `subband.codecs.jpeg2000.Settings`: `step` chooses the quality, in grey levels, and ``lossless=True`` loses
        nothing; further `levels`, `block`, `precincts`, `progression`, `colour`, `sop`, `eph`, `plt`, `tlm`,
        `tile_parts` and `comment`. Blocks are always those of high throughput, with a cleanup pass alone.

    Raises
    ------
    ArgumentError
        If a setting needs what is not done on devices: a target of rate, size or PSNR, layers, tiles.

    Notes
    -----
    The quantiser is fixed, so that a frame is looked at once. What `encode_all` gets is uploaded while the frame before
    it is computed, and packets are written by threads. Frames whose memory `lend` has given are uploaded without
    another copy. A frame in flight takes about twenty times its bytes on the device.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import Encoder, decode
    >>> frame = np.arange(64 * 48, dtype=np.uint8).reshape(64, 48)
    >>> encoder = Encoder(frame.shape, lossless=True, engine="opencl")
    >>> data = encoder.encode(frame)
    >>> bool((decode(data).samples == frame).all())
    True
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: Any = np.uint8, *, bits: int | None = None, engine: Any = None,
        in_flight: int = 4, **settings: Any,
    ) -> None:  # fmt: skip
        self._engine = find_device_engine(engine)
        self._settings = _resolve(settings)
        self._spec = _describe_frames(shape, np.dtype(dtype), bits, self._settings)
        if in_flight < 1:
            raise ArgumentError(f"in_flight={in_flight} leaves nothing to work on; use 1 or more")
        spec = self._spec
        size = ImageSize(
            spec.width, spec.height, 0, 0, spec.width, spec.height, 0, 0, (spec.component,) * spec.components,
            HIGH_THROUGHPUT_STREAM,
        )  # fmt: skip
        style = self._settings.make_style(spec.levels)
        layout = lay_out_tile(size, [style] * spec.components, 0)
        coding = CodingDefault(self._settings.order, 1, spec.is_mixed, style, self._settings.sop, self._settings.eph)
        self._writer = StreamWriter(size, coding, [layout], self._settings)
        component = Component(np.zeros((1, 1), spec.dtype), spec.component.precision, spec.component.is_signed)
        base = _USUAL if self._settings.step is None else self._settings.step / (component.peak + 1.0)
        self._quantiser = Quantiser([component] * spec.components, spec.levels, spec.is_reversible, spec.is_mixed, base)
        which = layout.blocks[:, 4]
        exponents = [self._quantiser.steps[band.component][band.number].exponent for band in layout.bands]
        self._exponents = np.array(exponents, np.int32)[which]
        scales = [
            find_scale(band.kind, band.level, False) / self._quantiser.measure_step(band) for band in layout.bands
        ]
        self._scales = np.array(scales, np.float32)[which]
        self._table = tabulate_bands(layout)
        nothing = np.zeros(0, np.uint8), np.zeros(len(which), np.int64)
        ends = np.zeros((len(which), 1), np.int32)
        self._packer = SingleLayerPacker.from_layouts(
            [layout], self._exponents, ends, *nothing, self._settings.style_bits, sop=self._settings.sop,
            eph=self._settings.eph,
        )  # fmt: skip
        self._headers: dict[int, bytes] = {}
        self._memory = host_memory_for(self._engine.device)
        self._transform = FrameTransform(self._engine, spec)
        self._ahead = int(spec.height * spec.width * spec.components / 8)
        self._free = deque(_Slot(self) for _ in range(in_flight))

    def lend(self) -> Array:
        """Return memory for a frame, with any contents, that the device reads without another copy."""
        return self._memory.lend(self._spec.shape, self._spec.dtype)

    def encode(self, frame: Array) -> bytes:
        """Return the codestream of a frame."""
        return self._finish(self._start(frame))

    def encode_all(self, frames: Iterable[Array]) -> Iterator[bytes]:
        """Give the codestreams of frames in their order, with several frames under way."""
        waiting: deque[Future[bytes]] = deque()
        with ThreadPoolExecutor(min(_THREADS, get_threads())) as pool:
            try:
                for frame in frames:
                    # the slot of a frame is free again as soon as it is packed, perhaps before its turn has come
                    while waiting and (not self._free or waiting[0].done()):
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(self._finish, self._start(frame)))
                while waiting:
                    yield waiting.popleft().result()
            finally:
                wait(waiting)

    def _start(self, frame: Array) -> _Slot:
        if frame.shape != self._spec.shape or frame.dtype != self._spec.dtype:
            raise ShapeError(
                f"a frame has shape {frame.shape} and dtype {frame.dtype}; this encoder takes {self._spec.shape} and "
                f"{self._spec.dtype}"
            )
        slot = self._free.popleft()
        try:
            slot.start(frame, self._ahead)
        except BaseException:
            self._free.append(slot)
            raise
        return slot

    def _finish(self, slot: _Slot) -> bytes:
        """Write the codestream of a frame whose blocks are coded."""
        try:
            slot.track.wait()
            sizes, starts = slot.sizes.reshape(-1, 4), slot.starts
            guard_bits = max(_GUARD_BITS, int((sizes[:, 3] - self._exponents + 1).max(initial=0)))
            total = int(starts[-1])
            if guard_bits > _MOST_GUARD_BITS or slot.coder.overflows(sizes, total):
                raise ArgumentError(f"step={self._settings.step} is too fine for this frame; use a larger one")
            self._ahead = max(self._ahead, int(_AHEAD * total))
            data = slot.fetch(total)
            ends = sizes[:, :3].sum(axis=1, dtype=np.int32)[:, None]
            packer = replace(
                self._packer, zero_planes=guard_bits - 2 + self._exponents, ends=ends, data=data,
                starts=starts[:-1].astype(np.int64),
            )  # fmt: skip
            if guard_bits not in self._headers:
                self._headers[guard_bits] = self._writer.write_header(self._quantiser, guard_bits)
            return self._writer.write(self._headers[guard_bits], packer, (ends.T > 0).astype(np.int32))
        finally:
            self._free.append(slot)


class _Slot:
    """What one frame under way needs: a track, and its arrays on the device and on the host."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        spec, engine, self._memory = encoder._spec, encoder._engine, encoder._memory
        self.track = make_track(engine.device)
        self._pixels = engine.device.allocate(spec.shape, spec.dtype)
        shapes = encoder._transform.band_shapes
        most_bits = int(encoder._exponents.max(initial=8)) + _GUARD_BITS
        self.coder = BlockEncoder(
            engine, encoder._table, encoder._scales, len(shapes), spec.is_reversible, min(most_bits, 30)
        )
        self._staging: Array | None = None
        self._frame: Array | None = None
        self.sizes = self._memory.lend((4 * self.coder.count,), np.dtype(np.int32))
        self.starts = self._memory.lend((self.coder.count + 1,), np.dtype(np.int32))
        self._data = self._memory.lend((0,), np.dtype(np.uint8))
        self._fetched = 0
        self._work = self.track.prepare(self._run)

    def _run(self) -> None:
        self.coder.run(self._encoder._transform.forward(self._pixels))

    def start(self, frame: Array, ahead: int) -> None:
        """Queue all work on a frame."""
        if not self._memory.is_lent(frame):
            if self._staging is None:
                self._staging = self._memory.lend(frame.shape, frame.dtype)
            copy_frame(self._staging, frame)
            frame = self._staging
        self._frame = frame
        self.track.upload(frame, self._pixels)
        self._work()
        for source, goal in zip(self.coder.results, (self.sizes, self.starts), strict=True):
            self.track.download(source, goal)
        self._fetched = min(ahead, self.coder.most)
        if len(self._data) < self._fetched:
            self._data = self._memory.lend((self._fetched,), np.dtype(np.uint8))
        self.track.download(self.coder.data, self._data[: self._fetched])

    def fetch(self, total: int) -> Array:
        """Return the bytes of all blocks, which mostly are there already."""
        if total > self._fetched:
            self._data = self._memory.lend((total,), np.dtype(np.uint8))
            self.track.download(self.coder.data, self._data)
            self.track.wait()
        return self._data[:total]


def _resolve(given: dict[str, Any]) -> Settings:
    """Return settings that a device can follow."""
    settings, _ = resolve_settings({"ht": True} | given, "j2k")
    for name in _EXCLUDED:
        if given.get(name) is not None:
            raise ArgumentError(f"{name}={given[name]!r} is not done on devices; leave it out, or use `encode`")
    if not settings.ht:
        raise ArgumentError("ht=False is not done on devices; leave it out, or use `encode`")
    if settings.lossless is None and settings.step is None:
        settings = replace(settings, lossless=False)
    return settings


def _describe_frames(shape: tuple[int, ...], dtype: np.dtype[Any], bits: int | None, settings: Settings) -> FrameSpec:
    if dtype not in (np.uint8, np.uint16):
        raise DtypeError(f"dtype={dtype} is not encoded on devices; use uint8 or uint16")
    if len(shape) not in (2, 3) or min(shape) < 1 or (len(shape) == 3 and not 1 < shape[2] <= 4):
        raise ShapeError(f"shape={shape} is not rows and columns, with 2 to 4 components behind if there are several")
    if prod(shape) > MOST_SAMPLES:
        raise ShapeError(f"shape={shape} has {prod(shape)} samples; devices take {MOST_SAMPLES}, so use `encode`")
    precision = 8 * dtype.itemsize if bits is None else bits
    if not 8 * dtype.itemsize - 8 < precision <= 8 * dtype.itemsize:
        raise ArgumentError(f"bits={bits} does not go with {dtype}")
    count = shape[2] if len(shape) == 3 else 1
    if settings.colour and count < 3:
        raise ArgumentError("colour=True needs three components; leave it out")
    is_mixed = count >= 3 if settings.colour is None else settings.colour
    levels = settings.choose_levels(shape[0], shape[1])
    return FrameSpec(shape[0], shape[1], count, ComponentSize(precision), levels, settings.is_reversible, is_mixed)
