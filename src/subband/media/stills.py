"""Pictures as arrays: 8 and 16 bits, grey and colour, with what is transparent kept aside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError
from subband.media.outputs import place_output
from subband.typing import Array

__all__ = ["Still", "read_still", "write_still"]

# What Pillow calls 16 bits of grey, in either byte order; "I" holds the same where a file gives no sign.
_DEEP_GREY = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_DEEP_FORMATS = (".png", ".tif", ".tiff")
_TRANSPARENT_FORMATS = (".png", ".tif", ".tiff", ".webp")

# Bit depth and colour type in the first chunk of a PNG file, which always stands at this place.
_PNG_DEPTH, _PNG_COLOUR = 24, 25


@dataclass(frozen=True)
class Still:
    """A picture.

    Attributes
    ----------
    pixels : ndarray of uint8 or uint16
        Rows × columns for grey, rows × columns × 3 for red, green and blue.
    alpha : ndarray of uint8 or None
        How opaque each pixel is, rows × columns, if the file says so.

    Examples
    --------
    >>> still = Still(np.zeros((4, 6, 3), np.uint8))
    >>> still.peak, still.is_colour
    (255, True)
    """

    pixels: Array
    alpha: Array | None = None

    @property
    def peak(self) -> int:
        """The largest value that a sample can have."""
        return int(np.iinfo(self.pixels.dtype).max)

    @property
    def is_colour(self) -> bool:
        """Whether there are three channels."""
        return self.pixels.ndim == 3

    def replace_pixels(self, values: Array) -> Still:
        """Return a picture of other values, rounded and clipped to the same depth, with the same transparency."""
        pixels = np.clip(np.rint(values), 0, self.peak).astype(self.pixels.dtype)
        return Still(pixels, self.alpha if pixels.shape[:2] == self.pixels.shape[:2] else None)


def read_still(path: Path) -> Still:
    """Read a picture in any format that Pillow reads, turned as its camera was held.

    Parameters
    ----------
    path : Path
        PNG, TIFF, JPEG, WebP and others. Of several pictures in a file, the first is read.

    Returns
    -------
    Still
        Grey stays grey and 16 bits stay 16 bits; palettes and other colour spaces become red, green and blue.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If it is not a picture, or one of more than 8 bits in colour or of floating point.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of a picture in it")
    _refuse_deep_colour(path)
    try:
        with Image.open(path) as opened:
            opened.load()
            return _split_alpha(ImageOps.exif_transpose(opened))
    except UnidentifiedImageError:
        raise FormatError(
            f"{str(path)!r} is not a picture in a format that Pillow reads, such as PNG, TIFF or JPEG"
        ) from None
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error


def write_still(path: Path, still: Still) -> None:
    """Write a picture in the format that the ending of the name says; it appears when it is complete.

    Raises
    ------
    ArgumentError
        If no format has that ending, or the format cannot hold the picture's depth.

    Examples
    --------
    >>> import tempfile
    >>> grey = np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_still(Path(folder, "grey.png"), Still(grey))
    ...     bool((read_still(Path(folder, "grey.png")).pixels == grey).all())
    True
    """
    from PIL import Image

    ending = path.suffix.lower()
    if ending not in Image.registered_extensions():
        raise ArgumentError(f"{path.name!r} does not end like a picture; take a name such as picture.png")
    if still.pixels.dtype == np.uint16 and (still.is_colour or ending not in _DEEP_FORMATS):
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits a sample; write grey to .png or .tiff")
    image = Image.fromarray(np.ascontiguousarray(still.pixels))
    # A 16-bit picture has nowhere to put its transparency, and neither has JPEG.
    if still.alpha is not None and still.pixels.dtype == np.uint8 and ending in _TRANSPARENT_FORMATS:
        image.putalpha(Image.fromarray(np.ascontiguousarray(still.alpha)))
    with place_output(path) as unfinished:
        image.save(unfinished)


def _split_alpha(image: Any) -> Still:
    """Turn one of Pillow's many kinds of image into ours."""
    if image.mode in _DEEP_GREY:
        values = np.asarray(image)
        if values.size and (values.min() < 0 or values.max() > np.iinfo(np.uint16).max):
            raise FormatError(f"the picture has values from {values.min()} to {values.max()}; 16 bits are read at most")
        return Still(values.astype(np.uint16))
    if image.mode == "F":
        raise FormatError("the picture holds floating-point values; 8 and 16 bits are read")
    has_alpha = image.has_transparency_data
    is_grey = image.mode in ("1", "L", "LA", "La")
    if not has_alpha:
        return Still(np.array(image.convert("L" if is_grey else "RGB")))
    pixels = np.array(image.convert("LA" if is_grey else "RGBA"))
    colours = pixels[..., 0] if is_grey else pixels[..., :3]
    return Still(np.ascontiguousarray(colours), np.ascontiguousarray(pixels[..., -1]))


def _refuse_deep_colour(path: Path) -> None:
    """Refuse colour PNG files of 16 bits, of which Pillow would silently drop half."""
    with path.open("rb") as file:
        head = file.read(_PNG_COLOUR + 1)
    if (
        head.startswith(b"\x89PNG")
        and len(head) > _PNG_COLOUR
        and head[_PNG_DEPTH] == 16
        and head[_PNG_COLOUR] in (2, 6)
    ):
        raise FormatError(
            f"{str(path)!r} holds 16 bits in colour, of which 8 can be read; save it as grey or as 8 bits"
        )
