"""JPEG 2000 by our own codec: files with boxes, and bare codestreams, which have no place for metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from subband.media.formats.base import Format
from subband.media.still import Still
from subband.media.still_metadata import USUAL

__all__ = ["FORMATS"]

_BOX, _STREAM = bytes.fromhex("0000000c6a5020200d0a870a"), bytes.fromhex("ff4fff51")
_BOXED: Final = (".jp2", ".jpx", ".jpf")
_BARE: Final = (".j2k", ".j2c", ".jpc")


def _is_boxed(path: Path, head: bytes) -> bool:  # noqa: ARG001 - as of `Format.recognise`
    return head.startswith(_BOX)


def _is_bare(path: Path, head: bytes) -> bool:  # noqa: ARG001 - as of `Format.recognise`
    return head.startswith(_STREAM)


def _read(path: Path, most_pixels: int) -> Still:
    from subband.media.jpeg2000 import read_jpeg2000

    return read_jpeg2000(path, most_pixels)


def _write(path: Path, still: Still, quality: float | None) -> None:  # noqa: ARG001 - as of `Format.write`
    from subband.media.jpeg2000 import write_jpeg2000

    write_jpeg2000(path, still)


_SHARED: dict[str, Any] = {
    "kinds": ("still",),
    "dtypes": ("uint8", "uint16"),
    "read": _read,
    "write": _write,
    "about": "our own codec",
}

FORMATS = (
    Format(name="JPEG 2000", endings=_BOXED, written=_BOXED, keeps=USUAL, recognise=_is_boxed, **_SHARED),
    Format(
        name="JPEG 2000 codestream",
        endings=_BARE,
        written=_BARE,
        keeps=frozenset({"alpha"}),
        recognise=_is_bare,
        **_SHARED,
    ),
)
