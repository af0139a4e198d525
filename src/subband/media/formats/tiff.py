"""TIFF, as a still or as a stack of slices: Pillow reads and writes what it can, tifffile the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from subband.errors import FormatError
from subband.media.animations import is_moving
from subband.media.base import SourceInfo
from subband.media.deep_stills import write_tiff
from subband.media.formats.base import Format, Reading, Writing
from subband.media.formats.raw import is_raw
from subband.media.limits import TooLargeError
from subband.media.pillow_stills import encode_pillow, list_broken, open_image, read_pillow
from subband.media.still import Still
from subband.media.still_metadata import USUAL, find_exif, find_metadata, list_directories
from subband.media.tiff_stills import read_tiff
from subband.media.tiff_tags import attach_directories, describe_tiff
from subband.media.volume_tiff import TiffSink, is_stack, open_tiff
from subband.media.volumes import VolumeSource

__all__ = ["FORMATS"]

# Of plain TIFF and of BigTIFF, in both orders of bytes.
_STARTS: Final = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def _recognise(path: Path, head: bytes) -> bool:
    # many raw files of cameras are TIFF files with a thumbnail
    return head.startswith(_STARTS) and not is_raw(path, head)


def _read(path: Path, most_pixels: int) -> Still:
    layout = describe_tiff(path)
    if layout is not None and not layout.suits_pillow:
        return _read_rare(path, most_pixels)
    try:
        return read_pillow(path, most_pixels)
    except TooLargeError:
        raise
    except FormatError as error:
        # Compressions that only scientists use; if tifffile cannot either, what Pillow said is shorter.
        try:
            return _read_rare(path, most_pixels)
        except (FormatError, ImportError):
            raise error from None


def _read_rare(path: Path, most_pixels: int) -> Still:
    """Read a TIFF file of a kind that Pillow reads wrongly, but whose tags it may understand all the same."""
    pixels, alpha, icc = read_tiff(path, most_pixels)
    try:
        with open_image(path, most_pixels) as opened:
            return Still(pixels, alpha, icc, find_exif(opened), find_metadata(opened))
    except list_broken():
        return Still(pixels, alpha, icc)


def _write(path: Path, still: Still, quality: float | None) -> None:
    if still.pixels.dtype != np.uint8 and (still.is_colour or still.alpha is not None):
        write_tiff(path, still.pixels, still.alpha, still.icc, still.exif, still.metadata)
        return
    encoded = encode_pillow(path, still, quality)
    attach_directories(encoded, list_directories(still.exif))
    path.write_bytes(encoded.getbuffer())


def _open(path: Path, reading: Reading) -> VolumeSource | None:
    layout = describe_tiff(path)
    # numbers such as int16, which no still holds, are a volume of one slice
    is_measured = layout is not None and layout.is_measured
    return open_tiff(path) if _has_pages(path, reading.most_pixels) or is_measured else None


def _has_pages(path: Path, most_pixels: int | None) -> bool:
    """Tell whether a TIFF file is a stack; without tifffile, Pillow knows as much."""
    try:
        return is_stack(path)
    except ImportError:
        pass
    try:
        return is_moving(path, most_pixels)
    except FormatError:
        return False


def _create(path: Path, info: SourceInfo, writing: Writing) -> TiffSink | None:
    is_volume = info.kind == "volume" or (info.count or 2) > 1
    return TiffSink(path, info, **writing.kept) if is_volume else None


FORMATS = (
    Format(
        "TIFF",
        (".tif", ".tiff"),
        ("still", "volume"),
        dtypes=("uint8", "uint16", "float32"),
        keeps=USUAL,
        kept="opacity, colour profile, EXIF, resolution, XMP, description, compression; of stacks axes, tiles, "
        "ImageJ's metadata and OME-XML too",
        about="BigTIFF, inks, palettes, 10 to 14 bits and white at zero too (extra `volumes`); several pages, ImageJ "
        "hyperstacks and OME-TIFF are volumes, and so are single pages of integers that no image has",
        rank=3,
        recognise=_recognise,
        read=_read,
        write=_write,
        open=_open,
        open_volume=lambda path, _: open_tiff(path),
        create=_create,
    ),
)
