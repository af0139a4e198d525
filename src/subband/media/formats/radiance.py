"""Radiance HDR, whose pixels share one exponent for three colours, as FFmpeg reads it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np

from subband.errors import FormatError
from subband.media.faults import BROKEN, require
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.still import Still

__all__ = ["FORMATS", "is_radiance", "read_radiance"]

_STARTS: Final = (b"#?RADIANCE", b"#?RGBE")


def is_radiance(path: Path, head: bytes) -> bool:  # noqa: ARG001 - as of `Format.recognise`
    """Tell by its first bytes whether a file is a Radiance HDR file.

    Examples
    --------
    >>> is_radiance(Path(), b"#?RADIANCE"), is_radiance(Path(), b"GIF89a")
    (True, False)
    """
    return head.startswith(_STARTS)


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
        name="Radiance HDR",
        endings=(".hdr",),
        kinds=("still",),
        dtypes=("float32",),
        extra="video",
        recognise=is_radiance,
        read=read_radiance,
    ),
)
