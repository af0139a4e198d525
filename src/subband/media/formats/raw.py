"""Raw files of cameras: known by what is in them, because libraries for images show the thumbnail in them instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from subband.errors import FormatError
from subband.media.faults import BROKEN, require
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.still import Still
from subband.media.tiff_tags import DNG_VERSION, PHOTOMETRIC, read_directories

__all__ = ["FORMATS", "RawError", "is_raw", "read_raw"]

_ENDINGS: Final = (
    ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos", ".mrw",
    ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
)  # fmt: skip

# Makers with a beginning of their own; where it stands in the file.
_STARTS: Final = (
    (0, b"FUJIFILMCCD-RAW"), (0, b"IIRO"), (0, b"IIRS"), (0, b"MMOR"), (0, b"IIU\0"), (0, b"FOVb"), (0, b"\0MRM"),
    (6, b"HEAPCCDR"), (8, b"CR\x02\0"), (4, b"ftypcrx "),
)  # fmt: skip
# A mosaic of single-coloured samples, and one that was interpolated but not developed.
_UNDEVELOPED = (32803, 34892)
_WAY_OUT = "or develop it first, for instance with darktable or RawTherapee, and give the 16-bit TIFF"


class RawError(FormatError):
    """The raw file of a camera cannot be developed."""


def is_raw(path: Path, head: bytes) -> bool:
    """Tell by the content of a file whether it is the raw data of a camera; by its name where the content is silent."""
    if any(head[offset : offset + len(start)] == start for offset, start in _STARTS):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        directories = read_directories(file)
    if any(DNG_VERSION in tags or tags.get(PHOTOMETRIC, (0,))[0] in _UNDEVELOPED for tags in directories):
        return True
    # Some makers hide the mosaic in tags of their own, behind an ordinary directory.
    return bool(directories) and path.suffix.lower() in _ENDINGS


def read_raw(path: Path, most_pixels: int) -> Still:
    """Develop the raw file of a camera with LibRaw: 16 bits of sRGB, upright, and EXIF.

    The white balance is that of the camera; the brightness is not stretched.

    Raises
    ------
    MissingExtraError
        If rawpy is not installed.
    RawError
        If LibRaw does not know the camera, or the file is damaged.
    TooLargeError
        If it has more pixels than `most_pixels`.
    """
    rawpy = require("rawpy", f"developing {path.name!r}, the raw file of a camera,", "raw")
    try:
        with rawpy.imread(str(path)) as raw:
            refuse_bomb(str(path), raw.sizes.height, raw.sizes.width, most_pixels)
            pixels = raw.postprocess(output_bps=16, no_auto_bright=True, use_camera_wb=True)
    except FormatError:
        raise
    except (rawpy.LibRawError, *BROKEN) as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise RawError(
            f"{str(path)!r} is the raw file of a camera, and cannot be developed: {reason}; use a newer rawpy, "
            f"{_WAY_OUT}"
        ) from error
    return Still(np.ascontiguousarray(pixels), exif=_find_exif(path))


def _find_exif(path: Path) -> bytes | None:
    """Return what the camera says, of those raw files that are TIFF files."""
    from PIL import Image

    from subband.media.still_metadata import strip_exif

    with path.open("rb") as file:
        if not read_directories(file):
            return None
        exif: Any = Image.Exif()
        try:
            file.seek(0)
            # As in JPEG, but for the header: Pillow reads the rest of a TIFF file when it is asked for.
            exif.load(file.read(1 << 20))
            return strip_exif(exif, is_tiff=True)
        except BROKEN:
            return None


FORMATS = (
    Format(
        "raw files of cameras",
        _ENDINGS,
        ("still",),
        dtypes=("uint16",),
        about="developed with the camera's white balance; the thumbnail in them is never taken",
        extra="raw",
        recognise=is_raw,
        read=read_raw,
    ),
)
