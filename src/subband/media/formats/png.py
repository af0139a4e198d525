"""PNG, which may move: 8 bits through Pillow, 16 bits in colour through FFmpeg and our own writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subband.media.animations import create_animation, open_animation
from subband.media.deep_stills import encode_png
from subband.media.formats.base import Format
from subband.media.pillow_stills import read_pillow, write_pillow
from subband.media.still import Still
from subband.media.still_metadata import USUAL

__all__ = ["FORMATS"]


def _write(path: Path, still: Still, quality: float | None) -> None:
    if still.pixels.dtype == np.uint8 or (not still.is_colour and still.alpha is None):
        write_pillow(path, still, quality)
        return
    path.write_bytes(encode_png(still.pixels, still.alpha, still.icc, still.exif, still.metadata))


FORMATS = (
    Format(
        "PNG",
        (".png", ".apng"),
        ("still", "animation"),
        dtypes=("uint8", "uint16"),
        keeps=USUAL | {"text", "comment"},
        about="colour of 16 bits is read with the extra `video`",
        rank=1,
        read=read_pillow,
        write=_write,
        open=open_animation,
        create=create_animation,
    ),
)
