"""Pictures as arrays: 8 and 16 bits and floating point, grey and colour, with what is transparent kept aside."""

from __future__ import annotations

import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media import deep_stills, heif_stills, netpbm
from subband.media.exr_stills import is_exr, read_exr, write_exr
from subband.media.faults import BROKEN, LossWarning, explain_output_error
from subband.media.limits import TooLargeError, choose_most_pixels
from subband.media.outputs import place_output
from subband.media.pillow_files import list_broken, open_image
from subband.media.radiance import is_radiance, read_radiance
from subband.media.raw_stills import is_raw, read_raw
from subband.media.still import Still
from subband.media.still_metadata import (
    choose_quality,
    find_exif,
    find_metadata,
    is_lossless_webp,
    list_directories,
    make_options,
    name_format,
    warn_of_losses,
)
from subband.media.tiff_stills import pick_profile, read_tiff
from subband.media.tiff_tags import attach_directories, describe_tiff

__all__ = [
    "Still",
    "check_format",
    "list_broken",
    "open_image",
    "read_still",
    "save_still",
    "split_image",
    "write_still",
]

# What Pillow calls 16 bits of grey, in either byte order; "I" holds the same where a file gives no sign.
_DEEP_GREY = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_TIFF_ENDINGS = (".tif", ".tiff")
_JPEG2000_STARTS = (bytes.fromhex("0000000c6a5020200d0a870a"), bytes.fromhex("ff4fff51"))
# Formats of 16 bits a sample, and of floating point.
_DEEP_FORMATS = ("PNG", "TIFF", "JPEG2000", "PPM", "PAM")
_FLOAT_ENDINGS = (".exr", ".pfm", *_TIFF_ENDINGS)
# Formats that Pillow writes with opacity, and those of them, and others, that know no grey.
_TRANSPARENT_FORMATS = ("AVIF", "DDS", "GIF", "ICNS", "ICO", "PNG", "QOI", "SGI", "TGA", "TIFF", "WEBP")
_NO_GREY_FORMATS = ("QOI",)
_NO_GREY_OPACITY_FORMATS = ("QOI", "SGI")
_LARGEST_ICON = 256

_ORIENTATION = 274
# Enough of a file to know what it is; in AVIF, a colour profile may stand before the number of bits.
_HEAD = 65536


def read_still(path: Path, *, most_pixels: int | None = None) -> Still:
    """Read an image in any format that Pillow, a library for its format or our own codec reads, turned upright.

    Parameters
    ----------
    path : Path
        PNG, TIFF, JPEG, WebP, GIF, BMP, JPEG 2000, Netpbm, OpenEXR, HEIC, raw files of cameras and others. Of several
        pictures in a file, the first is read.
    most_pixels : int, optional
        Rows × columns that are allowed; else the environment variable ``SUBBAND_MOST_PIXELS``, else 2²⁸.

    Returns
    -------
    Still
        Grey stays grey and 16 bits stay 16 bits; palettes and other colour spaces become red, green and blue.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If it is not a picture, is damaged, or is larger than `most_pixels`.
    MissingExtraError
        If the library for its format is not installed: PyAV for PNG of more than 8 bits in colour and
        Radiance HDR, tifffile for the rarer kinds of TIFF, OpenEXR, pillow-heif for HEIC, rawpy for raw files.

    Warns
    -----
    LossWarning
        If a part of it has no place in a still.
    """
    most_pixels = choose_most_pixels(most_pixels)
    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of a picture in it")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except PermissionError as error:
        raise FormatError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if head.startswith(_JPEG2000_STARTS):
        return _read_jpeg2000(path, most_pixels)
    if netpbm.is_deep_netpbm(path):
        return Still(*netpbm.read_netpbm(path, most_pixels))
    if is_exr(head):
        return Still(*read_exr(path, most_pixels))
    if is_radiance(head):
        return Still(read_radiance(path, most_pixels))
    if heif_stills.is_heif(head):
        return Still(*heif_stills.read_heif(path, most_pixels))
    if is_raw(path):
        pixels, exif = read_raw(path, most_pixels)
        return Still(pixels, exif=exif)
    layout = describe_tiff(path)
    if layout is None:
        return _read_through_pillow(path, head, most_pixels)
    if not layout.suits_pillow:
        return _read_tiff(path, most_pixels)
    try:
        return _read_through_pillow(path, head, most_pixels)
    except TooLargeError:
        raise
    except FormatError as error:
        # Compressions that only scientists use; if tifffile cannot either, what Pillow said is shorter.
        try:
            return _read_tiff(path, most_pixels)
        except (FormatError, ImportError):
            raise error from None


def write_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = True) -> None:
    """Write a picture in the format that the ending of the name says; it appears when it is complete.

    Parameters
    ----------
    path : Path
        Where; PNG, TIFF, JPEG 2000, Netpbm, OpenEXR, BMP and GIF are written without loss of what they can hold.
    still : Still
        What. A TIFF file is compressed as the one that was read.
    quality : float, optional
        Of JPEG, WebP and AVIF, from 0 to 100; 95 if left out. A WebP of 100 is one without loss, and so is one that was
        read from such a file if this is left out.
    overwrite : bool
        Whether a file of that name may be replaced.

    Raises
    ------
    ArgumentError
        If no format has that ending, the format cannot hold the picture's depth, or a file is there that must stay.
    OutputError
        If the disk is full, or the like.

    Warns
    -----
    LossWarning
        If the format has no place for opacity, colour profile, EXIF or other metadata; they are left out.

    Examples
    --------
    >>> import tempfile
    >>> grey = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_still(Path(folder, "grey.png"), Still(grey))
    ...     bool((read_still(Path(folder, "grey.png")).pixels == grey).all())
    True
    """
    save_still(path, still, quality=quality, overwrite=overwrite)
    tell_losses(path, still)


def tell_losses(path: Path, still: Still) -> None:
    """Say in one line what the format of a name has no place for.

    Warns
    -----
    LossWarning
        If there is something of that kind.
    """
    warn_of_losses(path, still.alpha is not None, still.icc, still.exif, still.metadata)
    if name_format(path) == "GIF" and still.alpha is not None and np.any((still.alpha > 0) & (still.alpha < 255)):
        warnings.warn(
            f"{path.name!r} knows pixels that are opaque or not there, and those in between become opaque; write to "
            ".png or .webp to keep them",
            LossWarning,
            stacklevel=3,
        )


def save_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = True) -> None:
    """Write a picture as `write_still` does, without a word about what is left out."""
    check_format(path, still.pixels.dtype, is_colour=still.is_colour)
    if quality is not None and not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    try:
        with place_output(path, overwrite=overwrite) as unfinished:
            _save(unfinished, still, name_format(path), quality)
    except OSError as error:
        raise explain_output_error(path, error) from error
    except (ValueError, SystemError) as error:
        if isinstance(error, SubbandError):
            raise
        rows, columns = still.pixels.shape[:2]
        raise ArgumentError(
            f"{str(path)!r} cannot hold this picture of {columns} × {rows} pixels: {error}; write to .png or .tiff"
        ) from error


def check_format(path: Path, dtype: np.dtype[Any], *, is_colour: bool) -> None:
    """Refuse a name whose format is not written, or has fewer bits than there are.

    Raises
    ------
    ArgumentError
        That says where such pixels can be written.

    Examples
    --------
    >>> check_format(Path("deep.jpg"), np.dtype(np.uint16), is_colour=False)
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'deep.jpg' cannot hold 16 bits a sample; write to .png, .tiff or .pgm
    """
    from PIL import Image

    ending, form = path.suffix.lower(), name_format(path)
    if form not in ("EXR", "PAM") and (form in ("HDR", "HEIF") or form not in Image.SAVE):
        raise ArgumentError(
            f"{path.name!r} does not end like a picture that is written; take a name such as picture.png"
        )
    if dtype not in (np.uint8, np.uint16, np.float32):
        raise ArgumentError(f"pictures hold uint8, uint16 or float32, not {dtype}; convert the array first")
    if dtype.kind == "f" and ending not in _FLOAT_ENDINGS:
        raise ArgumentError(
            f"{path.name!r} cannot hold floating point; write to .tiff, .exr or .pfm, or scale to uint8 or uint16"
        )
    if dtype.kind != "f" and ending in (".exr", ".pfm"):
        raise ArgumentError(f"{path.name!r} holds floating point, and this is {dtype}; write to .png or .tiff")
    # a bitmap has the format of a graymap for Pillow, and one bit
    is_deep = form in _DEEP_FORMATS and ending != ".pbm"
    if dtype == np.uint16 and is_colour and not is_deep:
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits in colour; write to .png, .tiff, .ppm or .jp2")
    if dtype == np.uint16 and not is_deep:
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits a sample; write to .png, .tiff or .pgm")


def split_image(image: Any) -> Still:
    """Turn one of Pillow's many kinds of image into ours."""
    profile = image.info.get("icc_profile")
    profile = profile if isinstance(profile, bytes) else None
    metadata = find_metadata(image)
    exif = find_exif(image)
    if image.mode in _DEEP_GREY:
        values = np.asarray(image)
        if values.size and (values.min() < 0 or values.max() > np.iinfo(np.uint16).max):
            raise FormatError(f"the picture has values from {values.min()} to {values.max()}; 16 bits are read at most")
        return Still(values.astype(np.uint16), None, pick_profile(profile, is_colour=False), exif, metadata)
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


def _read_through_pillow(path: Path, head: bytes, most_pixels: int) -> Still:
    from PIL import ImageOps

    with open_image(path, most_pixels) as opened:
        try:
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
                    f"{str(path)!r} has {hidden} bits a sample, of which 8 are read; for all of them convert it to a "
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
        except list_broken() as error:
            if isinstance(error, SubbandError):
                raise
            raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error


def _read_jpeg2000(path: Path, most_pixels: int) -> Still:
    from subband.media.jpeg2000 import read_jpeg2000, read_jpeg2000_metadata

    pixels, alpha, icc = read_jpeg2000(path, most_pixels)
    exif, turn, metadata = read_jpeg2000_metadata(path)
    alpha = None if alpha is None else deep_stills.turn_upright(alpha, turn)
    return Still(deep_stills.turn_upright(pixels, turn), alpha, icc, exif, metadata)


def _read_tiff(path: Path, most_pixels: int) -> Still:
    """Read a TIFF file of a kind that Pillow reads wrongly, but whose tags it may understand all the same."""
    pixels, alpha, icc = read_tiff(path, most_pixels)
    try:
        with open_image(path, most_pixels) as opened:
            return Still(pixels, alpha, icc, find_exif(opened), find_metadata(opened))
    except list_broken():
        return Still(pixels, alpha, icc)


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


def _save(path: Path, still: Still, form: str, quality: float | None) -> None:
    """Write a file by whatever can hold the picture."""
    from PIL import Image

    pixels, alpha = np.ascontiguousarray(still.pixels), still.alpha
    ending = path.suffix.lower()
    is_deep = pixels.dtype != np.uint8
    if form == "JPEG2000":
        from subband.media.jpeg2000 import write_jpeg2000

        write_jpeg2000(path, pixels, alpha, still.icc, still.exif, still.metadata)
        return
    if form == "EXR":
        write_exr(path, pixels, alpha)
        return
    if form == "PAM" or (is_deep and ending in netpbm.ENDINGS):
        netpbm.write_netpbm(path, pixels, alpha)
        return
    if form == "PNG" and is_deep and (still.is_colour or alpha is not None):
        path.write_bytes(deep_stills.encode_png(pixels, alpha, still.icc, still.exif, still.metadata))
        return
    if form == "TIFF" and is_deep and (still.is_colour or alpha is not None):
        deep_stills.write_tiff(path, pixels, alpha, still.icc, still.exif, still.metadata)
        return
    image = Image.fromarray(pixels)
    if form in _NO_GREY_FORMATS or (alpha is not None and form in _NO_GREY_OPACITY_FORMATS):
        image = image.convert("RGB")
    if alpha is not None and not is_deep and form in _TRANSPARENT_FORMATS:
        image.putalpha(Image.fromarray(np.ascontiguousarray(alpha)))
    options = make_options(form, still.icc, still.exif, still.metadata) | choose_quality(form, quality, still.metadata)
    if form == "ICO":
        if max(image.size) > _LARGEST_ICON:
            raise ArgumentError(f"icons have up to {_LARGEST_ICON} × {_LARGEST_ICON} pixels; write to .png")
        # else Pillow writes smaller copies, and not the image
        options["sizes"] = [image.size]
    # Into memory first: Pillow does not see that a disk takes only a part of what it writes to a file.
    encoded = BytesIO()
    image.save(encoded, form, **options)
    if form == "TIFF":
        attach_directories(encoded, list_directories(still.exif))
    path.write_bytes(encoded.getbuffer())
