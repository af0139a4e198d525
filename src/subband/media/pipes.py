"""Video through pipes, frame by frame: Y4M, which says what it holds, and raw frames, of which it has to be said.

Frames are handed on as they come: a program before this one may still be working, and one behind it begins at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, Literal

from subband.errors import ArgumentError, FormatError
from subband.media.base import Sink, Source, SourceInfo
from subband.media.cuts import CutSource, Trim
from subband.media.faults import require
from subband.media.formats.base import Format
from subband.media.formats.lookup import find_format
from subband.media.video import FilmSource
from subband.media.video_formats import RAW, VideoFormat
from subband.media.video_sink import FilmSink

__all__ = ["PipeFormat", "open_pipe_sink", "open_pipe_source"]

_SIZE = re.compile(r"(\d+)[x×](\d+)")


@dataclass(frozen=True)
class PipeFormat:
    """What goes through a pipe.

    Attributes
    ----------
    ending : str
        That a file of the kind would have, such as ``".png"``; ``".raw"`` for raw frames.
    pixel_format : str
        Of raw frames, in FFmpeg's words.
    size : tuple of int or None
        Columns and rows of raw frames.

    Examples
    --------
    >>> from subband.media import PipeFormat
    >>> PipeFormat.read("y4m").is_streamed, PipeFormat.read("png").is_streamed
    (True, False)
    >>> PipeFormat.read("raw:yuv420p:640x480").size
    (640, 480)
    """

    ending: str
    pixel_format: str = ""
    size: tuple[int, int] | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether frames are handed on as they come."""
        return isinstance(self.form, VideoFormat) and self.form.is_streamed

    @property
    def form(self) -> Format | None:
        """The file format; that of raw frames, which no file has, is known here only."""
        return RAW if self.ending == ".raw" else find_format(f"pipe{self.ending}")

    @classmethod
    def read(cls, text: str) -> PipeFormat:
        """Read ``y4m``, ``raw:PIXELS:WIDTHxHEIGHT``, or the ending of a file.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        name, *more = text.strip().lstrip(".").split(":")
        if name.lower() != "raw":
            if more or not re.fullmatch(r"[\w.]+", name):
                raise ArgumentError(f"{text!r} is no format; use such as y4m, png or raw:yuv420p:640x480")
            return cls(f".{name.lower()}")
        size = None
        pixel_format = ""
        for word in more:
            if (match := _SIZE.fullmatch(word)) is not None:
                size = (int(match[1]), int(match[2]))
            else:
                pixel_format = _check_pixel_format(word)
        return cls(".raw", pixel_format, size)


def open_pipe_source(
    file: IO[bytes],
    format: PipeFormat,  # noqa: A002 - what it is
    *,
    colours: Literal["rgb", "ycbcr"] = "rgb",
    rate: Fraction | float | None = None,
    trim: Trim | str | None = None,
    most_pixels: int | None = None,
) -> Source:
    """Open video that comes through a pipe.

    Parameters
    ----------
    file : binary file
        Such as ``sys.stdin.buffer``; it need not be seekable.
    format : PipeFormat
        Y4M or raw frames.
    colours, rate, trim, most_pixels
        As in `subband.media.open_source`; raw frames have 25 in a second if nothing is said.

    Raises
    ------
    ArgumentError
        If raw frames are of no known size or pixel format.
    FormatError
        If it holds no video.
    """
    av = require("av", "reading video", "video")
    # the format says all there is to know: nothing is read ahead to find it out
    options = {"probesize": "32", "analyzeduration": "0", "fpsprobesize": "0"}
    if not isinstance(format.form, VideoFormat) or not format.is_streamed:
        raise ArgumentError(f"{format.ending[1:]} does not pass through a pipe frame by frame; use y4m or raw frames")
    if format.form is RAW:
        if format.size is None or not format.pixel_format:
            raise ArgumentError("raw frames do not say what they are; write the format as raw:yuv420p:640x480")
        options |= {
            "video_size": f"{format.size[0]}x{format.size[1]}",
            "pixel_format": format.pixel_format,
            "framerate": str(Fraction(rate or 25).limit_denominator(1001)),
        }
    try:
        container = av.open(_Readable(file), format=format.form.muxer, options=options)
    except av.FFmpegError as error:
        raise FormatError(f"what comes through the pipe is no {format.ending[1:]} video: {error.strerror}") from error
    source: Source = FilmSource("-", colours=colours, most_pixels=most_pixels, container=container)
    part = Trim.read(trim) if isinstance(trim, str) else trim
    pace = None if format.form is RAW else rate
    return source if part is None and pace is None else CutSource(source, part, pace)


def open_pipe_sink(
    file: IO[bytes],
    format: PipeFormat,  # noqa: A002 - what it is
    info: SourceInfo,
    **options: Any,
) -> Sink:
    """Open a pipe for video.

    Parameters
    ----------
    file : binary file
        Such as ``sys.stdout.buffer``.
    format : PipeFormat
        Y4M or raw frames.
    info : SourceInfo
        Of the frames.
    **options
        More for `FilmSink`.
    """
    chosen = {"pixel_format": format.pixel_format} if format.pixel_format else {}
    return FilmSink(Path(f"pipe{format.ending}"), info, pipe=file, audio=False, **{**options, **chosen})


def _check_pixel_format(name: str) -> str:
    require("av", "raw video", "video")
    from av.video.format import VideoFormat

    try:
        return str(VideoFormat(name).name)
    except ValueError:
        raise ArgumentError(f"{name!r} is neither a size such as 640x480 nor a pixel format such as yuv420p") from None


class _Readable:
    """A file that gives what there is, instead of waiting until a buffer is full."""

    def __init__(self, file: IO[bytes]) -> None:
        self._read = getattr(file, "read1", file.read)

    def read(self, size: int) -> bytes:
        return bytes(self._read(size))
