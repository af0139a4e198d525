"""Images as arrays: 8 and 16 bits and floating point, grey and colour, with what is transparent kept aside."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media.faults import LossWarning, explain_output_error
from subband.media.formats.base import Format
from subband.media.formats.lookup import find_format, recognise_format
from subband.media.limits import choose_most_pixels
from subband.media.pillow_stills import read_pillow
from subband.media.still import Still
from subband.media.still_metadata import warn_of_losses
from subband.outputs import place_output

__all__ = ["Still", "check_format", "read_still", "save_still", "write_still"]


def read_still(path: Path, *, most_pixels: int | None = None) -> Still:
    """Read an image in any format that Pillow, a library for its format or our own codec reads, turned upright.

    Parameters
    ----------
    path : Path
        PNG, TIFF, JPEG, WebP, GIF, BMP, JPEG 2000, Netpbm, OpenEXR, HEIC, raw files of cameras and others. Of several
        images in a file, the first is read.
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
        If it is not an image, is damaged, or is larger than `most_pixels`.
    MissingExtraError
        If the library for its format is not installed: PyAV for PNG of more than 8 bits in colour and
        Radiance HDR, tifffile for the rarer kinds of TIFF, OpenEXR, pillow-heif for HEIC, rawpy for raw files.

    Warns
    -----
    LossWarning
        If a part of it cannot be held by a still.
    """
    most_pixels = choose_most_pixels(most_pixels)
    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of an image in it")
    try:
        path.open("rb").close()
    except PermissionError as error:
        raise FormatError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    form, named = recognise_format(path), find_format(path)
    if form is None and named is not None and named.recognises(path, b"") is None:
        form = named
    # Pillow knows its own formats by what is in them
    read = read_pillow if form is None or form.read is None else form.read
    return read(path, most_pixels)


def write_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = True) -> None:
    """Write an image in the format that the ending of the name says; it appears when it is complete.

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
        If no format has that ending, the format cannot hold the depth of the image, or a file is there that must stay.
    OutputError
        If the disk is full, or the like.

    Warns
    -----
    LossWarning
        If the format cannot hold opacity, colour profile, EXIF or other metadata; they are left out.

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
    """Warn in one line of what the format of a name cannot hold.

    Warns
    -----
    LossWarning
        If there is something of that kind.
    """
    form = find_format(path)
    assert form is not None
    warn_of_losses(form, path.name, still.alpha is not None, still.icc, still.exif, still.metadata)
    if form.name == "GIF" and still.alpha is not None and np.any((still.alpha > 0) & (still.alpha < 255)):
        warnings.warn(
            f"{path.name!r} knows pixels that are opaque or not there, and those in between become opaque; write to "
            ".png or .webp to keep them",
            LossWarning,
            stacklevel=3,
        )


def save_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = True) -> None:
    """Write an image as `write_still` does, without a word about what is left out."""
    form = check_format(path, still.pixels.dtype, is_colour=still.is_colour)
    assert form.write is not None
    if quality is not None and not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    try:
        with place_output(path, overwrite=overwrite) as unfinished:
            form.write(unfinished, still, quality)
    except OSError as error:
        raise explain_output_error(path, error) from error
    except (ValueError, SystemError) as error:
        if isinstance(error, SubbandError):
            raise
        rows, columns = still.pixels.shape[:2]
        raise ArgumentError(
            f"{str(path)!r} cannot hold this image of {columns} × {rows} pixels: {error}; write to .png or .tiff"
        ) from error


def check_format(path: Path, dtype: np.dtype[Any], *, is_colour: bool) -> Format:
    """Return the format of a name; refuse one that is not written, or has fewer bits than there are.

    Raises
    ------
    ArgumentError
        That says where such pixels can be written.

    Examples
    --------
    >>> check_format(Path("deep.jpg"), np.dtype(np.uint16), is_colour=False)
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'deep.jpg' cannot hold 16 bits per sample; write to .png, .tiff or .pgm
    """
    form = find_format(path)
    if form is None or form.write is None or not form.writes(path):
        raise ArgumentError(f"{path.name!r} does not end like an image that is written; take a name such as image.png")
    if dtype not in (np.uint8, np.uint16, np.float32):
        raise ArgumentError(f"images hold uint8, uint16 or float32, not {dtype}; convert the array first")
    if str(dtype) in form.dtypes:
        return form
    if dtype.kind == "f":
        raise ArgumentError(
            f"{path.name!r} cannot hold floating point; write to .tiff, .exr or .pfm, or scale to uint8 or uint16"
        )
    if form.dtypes == ("float32",):
        raise ArgumentError(f"{path.name!r} holds floating point, and this is {dtype}; write to .png or .tiff")
    if is_colour:
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits in colour; write to .png, .tiff, .ppm or .jp2")
    raise ArgumentError(f"{path.name!r} cannot hold 16 bits per sample; write to .png, .tiff or .pgm")
