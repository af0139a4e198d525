"""HEIC and HEIF, the images of telephones, where the plugin of Pillow for them is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from subband.errors import FormatError
from subband.media.faults import BROKEN, require
from subband.media.limits import refuse_bomb
from subband.media.still_metadata import straighten_xmp, strip_exif
from subband.typing import Array

__all__ = ["ENDINGS", "is_heif", "read_heif"]

#: Endings of such files.
ENDINGS: Final = (".heic", ".heif", ".hif")

# Brands of files with the pixels of HEVC; "mif1" is any image, and says in the brands behind it of which kind.
_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")


def is_heif(head: bytes) -> bool:
    r"""Tell by its first bytes whether a file is an image of HEIF in HEVC.

    Examples
    --------
    >>> is_heif(bytes(3) + b"\x18ftypheic" + bytes(8)), is_heif(bytes(3) + b"\x18ftypavif" + bytes(8))
    (True, False)
    """
    if head[4:8] != b"ftyp":
        return False
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands = [head[8:12], *(head[offset : offset + 4] for offset in range(16, size, 4))]
    return any(brand in _BRANDS for brand in brands) and b"avif" not in brands


def read_heif(path: Path, most_pixels: int) -> tuple[Array, Array | None, bytes | None, bytes | None, dict[str, Any]]:
    """Read the first image, upright; return pixels of 8 or 16 bits, opacity, colour profile, EXIF and XMP.

    Raises
    ------
    MissingExtraError
        If pillow-heif is not installed.
    FormatError
        If it is damaged, or larger than `most_pixels`.
    """
    heif = require("pillow_heif", f"reading {path.name!r}, an image in HEIC,", "heic")
    from PIL import Image

    try:
        image = heif.open_heif(path, convert_hdr_to_8bit=False)
        refuse_bomb(str(path), image.size[1], image.size[0], most_pixels)
        values = np.array(image)
        exif: Any = Image.Exif()
        exif.load(image.info.get("exif") or b"")
        camera = strip_exif(exif, is_tiff=False)
    except FormatError:
        raise
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as HEIC: {error}") from error
    xmp, icc = image.info.get("xmp"), image.info.get("icc_profile")
    if values.dtype == np.uint16:
        # 10 and 12 bits come at the upper end of 16, not stretched to them
        bits = int(image.info.get("bit_depth", 16))
        values = np.rint((values >> (16 - bits)) * (65535 / ((1 << bits) - 1))).astype(np.uint16)
    planes = values[..., None] if values.ndim == 2 else values
    alpha = np.ascontiguousarray(planes[..., -1]) if planes.shape[2] in (2, 4) else None
    pixels = np.ascontiguousarray(planes[..., :3] if planes.shape[2] >= 3 else planes[..., 0])
    return pixels, alpha, icc or None, camera, {"xmp": straighten_xmp(xmp)} if xmp else {}
