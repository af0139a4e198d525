"""Sound, subtitles and chapters, copied from one video to another without decoding them."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from subband.errors import ArgumentError
from subband.media.faults import LossWarning
from subband.media.video import find_start, open_container

__all__ = ["Soundtrack"]

# Of errors that are FFmpeg's own and not those of the operating system.
_OWN_NUMBERS = 1000

# What containers hold that accept more than they can write.
_SUBTITLES = {
    "matroska": ("ass", "dvb_subtitle", "dvd_subtitle", "hdmv_pgs_subtitle", "ssa", "subrip", "text", "webvtt"),
    "mov": ("mov_text",),
    "mp4": ("dvd_subtitle", "mov_text"),
    "mpegts": ("dvb_subtitle", "dvb_teletext"),
    "webm": ("webvtt",),
}
_WITH_CHAPTERS = ("asf", "matroska", "mov", "mp4", "webm")
_WITH_ATTACHMENTS = ("matroska",)


class Soundtrack:
    """What a video has beside its images, handed on packet by packet as the images go.

    The file is opened a second time, so that neither the images nor the sound ever wait in memory. Languages, titles
    and what each stream is for go with them. Subtitles, chapters and attachments that the other kind of file does not
    take are left out with a `LossWarning`; sound is refused, because nobody wants a silent video by surprise.

    Parameters
    ----------
    origin : Path
        The video with the sound.
    output : av.container.OutputContainer
        The video to be, not begun yet.
    path : Path
        The name of the video to be, for messages.
    audio : bool
        Whether sound is copied.
    span : tuple of Fraction
        First second that is copied, and the end, or None for that of the file.

    Raises
    ------
    ArgumentError
        If that kind of file does not take this kind of sound.
    """

    def __init__(
        self,
        origin: Path,
        output: Any,
        path: Path,
        *,
        audio: bool = True,
        span: tuple[Fraction, Fraction | None] = (Fraction(0), None),
    ) -> None:
        self._container = open_container(origin)
        self._output = output
        self._start = find_start(self._container) + span[0]
        self._is_whole = span[0] == 0
        self._length = None if span[1] is None else span[1] - span[0]
        self._streams: dict[int, Any] = {}
        try:
            for stream in self._container.streams.audio if audio else ():
                self._streams[stream.index] = self._add_sound(stream, origin, path)
            lost = [*self._add_subtitles(), *self._add_attachments(), *self._add_chapters()]
            if lost:
                warnings.warn(
                    f"{path.name!r} cannot hold {', '.join(lost)} of {origin.name!r}, which are left out",
                    LossWarning,
                    stacklevel=3,
                )
            if self._streams:
                self._begin(origin, path)
        except BaseException:
            self._container.close()
            raise
        self._packets = self._walk()
        self._next = next(self._packets, None)

    def _add_sound(self, stream: Any, origin: Path, path: Path) -> Any:
        name = stream.codec_context.name
        if name not in self._output.supported_codecs:
            raise _refuse(path, origin, name)
        try:
            added = self._add_stream(stream)
        except ValueError as error:
            raise _refuse(path, origin, name) from error
        layout = stream.codec_context.layout
        is_unnamed = any(channel.name == "NONE" for channel in layout.channels)
        if is_unnamed and name.startswith("pcm_") and self._output.format.name == "mp4":
            # MP4 wants to know which channel is which, and says so only when the video is complete.
            if layout.nb_channels > 2:
                raise _refuse(path, origin, f"{name} of {layout.nb_channels} channels without names")
            added.codec_context.layout = "stereo" if layout.nb_channels == 2 else "mono"
        return added

    def _add_stream(self, stream: Any) -> Any:
        """Add a stream like one of the source, with what it says about itself."""
        added = self._output.add_stream_from_template(stream)
        for key in ("language", "title"):
            if key in stream.metadata:
                added.metadata[key] = stream.metadata[key]
        added.disposition = int(stream.disposition)
        return added

    def _add_subtitles(self) -> list[str]:
        """Add the streams of subtitles that fit, and name the others."""
        lost = []
        known = _SUBTITLES.get(self._output.format.name, ())
        for stream in self._container.streams.subtitles:
            name = "" if stream.codec_context is None else stream.codec_context.name
            # decoders and encoders of the same kind have different names
            if {"srt": "subrip", "dvbsub": "dvb_subtitle", "dvdsub": "dvd_subtitle", "pgssub": "hdmv_pgs_subtitle"}.get(
                name, name
            ) not in known:
                lost.append(f"subtitles ({name or 'unknown'})")
                continue
            try:
                self._streams[stream.index] = self._add_stream(stream)
            except ValueError:
                lost.append(f"subtitles ({name})")
        return lost

    def _add_attachments(self) -> list[str]:
        """Add fonts and the like."""
        found = [stream for stream in self._container.streams if stream.type == "attachment"]
        if self._output.format.name not in _WITH_ATTACHMENTS:
            return ["attachments"] if found else []
        for stream in found:
            self._output.add_stream_from_template(stream)
        return []

    def _add_chapters(self) -> list[str]:
        found = self._container.chapters()
        if found and self._output.format.name not in _WITH_CHAPTERS:
            return ["chapters"]
        kept = []
        for chapter in found:
            unit = Fraction(chapter["time_base"])
            begin, end = (max(Fraction(0), chapter[key] * unit - self._start) for key in ("start", "end"))
            if self._length is not None:
                end = min(end, self._length)
            if begin < end:
                kept.append({**chapter, "start": round(begin / unit), "end": round(end / unit)})
        if kept:
            self._output.set_chapters(kept)
        return []

    def _begin(self, origin: Path, path: Path) -> None:
        """Write the head of the file, where containers find out what they cannot hold, before the first frame."""
        import av

        try:
            self._output.start_encoding()
        except av.FFmpegError as error:
            if error.errno is not None and error.errno != errno.EINVAL and error.errno < _OWN_NUMBERS:
                raise
            names = ", ".join(sorted({stream.codec_context.name for stream in self._container.streams.audio}))
            raise _refuse(path, origin, names) from error

    def _walk(self) -> Iterator[Any]:
        import av

        copied = [stream for stream in self._container.streams if stream.index in self._streams]
        try:
            for packet in self._container.demux(copied) if copied else ():
                if packet.dts is None:
                    continue
                time = packet.dts * Fraction(packet.time_base) - self._start
                # an encoder's first packet may lie before the beginning, and belongs to the file
                if (time >= 0 or self._is_whole) and (self._length is None or time < self._length):
                    yield packet
        except av.FFmpegError:
            # The images of the same file end here as well, and tell.
            return

    def copy_until(self, time: float | None) -> None:
        """Hand on what is to be heard up to a time in seconds, or all of it."""
        while self._next is not None:
            packet = self._next
            if time is not None and packet.dts * Fraction(packet.time_base) - self._start > Fraction(time):
                return
            shift = round(self._start / Fraction(packet.time_base))
            packet.dts -= shift
            if packet.pts is not None:
                packet.pts -= shift
            packet.stream = self._streams[packet.stream_index]
            self._output.mux(packet)
            self._next = next(self._packets, None)

    def close(self) -> None:
        """Close the video with the sound."""
        self._container.close()


def _refuse(path: Path, origin: Path, name: str) -> ArgumentError:
    other = ".avi" if path.suffix.lower() == ".mkv" else ".mkv"
    return ArgumentError(
        f"{path.name!r} cannot hold the sound of {origin.name!r}, which is {name}; take a name that ends in {other}, "
        "or leave the sound out with audio=False"
    )
