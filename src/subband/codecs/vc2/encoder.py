"""Encoding video in the high-quality profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, gcd

import numpy as np

from subband.codecs.vc2.coded import CodedImage
from subband.codecs.vc2.coding import MARGIN, MOST_QUANTISER, count_bytes, encode_slices, lay_out_slices
from subband.codecs.vc2.devices import DeviceImage, find_device_engine
from subband.codecs.vc2.parameters import MOST_LEVELS, TransformParameters, lay_out
from subband.codecs.vc2.rate import choose_scaler, fit_quantisers
from subband.codecs.vc2.sequence import SAMPLINGS, SequenceHeader, VideoFormat, with_version
from subband.codecs.vc2.stream import END, HEAD_SIZE, HEADER, UnitWriter
from subband.codecs.vc2.transform import analyse, choose_dtype
from subband.codecs.vc2.wavelets import WAVELETS, default_matrix, find_wavelet
from subband.engines import Engine
from subband.errors import ArgumentError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["Encoder", "Settings", "encode"]

# Magnitudes beyond are not exact in single precision, in which they are quantised.
_MOST_BITS = 24


@dataclass(frozen=True)
class Settings:
    """How to encode.

    Attributes
    ----------
    rate : float, optional
        Bits in a second; every image takes its share at most.
    quantiser : int, optional
        Of all slices instead, from 0, which loses nothing, to 116; four more double its step. Without either nothing is
        lost.
    wavelet : str
        ``"dd97"``, ``"legall53"``, ``"dd137"``, ``"haar0"``, ``"haar1"``, ``"fidelity"`` or ``"daub97"``.
    wavelet_ho : str, optional
        Another one along the rows.
    depth, depth_ho : int
        Levels, and further ones along the rows only.
    slice_size : tuple of int
        About so many rows and columns of luma are a slice.
    matrix : sequence of int, optional
        How much less each band is quantised; by default, so that all bands contribute the same noise.
    prefix : int
        Bytes in front of each slice.
    fields : bool, optional
        Whether each field is an image of its own; so if the video is interlaced.
    fragment : int, optional
        Cut images into units of at most so many bytes, as far as slices are not longer.
    compact : bool
        Leave out zeros at the end of slices, as the standard allows: several decibels at high compression. FFmpeg
        misreads such slices.
    """

    rate: float | None = None
    quantiser: int | None = None
    wavelet: str = "dd137"
    wavelet_ho: str | None = None
    depth: int = 4
    depth_ho: int = 0
    slice_size: tuple[int, int] = (16, 64)
    matrix: Sequence[int] | None = None
    prefix: int = 0
    fields: bool | None = None
    fragment: int | None = None
    compact: bool = False

    def check(self) -> None:
        """Raise an `ArgumentError` unless all of it can be done."""
        if self.rate is not None and self.quantiser is not None:
            raise ArgumentError("rate and quantiser are both given; one of them decides how large the stream becomes")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise ArgumentError(f"rate={self.rate} is not a positive number of bits in a second")
        if self.quantiser is not None and not 0 <= self.quantiser <= MOST_QUANTISER:
            raise ArgumentError(f"quantiser={self.quantiser} is not from 0 to {MOST_QUANTISER}")
        if self.depth < 0 or self.depth_ho < 0 or self.depth + self.depth_ho > MOST_LEVELS:
            raise ArgumentError(f"depth={self.depth} and depth_ho={self.depth_ho} are not from 0 to {MOST_LEVELS}")
        if min(self.slice_size) < 1:
            raise ArgumentError(f"slice_size={self.slice_size} is not rows and columns of at least 1")
        if not 0 <= self.prefix < 1 << 16:
            raise ArgumentError(f"prefix={self.prefix} is not from 0 to 65535")
        if self.fragment is not None and self.fragment < 64:
            raise ArgumentError(f"fragment={self.fragment} bytes are too few; use 64 or more")

    def make_parameters(self, shapes: Sequence[tuple[int, int]]) -> TransformParameters:
        """Return the parameters of images whose components have these shapes."""
        wavelet = find_wavelet(self.wavelet)
        along = wavelet if self.wavelet_ho is None else find_wavelet(self.wavelet_ho)
        matrix = default_matrix(wavelet, along, self.depth, self.depth_ho)
        if self.matrix is not None:
            own = tuple(self.matrix)
            if len(own) != len(matrix) or not all(0 <= entry <= 127 for entry in own):
                raise ArgumentError(f"matrix={own} is not {len(matrix)} numbers from 0 to 127, one for each band")
            matrix = own
        steps = 1 << self.depth, 1 << self.depth + self.depth_ho
        down, across = (
            _divide(shapes[0][axis], gcd(*(-(-shape[axis] // steps[axis]) for shape in shapes)), self.slice_size[axis])
            for axis in (0, 1)
        )
        return TransformParameters(
            wavelet, along, self.depth, self.depth_ho, (down, across), self.prefix, matrix=matrix
        )


def _divide(length: int, lowest: int, size: int) -> int:
    """Return how many slices there are along an axis: of about some size, and all of the same if that can be.

    Some decoders misread slices that share the lowest band unevenly; `lowest` are the coefficients that must be shared.
    """
    wanted = max(length / size, 1.0)
    even = min((n for n in range(1, lowest + 1) if lowest % n == 0), key=lambda n: max(n / wanted, wanted / n))
    return even if max(even / wanted, wanted / even) < 3 else max(round(wanted), 1)


class Encoder:
    """Encodes frames one after the other.

    Parameters
    ----------
    video : VideoFormat
        What the frames are.
    settings : Settings
        How to encode them.
    engine : str or Engine, optional
        ``"cuda"`` or ``"opencl"`` transforms on a device; slices are coded by the CPU. The stream is the same.

    Raises
    ------
    ArgumentError
        If the settings cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.vc2 import Encoder, Settings, VideoFormat
    >>> video = VideoFormat(64, 48, "4:2:2", VideoFormat.make_signal(10))
    >>> planes = [np.full(shape, 512, np.uint16) for shape in video.plane_shapes]
    >>> encoder = Encoder(video, Settings(quantiser=8))
    >>> data = encoder.encode(planes) + encoder.finish()
    >>> data[:4], len(data)
    (b'BBCD', 838)
    """

    def __init__(
        self, video: VideoFormat, settings: Settings | None = None, *, engine: str | Engine | None = None
    ) -> None:
        self.settings = settings = settings or Settings()
        settings.check()
        self.video = video
        is_fields = video.is_interlaced if settings.fields is None else settings.fields
        header = SequenceHeader(video, is_fields)
        down, across = SAMPLINGS[video.sampling]
        down *= 2 if is_fields else 1
        if video.rows % down or video.columns % across:
            raise ArgumentError(
                f"{video.columns} × {video.rows} is not a multiple of {across} × {down}, as {video.sampling}"
                f"{' in fields' if is_fields else ''} has to be; cut the frames, or use sampling='4:4:4'"
            )
        self._parameters = settings.make_parameters(header.image_shapes)
        is_third = self._parameters.is_asymmetric or settings.fragment is not None
        self.header = with_version(header, needs_third=is_third)
        shift = WAVELETS[self._parameters.wavelet_ho].shift
        needed = max(video.bits) + (shift * (settings.depth + settings.depth_ho)) + 2
        if needed > _MOST_BITS:
            raise ArgumentError(
                f"{max(video.bits)} bits and {settings.depth + settings.depth_ho} levels of {settings.wavelet} make "
                f"coefficients of {needed} bits; {_MOST_BITS} are the most: use fewer levels"
            )
        self._layout = lay_out(self.header.image_shapes, self._parameters)
        self._device: DeviceImage | None = None
        if settings.depth + settings.depth_ho and (found := find_device_engine(engine)) is not None:
            luma, chroma = video.bits
            shapes = self.header.image_shapes
            self._device = DeviceImage(shapes, (luma, chroma, chroma), self._parameters, found)
            self._layout = self._device.layout
        self._coefficients = np.zeros(self._layout.size + MARGIN, choose_dtype(self._parameters, video.bits))
        self._number = 0
        self._guess = 20
        self._writer = UnitWriter()

    def encode(self, planes: Sequence[Array]) -> bytes:
        """Return the bytes of a frame, with a sequence header in front.

        Parameters
        ----------
        planes : sequence of ndarray
            Luma and both chroma components, of `VideoFormat.plane_shapes`, uint8 or uint16.
        """
        return self._writer.write(self.make_units(planes))

    def finish(self) -> bytes:
        """Return the end of the stream."""
        return self._writer.write([(END, b"")])

    def make_units(self, planes: Sequence[Array]) -> list[tuple[int, bytes]]:
        """Return the data units of a frame: parse codes and payloads."""
        units = [(HEADER, self.header.write())]
        for image in self.code_images(planes):
            units += image.make_units(self.settings.fragment)
        return units

    def code_images(self, planes: Sequence[Array], together: int | None = None) -> Iterator[CodedImage]:
        """Code the images of a frame, one or two fields, slice after slice.

        Parameters
        ----------
        planes : sequence of ndarray
            As for `encode`.
        together : int, optional
            Give an image out whenever about so many more bytes of it are written, so that they can be sent while the
            next ones are coded; if left out, when it is complete. What is written is the same.

        Yields
        ------
        CodedImage
            With more slices each time; the first ``image.done`` of them are there.
        """
        own = self._check(planes)
        fields = [own]
        if self.header.is_fields:
            first = 0 if self.video.top_field_first else 1
            fields = [[plane[start::2] for plane in own] for start in (first, 1 - first)]
        for field in fields:
            yield from self._code_image([np.ascontiguousarray(plane) for plane in field], together)

    def _check(self, planes: Sequence[Array]) -> list[Array]:
        if len(planes) != 3:
            raise ShapeError(
                f"{len(planes)} planes are no frame of {self.video.plane_shapes}; a frame is (y, cb, cr), and `encode` "
                "of the module takes several of them"
            )
        shapes = tuple(plane.shape for plane in planes)
        if shapes != self.video.plane_shapes:
            raise ShapeError(f"planes of shapes {shapes} are no frame of {self.video.plane_shapes}")
        for plane, bits in zip(planes, (self.video.bits[0], *self.video.bits[1:] * 2), strict=True):
            if plane.dtype not in (np.uint8, np.uint16):
                raise DtypeError(f"planes hold {plane.dtype}; use uint8 or uint16")
            if plane.dtype.itemsize * 8 > bits and int(plane.max(initial=0)) >> bits:
                raise ArgumentError(f"a sample of {int(plane.max())} does not fit the {bits} bits of the video")
        return list(planes)

    def _code_image(self, planes: Sequence[Array], together: int | None) -> Iterator[CodedImage]:
        bits, layout, parameters = self.video.bits, self._layout, self._parameters
        if self._device is not None:
            self._device.write(planes)
            self._device.analyse()
            self._coefficients[: layout.size] = self._device.read_coefficients()
        else:
            middles = [1 << bits[0] - 1, *[1 << bits[1] - 1] * 2]
            analyse(planes, middles, layout, parameters, self._coefficients)
        settings, count = self.settings, parameters.slice_count
        if settings.rate is not None:
            images = self.video.rate * (2 if self.header.is_fields else 1)
            share = int(settings.rate / 8 / images) - self._count_overhead()
            quantisers, lengths = fit_quantisers(self._count, share, self._guess, settings.prefix)
            self._guess = int(quantisers.max())
        else:
            quantisers = np.full(count, settings.quantiser or 0, np.int64)
            lengths = self._count(settings.quantiser or 0)[0]
        parameters = replace(parameters, scaler=choose_scaler(lengths))
        starts = lay_out_slices(lengths, parameters)
        out = np.empty(int(starts[-1]), np.uint8)
        image = CodedImage(self._number, parameters, parameters.write(self.header.major), starts, out)
        self._number = (self._number + 1) % (1 << 32)
        while image.done < count:
            last = count
            if together is not None:
                last = max(int(np.searchsorted(starts, starts[image.done] + together)), image.done + 1)
            last = min(last, count)
            part = image.done, last
            encode_slices(self._coefficients, layout, parameters, quantisers, lengths, starts, part, out)
            image.done = last
            yield image

    def _count(self, quantiser: int) -> Array:
        is_compact = self.settings.compact
        return count_bytes(self._coefficients, self._layout, self._parameters, quantiser, is_compact=is_compact)

    def _count_overhead(self) -> int:
        """Return the bytes of an image that are not in slices, or a few more."""
        size = 2 * HEAD_SIZE + 4 + 64 + 4 * self._parameters.band_count
        if self.settings.fragment is not None and self.settings.rate is not None:
            size += ceil(self.settings.rate / 8 / self.video.rate / self.settings.fragment * 1.2) * (HEAD_SIZE + 12)
        return size


def encode(frames: Iterable[Sequence[Array]], video: VideoFormat, settings: Settings | None = None) -> bytes:
    """Encode frames as a stream.

    Parameters
    ----------
    frames : iterable of sequences of ndarray
        Three planes each; see `Encoder.encode`.
    video : VideoFormat
        What they are.
    settings : Settings
        How to encode them; without a loss if left out.

    Returns
    -------
    bytes
        The whole stream.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.vc2 import VideoFormat, decode, encode
    >>> video = VideoFormat(64, 48, "4:2:0")
    >>> planes = [
    ...     np.arange(np.prod(shape), dtype=np.uint16).reshape(shape).astype(np.uint8) for shape in video.plane_shapes
    ... ]
    >>> (frame,) = decode(encode([planes], video))
    >>> all((a == b).all() for a, b in zip(frame.planes, planes, strict=True))
    True
    """
    encoder = Encoder(video, settings)
    return b"".join([*(encoder.encode(planes) for planes in frames), encoder.finish()])
