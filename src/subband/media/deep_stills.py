"""Pictures that Pillow would cut down to 8 bits: deep colour, and floating point in colour."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from subband.errors import FormatError
from subband.media.faults import BROKEN, require
from subband.media.limits import refuse_bomb
from subband.typing import Array

__all__ = ["encode_png", "find_depth", "read_through_ffmpeg", "read_tiff", "write_tiff"]

_PNG = b"\x89PNG\r\n\x1a\n"
_ICC_TAG, _ORIENTATION_TAG = 34675, 274

# What an orientation asks for: whether rows and columns change places, and which of them run backwards after that.
_TURNS = {
    2: (False, 1, -1),
    3: (False, -1, -1),
    4: (False, -1, 1),
    5: (True, 1, 1),
    6: (True, 1, -1),
    7: (True, -1, -1),
    8: (True, -1, 1),
}


def find_depth(head: bytes) -> tuple[int, int]:
    """Return bits of a sample and number of channels, from the first bytes of a PNG file; else (8, 3).

    Examples
    --------
    >>> find_depth(encode_png(np.zeros((2, 2, 3), np.uint16)))
    (16, 3)
    """
    if head.startswith(_PNG) and len(head) > 25:
        return head[24], {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(head[25], 3)
    return 8, 3


def turn_upright(pixels: Array, orientation: int) -> Array:
    """Turn an array as the orientation of EXIF says.

    Examples
    --------
    >>> turn_upright(np.array([[1, 2], [3, 4]]), 6)
    array([[3, 1],
           [4, 2]])
    """
    if orientation not in _TURNS:
        return pixels
    swaps, down, across = _TURNS[orientation]
    turned = pixels.swapaxes(0, 1) if swaps else pixels
    return np.ascontiguousarray(turned[::down, ::across])


def read_through_ffmpeg(path: Path, orientation: int) -> tuple[Array, Array | None]:
    """Read 16 bits of colour or of grey with opacity from PNG; return pixels and opacity."""
    av = require("av", f"reading more than 8 bits in colour from {path.name!r}", "video")
    try:
        with av.open(str(path)) as container:
            frame = next(container.decode(video=0))
            names = {component.is_alpha for component in frame.format.components}
            is_grey = len(frame.format.components) <= 2
            values = frame.reformat(format="rgba64le").to_ndarray()
    except (av.FFmpegError, StopIteration) as error:
        raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error
    values = turn_upright(values, orientation)
    colours = values[..., 0] if is_grey else values[..., :3]
    return np.ascontiguousarray(colours), (np.ascontiguousarray(values[..., 3]) if True in names else None)


def encode_png(pixels: Array, alpha: Array | None = None, icc: bytes | None = None, exif: bytes | None = None) -> bytes:
    """Return a PNG file of 16 bits.

    Parameters
    ----------
    pixels : ndarray of uint16
        Rows × columns, or rows × columns × 3.
    alpha : ndarray of uint16, optional
        Rows × columns.
    icc, exif : bytes, optional
        The colour profile and what the camera says.
    """
    planes = pixels[..., None] if pixels.ndim == 2 else pixels
    if alpha is not None:
        planes = np.concatenate([planes, alpha[..., None]], axis=2)
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[planes.shape[2]]
    lines = planes.astype(">u2").view(np.uint8).reshape(planes.shape[0], -1)
    # Each line as its difference from the one above: the filter that needs no loop.
    filtered = np.empty((lines.shape[0], lines.shape[1] + 1), np.uint8)
    filtered[:, 0] = 2
    filtered[0, 1:] = lines[0]
    filtered[1:, 1:] = lines[1:] - lines[:-1]
    header = struct.pack(">IIBBBBB", planes.shape[1], planes.shape[0], 16, kind, 0, 0, 0)
    chunks = [_make_chunk(b"IHDR", header)]
    if icc is not None:
        chunks.append(_make_chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(icc)))
    if exif is not None:
        chunks.append(_make_chunk(b"eXIf", exif.removeprefix(b"Exif\0\0")))
    chunks += [_make_chunk(b"IDAT", zlib.compress(filtered.tobytes(), 4)), _make_chunk(b"IEND", b"")]
    return _PNG + b"".join(chunks)


def read_tiff(path: Path, most_pixels: int) -> tuple[Array, Array | None, bytes | None]:
    """Read the first picture of a TIFF file of any depth; return pixels, opacity and colour profile."""
    tifffile = require("tifffile", f"reading more than 8 bits in colour from {path.name!r}", "volumes")
    try:
        with tifffile.TiffFile(path) as file:
            page = file.pages[0]
            refuse_bomb(str(path), page.imagelength, page.imagewidth, most_pixels)
            values = page.asarray()
            values = np.moveaxis(values, 0, -1) if page.planarconfig == 2 and values.ndim == 3 else values
            icc, turn = (tag.value if tag else None for tag in map(page.tags.get, (_ICC_TAG, _ORIENTATION_TAG)))
            is_inverted = page.photometric == 0
    except FormatError:
        raise
    except BROKEN as error:
        raise FormatError(f"{str(path)!r} cannot be read as a picture: {error}") from error
    values = turn_upright(values, int(turn or 1))
    if values.dtype.kind == "f":
        values = values.astype(np.float32)
    elif values.dtype not in (np.uint8, np.uint16):
        raise FormatError(f"{str(path)!r} holds {values.dtype}; pictures of uint8, uint16 and float32 are read")
    elif is_inverted:
        values = np.iinfo(values.dtype).max - values
    alpha = None
    if values.ndim == 3:
        channels = values.shape[2]
        alpha = np.ascontiguousarray(values[..., -1]) if channels in (2, 4) else None
        values = values[..., :3] if channels >= 3 else values[..., 0]
    return np.ascontiguousarray(values), alpha, bytes(icc) if icc is not None else None


def write_tiff(path: Path, pixels: Array, alpha: Array | None, icc: bytes | None) -> None:
    """Write a TIFF file of 16 bits or of floating point in colour."""
    tifffile = require("tifffile", f"writing more than 8 bits in colour to {path.name!r}", "volumes")
    extra: dict[str, Any] = {}
    if alpha is not None:
        planes = pixels[..., None] if pixels.ndim == 2 else pixels
        pixels = np.concatenate([planes, alpha[..., None]], axis=2)
        extra["extrasamples"] = ["unassalpha"]
    photometric = "rgb" if pixels.ndim == 3 and pixels.shape[2] >= 3 else "minisblack"
    # "planarconfig" would be guessed from the shape, and wrongly for narrow pictures.
    layout = {"planarconfig": "contig"} if pixels.ndim == 3 else {}
    # Into memory first: NumPy does not see that a disk takes only a part of what it writes to a file.
    encoded = BytesIO()
    tifffile.imwrite(encoded, pixels, photometric=photometric, iccprofile=icc, metadata=None, **layout, **extra)
    path.write_bytes(encoded.getbuffer())


def _make_chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
