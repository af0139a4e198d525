"""Opening image files with Pillow: what it raises over damage, and its limit, which is lower than ours."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

from subband.errors import ArgumentError, FormatError
from subband.media.faults import BROKEN
from subband.media.limits import TooLargeError, refuse_bomb

__all__ = ["list_broken", "open_image"]

_PILLOW_LIMIT = Lock()


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
