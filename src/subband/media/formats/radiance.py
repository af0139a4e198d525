"""Radiance HDR, whose pixels share one exponent for three colours, as FFmpeg reads it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from subband.errors import FormatError
from subband.media.faults import BROKEN, require
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
    try:
        with av.open(BytesIO(path.read_bytes()), format="hdr_pipe") as container:
            context = container.streams.video[0].codec_context
            refuse_bomb(str(path), context.height, context.width, most_pixels)
            return Still(np.ascontiguousarray(next(container.decode(video=0)).to_ndarray(format="gbrpf32le")))
    except FormatError:
        raise
    except (av.FFmpegError, StopIteration, *BROKEN) as error:
        reason = error if str(error) else "there is no image in it"
        raise FormatError(f"{str(path)!r} cannot be read as Radiance HDR: {reason}") from error


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
