"""JPEG 2000 as images: what our codec decodes, as grey or colour of 8 or 16 bits with opacity aside, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from subband.codecs.jpeg2000 import Header, Picture, decode, encode, read_header
from subband.codecs.jpeg2000.boxes import pack_box
from subband.codecs.jpeg2000.files import choose_form
from subband.codecs.jpeg2000.picture import convert_ycc
from subband.errors import FormatError
from subband.media.deep_stills import turn_upright
from subband.media.faults import BROKEN
from subband.media.limits import TooLargeError, refuse_bomb
from subband.media.still import Still
from subband.media.still_metadata import straighten_xmp, strip_exif
from subband.media.tiff_stills import convert_inks, pick_profile
from subband.typing import Array

__all__ = ["order_resolution", "pack_metadata", "read_jpeg2000", "write_jpeg2000"]

# Boxes of others, by their UUID: what Adobe says that XMP has, and what writers of EXIF agree on.
_XMP, _EXIF = bytes.fromhex("be7acfcb97a942e89c71999491e3afac"), b"JpgTiffExif->JP2"
_ORIENTATION = 274

# What profiles call colours that are not red, green and blue.
_PROFILES = {b"CMYK": "CMYK", b"Lab ": "CIELab", b"YCbr": "sYCC"}

# Channels that an image of the largest size may have.
_MOST_CHANNELS = 4


def read_jpeg2000(path: Path, most_pixels: int, **options: Any) -> Still:
    """Read an image, upright, with opacity, colour profile, EXIF, resolution and XMP.

    Samples of other depths than 8 and 16 bits are stretched to these, signed ones shifted. Options are those of
    `subband.codecs.jpeg2000.decode`, such as `reduce` and `region`; the limit then holds for what is decoded.

    Raises
    ------
    FormatError
        If there is no image in it, or it is larger than `most_pixels`.

    Warns
    -----
    CodecWarning
        If the file is cut short or damaged, and a part of the image could be read all the same.
    """
    try:
        if not options:
            header = read_header(path)
            refuse_bomb(str(path), header.height, header.width, most_pixels)
        decoded = decode(path, most_pixels=_MOST_CHANNELS * most_pixels, **options)
    except TooLargeError:
        raise
    except FormatError as error:
        raise FormatError(f"{str(path)!r} cannot be read as an image: {error}") from error
    pixels, alpha, icc = _arrange(decoded)
    exif, turn, metadata = _read_metadata(decoded.header, options.get("reduce", 0))
    if turn != 1 or any(options.get(name) for name in ("reduce", "region")):
        # where pixels lie on Earth is not true any more
        metadata.pop("boxes", None)
    alpha = None if alpha is None else turn_upright(alpha, turn)
    return Still(turn_upright(pixels, turn), alpha, icc, exif, metadata)


def _read_metadata(header: Header, reduce: int) -> tuple[bytes | None, int, dict[str, Any]]:
    """Return EXIF, the orientation that it asks for, and resolution, XMP and others, from the boxes of a JP2 file.

    The resolution is that of an image of which `reduce` levels are left out.
    """
    from PIL import Image

    uuids = [content for kind, content in header.extras if kind == "uuid"]
    found = {content[:16]: content[16:] for content in reversed(uuids)}
    metadata: dict[str, Any] = {}
    others = tuple(each for each in header.extras if each[0] != "uuid" or each[1][:16] not in (_EXIF, _XMP))
    if others:
        metadata["boxes"] = others
    if header.jp2 is not None and header.jp2.resolutions:
        known = header.jp2.resolutions[0]
        metadata["dpi"] = tuple(float(each) * 0.0254 / 2**reduce for each in (known.horizontal, known.vertical))
    if found.get(_XMP):
        metadata["xmp"] = straighten_xmp(found[_XMP])
    exif: Any = Image.Exif()
    try:
        exif.load(found.get(_EXIF, b""))
        return strip_exif(exif, is_tiff=False), int(exif.get(_ORIENTATION, 1)), metadata
    except BROKEN:
        return None, 1, metadata


def write_jpeg2000(path: Path, still: Still) -> None:
    """Write an image of 8 or 16 bits without a loss."""
    alpha, metadata = still.alpha, still.metadata
    planes = still.pixels if alpha is None else np.dstack([still.pixels, alpha])
    form = choose_form(path.suffix.lower())
    if form == "j2k":
        path.write_bytes(encode(planes, form=form))
        return
    data = encode(planes, form=form, alpha=alpha is not None, icc=still.icc, dpi=order_resolution(metadata))
    path.write_bytes(data + pack_metadata(still.exif, metadata))


def order_resolution(metadata: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the resolution down and across, as `subband.codecs.jpeg2000.encode` takes it.

    Examples
    --------
    >>> order_resolution({"dpi": (300.0, 150.0)}), order_resolution({})
    ((150.0, 300.0), None)
    """
    across, down = metadata.get("dpi", (None, None))
    return None if across is None else (down, across)


def pack_metadata(exif: bytes | None, metadata: Mapping[str, Any]) -> bytes:
    """Return the boxes that hold EXIF, XMP and what is kept of others, to be put behind a JP2 file."""
    boxes = [(_EXIF, exif.removeprefix(b"Exif\0\0") if exif else None), (_XMP, metadata.get("xmp"))]
    own = [pack_box("uuid", name + content) for name, content in boxes if content]
    return b"".join([*own, *(pack_box(kind, content) for kind, content in metadata.get("boxes", ()))])


def _arrange(decoded: Picture) -> tuple[Array, Array | None, bytes | None]:
    """Sort channels into colours and opacity."""
    header = decoded.header
    whole = decoded.upsample()
    channels = np.atleast_3d(whole)
    count = channels.shape[2]
    # a palette makes channels of other depths than those of the components
    palette = header.jp2.palette if header.jp2 is not None else None
    depths = palette.bits if palette is not None else [(each.precision, each.is_signed) for each in header.components]
    bits = max(depth for depth, _ in depths[:count])
    dtype = np.dtype(np.uint8 if bits <= 8 else np.uint16)
    stretched = [
        _stretch(channels[..., number], *depths[min(number, len(depths) - 1)], dtype) for number in range(count)
    ]
    opaque = _find_opacity(decoded, count)
    colours = [stretched[number] for number in range(count) if number != opaque]
    alpha = None if opaque is None else stretched[opaque]
    if len(colours) < 3:
        return np.ascontiguousarray(colours[0]), alpha, pick_profile(header.icc_profile, is_colour=False)
    pixels = np.stack(colours[:3], axis=-1)
    space = _name_colours(header)
    if space == "CIELab":
        raise FormatError(
            "its colours are CIELab, which are not turned into RGB here; "
            "subband.codecs.jpeg2000.imread gives the samples as they are"
        )
    if space == "sYCC":
        pixels = convert_ycc(pixels, 8 * pixels.dtype.itemsize)
    elif space == "CMYK" and len(colours) == 4:
        pixels = convert_inks(np.stack(colours, axis=-1))
    return pixels, alpha, pick_profile(header.icc_profile, is_colour=True)


def _name_colours(header: Header) -> str:
    """Return the name of the colour space; of a profile, that of the colours it is for, where these are not RGB."""
    profile = header.icc_profile
    if header.colour_space != "ICC" or profile is None:
        return header.colour_space
    return _PROFILES.get(profile[16:20], "ICC")


def _find_opacity(decoded: Picture, count: int) -> int | None:
    """Return the channel that says how opaque pixels are; without a word about it, the last of two or four."""
    header = decoded.header
    definitions = header.jp2.channels if header.jp2 is not None else ()
    if definitions:
        # channels come in the order of their colours, those without one behind them in their own order
        others = sorted(entry.channel for entry in definitions if entry.role != 0)
        first = count - len(others)
        roles = {entry.channel: entry.role for entry in definitions}
        return next((first + number for number, each in enumerate(others) if roles[each] in (1, 2)), None)
    if _name_colours(header) == "CMYK":
        return None
    return count - 1 if count in (2, 4) else None


def _stretch(samples: Array, bits: int, is_signed: bool, dtype: np.dtype[Any]) -> Array:
    """Bring samples to the full range of 8 or 16 bits."""
    if samples.dtype == dtype and not is_signed and bits == 8 * dtype.itemsize:
        return np.ascontiguousarray(samples)
    values = samples.astype(np.float64) + (1 << (bits - 1) if is_signed else 0)
    return np.asarray(np.rint(values * (np.iinfo(dtype).max / ((1 << bits) - 1))), dtype)
