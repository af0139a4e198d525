"""Images as arrays: 8 and 16 bits and floating point, grey and colour, with what is transparent kept aside."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, ShapeError, SubbandError
from subband.media.faults import LossWarning, explain_output_error
from subband.media.formats.base import Format
from subband.media.formats.lookup import find_format, recognise_format
from subband.media.limits import choose_most_pixels
from subband.media.pillow_stills import read_pillow
from subband.media.still import Still
from subband.media.still_metadata import warn_of_losses
from subband.outputs import place_output
from subband.typing import Array, PathLike

__all__ = ["Still", "check_format", "imread", "imwrite", "read_still", "save_still", "write_still"]


def imread(path: PathLike) -> Array:
    """Read an image as an array.

    Parameters
    ----------
    path : str or path
        In any format that `subband.media.read_still` reads.

    Returns
    -------
    ndarray of uint8, uint16 or float32
        Rows × columns for grey, rows × columns × 3 for red, green and blue, with one more channel if the file says how
        opaque pixels are. `subband.media.read_still` has the colour profile and the metadata too.

    Raises
    ------
    FileNotFoundError, FormatError, MissingExtraError
        As `subband.media.read_still` says.

    Examples
    --------
    >>> import tempfile
    >>> import subband
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subband.imwrite(f"{folder}/camera.png", subband.data.camera())
    ...     subband.imread(f"{folder}/camera.png").shape
    (512, 512)
    """
    still = read_still(path)
    if still.alpha is None:
        return still.pixels
    channels = still.pixels if still.is_colour else still.pixels[..., None]
    return np.concatenate([channels, still.alpha[..., None]], axis=-1)


def imwrite(path: PathLike, image: Any, *, quality: float | None = None, overwrite: bool = False) -> None:
    """Write an array as an image, in the format that the ending of the name says.

    Parameters
    ----------
    path : str or path
        Where.
    image : array_like of uint8, uint16 or float32
        As `imread` returns it.
    quality, overwrite
        As of `subband.media.write_still`.

    Raises
    ------
    ShapeError
        If the array is not one of rows × columns, perhaps with 1 to 4 channels.
    ArgumentError, OutputError
        As `subband.media.write_still` says.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import subband
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subband.imwrite(f"{folder}/half.png", np.full((8, 8, 4), 128, np.uint8))
    ...     subband.imread(f"{folder}/half.png").shape
    (8, 8, 4)
    """
    write_still(path, image, quality=quality, overwrite=overwrite)


def read_still(path: PathLike, *, most_pixels: int | None = None) -> Still:
    """Read an image in any format that Pillow, a library for its format or our own codec reads, turned upright.

    Parameters
    ----------
    path : str or path
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
    path, most_pixels = Path(path), choose_most_pixels(most_pixels)
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


def write_still(path: PathLike, still: Still | Array, *, quality: float | None = None, overwrite: bool = False) -> None:
    """Write an image in the format that the ending of the name says; it appears when it is complete.

    Parameters
    ----------
    path : str or path
        Where; PNG, TIFF, JPEG 2000, Netpbm, OpenEXR, BMP and GIF are written without loss of what they can hold.
    still : Still or array
        What; of an array of 2 or 4 channels, the last is opacity. A TIFF file is compressed as the one that was read.
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
    >>> import numpy as np
    >>> from subband.media import Still, read_still, write_still
    >>> grey = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_still(f"{folder}/grey.png", Still(grey))
    ...     bool((read_still(f"{folder}/grey.png").pixels == grey).all())
    True
    """
    path, still = Path(path), still if isinstance(still, Still) else _make_still(still)
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


def save_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = False) -> None:
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


def _make_still(image: Any) -> Still:
    """Return an array as an image: channels beyond grey or red, green and blue are opacity."""
    pixels = np.asarray(image)
    if not pixels.dtype.isnative:
        # as arrays of TIFF and FITS files often are
        pixels = pixels.astype(pixels.dtype.newbyteorder("="))
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    if pixels.ndim not in (2, 3) or not 1 <= channels <= 4 or 0 in pixels.shape:
        raise ShapeError(f"image has shape {pixels.shape}; an image file holds rows × columns, with 1 to 4 channels")
    alpha = pixels[..., -1] if channels in (2, 4) else None
    if pixels.ndim == 3:
        pixels = pixels[..., :3] if channels > 2 else pixels[..., 0]
    return Still(pixels, alpha)
