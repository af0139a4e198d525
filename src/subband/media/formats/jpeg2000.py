"""JPEG 2000 by our own codec: files with boxes, and bare codestreams, which cannot hold metadata."""

from __future__ import annotations

from pathlib import Path

from subband.media.formats.base import Format
from subband.media.still import Still
from subband.media.still_metadata import USUAL

__all__ = ["FORMATS"]


def _read(path: Path, most_pixels: int) -> Still:
    from subband.media.jpeg2000 import read_jpeg2000

    return read_jpeg2000(path, most_pixels)


def _write(path: Path, still: Still, quality: float | None) -> None:  # noqa: ARG001 - as of `Format.write`
    from subband.media.jpeg2000 import write_jpeg2000

    write_jpeg2000(path, still)


def _describe(name: str, *endings: str, start: str, keeps: frozenset[str]) -> Format:
    starts, dtypes = (bytes.fromhex(start),), ("uint8", "uint16")
    about = "our own codec"
    return Format(name, endings, ("still",), dtypes, keeps, about=about, starts=starts, read=_read, write=_write)


FORMATS = (
    _describe("JPEG 2000", ".jp2", ".jpx", ".jpf", ".jph", start="0000000c6a5020200d0a870a", keeps=USUAL | {"boxes"}),
    _describe("JPEG 2000 codestream", ".j2k", ".j2c", ".jpc", start="ff4fff51", keeps=frozenset({"alpha"})),
)
