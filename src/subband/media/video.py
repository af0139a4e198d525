"""Video as frames, decoded by PyAV and the FFmpeg that it brings."""

from __future__ import annotations

import contextlib
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.base import Colours, Frame, Source, SourceInfo
from subband.media.faults import DamagedError, DamageWarning, require
from subband.media.limits import choose_most_pixels, refuse_bomb
from subband.media.video_extent import MICROSECONDS, Extent
from subband.media.video_fields import find_first_field
from subband.media.video_index import FrameIndex, guess_index, read_index
from subband.media.video_pixels import FrameReader
from subband.media.video_streams import (
    choose_alpha_decoder,
    choose_stream,
    find_field_order,
    has_audio,
    has_extras,
    read_metadata,
    read_tags,
)

__all__ = ["FilmSource", "find_start", "open_container"]

# Decoders otherwise conceal what is damaged, and say so only in a log.
_STRICT = {"err_detect": "crccheck+bitstream+buffer+explode"}

#: Times that are tried to find a frame: that of the nearest keyframe, and some before it.
_MOST_KEYS = 20

#: Frames before one that was sought that are kept as they were decoded, for steps back.
_MOST_PASSED = 8


def open_container(path: Path | str, **options: Any) -> Any:
    """Open a video with PyAV, and say clearly what is wrong with it.

    Raises
    ------
    MissingExtraError
        If PyAV is not installed.
    FileNotFoundError
        If there is no such file.
    FormatError
        If it is none that FFmpeg reads.
    """
    av = require("av", "reading video", "video")
    if isinstance(path, Path):
        if path.is_dir():
            raise ArgumentError(f"{str(path)!r} is a folder; give the name of a video in it")
        # Asked here, so that the error is Python's own.
        path.open("rb").close()
    try:
        return av.open(str(path), metadata_errors="replace", **options)
    except av.FFmpegError as error:
        raise FormatError(
            f"{str(path)!r} cannot be read as a video: {error.strerror}; it is in no format that FFmpeg reads, or the "
            "part of it that holds the index is missing"
        ) from error


def find_start(container: Any) -> Fraction:
    """Return the time at which a file begins, in seconds; program streams do not begin at 0."""
    return Fraction(container.start_time or 0, MICROSECONDS)


class FilmSource(Source):
    """The frames of a video.

    Frames come turned as the camera was held, and their times count from the beginning of the file.

    Parameters
    ----------
    path : Path or str
        A file, or an address that FFmpeg understands.
    colours : {"rgb", "ycbcr"}
        Red, green and blue, or the Y'CbCr of the file as it stands; see `subband.media.video_pixels`. Grey video and
        video of red, green and blue come as what they are.
    quick : bool
        Convert to red, green and blue with less care, ten times as fast.
    tolerant : bool
        Go on after damage with what the decoder makes of it, and scale frames of another size to the first; one
        warning says so. Else, damage ends the video with an error after the frames before it.
    most_pixels : int, optional
        Rows × columns of a frame; see `subband.media.limits`.
    threads : int
        Of the decoder; 0 lets it choose.
    container : optional
        An open container of PyAV to read instead; for cameras.

    Raises
    ------
    MissingExtraError, FileNotFoundError, FormatError
        As `open_container` says; also if there is no video in the file.

    Notes
    -----
    Decoders of VP9 and FFV1 conceal damage inside a frame without telling, and raw video has nothing to check. A file
    that ends too early is found out where the container says how long it is: not in program streams, and not in
    every WMV, when they end between two frames.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        colours: Literal["rgb", "ycbcr"] = "rgb",
        quick: bool = False,
        tolerant: bool = False,
        most_pixels: int | None = None,
        threads: int = 0,
        container: Any = None,
    ) -> None:
        if colours not in ("rgb", "ycbcr"):
            raise ArgumentError(f"colours={colours!r} is neither 'rgb' nor 'ycbcr'")
        self._path = path
        self._colours: Colours = colours
        self._quick = quick
        self._tolerant = tolerant
        self._most_pixels = choose_most_pixels(most_pixels)
        self._container = open_container(path) if container is None else container
        self._readers: dict[str, FrameReader] = {}
        self._damage = ""
        self._count = 0
        self._is_scaled = False
        self._is_skipped = False
        self._index: FrameIndex | None = None
        self._passed: deque[Any] = deque(maxlen=_MOST_PASSED)
        try:
            self._stream = choose_stream(self._container, str(path))
            self._extent = Extent(self._container, self._stream)
            context = self._stream.codec_context
            if context is None:
                raise FormatError(f"{str(path)!r} was made with a codec that this FFmpeg does not have")
            refuse_bomb(str(path), context.height, context.width, self._most_pixels)
            self._stream.thread_type = "AUTO"
            context.thread_count = threads
            if not tolerant:
                context.options = _STRICT
            self._decoder = choose_alpha_decoder(self._stream)
            self._start = find_start(self._container)
            self._decoded = self._decode()
            self._first = self._decode_first()
            self.info = self._describe()
        except BaseException:
            self._container.close()
            raise

    def __iter__(self) -> Iterator[Frame]:
        first, self._first = self._first, None
        if first is None:
            raise ArgumentError(f"{str(self._path)!r} was walked through before; open it again")
        yield self._make_frame(first)
        for frame in self._decoded:
            yield self._make_frame(frame)
        if self._damage:
            message = f"{str(self._path)!r} {self._damage}"
            if not self._tolerant:
                raise DamagedError(f"{message}; tolerant=True reads on where that is possible", self._count)
            warnings.warn(f"{message}; {self._count} frames were read", DamageWarning, stacklevel=2)

    def skip_to(self, time: Fraction) -> bool:
        """Go to the last frame before a time, in seconds, from which decoding can begin; tell whether that was done.

        Frames are then counted as if those before followed each other at the rate of the video. Only files with an
        index are skipped in.
        """
        import av

        has_index = self._container.format.name.startswith(("mov", "matroska"))
        if self._first is None or self._decoder is not None or not has_index or not self.info.rate:
            return False
        try:
            self._container.seek(int((time + self._start) * MICROSECONDS))
        except av.FFmpegError:
            return False
        self._is_skipped = True
        self._decoded = self._decode()
        self._first = self._decode_first()
        shown = self._first.pts * Fraction(self._first.time_base) - self._start if self._first.pts is not None else time
        self._count = round(shown * self.info.rate)
        return True

    def go_to(self, number: int, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Let a frame be the next one when the video is walked through anew; tell whether that was done.

        Decoding begins at the last frame before it that needs no other. Where the header of the file does not say when
        its frames are shown, all its packets are read for that, once. Some say it nowhere, and addresses, cameras and
        video with opacity are not sought in. `is_wanted` is asked now and then on the way whether to go on.
        """
        if self._decoder is not None or not isinstance(self._path, Path):
            return False
        if self._index is None and (guess := guess_index(self._stream)) is not None:
            if self._find(number, guess, is_wanted):
                return True
            if not is_wanted():
                return False
        if self._index is None:
            self._index = self._read_index(self._path)
        return self._find(number, self._index, is_wanted)

    def _read_index(self, path: Path) -> FrameIndex:
        """Return the index of the file, which is empty if nothing can be sought in it."""
        import av

        with contextlib.suppress(av.FFmpegError), open_container(path) as other:
            return read_index(other, other.streams[self._stream.index]) or FrameIndex([], [])
        return FrameIndex([], [])

    def _find(self, number: int, index: FrameIndex, is_wanted: Callable[[], bool]) -> bool:
        """Decode the frame of a number; False if there is none at its time."""
        import av

        if not 0 <= number < len(index.times):
            return False
        target = index.times[number]
        self._is_skipped = True
        for key in islice(index.find_keys(number), _MOST_KEYS):
            try:
                self._container.seek(key, stream=self._stream)
            except av.FFmpegError:
                return False
            self._decoded = self._decode()
            self._passed.clear()
            # some containers go by the times of decoding, and to a frame that is shown after the one that is meant
            first = self._walk_to(target, is_wanted)
            if first is not None and first.pts == target:
                self._first, self._count = first, number
                return True
            if not is_wanted():
                return False
        return False

    def _walk_to(self, target: int, is_wanted: Callable[[], bool]) -> Any:
        """Return the first frame that is shown at a time or later; the last ones before it are kept for a look back."""
        for count, frame in enumerate(self._decoded, 1):
            if frame.pts is None or frame.pts >= target:
                return frame
            self._passed.append(frame)
            if count % _MOST_PASSED == 0 and not is_wanted():
                break
        return None

    def look_back(self, number: int) -> Frame | None:
        """Return one of the few frames before the one that `go_to` went to, which were decoded for it; else None."""
        index = self._index or guess_index(self._stream)
        if index is None or not self._passed or not 0 <= number < len(index.times):
            return None
        found = next((frame for frame in self._passed if frame.pts == index.times[number]), None)
        if found is None:
            return None
        count, self._count = self._count, number
        made = self._make_frame(found)
        self._count = count
        return made

    @property
    def damage(self) -> str:
        """What is wrong with the file, as far as it was read; empty if nothing is."""
        return f"{str(self._path)!r} {self._damage}" if self._damage else ""

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def _decode(self) -> Iterator[Any]:
        """Walk through decoded frames, up to the damage unless it is tolerated."""
        import av

        packets = self._container.demux(self._stream)
        corrupt = False
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                break
            except av.FFmpegError as error:
                self._damage = f"is damaged after frame {self._count}: {error.strerror}"
                return
            self._extent.note_packet(packet)
            corrupt = corrupt or packet.is_corrupt
            try:
                frames = packet.decode() if self._decoder is None else self._decode_opacity(packet)
            except av.FFmpegError as error:
                self._damage = self._damage or f"is damaged after frame {self._count}: {error.strerror}"
                if self._tolerant:
                    continue
                return
            for frame in frames:
                if frame.is_corrupt:
                    self._damage = self._damage or f"is damaged at frame {self._count}"
                    if not self._tolerant:
                        return
                self._extent.note_frame(frame)
                yield frame
        if not self._damage:
            if not self._is_skipped and self._extent.is_short:
                self._damage = (
                    f"ends too early, after {self._count} frames; the file says {self._extent.tell_expected()}"
                )
            elif corrupt:
                self._damage = f"is cut off or damaged after {self._count} frames"

    def _decode_opacity(self, packet: Any) -> list[Any]:
        # the last packet is empty, and asks for what is left
        return list(self._decoder.decode(packet if packet.size else None))

    def _decode_first(self) -> Any:
        first = next(self._decoded, None)
        if first is None:
            raise FormatError(
                f"{str(self._path)!r} holds no frame that can be decoded; it {self._damage or 'is empty'}"
            )
        return first

    def _describe(self) -> SourceInfo:
        stream, first = self._stream, self._first
        context = stream.codec_context
        reader = self._get_reader(first)
        pixels = self._read_pixels(first)[0]
        rate, duration = self._extent.rate, self._extent.find_duration()
        aspect = Fraction(stream.sample_aspect_ratio or 1) or Fraction(1)
        return SourceInfo(
            kind="film",
            shape=pixels.shape,
            dtype=pixels.dtype,
            colours=reader.colours,
            bits=reader.format.bits,
            rate=rate,
            count=stream.frames or (round(duration * rate) if duration and rate else None),
            duration=float(duration) if duration is not None else None,
            has_alpha=reader.has_alpha,
            has_audio=has_audio(self._container),
            has_extras=has_extras(self._container),
            origin=self._path if isinstance(self._path, Path) else None,
            container=self._container.format.name,
            codec=context.name,
            pixel_format=first.format.name,
            tags=read_tags(first),
            chroma_steps=self._find_steps(first, reader),
            field_order=find_field_order(stream, first),
            time_base=Fraction(stream.time_base) if stream.time_base else None,
            pixel_aspect=1 / aspect if first.rotation % 180 else aspect,
            metadata=MappingProxyType(read_metadata(self._container, stream, first)),
        )

    def _find_steps(self, frame: Any, reader: FrameReader) -> tuple[int, int]:
        if reader.colours != "ycbcr":
            return (1, 1)
        down, across = reader.format.steps
        return (across, down) if frame.rotation % 180 else (down, across)

    def _get_reader(self, frame: Any) -> FrameReader:
        name = frame.format.name
        if name not in self._readers:
            self._readers[name] = FrameReader(name, read_tags(frame), frame.height, self._colours, quick=self._quick)
        return self._readers[name]

    def _read_pixels(self, frame: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
        """Return pixels and their opacity, upright."""
        pixels, alpha = self._get_reader(frame).read(frame)
        turns = round(frame.rotation / 90) % 4
        if turns:
            pixels = np.ascontiguousarray(np.rot90(pixels, turns))
            alpha = None if alpha is None else np.ascontiguousarray(np.rot90(alpha, turns))
        return pixels, alpha

    def _make_frame(self, frame: Any) -> Frame:
        pixels, alpha = self._read_pixels(frame)
        if pixels.shape != self.info.shape:
            frame, pixels, alpha = self._fit_size(frame, pixels)
        rate = self.info.rate or Fraction(25)
        time = self._count / rate if frame.pts is None else frame.pts * Fraction(frame.time_base) - self._start
        made = Frame(pixels, self._count, float(time), alpha, self._describe_fields(frame))
        self._count += 1
        return made

    def _describe_fields(self, frame: Any) -> Mapping[str, Any]:
        """Say of an interlaced frame which field comes first."""
        if not frame.interlaced_frame or frame.rotation % 360:
            return {}
        if self.info.field_order != "progressive":
            return {"fields": self.info.field_order}
        return {"fields": find_first_field(frame)}

    def _fit_size(self, frame: Any, pixels: Any) -> tuple[Any, Any, Any]:
        """Scale a frame that is unlike the first, or refuse it."""
        rows, columns = self.info.shape[:2]
        if pixels.ndim != len(self.info.shape):
            raise DamagedError(
                f"{str(self._path)!r} changes between grey and colour at frame {self._count}", self._count
            )
        message = (
            f"{str(self._path)!r} changes its size at frame {self._count}, from {columns} × {rows} "
            f"to {pixels.shape[1]} × {pixels.shape[0]}"
        )
        if not self._tolerant:
            raise DamagedError(f"{message}; cut it there, or pass tolerant=True to scale such frames", self._count)
        if not self._is_scaled:
            warnings.warn(f"{message}; such frames are scaled", DamageWarning, stacklevel=4)
        self._is_scaled = True
        refuse_bomb(str(self._path), frame.height, frame.width, self._most_pixels)
        upright = (columns, rows) if frame.rotation % 180 == 0 else (rows, columns)
        scaled = frame.reformat(width=upright[0], height=upright[1])
        return scaled, *self._read_pixels(scaled)
