"""Video whose frames are JPEG 2000 or HTJ2K by our own codec, in containers of FFmpeg: Motion JPEG 2000, MXF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from subband.codecs.jpeg2000 import encode
from subband.codecs.jpeg2000.boxes import SIGNATURE, pack_box
from subband.errors import ArgumentError
from subband.media.base import Frame, SourceInfo
from subband.media.video_pixels import PixelFormat, view_plane
from subband.media.video_sink import FilmSink
from subband.typing import Array

__all__ = ["Jpeg2000FilmSink", "split_frame"]

# Where FFmpeg's planes of red, green, blue and opacity are.
_RGB_PLANES = (2, 0, 1, 3)

# Formats of 16 bits, without and with opacity.
_DEEP = {
    ("grey", False): "gray16le",
    ("grey", True): "ya16le",
    ("rgb", False): "rgb48le",
    ("rgb", True): "rgba64le",
}

# Settings that ask for a part of the file, or that frames of video have no use for.
_REFUSED = ("size", "origin", "tile_origin", "roi")


class Jpeg2000FilmSink(FilmSink):
    """Frames as JPEG 2000, without a loss unless `settings` say otherwise.

    Parameters
    ----------
    path : Path
        Where the video is to appear: ``.mj2``, ``.mxf``, ``.mov`` or ``.mkv``.
    info : SourceInfo
        Of the frames. Y'CbCr is kept as it is; red, green and blue is coded as such.
    settings : mapping, optional
        How each frame is encoded; see `subband.codecs.jpeg2000.Settings`. ``{"ht": True}`` is HTJ2K.
    **options
        As in `subband.media.FilmSink`.

    Raises
    ------
    ArgumentError, DtypeError, OutputError, MissingExtraError
        If the settings or frames cannot be, a file is there already, or PyAV is not installed.
    """

    def __init__(
        self, path: Path, info: SourceInfo, *, settings: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        self._settings = dict(settings or {})
        for name in _REFUSED:
            if self._settings.get(name) is not None:
                raise ArgumentError(f"{name} is for images, not for the frames of a video; leave it out")
        if info.colours != "ycbcr" and info.dtype.itemsize > 1:
            # FFmpeg's decoder shifts fewer bits to 16, and white would not be white any more
            options.setdefault("pixel_format", _DEEP[info.colours, info.has_alpha])
        super().__init__(path, info, codec="jpeg2000", **options)
        # MXF holds codestreams, and others whole files, whose boxes tell Y'CbCr from red, green and blue; where chroma
        # is as fine as brightness, nothing else does
        pixel_format = self._writer.format
        is_boxed = self._kind.muxer != "mxf" or (pixel_format.colours == "ycbcr" and pixel_format.steps == (1, 1))
        form = "jph" if self._settings.get("ht") else "jp2"
        self._settings["form"] = form if is_boxed else "j2k"

    def _encode(self, frame: Frame, time: int) -> Any:
        from av import Packet

        pixel_format = self._writer.format
        planes = split_frame(self._writer.write(frame), pixel_format)
        steps = [(1, 1)] * len(planes)
        if pixel_format.colours == "ycbcr":
            steps[1:3] = [pixel_format.steps] * 2
        own: dict[str, Any] = {"bits": pixel_format.bits, "subsampling": steps, "alpha": pixel_format.has_alpha}
        own["space"] = {"grey": "grey", "rgb": "rgb", "ycbcr": "ycc"}[pixel_format.colours]
        if pixel_format.colours == "ycbcr":
            own["colour"] = False
        packet = Packet(encode(planes, **own | self._settings))
        packet.stream, packet.time_base, packet.is_keyframe = self._stream, self._clock.time_base, True
        packet.pts = packet.dts = time
        return [packet]

    def _complete_head(self, part: Path) -> None:
        super()._complete_head(part)
        if self._kind.codec == "jpeg2000":
            _mark_motion(part)


def split_frame(frame: Any, pixel_format: PixelFormat) -> list[Array]:
    """Return the components of one of FFmpeg's frames: grey, or three colours, and opacity."""
    dtype = pixel_format.dtype
    if len(frame.planes) == 1:
        count = (1 if pixel_format.colours == "grey" else 3) + pixel_format.has_alpha
        flat = view_plane(frame.planes[0], dtype, count)
        whole = flat.reshape(frame.height, frame.width, count)
        return [np.ascontiguousarray(whole[..., channel]) for channel in range(count)]
    planes = [np.array(view_plane(plane, dtype)) for plane in frame.planes]
    if frame.format.name.startswith("gbr"):
        return [planes[number] for number in _RGB_PLANES[: len(planes)]]
    return planes


def _mark_motion(part: Path) -> None:
    """Begin a file as Motion JPEG 2000 begins, which FFmpeg writes as QuickTime: with a signature and its own brand.

    Both take the room of QuickTime's brand and of the empty box behind it, so that nothing else moves.
    """
    head = SIGNATURE + pack_box("ftyp", b"mjp2" + bytes(4))
    with part.open("r+b") as file:
        start = file.read(len(head))
        if start[4:12] == b"ftypqt  " and start[-4:] == b"wide":
            file.seek(0)
            file.write(head)
