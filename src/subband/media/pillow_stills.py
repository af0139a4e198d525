"""Stills through Pillow: its many kinds of image as ours, and back."""

from __future__ import annotations

import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media import deep_stills
from subband.media.faults import BROKEN, LossWarning, explain_damage
from subband.media.formats.lookup import find_format
from subband.media.limits import TooLargeError, refuse_bomb
from subband.media.still import Still
from subband.media.still_metadata import choose_quality, find_exif, find_metadata, is_lossless_webp, make_options
from subband.media.tiff_stills import pick_profile

__all__ = ["encode_pillow", "list_broken", "open_image", "read_pillow", "split_image", "write_pillow"]

# What Pillow calls 16 bits of grey, in either byte order; "I" holds the same where a file gives no sign.
_DEEP_GREY = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_ORIENTATION = 274
_PILLOW_LIMIT = Lock()
# Enough of a file to know how deep it is; in AVIF, a colour profile may stand before the number of bits.
_HEAD = 65536


def list_broken() -> tuple[type[Exception], ...]:
    """List what Pillow raises when it stumbles over a damaged file."""
    from PIL import Image

    return (*BROKEN, Image.DecompressionBombError)


def open_image(path: Path, most_pixels: int) -> Any:
    """Open an image with Pillow, which reads no more than its head, and refuse one that is too large.

    Raises
    ------
    ArgumentError, FileNotFoundError, FormatError
        As `read_still` says.
    """
    from PIL import Image, UnidentifiedImageError

    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of an image in it")
    try:
        # Pillow has a limit of its own, the same for all threads, and lower than ours.
        with _PILLOW_LIMIT:
            limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            try:
                opened = Image.open(path)
            finally:
                Image.MAX_IMAGE_PIXELS = limit
    except UnidentifiedImageError:
        raise FormatError(
            f"{str(path)!r} is not an image in a format that Pillow reads, such as PNG, TIFF or JPEG"
        ) from None
    except FileNotFoundError:
        raise
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as an image: {error}") from error
    try:
        refuse_bomb(str(path), opened.height, opened.width, most_pixels)
    except TooLargeError:
        opened.close()
        raise
    return opened


def split_image(image: Any) -> Still:
    """Turn one of Pillow's many kinds of image into ours."""
    profile = image.info.get("icc_profile")
    profile = profile if isinstance(profile, bytes) else None
    metadata = find_metadata(image)
    exif = find_exif(image)
    if image.mode in _DEEP_GREY:
        values = np.asarray(image)
        if values.size and (values.min() < 0 or values.max() > np.iinfo(np.uint16).max):
            raise FormatError(f"the image has values from {values.min()} to {values.max()}; 16 bits are read at most")
        # one shade may be said to be transparent
        hidden = image.info.get("transparency")
        alpha = None if hidden is None else np.where(values == hidden, 0, 65535).astype(np.uint16)
        return Still(values.astype(np.uint16), alpha, pick_profile(profile, is_colour=False), exif, metadata)
    if image.mode == "F":
        grey = np.array(image, np.float32)
        return Still(grey, None, pick_profile(profile, is_colour=False), exif, metadata)
    if image.mode == "CMYK":
        return Still(np.array(_convert_inks(image)), None, None, exif, metadata)
    has_alpha = image.has_transparency_data
    is_grey = image.mode in ("1", "L", "LA", "La")
    icc = pick_profile(profile, is_colour=not is_grey)
    if not has_alpha:
        return Still(np.array(image.convert("L" if is_grey else "RGB")), None, icc, exif, metadata)
    pixels = np.array(image.convert("LA" if is_grey else "RGBA"))
    colours = pixels[..., 0] if is_grey else pixels[..., :3]
    return Still(np.ascontiguousarray(colours), np.ascontiguousarray(pixels[..., -1]), icc, exif, metadata)


def read_pillow(path: Path, most_pixels: int) -> Still:
    """Read an image in any format that Pillow reads; PNG of more than 8 bits in colour through FFmpeg.

    Raises
    ------
    FormatError
        If it is no image, is damaged, or is larger than `most_pixels`.
    MissingExtraError
        If PyAV is needed and not installed.

    Warns
    -----
    LossWarning
        If it has more bits than are read.
    """
    from PIL import ImageOps

    with path.open("rb") as file:
        head = file.read(_HEAD)
    with explain_damage(path, "an image", *list_broken()), open_image(path, most_pixels) as opened:
        bits, channels = deep_stills.find_depth(head)
        if bits > 8 and channels > 1:
            turn = int(opened.getexif().get(_ORIENTATION, 1))
            icc = pick_profile(opened.info.get("icc_profile"), is_colour=channels > 2)
            exif, metadata = find_exif(opened), find_metadata(opened)
            pixels, alpha = deep_stills.read_through_ffmpeg(path, turn)
            return Still(pixels, alpha, icc, exif, metadata)
        hidden = deep_stills.find_hidden_bits(head)
        if hidden > 8:
            warnings.warn(
                f"{str(path)!r} has {hidden} bits per sample, of which 8 are read; for all of them convert it to a "
                "PNG or TIFF file of 16 bits first",
                LossWarning,
                stacklevel=3,
            )
        opened.load()
        try:
            upright = ImageOps.exif_transpose(opened)
        except BROKEN:
            upright = opened  # its EXIF is damaged, not its pixels
        still = split_image(upright)
        # the turned one is a copy, which knows nothing of the tags of a TIFF file
        metadata = find_metadata(opened)
        if opened.format == "WEBP" and is_lossless_webp(path):
            metadata["lossless"] = True
        return replace(still, exif=find_exif(opened), metadata=metadata)


def _convert_inks(image: Any) -> Any:
    """Turn cyan, magenta, yellow and black into sRGB, by their profile if they have one."""
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if profile:
        try:
            srgb = ImageCms.createProfile("sRGB")
            return ImageCms.profileToProfile(image, ImageCms.ImageCmsProfile(BytesIO(profile)), srgb, outputMode="RGB")
        except (ImageCms.PyCMSError, OSError):
            pass
    return image.convert("RGB")


def write_pillow(path: Path, still: Still, quality: float | None) -> None:
    """Write a still in a format of Pillow's, with what the format keeps."""
    # Into memory first: Pillow does not see that a disk takes only a part of what it writes to a file.
    path.write_bytes(encode_pillow(path, still, quality).getbuffer())


def encode_pillow(path: Path, still: Still, quality: float | None, **more: Any) -> BytesIO:
    """Return the content of a file in the format of Pillow's that its name says; `more` are options of the format."""
    from PIL import Image

    form = find_format(path)
    assert form is not None
    alpha = still.alpha if "alpha" in form.keeps else None
    image = Image.fromarray(np.ascontiguousarray(still.pixels))
    if alpha is not None and still.pixels.dtype == np.uint8:
        image.putalpha(Image.fromarray(np.ascontiguousarray(alpha)))
    options = make_options(form, still.icc, still.exif, still.metadata) | choose_quality(form, quality, still.metadata)
    encoded = BytesIO()
    image.save(encoded, form.name, **options, **more)
    return encoded
