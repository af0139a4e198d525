"""Frames as film, through PyAV and the FFmpeg that it brings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, DtypeError, SubbandError
from subband.media.base import Frame, Sink, SourceInfo
from subband.media.faults import explain_output_error, require
from subband.media.film_formats import CONTAINERS, choose_encoder, choose_options, choose_pixel_format
from subband.media.film_pixels import FrameWriter, PixelFormat, choose_matrix
from subband.media.film_sound import Soundtrack
from subband.media.outputs import Unfinished

__all__ = ["FilmSink"]

# How much finer than a frame times are kept; about a hundred thousandth of a second for usual rates.
_FINEST = 90_000
# A time that is this near to that of a steady rate, in frames, was rounded by the container that it comes from.
_ROUNDED = Fraction(1, 20)
# Bytes that are written at once; fewer where all but the last of them are to be there if the process is killed.
_PIECE, _PIECE_PARTIAL = 2**18, 2**15


class FilmSink(Sink):
    """A film that is written frame by frame.

    The kind of file follows from the ending of the name: ``.mp4``, ``.m4v`` and ``.mov`` for H.264, ``.avi``
    for uncompressed film, ``.mpg`` for MPEG-1, ``.wmv``, ``.mkv`` for FFV1 without loss, ``.webm`` for VP9.

    Parameters
    ----------
    path : Path
        Where the film is to appear; until it is finished, it grows beside it under a ``.part`` name.
    info : SourceInfo
        Of the frames; its rate, colour tags, pixel aspect and title go into the file.
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
        Copy the sound of ``info.origin``, if it has any.
    overwrite : bool
        Whether a file of that name may be replaced.
    keep_partial : bool
        Keep what there is, playable under its ``.part`` name, when the sink is aborted; MP4 and MOV are then written
        in fragments, so that even the file of a killed process plays.

    Raises
    ------
    MissingExtraError
        If PyAV is not installed.
    ArgumentError
        If the name ends like no film, a file is there already, or the encoder cannot do what is asked.
    OutputError
        If the folder takes no files.

    Examples
    --------
    >>> FilmSink(Path("film.xyz"), SourceInfo("film", (48, 64, 3), np.dtype("uint8")))
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'film.xyz' does not end like a film; take one of .avi, .m4v, .mkv, .mov, .mp4,
    .mpeg, .mpg, .webm, .wmv
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
    ) -> None:
        kind = CONTAINERS.get(path.suffix.lower())
        if kind is None:
            raise ArgumentError(f"{path.name!r} does not end like a film; take one of {', '.join(CONTAINERS)}")
        av = require("av", "writing film", "video")
        if info.dtype not in (np.uint8, np.uint16):
            raise DtypeError(f"film holds uint8 or uint16, not {info.dtype}; scale the frames to one of them")
        self.path, self.info = path, info
        self._keep_partial = keep_partial
        self._rate = info.rate or Fraction(25)
        name = choose_encoder(codec or kind.codec, self._rate)
        available = [known.name for known in av.Codec(name, "w").video_formats or []]
        format_name = pixel_format or choose_pixel_format(name, available, info)
        if info.colours == "ycbcr" and PixelFormat(format_name).colours != "ycbcr":
            raise ArgumentError(f"pixel_format={format_name!r} holds no Y'CbCr; open the source with colours='rgb'")
        self._writer = FrameWriter(info, format_name, quick=quick)
        # A whole part of a frame, so that a steady rate stays one.
        finer = 1 if kind.is_steady else max(1, int(_FINEST / self._rate))
        self._time_base = 1 / (self._rate * finer)
        self._is_steady = kind.is_steady
        self._last_tick = -1
        self._sound: Soundtrack | None = None
        self._unfinished = Unfinished(path, overwrite=overwrite)
        self._container: Any = None
        try:
            with self._explain():
                movflags = dict(kind.partial) if keep_partial else {}
                # Not by its name: FFmpeg does not always tell that a disk has taken only a part of what it wrote.
                self._container = av.open(
                    self._unfinished.open(quiet=True),
                    "w",
                    format=kind.name,
                    container_options=movflags,
                    buffer_size=_PIECE_PARTIAL if keep_partial else _PIECE,
                )
                settings = {**choose_options(name, quality, preset), **(options or {})}
                self._stream = self._add_stream(name, format_name, settings)
                for key in ("title", "artist", "comment", "description", "date", "copyright"):
                    if isinstance(value := info.metadata.get(key), str):
                        self._container.metadata[key] = value
                if audio and info.has_audio and info.origin is not None:
                    self._sound = Soundtrack(info.origin, self._container, path)
        except BaseException:
            self.abort()
            raise

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
        context.time_base = self._time_base
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
            full = tags.full_range or self._writer.format.is_full_range
            context.color_range = 2 if full else 1 if converted or tags.full_range is not None else 0
        context.color_primaries, context.color_trc = tags.primaries, tags.transfer
        # Else an encoder would say only at the first frame what it does not take.
        context.open(strict=False)
        return stream

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        made = self._writer.write(frame)
        made.pts, made.time_base = self._choose_tick(frame), self._time_base
        with self._explain():
            if self._sound is not None:
                self._sound.copy_until(frame.time)
            self._container.mux(self._stream.encode(made))

    def _choose_tick(self, frame: Frame) -> int:
        """Return when a frame is shown, in units of the time base, after the frame before."""
        place = Fraction(frame.time) * self._rate
        nearest = round(place)
        if self._is_steady or abs(place - nearest) < _ROUNDED:
            tick = round(nearest / (self._rate * self._time_base))
        else:
            tick = round(Fraction(frame.time) / self._time_base)
        self._last_tick = max(tick, self._last_tick + 1)
        return self._last_tick

    def _finish(self) -> None:
        with self._explain():
            self._complete(with_sound=True)
        self._unfinished.place()

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
            (self._unfinished.keep if keep else self._unfinished.remove)()

    @contextlib.contextmanager
    def _explain(self) -> Iterator[None]:
        """Turn what FFmpeg says into one line."""
        import av

        try:
            yield
            self._unfinished.check()
        except SubbandError:
            raise
        except (av.FFmpegError, OSError) as error:
            self._unfinished.check()
            if isinstance(error, OSError) and error.errno is not None and error.errno < 1000 and error.errno != 22:
                raise explain_output_error(self.path, error) from error
            raise ArgumentError(
                f"{self.path.name!r} cannot be written with {self._writer.format.name} frames of "
                f"{self.info.shape[1]} × {self.info.shape[0]} at {float(self._rate):.5g} per second: {error}"
            ) from error
