"""Formats that Pillow reads and writes; those that nothing is said about here are read and written as it does."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError
from subband.media.animations import create_animation, open_animation
from subband.media.deep_stills import encode_png
from subband.media.formats.base import Format
from subband.media.pillow_stills import encode_pillow, read_pillow, write_pillow
from subband.media.still import Still
from subband.media.still_metadata import USUAL

__all__ = ["FORMATS", "find_more"]

_LARGEST_ICON = 256


def _write_png(path: Path, still: Still, quality: float | None) -> None:
    """Write PNG; Pillow cannot write 16 bits in colour or with opacity."""
    if still.pixels.dtype == np.uint8 or (not still.is_colour and still.alpha is None):
        write_pillow(path, still, quality)
    else:
        path.write_bytes(encode_png(still.pixels, still.alpha, still.icc, still.exif, still.metadata))


def _write_colours(path: Path, still: Still, quality: float | None) -> None:
    """Write grey as colours, for formats that know no grey."""
    pixels = still.pixels if still.is_colour else np.stack([still.pixels] * 3, axis=-1)
    write_pillow(path, replace(still, pixels=pixels), quality)


def _write_opacity(path: Path, still: Still, quality: float | None) -> None:
    """Write grey with opacity as colours, for formats that know grey without it."""
    (write_pillow if still.alpha is None else _write_colours)(path, still, quality)


def _write_icon(path: Path, still: Still, quality: float | None) -> None:
    rows, columns = still.pixels.shape[:2]
    if max(rows, columns) > _LARGEST_ICON:
        raise ArgumentError(f"icons have up to {_LARGEST_ICON} × {_LARGEST_ICON} pixels; write to .png")
    # else Pillow writes smaller copies, and not the image
    path.write_bytes(encode_pillow(path, still, quality, sizes=[(columns, rows)]).getbuffer())


def _describe(name: str, *endings: str, **about: Any) -> Format:
    options = {"kinds": ("still",), "read": read_pillow, "write": write_pillow, **about}
    return Format(name, endings, **options)


_MOVING: dict[str, Any] = {"kinds": ("still", "animation"), "open": open_animation, "create": create_animation}
_JPEG = USUAL - {"alpha"} | {"comment"}
_ALPHA = frozenset({"alpha"})

FORMATS = (
    _describe(
        "PNG",
        ".png",
        ".apng",
        dtypes=("uint8", "uint16"),
        keeps=USUAL | {"text", "comment"},
        about="colour of 16 bits is read with the extra `video`",
        rank=1,
        write=_write_png,
        **_MOVING,
    ),
    _describe("JPEG", ".jpg", ".jpeg", ".jpe", ".jfif", keeps=_JPEG, rank=2),
    _describe("MPO", ".mpo", keeps=_JPEG),
    _describe("WebP", ".webp", keeps=USUAL, rank=4, about="a lossless file stays lossless", **_MOVING),
    _describe("AVIF", ".avif", ".avifs", keeps=USUAL, about="10 bits are cut to 8, and a line says so", **_MOVING),
    _describe("GIF", ".gif", keeps=frozenset({"alpha", "comment"}), **_MOVING),
    _describe("FLI", ".fli", ".flc", write=None, kinds=("still", "animation"), open=open_animation),
    _describe("BMP", ".bmp", keeps=frozenset({"dpi"})),
    _describe("DIB", ".dib", keeps=frozenset({"dpi"})),
    _describe("DDS", ".dds", keeps=_ALPHA),
    _describe("ICNS", ".icns", keeps=_ALPHA),
    _describe("ICO", ".ico", keeps=_ALPHA, write=_write_icon),
    _describe("QOI", ".qoi", keeps=_ALPHA, write=_write_colours),
    _describe("SGI", ".sgi", ".rgb", ".rgba", ".bw", keeps=_ALPHA, write=_write_opacity),
    _describe("TGA", ".tga", ".icb", ".vda", ".vst", keeps=_ALPHA),
)


@lru_cache(maxsize=256)
def find_more(ending: str) -> Format | None:
    """Return a format that Pillow knows by an ending, and that nothing else is known about; None if there is none."""
    from PIL import Image

    name = Image.registered_extensions().get(ending)
    if name is None:
        return None
    read, write = read_pillow if name in Image.OPEN else None, write_pillow if name in Image.SAVE else None
    return _describe(name, ending, read=read, write=write)
