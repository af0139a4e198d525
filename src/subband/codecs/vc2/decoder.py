"""Decoding video of the high-quality and low-delay profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from subband.codecs.vc2.coding import check_whole, decode_slices, predict_lowest
from subband.codecs.vc2.devices import DeviceImage, find_device_engine, lay_out_bands
from subband.codecs.vc2.parameters import Layout, TransformParameters, lay_out
from subband.codecs.vc2.sequence import HIGH_QUALITY, LOW_DELAY, SequenceHeader, VideoFormat
from subband.codecs.vc2.stream import (
    END,
    HEADER,
    HQ_FRAGMENT,
    HQ_IMAGE,
    IMAGE_END,
    LD_FRAGMENT,
    LD_IMAGE,
    Unit,
    find_units,
)
from subband.codecs.vc2.transform import choose_dtype, synthesise
from subband.engines import Engine
from subband.errors import CodecError
from subband.typing import Array

__all__ = ["DecodedFrame", "Decoder", "decode"]

#: Luma samples of a frame that are allowed if nothing else is said: 8K and a little more.
MOST_PIXELS = 1 << 26

# How many times its size levels may fill an image up to, and samples that are little anyway.
_MOST_PADDING, _LITTLE = 16, 1 << 20

_IMAGES = {HQ_IMAGE: HIGH_QUALITY, HQ_FRAGMENT: HIGH_QUALITY, LD_IMAGE: LOW_DELAY, LD_FRAGMENT: LOW_DELAY}


@dataclass(frozen=True)
class DecodedFrame:
    """A frame of a stream.

    Attributes
    ----------
    planes : tuple of ndarray
        Luma and both chroma components: uint8 for 8 bits or fewer, else uint16.
    number : int
        Of its image, or of that of its first field.
    video : VideoFormat
        What it is.
    missing : int
        Slices that did not arrive, and are filled with what was there before.
    """

    planes: tuple[Array, ...]
    number: int
    video: VideoFormat
    missing: int = 0


@dataclass
class _Coming:
    """An image of which not all fragments are there yet."""

    number: int
    parameters: TransformParameters
    layout: Layout
    arrived: Array


class Decoder:
    """Decodes data units one after the other.

    Parameters
    ----------
    most_pixels : int
        Luma samples of a frame that are allowed.
    tolerant : bool
        Whether an image whose slices are not all there comes out nevertheless, with those of the image before in
        their positions, instead of a `CodecError`.
    engine : str or Engine, optional
        ``"cuda"`` or ``"opencl"`` transforms on a device; slices are decoded by the CPU. The frames are the same.
    """

    def __init__(
        self, most_pixels: int = MOST_PIXELS, *, tolerant: bool = False, engine: str | Engine | None = None
    ) -> None:
        self._engine = find_device_engine(engine)
        self._device: DeviceImage | None = None
        self.header: SequenceHeader | None = None
        self._most_pixels, self._tolerant = most_pixels, tolerant
        # slices that are missing stay as they were in the image before
        self._coefficients = np.zeros(0, np.int32)
        self._coming: _Coming | None = None
        self._field: tuple[int, list[Array], int] | None = None

    def feed(self, unit: Unit) -> list[DecodedFrame]:
        """Take a unit, and return the frames that it completes.

        Raises
        ------
        CodecError
            If the unit is damaged, declares more than is allowed, or comes before a sequence header.
        """
        if unit.code == HEADER:
            self._begin_sequence(SequenceHeader.read(unit.payload))
            return []
        if unit.code == IMAGE_END:
            return self.flush()
        if unit.code == END:
            frames = self.flush()
            self.header, self._field = None, None
            return frames
        if unit.code not in _IMAGES:
            return []
        if self.header is None:
            raise CodecError("an image comes before the first sequence header")
        if len(unit.payload) < 4:
            raise CodecError("an image ends early, in its number")
        if unit.code in (HQ_FRAGMENT, LD_FRAGMENT):
            return self._take_fragment(unit)
        return [*self.flush(), *self._take_image(unit)]

    def flush(self) -> list[DecodedFrame]:
        """Return the image of which fragments are still to come, if one may be incomplete."""
        coming, self._coming = self._coming, None
        if coming is None:
            return []
        missing = int(coming.arrived.size - coming.arrived.sum())
        if not self._tolerant:
            check_whole(coming.arrived.size - missing, coming.arrived.size)
        return self._finish(coming, missing)

    def _begin_sequence(self, header: SequenceHeader) -> None:
        if header == self.header:
            return
        if header.video.rows * header.video.columns > self._most_pixels:
            raise CodecError(
                f"frames of {header.video.columns} × {header.video.rows} are larger than the {self._most_pixels} "
                "pixels that are allowed; raise most_pixels"
            )
        self.header = header
        self._coming, self._field = None, None

    def _begin_image(self, unit: Unit, begin: int) -> tuple[_Coming, int]:
        """Read parameters, and return an image without slices, and where its slices begin."""
        assert self.header is not None
        profile = _IMAGES[unit.code]
        parameters, size = TransformParameters.read(unit.payload[begin:], self.header.major, profile)
        shapes = self.header.image_shapes
        down, across = 1 << parameters.depth, 1 << parameters.depth + parameters.depth_ho
        padded = sum((rows + down) * (columns + across) for rows, columns in shapes)
        if padded > max(_MOST_PADDING * sum(rows * columns for rows, columns in shapes), _LITTLE):
            levels = parameters.depth + parameters.depth_ho
            raise CodecError(f"{levels} levels would fill an image of {shapes[0]} up to {padded} samples")
        layout = self._find_layout(parameters)
        dtype = choose_dtype(parameters, self.header.video.bits)
        if self._coefficients.size != layout.size or self._coefficients.dtype != dtype:
            self._coefficients = np.zeros(layout.size, dtype)
        number = int.from_bytes(unit.payload[:4], "big")
        return _Coming(number, parameters, layout, np.zeros(parameters.slice_count, np.bool_)), begin + size

    def _find_layout(self, parameters: TransformParameters) -> Layout:
        """Return where the coefficients of an image lie, which on a device is another order."""
        assert self.header is not None
        shapes, (luma, chroma) = self.header.image_shapes, self.header.video.bits
        if self._engine is None or not parameters.depth + parameters.depth_ho:
            self._device = None
            return lay_out(shapes, parameters)
        layout, _ = lay_out_bands(shapes, (luma, chroma, chroma), parameters)
        if self._device is None or self._device.layout is not layout:
            self._device = DeviceImage(shapes, (luma, chroma, chroma), parameters, self._engine)
        return layout

    def _take_image(self, unit: Unit) -> list[DecodedFrame]:
        coming, begin = self._begin_image(unit, 4)
        stream = np.frombuffer(unit.payload, np.uint8)
        missing = self._decode(coming, stream, begin, 0, coming.parameters.slice_count)
        if not self._tolerant:
            check_whole(coming.arrived.size - missing, coming.arrived.size)
        return self._finish(coming, missing)

    def _take_fragment(self, unit: Unit) -> list[DecodedFrame]:
        if len(unit.payload) < 8:
            raise CodecError("a fragment ends early, in its head")
        number, count = int.from_bytes(unit.payload[:4], "big"), int.from_bytes(unit.payload[6:8], "big")
        if count == 0:
            frames = self.flush()
            self._coming, _ = self._begin_image(unit, 8)
            return frames
        coming = self._coming
        if coming is None or coming.number != number:
            raise CodecError(f"slices of image {number} come before its parameters")
        if len(unit.payload) < 12:
            raise CodecError("a fragment ends early, in its head")
        column, row = (int.from_bytes(unit.payload[at : at + 2], "big") for at in (8, 10))
        first = row * coming.parameters.slices[1] + column
        if first + count > coming.arrived.size:
            raise CodecError(f"a fragment has slices {first} to {first + count - 1} of {coming.arrived.size}")
        lost = self._decode(coming, np.frombuffer(unit.payload, np.uint8), 12, first, count)
        if lost and not self._tolerant:
            raise CodecError(f"a fragment ends early: {count - lost} of {count} slices are whole")
        if not coming.arrived.all():
            return []
        self._coming = None
        return self._finish(coming, 0)

    def _decode(self, coming: _Coming, stream: Array, begin: int, first: int, count: int) -> int:
        """Decode slices, and return how many are missing."""
        numbers = np.arange(first, first + count)
        whole = decode_slices(stream, begin, numbers, coming.layout, coming.parameters, self._coefficients)
        coming.arrived[first : first + whole] = True
        return count - whole

    def _finish(self, coming: _Coming, missing: int) -> list[DecodedFrame]:
        """Turn coefficients into samples, and fields into a frame."""
        assert self.header is not None
        video, shapes = self.header.video, self.header.image_shapes
        luma, chroma = video.bits
        bits = luma, chroma, chroma
        planes = [
            np.empty(shape, np.uint8 if depth <= 8 else np.uint16) for shape, depth in zip(shapes, bits, strict=True)
        ]
        coefficients = self._coefficients
        if self.header.profile == LOW_DELAY:
            if self._tolerant:
                coefficients = coefficients.copy()
            predict_lowest(coefficients, coming.layout)
        if self._device is not None:
            self._device.write_coefficients(coefficients)
            self._device.synthesise()
            planes = [np.ascontiguousarray(plane) for plane in self._device.read()]
        else:
            synthesise(coefficients, coming.layout, coming.parameters, bits, planes)
        if not self.header.is_fields:
            return [DecodedFrame(tuple(planes), coming.number, video, missing)]
        if coming.number % 2 == 0 or self._field is None:
            self._field = coming.number, planes, missing
            return []
        number, first, lost = self._field
        self._field = None
        order = (first, planes) if video.top_field_first else (planes, first)
        return [DecodedFrame(_weave(order, video.plane_shapes), number, video, missing + lost)]


def _weave(fields: Sequence[Sequence[Array]], shapes: Sequence[tuple[int, int]]) -> tuple[Array, ...]:
    """Return frames whose rows belong to two fields in turn, the upper one first."""
    frames = []
    for upper, lower, shape in zip(*fields, shapes, strict=True):
        frame = np.empty(shape, upper.dtype)
        frame[0::2], frame[1::2] = upper, lower[: shape[0] // 2]
        frames.append(frame)
    return tuple(frames)


def decode(data: bytes | memoryview, *, most_pixels: int = MOST_PIXELS) -> Iterator[DecodedFrame]:
    """Decode a stream, frame by frame.

    Parameters
    ----------
    data : bytes or memoryview
        A whole stream, or as much of it as there is.
    most_pixels : int
        Luma samples of a frame that are allowed.

    Yields
    ------
    DecodedFrame
        In the order of the stream.

    Raises
    ------
    CodecError
        If the stream is damaged or no stream of VC-2; after the frames before that.
    """
    decoder = Decoder(most_pixels)
    for unit in find_units(data):
        yield from decoder.feed(unit)
    yield from decoder.flush()
