"""Pictures as arrays: 8 and 16 bits and floating point, grey and colour, with what is transparent kept aside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from subband.errors import ArgumentError, FormatError, SubbandError
from subband.media import deep_stills
from subband.media.base import fit_pixels
from subband.media.faults import BROKEN, explain_output_error
from subband.media.limits import TooLargeError, choose_most_pixels, refuse_bomb
from subband.media.outputs import place_output
from subband.typing import Array

__all__ = ["Still", "list_broken", "open_image", "read_still", "split_image", "write_still"]

# What Pillow calls 16 bits of grey, in either byte order; "I" holds the same where a file gives no sign.
_DEEP_GREY = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_TIFF_ENDINGS = (".tif", ".tiff")
_JPEG2000_ENDINGS = (".j2c", ".j2k", ".jp2", ".jpc", ".jpf", ".jpx")
_JPEG2000_STARTS = (bytes.fromhex("0000000c6a5020200d0a870a"), bytes.fromhex("ff4fff51"))
_DEEP_ENDINGS = (".png", *_TIFF_ENDINGS, *_JPEG2000_ENDINGS)
_TRANSPARENT_ENDINGS = (".gif", ".png", ".webp", *_TIFF_ENDINGS)
_PROFILE_ENDINGS = (".jpeg", ".jpg", ".png", ".webp", *_TIFF_ENDINGS)

_ORIENTATION, _BITS, _SAMPLE_FORMAT = 274, 258, 339
# Of a TIFF file, what the picture is about; the rest says where its bytes lie. The last two are those of EXIF and GPS.
_DESCRIPTIVE = (270, 271, 272, 305, 306, 315, 33432, 0x8769, 0x8825)

_PILLOW_LIMIT = Lock()


@dataclass(frozen=True)
class Still:
    """A picture.

    Attributes
    ----------
    pixels : ndarray of uint8, uint16 or float32
        Rows × columns for grey, rows × columns × 3 for red, green and blue.
    alpha : ndarray or None
        How opaque each pixel is, rows × columns, of the same dtype, if the file says so.
    icc : bytes or None
        The colour profile.
    exif : bytes or None
        What the camera says about the picture, which is upright already.

    Examples
    --------
    >>> still = Still(np.zeros((4, 6, 3), np.uint8))
    >>> still.peak, still.is_colour
    (255, True)
    """

    pixels: Array
    alpha: Array | None = None
    icc: bytes | None = None
    exif: bytes | None = None

    @property
    def peak(self) -> int:
        """The largest value that a sample can have; 1 for floating point."""
        return int(np.iinfo(self.pixels.dtype).max) if self.pixels.dtype.kind in "iu" else 1

    @property
    def is_colour(self) -> bool:
        """Whether there are three channels."""
        return self.pixels.ndim == 3

    def replace_pixels(self, values: Array) -> Still:
        """Return a picture of other values, rounded and clipped to the same depth, with the same transparency."""
        pixels = fit_pixels(np.asarray(values), self.pixels.dtype)
        same_size = pixels.shape[:2] == self.pixels.shape[:2]
        # A profile of grey does not describe colours, nor the other way round.
        icc = self.icc if pixels.ndim == self.pixels.ndim else None
        return replace(self, pixels=pixels, alpha=self.alpha if same_size else None, icc=icc)


def read_still(path: Path, *, most_pixels: int | None = None) -> Still:
    """Read a picture in any format that Pillow or our own codec reads, turned as its camera was held.

    Parameters
    ----------
    path : Path
        PNG, TIFF, JPEG, WebP, GIF, BMP, JPEG 2000 and others. Of several pictures in a file, the first is read.
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
        If it is one of more than 8 bits in colour, and the library that reads those is not installed: PyAV for PNG,
        tifffile for TIFF.
    """
    from PIL import ImageOps

    most_pixels = choose_most_pixels(most_pixels)
    if _is_jpeg2000(path):
        from subband.media.jpeg2000 import read_jpeg2000

        return Still(*read_jpeg2000(path, most_pixels))
    try:
        opened = open_image(path, most_pixels)
    except TooLargeError:
        raise
    except FormatError as error:
        # Kinds of TIFF that only scientists use.
        if path.suffix.lower() not in _TIFF_ENDINGS:
            raise
        return _read_tiff(path, most_pixels, otherwise=error)
    try:
        with opened:
            if _is_deep_tiff(opened):
                return replace(_read_tiff(path, most_pixels), exif=_find_exif(opened))
            with path.open("rb") as file:
                bits, channels = deep_stills.find_depth(file.read(1024))
            if bits > 8 and channels > 1:
                turn = int(opened.getexif().get(_ORIENTATION, 1))
                icc, exif = _find_profile(opened, is_colour=channels > 2), _find_exif(opened)
                pixels, alpha = deep_stills.read_through_ffmpeg(path, turn)
                return Still(pixels, alpha, icc, exif)
            opened.load()
            still = split_image(ImageOps.exif_transpose(opened))
            # the turned one is a copy, which knows nothing of the tags of a TIFF file
            return replace(still, exif=_find_exif(opened))
    except list_broken() as error:
        if isinstance(error, SubbandError):
            raise
        raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error


def write_still(path: Path, still: Still, *, quality: float | None = None, overwrite: bool = True) -> None:
    """Write a picture in the format that the ending of the name says; it appears when it is complete.

    Parameters
    ----------
    path : Path
        Where; PNG, TIFF, JPEG 2000, BMP and GIF are written without loss of what they can hold.
    still : Still
        What. Transparency, colour profile and EXIF are left out where the format has no place for them.
    quality : float, optional
        Of JPEG and WebP, from 0 to 100; 95 if left out. A WebP of 100 is one without loss.
    overwrite : bool
        Whether a file of that name may be replaced.

    Raises
    ------
    ArgumentError
        If no format has that ending, the format cannot hold the picture's depth, or a file is there that must stay.
    OutputError
        If the disk is full, or the like.

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
    # Asking for the endings also makes Pillow know all its formats.
    if Image.registered_extensions().get(ending) not in Image.SAVE:
        raise ArgumentError(f"{path.name!r} does not end like a picture; take a name such as picture.png")
    _check_depth(path, still)
    if quality is not None and not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    try:
        with place_output(path, overwrite=overwrite) as unfinished:
            _save(unfinished, still, ending, quality)
    except OSError as error:
        raise explain_output_error(path, error) from error
    except (ValueError, SystemError) as error:
        if isinstance(error, SubbandError):
            raise
        rows, columns = still.pixels.shape[:2]
        raise ArgumentError(
            f"{str(path)!r} cannot hold this picture of {columns} × {rows} pixels: {error}; write to .png or .tiff"
        ) from error


def list_broken() -> tuple[type[Exception], ...]:
    """List what Pillow raises when it stumbles over a damaged file."""
    from PIL import Image

    return (*BROKEN, Image.DecompressionBombError)


def open_image(path: Path, most_pixels: int) -> Any:
    """Open a picture with Pillow, which reads no more than its head, and refuse one that is too large.

    Raises
    ------
    ArgumentError, FileNotFoundError, FormatError
        As `read_still` says.
    """
    from PIL import Image, UnidentifiedImageError

    if path.is_dir():
        raise ArgumentError(f"{str(path)!r} is a folder; give the name of a picture in it")
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
            f"{str(path)!r} is not a picture in a format that Pillow reads, such as PNG, TIFF or JPEG"
        ) from None
    except FileNotFoundError:
        raise
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error
    try:
        refuse_bomb(str(path), opened.height, opened.width, most_pixels)
    except TooLargeError:
        opened.close()
        raise
    return opened


def split_image(image: Any) -> Still:
    """Turn one of Pillow's many kinds of image into ours."""
    exif = _find_exif(image)
    if image.mode in _DEEP_GREY:
        values = np.asarray(image)
        if values.size and (values.min() < 0 or values.max() > np.iinfo(np.uint16).max):
            raise FormatError(f"the picture has values from {values.min()} to {values.max()}; 16 bits are read at most")
        return Still(values.astype(np.uint16), None, _find_profile(image, is_colour=False), exif)
    if image.mode == "F":
        return Still(np.array(image, np.float32), None, _find_profile(image, is_colour=False), exif)
    if image.mode == "CMYK":
        return Still(np.array(_convert_inks(image)), exif=exif)
    has_alpha = image.has_transparency_data
    is_grey = image.mode in ("1", "L", "LA", "La")
    icc = _find_profile(image, is_colour=not is_grey)
    if not has_alpha:
        return Still(np.array(image.convert("L" if is_grey else "RGB")), None, icc, exif)
    pixels = np.array(image.convert("LA" if is_grey else "RGBA"))
    colours = pixels[..., 0] if is_grey else pixels[..., :3]
    return Still(np.ascontiguousarray(colours), np.ascontiguousarray(pixels[..., -1]), icc, exif)


def _is_jpeg2000(path: Path) -> bool:
    """Tell by its first bytes whether a file is a JP2 file or a codestream."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(12).startswith(_JPEG2000_STARTS)


def _is_deep_tiff(image: Any) -> bool:
    """Tell whether Pillow would drop bits of a TIFF file without a word."""
    tags = getattr(image, "tag_v2", None)
    if image.format != "TIFF" or tags is None:
        return False
    bits = tags.get(_BITS, (1,))
    return bool(max(bits) > 8 and (len(bits) > 1 or (tags.get(_SAMPLE_FORMAT, (1,))[0] == 3 and bits[0] != 32)))


def _read_tiff(path: Path, most_pixels: int, *, otherwise: FormatError | None = None) -> Still:
    """Read through tifffile; if that cannot either, what Pillow said is shorter."""
    try:
        pixels, alpha, icc = deep_stills.read_tiff(path, most_pixels)
    except (FormatError, ImportError):
        if otherwise is not None:
            raise otherwise from None
        raise
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


def _find_profile(image: Any, *, is_colour: bool) -> bytes | None:
    """Return the colour profile, if it is one of such pixels."""
    profile = image.info.get("icc_profile")
    if not isinstance(profile, bytes) or profile[16:20] != (b"RGB " if is_colour else b"GRAY"):
        return None
    return profile


def _find_exif(image: Any) -> bytes | None:
    """Return what the camera says, less how it was held."""
    exif = image.getexif()
    if image.format == "TIFF" or getattr(image, "tag_v2", None) is not None:
        for tag in [tag for tag in exif if tag not in _DESCRIPTIVE]:
            del exif[tag]
    exif.pop(_ORIENTATION, None)
    return bytes(exif.tobytes()) if len(exif) else None


def _check_depth(path: Path, still: Still) -> None:
    """Refuse to write fewer bits than there are."""
    ending = path.suffix.lower()
    dtype = still.pixels.dtype
    if dtype.kind == "f" and ending not in _TIFF_ENDINGS:
        raise ArgumentError(f"{path.name!r} cannot hold floating point; write to .tiff, or scale to uint8 or uint16")
    if dtype == np.uint16 and still.is_colour and ending not in _DEEP_ENDINGS:
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits in colour; write to .png, .tiff or .jp2")
    if dtype == np.uint16 and ending not in _DEEP_ENDINGS:
        raise ArgumentError(f"{path.name!r} cannot hold 16 bits a sample; write to .png or .tiff")
    if dtype not in (np.uint8, np.uint16, np.float32):
        raise ArgumentError(f"pictures hold uint8, uint16 or float32, not {dtype}; convert the array first")


def _save(path: Path, still: Still, ending: str, quality: float | None) -> None:
    """Write a file by whatever can hold the picture."""
    from PIL import Image

    pixels = np.ascontiguousarray(still.pixels)
    if ending in _JPEG2000_ENDINGS:
        from subband.media.jpeg2000 import write_jpeg2000

        write_jpeg2000(path, pixels, still.alpha, still.icc)
        return
    is_deep = pixels.dtype != np.uint8
    if ending == ".png" and is_deep and (still.is_colour or still.alpha is not None):
        path.write_bytes(deep_stills.encode_png(pixels, still.alpha, still.icc, still.exif))
        return
    if ending in _TIFF_ENDINGS and is_deep and (still.is_colour or still.alpha is not None):
        deep_stills.write_tiff(path, pixels, still.alpha, still.icc)
        return
    image = Image.fromarray(pixels)
    if still.alpha is not None and not is_deep and ending in _TRANSPARENT_ENDINGS:
        image.putalpha(Image.fromarray(np.ascontiguousarray(still.alpha)))
    options: dict[str, Any] = {}
    if ending in _PROFILE_ENDINGS:
        options |= {name: value for name, value in (("icc_profile", still.icc), ("exif", still.exif)) if value}
    if ending in (".jpg", ".jpeg"):
        options |= {"quality": round(95 if quality is None else quality), "subsampling": 0}
    if ending == ".webp":
        options |= {"lossless": True} if quality == 100 else {"quality": round(95 if quality is None else quality)}
    # Into memory first: Pillow does not see that a disk takes only a part of what it writes to a file.
    encoded = BytesIO()
    image.save(encoded, Image.registered_extensions()[ending], **options)
    path.write_bytes(encoded.getbuffer())
