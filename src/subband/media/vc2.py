"""Video as VC-2 by our own codec: elementary streams as sources and sinks of frames."""

from __future__ import annotations

import mmap
import warnings
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from subband.codecs.vc2 import DecodedFrame, Decoder, Encoder, Settings, VideoFormat
from subband.codecs.vc2.pixels import join_planes, split_pixels
from subband.codecs.vc2.sequence import SAMPLINGS
from subband.codecs.vc2.stream import HQ_FRAGMENT, HQ_IMAGE, LD_FRAGMENT, LD_IMAGE, Unit, find_units
from subband.errors import ArgumentError, CodecError, DtypeError, FormatError
from subband.media.base import ColourTags, Frame, Sink, Source, SourceInfo
from subband.media.faults import DamagedError, DamageWarning, LossWarning, explain_output_error, require
from subband.media.limits import choose_most_pixels
from subband.media.video_fields import FieldMarker
from subband.media.video_pixels import FrameReader, FrameWriter, PixelFormat, choose_matrix, view_plane
from subband.media.video_sink import FilmSink
from subband.outputs import Unfinished
from subband.typing import Array

__all__ = ["FrameMaker", "PlaneMaker", "Vc2FilmSink", "Vc2Sink", "Vc2Source"]

# Bits for which FFmpeg has planar formats.
_DEPTHS = (8, 9, 10, 12, 14, 16)

# From the numbers of the standard to those of ITU-T H.273, and back.
_MATRICES, _PRIMARIES, _TRANSFERS = (1, 5, 8, 0, 9), (1, 6, 5, 10, 9), (1, 12, 8, 17, 16, 18)
_MATRIX_OF, _PRIMARIES_OF = {0: 3, 1: 0, 5: 1, 6: 1, 9: 4, 10: 4}, {1: 0, 5: 2, 6: 1, 7: 1, 9: 4, 10: 3}
_TRANSFER_OF = {8: 2, 12: 1, 16: 4, 17: 3, 18: 5}
_RGB = 3

# The quality that is taken if none is asked for, and quantisers for each step of it.
_QUALITY, _QUANTISERS = 75.0, 0.5


def _name_format(video: VideoFormat) -> tuple[str, int]:
    """Return FFmpeg's name of planes that hold a video, and their bits, which may be more."""
    bits = next(depth for depth in _DEPTHS if depth >= max(video.bits))
    planar = "gbrp" if video.matrix == _RGB else f"yuv{video.sampling.replace(':', '')}p"
    return planar + (f"{bits}le" if bits > 8 else ""), bits


def _is_plain(video: VideoFormat, *, is_interlaced: bool) -> bool:
    """Tell whether planes of Y'CbCr are pixels but for their order: whole pairs share chroma, all of the same bits."""
    down, across = SAMPLINGS[video.sampling]
    is_even = video.rows % down == 0 and video.columns % across == 0
    return is_even and len(set(video.bits)) == 1 and not (is_interlaced and down == 2)


class FrameMaker:
    """Makes frames of decoded planes.

    Parameters
    ----------
    video : VideoFormat
        Of the planes.
    colours : {"rgb", "ycbcr"}
        As in `subband.media.open_source`.
    quick : bool
        Convert to red, green and blue with less care.
    """

    def __init__(self, video: VideoFormat, colours: Literal["rgb", "ycbcr"] = "rgb", *, quick: bool = False) -> None:
        av = require("av", "reading video", "video")
        self._make = av.VideoFrame
        self.video = video
        self._format, self._bits = _name_format(video)
        self.tags = ColourTags(
            _MATRICES[min(video.matrix, len(_MATRICES) - 1)],
            video.signal[0] == 0,
            _PRIMARIES[min(video.primaries, len(_PRIMARIES) - 1)],
            _TRANSFERS[min(video.transfer, len(_TRANSFERS) - 1)],
        )
        self._reader = FrameReader(self._format, self.tags, video.rows, colours, quick=quick)
        self._marker = FieldMarker() if video.is_interlaced else None
        self._order: Literal["top", "bottom"] = "top" if video.top_field_first else "bottom"

    def make(self, decoded: DecodedFrame, number: int) -> Frame:
        """Return a frame of the planes; `number` counts from 0."""
        is_interlaced = self._marker is not None
        metadata = {"fields": self._order} if is_interlaced else {}
        if self._reader.colours == "ycbcr" and _is_plain(self.video, is_interlaced=is_interlaced):
            pixels = join_planes(decoded.planes, self.video, self._reader.format.dtype)
        else:
            pixels = self._convert(decoded)
        return Frame(pixels, number, float(number / self.video.rate), metadata=metadata)

    def _convert(self, decoded: DecodedFrame) -> Array:
        """Return pixels in colours that FFmpeg's libswscale knows the way to."""
        made = self._make(self.video.columns, self.video.rows, self._format)
        luma, chroma = self.video.bits
        for plane, values, bits in zip(made.planes, decoded.planes, (luma, chroma, chroma), strict=False):
            view = view_plane(plane, values.dtype if self._bits <= 8 else np.dtype(np.uint16))
            view[...] = values[: view.shape[0], : view.shape[1]].astype(view.dtype, copy=False) << self._bits - bits
        if self._marker is not None:
            made = self._marker.mark(made, self._order)
        return self._reader.read(made)[0]

    def describe(self, pixels: Array, count: int | None = None, origin: Path | None = None) -> SourceInfo:
        """Return what a source of such frames holds."""
        video = self.video
        is_ycbcr = self._reader.colours == "ycbcr"
        return SourceInfo(
            kind="film",
            shape=pixels.shape,
            dtype=pixels.dtype,
            colours=self._reader.colours,
            bits=self._bits,
            rate=video.rate,
            count=count,
            duration=None if count is None else float(count / video.rate),
            origin=origin,
            container="dirac",
            codec="dirac",
            pixel_format=self._format,
            tags=self.tags,
            chroma_steps=PixelFormat(self._format).steps if is_ycbcr else (1, 1),
            field_order=self._order if video.is_interlaced else "progressive",
            time_base=1 / video.rate,
            pixel_aspect=video.aspect,
        )


class PlaneMaker:
    """Makes planes to encode of frames.

    Parameters
    ----------
    info : SourceInfo
        Of the frames.

    Attributes
    ----------
    video : VideoFormat
        Of the planes.

    Raises
    ------
    DtypeError
        If the frames are neither uint8 nor uint16.
    """

    def __init__(self, info: SourceInfo) -> None:
        require("av", "writing video", "video")
        if info.dtype not in (np.uint8, np.uint16):
            raise DtypeError(f"VC-2 holds uint8 or uint16, not {info.dtype}; scale the frames to one of them")
        rows, columns = info.shape[:2]
        is_deep = info.dtype.itemsize > 1
        bits = next(depth for depth in _DEPTHS if depth >= (info.bits if is_deep else 8))
        tags = info.tags
        is_full = bool(tags.full_range)
        if info.colours == "rgb":
            sampling, matrix, is_full = "444", _RGB, True
        else:
            sampling = {(1, 2): "422", (2, 2): "420"}.get(info.chroma_steps, "444")
            sampling = "420" if info.colours == "grey" else sampling
            matrix = _MATRIX_OF.get(choose_matrix(tags, rows), 0)
        is_interlaced = info.field_order != "progressive"
        # without a chroma sample of their own, the last row or column would have to go
        if columns % 2 or rows % (4 if is_interlaced else 2):
            sampling = "444"
        depth = f"{bits}le" if bits > 8 else ""
        name = f"gbrp{depth}" if matrix == _RGB else f"yuv{sampling}p{depth}"
        self._writer = FrameWriter(info, name, full_range=is_full)
        self._is_ycbcr = info.colours == "ycbcr"
        names: dict[str, Literal["4:4:4", "4:2:2", "4:2:0"]] = {"444": "4:4:4", "422": "4:2:2", "420": "4:2:0"}
        self.video = VideoFormat(
            columns,
            rows,
            names[sampling],
            VideoFormat.make_signal(bits, is_full=is_full),
            info.rate or Fraction(25),
            info.pixel_aspect,
            is_interlaced and rows % 2 == 0,
            info.field_order != "bottom",
            _PRIMARIES_OF.get(tags.primaries, 0),
            matrix,
            _TRANSFER_OF.get(tags.transfer, 0),
        )

    def make(self, frame: Frame) -> list[Array]:
        """Return the three planes of a frame."""
        if self._is_ycbcr and _is_plain(self.video, is_interlaced="fields" in frame.metadata):
            return split_pixels(frame.pixels, self.video)
        made = self._writer.write(frame)
        dtype = np.dtype(np.uint8 if self.video.bits[0] <= 8 else np.uint16)
        return [np.array(view_plane(plane, dtype)) for plane in made.planes[:3]]


class Vc2Source(Source):
    """The frames of a VC-2 stream.

    Parameters
    ----------
    path : Path
        A file.
    colours, quick, tolerant, most_pixels
        As in `subband.media.FilmSource`. If damage is tolerated, slices that are missing stay as they were in the frame
        before.

    Raises
    ------
    FormatError
        If it holds no frame that can be decoded.
    MissingExtraError
        If PyAV, which converts colours, is not installed.
    """

    def __init__(
        self,
        path: Path,
        *,
        colours: Literal["rgb", "ycbcr"] = "rgb",
        quick: bool = False,
        tolerant: bool = False,
        most_pixels: int | None = None,
    ) -> None:
        self._path, self._tolerant = path, tolerant
        with path.open("rb") as file:
            if not file.read(1):
                raise FormatError(f"{str(path)!r} is empty")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._decoder = Decoder(choose_most_pixels(most_pixels), tolerant=tolerant)
            self._frames = self._decode()
            self._first = next(self._frames, None)
            if self._first is None:
                raise FormatError(f"{str(path)!r} holds no frame")
            self._maker = FrameMaker(self._first.video, colours, quick=quick)
            pixels = self._maker.make(self._first, 0).pixels
            self.info = self._maker.describe(pixels, self._count_frames(), path)
        except CodecError as error:
            self.close()
            raise FormatError(f"{str(path)!r} cannot be read as VC-2: {error}") from error
        except BaseException:
            self.close()
            raise

    def _decode(self) -> Iterator[DecodedFrame]:
        for unit in find_units(memoryview(self._data)):
            # copied, so that the file can be closed whatever is still in use
            yield from self._decoder.feed(Unit(unit.code, memoryview(bytes(unit.payload)), unit.has_end))
        yield from self._decoder.flush()

    def _count_frames(self) -> int | None:
        """Return how many frames the heads of units tell."""
        images = 0
        try:
            for unit in find_units(memoryview(self._data)):
                images += unit.code in (HQ_IMAGE, LD_IMAGE)
                # the first fragment of an image has no slices
                images += unit.code in (HQ_FRAGMENT, LD_FRAGMENT) and bytes(unit.payload[6:8]) == b"\0\0"
        except CodecError:
            return None
        header = self._decoder.header
        return images // 2 if header is not None and header.is_fields else images

    def __iter__(self) -> Iterator[Frame]:
        decoded, self._first = self._first, None
        if decoded is None:
            raise ArgumentError(f"{str(self._path)!r} was walked through before; open it again")
        number = 0
        while decoded is not None:
            if decoded.video != self._maker.video:
                raise DamagedError(f"{str(self._path)!r} changes its format at frame {number}; cut it there", number)
            if decoded.missing:
                message = f"{decoded.missing} slices of frame {number} of {str(self._path)!r} are missing"
                warnings.warn(message, DamageWarning, stacklevel=2)
            yield self._maker.make(decoded, number)
            number += 1
            try:
                decoded = next(self._frames, None)
            except CodecError as error:
                message = f"{str(self._path)!r} is damaged after frame {number}: {error}"
                if not self._tolerant:
                    raise DamagedError(f"{message}; tolerant=True reads on where that is possible", number) from error
                warnings.warn(message, DamageWarning, stacklevel=2)
                return

    def close(self) -> None:
        """Close the file."""
        # what walks through it may still look at it, and lets go of it later
        with suppress(BufferError):
            self._data.close()


class Vc2Sink(Sink):
    """A VC-2 stream that is written frame by frame, in the high-quality profile.

    Parameters
    ----------
    path : Path
        Where the stream is to appear.
    info : SourceInfo
        Of the frames. Y'CbCr is kept as it is; red, green and blue is coded as such.
    quality : float, optional
        From 0 to 100, which loses nothing; 75 if left out.
    settings : Settings, optional
        How to encode instead; see `subband.codecs.vc2.Settings`.
    audio : bool
        Whether to warn of sound, which is lost.
    overwrite, keep_partial : bool
        As in `subband.media.FilmSink`.

    Raises
    ------
    ArgumentError, DtypeError, OutputError, MissingExtraError
        If the settings or frames cannot be, a file is there already, or PyAV is not installed.
    """

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        *,
        quality: float | None = None,
        settings: Settings | None = None,
        audio: bool = True,
        overwrite: bool = False,
        keep_partial: bool = False,
    ) -> None:
        self.path, self.info = path, info
        self._keep_partial = keep_partial
        self._planes = PlaneMaker(info)
        video = self._planes.video
        self._encoder = Encoder(video, settings or choose_settings(quality, max(video.bits)))
        lost = [("opacity", info.has_alpha), ("sound", audio and info.has_audio), ("subtitles", info.has_extras)]
        for name in (name for name, is_there in lost if is_there):
            warnings.warn(f"{path.name!r} keeps no {name}; .mkv does", LossWarning, stacklevel=3)
        self._unfinished = Unfinished(path, overwrite=overwrite)
        self._file = self._unfinished.open()

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        self._put(self._encoder.encode(self._planes.make(frame)))

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise explain_output_error(self.path, error) from error

    def _finish(self) -> None:
        self._put(self._encoder.finish())
        self._unfinished.place()

    def _abort(self) -> None:
        (self._unfinished.keep if self._keep_partial and self.count else self._unfinished.remove)()


class Vc2FilmSink(FilmSink):
    """VC-2 by our own codec in a container that FFmpeg writes, such as Matroska, with sound and subtitles.

    Parameters
    ----------
    path : Path
        Where the video is to appear.
    info, quality, settings
        As in `Vc2Sink`. Red, green and blue, and more than 12 bits, need a stream that ends in ``.vc2``.
    audio, overwrite, keep_partial
        As in `subband.media.FilmSink`.

    Raises
    ------
    ArgumentError, DtypeError, OutputError, MissingExtraError
        If the settings or frames cannot be, a file is there already, or PyAV is not installed.
    """

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        *,
        quality: float | None = None,
        settings: Settings | None = None,
        audio: bool = True,
        overwrite: bool = False,
        keep_partial: bool = False,
    ) -> None:
        self._planes = PlaneMaker(info)
        video = self._planes.video
        self._encoder = Encoder(video, settings or choose_settings(quality, max(video.bits)))
        name, bits = _name_format(video)
        # FFmpeg's encoder only describes the stream
        if name.startswith("gbr") or bits not in (8, 10, 12):
            raise ArgumentError(f"{path.name!r} holds VC-2 of Y'CbCr of 8, 10 or 12 bits only; take a name with .vc2")
        super().__init__(
            path,
            info,
            codec="vc2",
            pixel_format=name,
            options={"strict": "-1"},
            audio=audio,
            overwrite=overwrite,
            keep_partial=keep_partial,
        )

    def _encode(self, frame: Frame, time: int) -> Any:
        from av import Packet

        packet = Packet(self._encoder.encode(self._planes.make(frame)))
        packet.stream, packet.time_base, packet.is_keyframe = self._stream, self._clock.time_base, True
        packet.pts = packet.dts = time
        return [packet]


def choose_settings(quality: float | None, bits: int) -> Settings:
    """Return settings for a quality from 0 to 100 and samples of some bits.

    Examples
    --------
    >>> choose_settings(100, 10).quantiser, choose_settings(None, 8).quantiser, choose_settings(None, 10).quantiser
    (0, 12, 20)
    """
    quality = _QUALITY if quality is None else float(quality)
    if not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    if quality == 100:
        return Settings(quantiser=0)
    return Settings(quantiser=round((100 - quality) * _QUANTISERS) + 4 * max(bits - 8, 0))
