"""Radiance HDR, whose pixels share one exponent for three colours, as FFmpeg reads it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from subband.media.faults import explain_damage, require
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.still import Still

__all__ = ["FORMATS", "read_radiance"]


def read_radiance(path: Path, most_pixels: int) -> Still:
    """Read a Radiance HDR file: float32, linear as it stands.

    Raises
    ------
    MissingExtraError
        If PyAV is not installed.
    FormatError
        If it is damaged, or larger than `most_pixels`.
    """
    av = require("av", f"reading {path.name!r}, an image in Radiance HDR,", "video")
    with (
        explain_damage(path, "Radiance HDR", av.FFmpegError, StopIteration),
        av.open(BytesIO(path.read_bytes()), format="hdr_pipe") as container,
    ):
        context = container.streams.video[0].codec_context
        refuse_bomb(str(path), context.height, context.width, most_pixels)
        return Still(np.ascontiguousarray(next(container.decode(video=0)).to_ndarray(format="gbrpf32le")))


FORMATS = (
    Format(
        "Radiance HDR",
        (".hdr",),
        ("still",),
        dtypes=("float32",),
        extra="video",
        starts=(b"#?RADIANCE", b"#?RGBE"),
        read=read_radiance,
    ),
)
