"""Decoding video from HTJ2K on a device: bytes go there as they are, and come back as samples.

The host only reads headers, while the device is at work on the frames before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from subband.codecs.jpeg2000.blocks.styles import CAUSAL, HIGH_THROUGHPUT
from subband.codecs.jpeg2000.codestream import TileStream
from subband.codecs.jpeg2000.decoder import decode
from subband.codecs.jpeg2000.device_blocks import BlockDecoder
from subband.codecs.jpeg2000.device_encoder import find_device_engine
from subband.codecs.jpeg2000.device_frames import MOST_SAMPLES, FrameSpec, FrameTransform, tabulate_bands
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import TileLayout, count_tiles, lay_out_tile
from subband.codecs.jpeg2000.header import OpenFile, open_file
from subband.codecs.jpeg2000.parameters import CodingStyle, ImageSize
from subband.codecs.jpeg2000.picture import MOST_PIXELS, check_samples
from subband.codecs.jpeg2000.tile_packets import read_packets
from subband.codecs.jpeg2000.tiles import count_planes, count_room
from subband.codecs.jpeg2000.transform import find_scale
from subband.engines.device_engine import DeviceEngine
from subband.engines.streaming import host_memory_for
from subband.engines.threads import get_threads
from subband.engines.tracks import make_track
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["Decoder"]

# Components and bits of a sample that kernels are made for.
_MOST_COMPONENTS, _MOST_BITS = 4, 16
# Bytes by which the memory for streams is larger than the largest so far.
_SPARE = 1.5
# Planes beyond which nothing fits 32 bits.
_MOST_PLANE = 30
# Streams whose headers are read at the same time.
_THREADS = 4

Data = bytes | bytearray | memoryview | str | PathLike[str]


@dataclass(frozen=True)
class _Kind:
    """What the streams of a video have in common."""

    size: ImageSize
    style: CodingStyle
    is_mixed: bool


@dataclass(frozen=True, eq=False)
class _Blocks:
    """What a stream holds for its blocks: bytes, where those of each are and in which plane, and the scale of each."""

    kind: _Kind
    layout: TileLayout
    data: Array
    spans: Array
    scales: Array


@dataclass(frozen=True, eq=False)
class _Stream:
    """A stream whose headers are read; without blocks it is one for the host."""

    data: Data
    blocks: _Blocks | None


class Decoder:
    """Decodes HTJ2K streams to frames on a device.

    Parameters
    ----------
    engine : str or Engine, optional
        ``"cuda"`` or ``"opencl"``; the engine of the process if left out.
    in_flight : int
        Frames that are under way at the same time.
    most_pixels : int, optional
        Samples of a frame that are acceptable, in all components together; 2^28 by default.

    Notes
    -----
    The device decodes images of one tile with one to four components of the same size, up to 16 bits, whose blocks are
    those of high throughput with a cleanup pass alone. Other streams are decoded by the host.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import Decoder, encode
    >>> frame = np.arange(64 * 48, dtype=np.uint8).reshape(64, 48)
    >>> bool((Decoder(engine="opencl").decode(encode(frame, ht=True)) == frame).all())
    True
    """

    def __init__(self, *, engine: Any = None, in_flight: int = 3, most_pixels: int | None = None) -> None:
        if in_flight < 1:
            raise ArgumentError(f"in_flight={in_flight} leaves nothing to work on; use 1 or more")
        self._engine = find_device_engine(engine)
        self._in_flight = in_flight
        self._most_pixels = MOST_PIXELS if most_pixels is None else most_pixels
        self._line: _Line | None = None

    def decode(self, data: Data) -> Array:
        """Return the samples of a stream: rows × columns, with components behind if there are several.

        Raises
        ------
        CodecError
            If there is no image, or it is larger than what is acceptable.

        Warns
        -----
        CodecWarning
            If the stream is cut short or damaged; what could be decoded is returned.
        """
        return self._finish(self._start(self._open(data)))

    def decode_all(self, streams: Iterable[Data]) -> Iterator[Array]:
        """Give the samples of streams in their order, with several frames under way."""
        reading: deque[Future[_Stream]] = deque()
        waiting: deque[_Slot | Array] = deque()
        threads = min(_THREADS, get_threads())
        with ThreadPoolExecutor(threads) as pool:
            try:
                for data in streams:
                    reading.append(pool.submit(self._open, data))
                    if len(reading) > threads:
                        yield from self._make_room(waiting)
                        waiting.append(self._start(reading.popleft().result()))
                while reading:
                    yield from self._make_room(waiting)
                    waiting.append(self._start(reading.popleft().result()))
                while waiting:
                    yield self._finish(waiting.popleft())
            finally:
                for future in reading:
                    future.cancel()
                for slot in waiting:
                    self._finish(slot)

    def _make_room(self, waiting: deque[_Slot | Array]) -> Iterator[Array]:
        """Give the frame that is under way for longest, if there may be no more of them."""
        if len(waiting) >= self._in_flight:
            yield self._finish(waiting.popleft())

    def _open(self, data: Data) -> _Stream:
        """Read the headers of a stream."""
        return _Stream(data, self._read(open_file(data)))

    def _start(self, stream: _Stream) -> _Slot | Array:
        blocks = stream.blocks
        if blocks is None:
            return decode(stream.data, engine=self._engine, most_pixels=self._most_pixels).upsample()
        if self._line is None or self._line.kind != blocks.kind:
            self._line = _Line(self._engine, blocks.kind, blocks.layout)
        return self._line.start(blocks)

    def _finish(self, slot: _Slot | Array) -> Array:
        return slot.finish() if isinstance(slot, _Slot) else slot

    def _read(self, file: OpenFile) -> _Blocks | None:
        """Read the headers of a stream; None if it is one for the host."""
        stream, jp2 = file.stream, file.header.jp2
        size = stream.size
        component = size.components[0]
        if count_tiles(size) != (1, 1) or size.x0 or size.y0 or any(each != component for each in size.components):
            return None
        if len(size.components) > _MOST_COMPONENTS or component.precision > _MOST_BITS or component.is_signed:
            return None
        if (component.dx, component.dy) != (1, 1) or (jp2 is not None and (jp2.palette is not None or jp2.channels)):
            return None
        count = size.x1 * size.y1 * len(size.components)
        check_samples(count, self._most_pixels)
        if count > MOST_SAMPLES:
            return None
        parts = stream.tile_parts.find([0])
        if not parts[0]:
            return None
        tile = stream.read_tile(0, parts[0])
        style, is_mixed = tile.styles[0], tile.coding.has_colour_transform
        is_alike = all(each == style for each in tile.styles) and not any(tile.shifts)
        if not is_alike or style.block_style & ~CAUSAL != HIGH_THROUGHPUT or (is_mixed and len(size.components) < 3):
            return None
        kind = _Kind(size, style, is_mixed)
        line = self._line
        if line is not None and line.kind == kind:
            layout = line.layout
        else:
            layout = lay_out_tile(size, tile.styles, 0, most_blocks=count_room([tile]))
        reader, data = read_packets(stream, tile, layout)
        chunks, planes = reader.chunks, count_planes(tile, layout, reader.zero_planes)
        block = chunks[:, 0]
        # a block that is told of more than once, or has more than a pass, is refined
        is_plain = bool((chunks[:, 3] == 1).all()) and int(np.bincount(block, minlength=1).max()) <= 1
        if not is_plain or len(data) >= 2**31 or not layout.blocks.size:
            return None
        spans = np.zeros((len(planes), 3), np.int32)
        spans[block, :2] = chunks[:, 1:3]
        spans[planes <= 0] = 0
        spans[:, 2] = np.clip(planes - 1, 0, _MOST_PLANE)
        return _Blocks(kind, layout, data, spans, _find_scales(size, tile, layout, spans[:, 2]))


class _Line:
    """What the streams of one kind need: their layout, and slots for those under way."""

    def __init__(self, engine: DeviceEngine, kind: _Kind, layout: TileLayout) -> None:
        size = kind.size
        self.kind = kind
        self.layout = layout
        self.engine = engine
        self.spec = FrameSpec(
            size.y1, size.x1, len(size.components), size.components[0], kind.style.levels, kind.style.is_reversible,
            kind.is_mixed,
        )  # fmt: skip
        self.table = tabulate_bands(layout)
        self.memory = host_memory_for(engine.device)
        self.transform = FrameTransform(engine, self.spec)
        self.free: list[_Slot] = []

    def start(self, blocks: _Blocks) -> _Slot:
        """Queue all work on a stream."""
        slot = self.free.pop(0) if self.free else _Slot(self, len(blocks.data))
        try:
            slot.start(blocks)
        except BaseException:
            self.free.append(slot)
            raise
        return slot


class _Slot:
    """What one stream under way needs: a track, and its arrays on the device and on the host."""

    def __init__(self, line: _Line, length: int) -> None:
        self._line = line
        device = line.engine.device
        self._track = make_track(device)
        self._bands = line.transform.allocate_bands()
        self._coder = BlockDecoder(line.engine, line.table, len(self._bands), line.spec.is_reversible)
        self._pixels = device.allocate(line.spec.shape, line.spec.dtype)
        lend, count = line.memory.lend, self._coder.count
        self._spans, self._scales = lend((3 * count,), np.dtype(np.int32)), lend((count,), np.dtype(np.float32))
        self._damaged = lend((count,), np.dtype(np.int32))
        self._target: Array | None = None
        self._make_room(length)

    def _make_room(self, length: int) -> None:
        """Allocate memory for a stream, and prepare the work on it."""
        self._staging = self._line.memory.lend((int(_SPARE * length) + 1,), np.dtype(np.uint8))
        self._data = self._line.engine.device.allocate(self._staging.shape, self._staging.dtype)
        # before anything is known of blocks they have no bytes
        self._spans[:] = 0
        self._track.upload(self._spans, self._coder.spans)
        self._track.wait()
        self._work = self._track.prepare(self._run)

    def _run(self) -> None:
        self._coder.run(self._data, self._bands)
        self._line.transform.inverse(self._bands, self._pixels)

    def start(self, blocks: _Blocks) -> None:
        """Queue all work on a stream."""
        length = len(blocks.data)
        if length > len(self._staging):
            self._make_room(length)
        self._staging[:length] = blocks.data
        self._spans[:], self._scales[:] = blocks.spans.ravel(), blocks.scales
        self._track.upload(self._staging[:length], self._data)
        self._track.upload(self._spans, self._coder.spans)
        self._track.upload(self._scales, self._coder.scales)
        self._work()
        self._target = self._line.memory.lend(self._line.spec.shape, self._line.spec.dtype)
        self._track.download(self._pixels, self._target)
        self._track.download(self._coder.damaged, self._damaged)

    def finish(self) -> Array:
        """Wait for a frame and return its samples."""
        self._track.wait()
        target, self._target = self._target, None
        damaged = int(np.count_nonzero(self._damaged))
        self._line.free.append(self)
        if damaged:
            warn(f"{damaged} code-blocks are damaged")
        assert target is not None
        return target


def _find_scales(size: ImageSize, tile: TileStream, layout: TileLayout, planes: Array) -> Array:
    """Return what half a unit of the plane of each block stands for, in coefficients of engines."""
    factors = []
    for band in layout.bands:
        exponent, mantissa = tile.quantisations[band.component].step(band.number) if band.rectangle.area else (0, 0)
        bits = size.components[band.component].precision + band.gain_bits
        scale = find_scale(band.kind, band.level, tile.styles[0].is_reversible)
        factors.append(2.0 ** (bits - exponent) * (1 + mantissa / 2048) / scale)
    scales: Array = np.array(factors, np.float32)[layout.blocks[:, 4]] * np.exp2(planes - 1).astype(np.float32)
    return scales
