"""HEIC and HEIF, the images of telephones, where the plugin of Pillow for them is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from subband.media.faults import explain_damage, require
from subband.media.formats.base import Format
from subband.media.limits import refuse_bomb
from subband.media.still import Still
from subband.media.still_metadata import straighten_xmp, strip_exif

__all__ = ["FORMATS", "is_heif", "read_heif"]

# Brands of files with the pixels of HEVC; "mif1" is any image, and says in the brands behind it of which kind.
_BRANDS: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")


def is_heif(path: Path, head: bytes) -> bool:  # noqa: ARG001 - as of `Format.recognise`
    r"""Tell by its first bytes whether a file is an image of HEIF in HEVC.

    Examples
    --------
    >>> [is_heif(Path(), bytes(3) + b"\x18ftyp" + brand + bytes(8)) for brand in (b"heic", b"avif")]
    [True, False]
    """
    if head[4:8] != b"ftyp":
        return False
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands = [head[8:12], *(head[offset : offset + 4] for offset in range(16, size, 4))]
    return any(brand in _BRANDS for brand in brands) and b"avif" not in brands


def read_heif(path: Path, most_pixels: int) -> Still:
    """Read the first image, upright: pixels of 8 or 16 bits, opacity, colour profile, EXIF and XMP.

    Raises
    ------
    MissingExtraError
        If pillow-heif is not installed.
    FormatError
        If it is damaged, or larger than `most_pixels`.
    """
    heif = require("pillow_heif", f"reading {path.name!r}, an image in HEIC,", "heic")
    from PIL import Image

    with explain_damage(path, "HEIC"):
        image = heif.open_heif(path, convert_hdr_to_8bit=False)
        refuse_bomb(str(path), image.size[1], image.size[0], most_pixels)
        values = np.array(image)
        exif: Any = Image.Exif()
        exif.load(image.info.get("exif") or b"")
        camera = strip_exif(exif, is_tiff=False)
    xmp, icc = image.info.get("xmp"), image.info.get("icc_profile")
    if values.dtype == np.uint16:
        # 10 and 12 bits come at the upper end of 16, not stretched to them
        bits = int(image.info.get("bit_depth", 16))
        values = np.rint((values >> (16 - bits)) * (65535 / ((1 << bits) - 1))).astype(np.uint16)
    planes = values[..., None] if values.ndim == 2 else values
    alpha = np.ascontiguousarray(planes[..., -1]) if planes.shape[2] in (2, 4) else None
    pixels = np.ascontiguousarray(planes[..., :3] if planes.shape[2] >= 3 else planes[..., 0])
    return Still(pixels, alpha, icc or None, camera, {"xmp": straighten_xmp(xmp)} if xmp else {})


FORMATS = (
    Format(
        "HEIC",
        (".heic", ".heif", ".hif"),
        ("still",),
        dtypes=("uint8", "uint16"),
        about="10 and 12 bits come as 16",
        extra="heic",
        recognise=is_heif,
        read=read_heif,
    ),
)
