"""Y'CbCr of video into what holds red, green and blue: images, numbered series and volumes."""

from __future__ import annotations

from dataclasses import replace

from subband.media.base import Frame, Sink, SourceInfo
from subband.media.video_pixels import FrameReader, FrameWriter

__all__ = ["RgbSink", "describe_as_rgb"]


def describe_as_rgb(info: SourceInfo) -> SourceInfo:
    """Return what Y'CbCr is described as after its conversion.

    Examples
    --------
    >>> import numpy as np
    >>> describe_as_rgb(SourceInfo("film", (48, 64, 3), np.dtype("uint8"), "ycbcr", chroma_steps=(2, 2))).colours
    'rgb'
    """
    return replace(info, colours="rgb", chroma_steps=(1, 1))


class RgbSink(Sink):
    """Converts Y'CbCr, with the care of `FilmSource`, for a sink of red, green and blue.

    Work that measures noise needs the planes of a video as they are; only its results are converted.

    Parameters
    ----------
    sink : Sink
        Opened for what `describe_as_rgb` says.
    info : SourceInfo
        Of the Y'CbCr.
    """

    def __init__(self, sink: Sink, info: SourceInfo) -> None:
        self.path, self.info = sink.path, info
        self._sink = sink
        self._writer = FrameWriter(info, FrameWriter.choose_native(info))
        self._reader = FrameReader(self._writer.format.name, info.tags, info.shape[0], "rgb", quick=False)

    def _write(self, frame: Frame) -> None:
        self.info.check_frame(frame)
        pixels, _ = self._reader.read(self._writer.write(frame))
        self._sink.write(replace(frame, pixels=pixels))

    def _finish(self) -> None:
        self._sink.finish()

    def _abort(self) -> None:
        self._sink.abort()
