"""Sound, copied from one film to another without decoding it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from subband.errors import ArgumentError
from subband.media.film import find_start, open_container

__all__ = ["Soundtrack"]

# Of errors that are FFmpeg's own and not those of the operating system.
_OWN_NUMBERS = 1000


class Soundtrack:
    """The sound of a film, handed on packet by packet as the pictures go.

    The file is opened a second time, so that neither the pictures nor the sound ever wait in memory.

    Parameters
    ----------
    origin : Path
        The film with the sound.
    output : av.container.OutputContainer
        The film to be, not begun yet.
    path : Path
        The name of the film to be, for messages.

    Raises
    ------
    ArgumentError
        If that kind of file does not take this kind of sound.
    """

    def __init__(self, origin: Path, output: Any, path: Path) -> None:
        self._container = open_container(origin)
        self._output = output
        self._start = find_start(self._container)
        self._streams: dict[int, Any] = {}
        try:
            for stream in self._container.streams.audio:
                self._streams[stream.index] = self._add_stream(stream, origin, path)
            if self._streams:
                self._begin(origin, path)
        except BaseException:
            self._container.close()
            raise
        self._packets = self._walk()
        self._next = next(self._packets, None)

    def _add_stream(self, stream: Any, origin: Path, path: Path) -> Any:
        name = stream.codec_context.name
        if name not in self._output.supported_codecs:
            raise _refuse(path, origin, name)
        try:
            added = self._output.add_stream_from_template(stream)
        except ValueError as error:
            raise _refuse(path, origin, name) from error
        layout = stream.codec_context.layout
        is_unnamed = any(channel.name == "NONE" for channel in layout.channels)
        if is_unnamed and name.startswith("pcm_") and self._output.format.name == "mp4":
            # MP4 wants to know which channel is which, and says so only when the film is complete.
            if layout.nb_channels > 2:
                raise _refuse(path, origin, f"{name} of {layout.nb_channels} channels without names")
            added.codec_context.layout = "stereo" if layout.nb_channels == 2 else "mono"
        return added

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

        try:
            for packet in self._container.demux(self._container.streams.audio):
                if packet.dts is not None:
                    yield packet
        except av.FFmpegError:
            # The pictures of the same file end here as well, and tell.
            return

    def copy_until(self, time: float | None) -> None:
        """Hand on what is to be heard up to a time in seconds, or all of it."""
        while self._next is not None:
            packet = self._next
            if time is not None and packet.dts * Fraction(packet.time_base) - self._start > time:
                return
            shift = round(self._start / Fraction(packet.time_base))
            packet.dts -= shift
            if packet.pts is not None:
                packet.pts -= shift
            packet.stream = self._streams[packet.stream_index]
            self._output.mux(packet)
            self._next = next(self._packets, None)

    def close(self) -> None:
        """Let go of the film with the sound."""
        self._container.close()


def _refuse(path: Path, origin: Path, name: str) -> ArgumentError:
    other = ".avi" if path.suffix.lower() == ".mkv" else ".mkv"
    return ArgumentError(
        f"{path.name!r} cannot hold the sound of {origin.name!r}, which is {name}; take a name that ends in {other}, "
        "or leave the sound out with audio=False"
    )
