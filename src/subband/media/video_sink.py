"""Frames as video, through PyAV and the FFmpeg that it brings."""

from __future__ import annotations

import contextlib
import errno
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np

from subband.errors import ArgumentError, DtypeError, NoDeviceError, SubbandError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.faults import LossWarning, explain_output_error, require
from subband.media.formats.lookup import find_format, list_formats
from subband.media.video_clock import Clock
from subband.media.video_fields import FieldMarker
from subband.media.video_formats import RAW, VideoFormat, choose_encoder, choose_options, choose_pixel_format
from subband.media.video_hdr import list_light_options
from subband.media.video_headers import Y4mHead, complete_head
from subband.media.video_pixels import FrameWriter, choose_matrix
from subband.media.video_sound import Soundtrack
from subband.outputs import Unfinished

__all__ = ["FilmSink"]

# What a video says about itself.
_KEPT = ("title", "artist", "comment", "description", "date", "copyright", "genre", "creation_time", "timecode")
# Containers that keep a time code, some of them as a track.
_WITH_TIMECODE = ("matroska", "mov", "mp4", "mxf")
# Those that say for any codec whether Y'CbCr goes from 0 to 255, and the encoders that say it themselves.
_TELL_RANGE = ("matroska", "mp4", "webm", "yuv4mpegpipe")
_CODE_RANGE = ("libaom-av1", "libsvtav1", "libvpx-vp9", "libx264", "libx265", "mjpeg")
# Encoders that write the shape of pixels, and containers whose writers know it from them.
_CODE_ASPECT = ("libx264", "libx265", "mpeg1video", "mpeg2video", "mpeg4")
_WITHOUT_ASPECT = ("avi", "matroska", "webm")
# Encoders of a GPU, by how their names end.
_MAKERS = {"nvenc": "NVIDIA", "amf": "AMD", "qsv": "Intel", "vaapi": "VA-API", "videotoolbox": "Apple"}
# Bytes that are written at once; fewer where all but the last of them are to be there if the process is killed, and
# where somebody is waiting for the next frame.
_PIECE, _PIECE_PARTIAL, _PIECE_PIPED = 2**18, 2**15, 2**12


class FilmSink(Sink):
    """A video that is written frame by frame.

    The kind of file follows from the ending of the name: ``.mp4``, ``.m4v``, ``.mov`` and ``.ts`` for H.264, ``.avi``
    and ``.y4m`` for uncompressed video, ``.mpg`` for MPEG-1, ``.mxf`` for MPEG-2, ``.wmv``, ``.mkv`` for FFV1 without
    loss, ``.webm`` for VP9. What such a file cannot hold of the source is named in a `subband.media.LossWarning`.

    Parameters
    ----------
    path : Path
        Where the video is to appear; until it is finished, it grows beside it under a ``.part`` name.
    info : SourceInfo
        Of the frames; its rate, colour tags, pixel aspect, field order and title go into the file.
    codec : str, optional
        Another encoder, such as ``"h264"``, ``"vp9"``, ``"ffv1"``, ``"mpeg2"`` or ``"raw"``, or any of FFmpeg's.
    quality : float, optional
        From 0 to 100; about 75 if left out. Encoders without loss ignore it.
    preset : str, optional
        Of time for size, from ``"ultrafast"`` to ``"veryslow"``; ``"superfast"`` if left out.
    pixel_format : str, optional
        In FFmpeg's words, instead of the one that keeps most and that players open.
    quick : bool
        Convert from red, green and blue with less care, several times as fast.
    options : mapping, optional
        More of the encoder's own options.
    audio : bool
        Copy the sound of ``info.origin``, if it has any. Subtitles and chapters are copied in any case.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_partial : bool
        Keep what there is, playable under its ``.part`` name, when the sink is aborted; MP4 and MOV are then written
        in fragments, so that even the file of a killed process plays.
    pipe : file, optional
        Where bytes go instead of into a file, as they come; `path` then only says of which kind.

    Raises
    ------
    MissingExtraError
        If PyAV is not installed.
    ArgumentError
        If the name ends like no video, a file is there already, or the encoder cannot do what is asked.
    OutputError
        If the folder takes no files.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from subband.media import FilmSink, SourceInfo
    >>> FilmSink(Path("video.xyz"), SourceInfo("film", (48, 64, 3), np.dtype("uint8")))
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'video.xyz' does not end like a video; take one of .avi, .m4v, .mj2, .mkv, .mov,
    .mp4, .mpeg, .mpg, .mxf, .ts, .webm, .wmv, .y4m
    """

    def __init__(
        self,
        path: Path,
        info: SourceInfo,
        *,
        codec: str | None = None,
        quality: float | None = None,
        preset: str | None = None,
        pixel_format: str | None = None,
        quick: bool = False,
        options: Mapping[str, str] | None = None,
        audio: bool = True,
        overwrite: bool = False,
        keep_partial: bool = False,
        pipe: IO[bytes] | None = None,
    ) -> None:
        kind = RAW if pipe is not None and path.suffix == ".raw" else find_format(path)
        if not isinstance(kind, VideoFormat) or (kind is not RAW and not kind.writes(path)):
            known = [form for form in list_formats("video") if isinstance(form, VideoFormat)]
            endings = ", ".join(sorted(ending for form in known for ending in form.written))
            raise ArgumentError(f"{path.name!r} does not end like a video; take one of {endings}")
        av = require("av", "writing video", "video")
        if info.dtype not in (np.uint8, np.uint16):
            raise DtypeError(f"video holds uint8 or uint16, not {info.dtype}; scale the frames to one of them")
        self.path, self.info = path, info
        self._kind = kind
        self._keep_partial = keep_partial
        self._rate = info.rate or Fraction(25)
        name = choose_encoder(codec or kind.codec, self._rate)
        self._codec = name
        available = [known.name for known in av.Codec(name, "w").video_formats or []]
        format_name = pixel_format or choose_pixel_format(name, available, info, kind.muxer)
        tells_range = kind.muxer in _TELL_RANGE or name in _CODE_RANGE
        self._full_range = info.tags.full_range if tells_range or not info.tags.full_range else False
        self._writer = FrameWriter(info, format_name, quick=quick, full_range=self._full_range)
        # MPEG-4 counts no more parts of a second than that
        self._clock = Clock(info, self._rate, is_steady=kind.is_steady or name in ("mpeg4", "msmpeg4v2", "msmpeg4"))
        self._marker = FieldMarker()
        self._sound: Soundtrack | None = None
        self._unfinished = None if pipe is not None else Unfinished(path, overwrite=overwrite)
        self._container: Any = None
        try:
            with self._explain():
                self._container = self._open_container(pipe)
                light = list_light_options(name, info.metadata)
                settings = {**choose_options(name, quality, preset), **(light or {}), **(options or {})}
                self._stream = self._add_stream(name, format_name, settings)
                self._has_light_in_head = light is None and pipe is None and kind.muxer in ("matroska", "webm")
                self._tell_losses(has_light=light is not None or self._has_light_in_head)
                for key in _KEPT:
                    if isinstance(value := info.metadata.get(key), str):
                        self._container.metadata[key] = value
                if info.origin is not None and ((audio and info.has_audio) or info.has_extras):
                    self._sound = Soundtrack(
                        info.origin, self._container, path, audio=audio and info.has_audio, span=info.span
                    )
        except BaseException:
            self.abort()
            raise

    def _open_container(self, pipe: IO[bytes] | None) -> Any:
        import av

        options = dict(self._kind.partial) if self._keep_partial else {}
        target: Any = pipe
        if self._unfinished is not None:
            # Not by its name: FFmpeg does not always tell that a disk has taken only a part of what it wrote.
            target = self._unfinished.open(quiet=True)
        if self._kind.muxer == "yuv4mpegpipe":
            # depths beyond 8 bits are an extension that everybody reads
            options = {**options, "strict": "-1"}
            target = Y4mHead(target, self.info.pixel_aspect)
        elif pipe is not None:
            target = _Pipe(pipe)
        piece = _PIECE_PIPED if pipe is not None else _PIECE_PARTIAL if self._keep_partial else _PIECE
        return av.open(target, "w", format=self._kind.muxer, container_options=options, buffer_size=piece)

    def _add_stream(self, codec: str, format_name: str, options: dict[str, str]) -> Any:
        try:
            stream = self._container.add_stream(codec, rate=self._rate, options=options)
        except ValueError as error:
            raise ArgumentError(
                f"{self.path.name!r} cannot hold codec={codec!r}; leave codec out, or take a name that ends in .mkv"
            ) from error
        stream.height, stream.width = self.info.shape[:2]
        stream.pix_fmt = format_name
        context = stream.codec_context
        context.time_base = self._clock.time_base
        context.thread_type = "AUTO"
        context.thread_count = 0
        if self.info.pixel_aspect != 1:
            context.sample_aspect_ratio = self.info.pixel_aspect
        tags = self.info.tags
        if self._writer.format.colours == "ycbcr":
            # Not a guess any more: the frames are converted with this matrix.
            converted = self.info.colours != "ycbcr"
            matrix = choose_matrix(tags, self.info.shape[0]) if converted and tags.matrix in (0, 2) else tags.matrix
            context.colorspace = matrix
            full = self._full_range or self._writer.format.is_full_range
            context.color_range = 2 if full else 1 if converted or tags.full_range is not None else 0
        context.color_primaries, context.color_trc = tags.primaries, tags.transfer
        self._marks_fields = self._marker.prepare(context, codec, self._kind.muxer, self.info.field_order)
        for key in ("language", "timecode"):
            if isinstance(value := self.info.metadata.get(f"video_{key}"), str):
                stream.metadata[key] = value
        self._open_encoder(context)
        return stream

    def _open_encoder(self, context: Any) -> None:
        """Open the encoder now; else it would say only at the first frame what it does not take."""
        import av

        try:
            context.open(strict=False)
        except av.FFmpegError as error:
            maker = next((maker for end, maker in _MAKERS.items() if self._codec.endswith(f"_{end}")), None)
            if maker is not None:
                raise NoDeviceError(
                    f"codec={self._codec!r} needs {_name_gpu(maker)} and its driver, which this machine does not "
                    f"offer ({error.strerror}); leave the codec out, or take one that runs on the CPU, such as h264"
                ) from error
            if isinstance(error, OSError) and error.errno is not None and error.errno < 1000:
                # whatever it says, no file has been touched
                error.errno = errno.EINVAL
            raise

    def _tell_losses(self, *, has_light: bool) -> None:
        """Name what frames have and the file cannot keep, each in one line."""
        info, name = self.info, self.path.name
        losses = []
        if info.has_alpha and not self._writer.format.has_alpha:
            losses.append(
                f"{name!r} keeps no opacity with {self._codec}; ffv1 in .mkv, prores or png in .mov and vp9 in .webm do"
            )
        if not has_light:
            losses.append(f"{name!r} keeps no HDR10 mastering data with {self._codec}; .mkv, h265 and av1 do")
        if not self._marks_fields:
            losses.append(f"{name!r} cannot tell that it is interlaced with {self._codec}; h264 and ffv1 in .mkv can")
        if "timecode" in info.metadata and self._kind.muxer not in _WITH_TIMECODE:
            losses.append(f"{name!r} keeps no time code; .mov, .mp4, .mkv and .mxf do")
        if self._unfinished is None and info.pixel_aspect != 1 and self._kind.muxer != "yuv4mpegpipe":
            losses.append(f"{name!r} does not keep the shape of pixels in a pipe")
        for loss in losses:
            warnings.warn(loss, LossWarning, stacklevel=4)

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        time = self._clock.tick(frame)
        with self._explain():
            if self._sound is not None:
                self._sound.copy_until(frame.time)
            self._container.mux(self._encode(frame, time))

    def _encode(self, frame: Frame, time: int) -> Any:
        """Return the packets of a frame, which is shown at a time."""
        made = self._writer.write(frame)
        made.pts, made.time_base = time, self._clock.time_base
        order = frame.metadata.get("fields")
        if order is not None and self.info.field_order != "progressive":
            made = self._marker.mark(made, order)
        return self._stream.encode(made)

    def _finish(self) -> None:
        with self._explain():
            self._complete(with_sound=True)
            if self._unfinished is None:
                return
            self._complete_head(self._unfinished.part)
        self._unfinished.place()

    def _complete_head(self, part: Path) -> None:
        """Write what neither encoder nor container has: the shape of pixels, and light."""
        aspect = self.info.pixel_aspect
        if self._kind.muxer not in _WITHOUT_ASPECT or self._codec in _CODE_ASPECT:
            aspect = Fraction(1)
        metadata = self.info.metadata if self._has_light_in_head else {}
        if aspect == 1 and not self._has_light_in_head:
            return
        if not complete_head(part, self._kind.muxer, aspect, metadata):
            what = f"the shape of its pixels, {aspect.numerator}:{aspect.denominator}" if aspect != 1 else "HDR10 data"
            warnings.warn(f"{self.path.name!r} does not keep {what}", LossWarning, stacklevel=4)

    def _complete(self, *, with_sound: bool) -> None:
        self._container.mux(self._stream.encode())
        if self._sound is not None:
            if with_sound:
                self._sound.copy_until(None)
            self._sound.close()
        self._container.close()

    def _abort(self) -> None:
        keep = self._keep_partial and self.count > 0
        try:
            # Whatever the reason was, such as a full disk, may well come up again here.
            with contextlib.suppress(Exception):
                if keep:
                    self._complete(with_sound=False)
                elif self._container is not None:
                    self._container.close()
        finally:
            if self._sound is not None:
                self._sound.close()
            if self._unfinished is not None:
                (self._unfinished.keep if keep else self._unfinished.remove)()

    @contextlib.contextmanager
    def _explain(self) -> Iterator[None]:
        """Turn what FFmpeg says into one line."""
        import av

        try:
            yield
            self._check_written()
        except SubbandError:
            raise
        except (av.FFmpegError, OSError) as error:
            self._check_written()
            if isinstance(error, OSError) and error.errno is not None and error.errno < 1000 and error.errno != 22:
                raise explain_output_error(self.path, error) from error
            raise ArgumentError(
                f"{self.path.name!r} cannot be written with {self._writer.format.name} frames of "
                f"{self.info.shape[1]} × {self.info.shape[0]} at {float(self._rate):.5g} per second: {error}"
            ) from error

    def _check_written(self) -> None:
        if self._unfinished is not None:
            self._unfinished.check()


def _name_gpu(maker: str) -> str:
    return f"{'an' if maker[0] in 'AINV' else 'a'} {maker} GPU"


class _Pipe:
    """What PyAV writes to where nothing can be sought."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(bytes(data))
        self._file.flush()
        return len(data)
