"""Images that Pillow would cut down to 8 bits: deep colour, and floating point in colour."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from subband.media.faults import explain_damage, require
from subband.media.still_metadata import choose_compression, list_directories, list_texts, load_exif
from subband.media.tiff_tags import attach_directories
from subband.typing import Array

__all__ = [
    "encode_png",
    "find_depth",
    "find_hidden_bits",
    "frame_png",
    "make_chunk",
    "pack_png_lines",
    "read_through_ffmpeg",
    "separate_opacity",
    "turn_upright",
    "write_tiff",
]

_PNG = b"\x89PNG\r\n\x1a\n"
_XMP_TAG = 700
# What tifffile calls the compressions of Pillow.
_TIFFFILE_NAMES = {"tiff_lzw": "lzw", "tiff_adobe_deflate": "zlib", "packbits": "packbits", "zstd": "zstd"}

# What an orientation asks for: whether rows and columns are exchanged, and which of them run backwards after that.
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


def find_hidden_bits(head: bytes) -> int:
    """Return the bits of a sample of an AVIF or SGI file, whose images Pillow cuts down to 8; else 8.

    Examples
    --------
    >>> find_hidden_bits(bytes.fromhex("01da0002")), find_hidden_bits(b"GIF89a")
    (16, 8)
    """
    if head.startswith(b"\x01\xda") and len(head) > 3:
        return 8 * head[3]
    offset = head.find(b"av1C") if head[4:8] == b"ftyp" else -1
    if offset < 0 or len(head) < offset + 7:
        return 8
    flags = head[offset + 6]
    return 8 if not flags & 0x40 else 12 if flags & 0x20 else 10


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


def separate_opacity(colours: Array, alpha: Array) -> Array:
    """Divide colours by the opacity that they were multiplied with; what is invisible stays as it is.

    Examples
    --------
    >>> separate_opacity(np.full((1, 1, 3), 100, np.uint8), np.full((1, 1), 127, np.uint8)).tolist()
    [[[201, 201, 201]]]
    """
    opacity = alpha[..., None].astype(np.float64)
    if colours.dtype.kind == "f":
        return np.divide(colours, opacity, out=colours.astype(np.float64), where=opacity > 0).astype(colours.dtype)
    peak = np.iinfo(colours.dtype).max
    plain = np.divide(colours * float(peak), opacity, out=colours.astype(np.float64), where=opacity > 0)
    return np.clip(np.rint(plain), 0, peak).astype(colours.dtype)


def read_through_ffmpeg(path: Path, orientation: int) -> tuple[Array, Array | None]:
    """Read 16 bits of colour or of grey with opacity from PNG; return pixels and opacity."""
    av = require("av", f"reading more than 8 bits in colour from {path.name!r}", "video")
    with explain_damage(path, "an image", av.FFmpegError, StopIteration), av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        names = {component.is_alpha for component in frame.format.components}
        is_grey = len(frame.format.components) <= 2
        values = frame.reformat(format="rgba64le").to_ndarray()
    values = turn_upright(values, orientation)
    colours = values[..., 0] if is_grey else values[..., :3]
    return np.ascontiguousarray(colours), (np.ascontiguousarray(values[..., 3]) if True in names else None)


def encode_png(
    pixels: Array,
    alpha: Array | None = None,
    icc: bytes | None = None,
    exif: bytes | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> bytes:
    """Return a PNG file of 16 bits.

    Parameters
    ----------
    pixels : ndarray of uint16
        Rows × columns, or rows × columns × 3.
    alpha : ndarray of uint16, optional
        Rows × columns.
    icc, exif : bytes, optional
        The colour profile and what the camera says.
    metadata : mapping, optional
        See `subband.media.still_metadata`.
    """
    planes = join_opacity(pixels, alpha)
    data = make_chunk(b"IDAT", zlib.compress(pack_png_lines(planes), 4))
    return frame_png(planes, icc, exif, metadata or {}) + data + make_chunk(b"IEND", b"")


def join_opacity(pixels: Array, alpha: Array | None) -> Array:
    """Return rows × columns × channels, the last of which is the opacity if there is one."""
    planes = pixels[..., None] if pixels.ndim == 2 else pixels
    return planes if alpha is None else np.concatenate([planes, alpha[..., None]], axis=2)


def pack_png_lines(planes: Array) -> bytes:
    """Return the lines of a PNG file, each as its difference from the one above: the filter that needs no loop."""
    samples = planes.astype(">u2") if planes.dtype == np.uint16 else np.ascontiguousarray(planes)
    lines = samples.view(np.uint8).reshape(planes.shape[0], -1)
    filtered = np.empty((lines.shape[0], lines.shape[1] + 1), np.uint8)
    filtered[:, 0] = 2
    filtered[0, 1:] = lines[0]
    filtered[1:, 1:] = lines[1:] - lines[:-1]
    return filtered.tobytes()


def frame_png(planes: Array, icc: bytes | None, exif: bytes | None, metadata: Mapping[str, Any]) -> bytes:
    """Return what stands before the pixels of a PNG file, for rows × columns × channels of 8 or 16 bits."""
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[planes.shape[2]]
    header = struct.pack(">IIBBBBB", planes.shape[1], planes.shape[0], 8 * planes.dtype.itemsize, kind, 0, 0, 0)
    chunks = [make_chunk(b"IHDR", header)]
    if icc is not None:
        chunks.append(make_chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(icc)))
    if "dpi" in metadata:
        chunks.append(
            make_chunk(b"pHYs", struct.pack(">IIB", *(round(value / 0.0254) for value in metadata["dpi"]), 1))
        )
    if exif is not None:
        chunks.append(make_chunk(b"eXIf", exif.removeprefix(b"Exif\0\0")))
    chunks += [make_chunk(name, content) for name, content in list_texts(metadata)]
    return _PNG + b"".join(chunks)


def write_tiff(
    path: Path,
    pixels: Array,
    alpha: Array | None,
    icc: bytes | None,
    exif: bytes | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a TIFF file of 16 bits or of floating point in colour."""
    tifffile = require("tifffile", f"writing more than 8 bits in colour to {path.name!r}", "volumes")
    extra: dict[str, Any] = {}
    if alpha is not None:
        pixels = join_opacity(pixels, alpha)
        extra["extrasamples"] = ["unassalpha"]
    extra["photometric"] = "rgb" if pixels.ndim == 3 and pixels.shape[2] >= 3 else "minisblack"
    # "planarconfig" would be guessed from the shape, and wrongly for narrow images.
    extra |= {"planarconfig": "contig"} if pixels.ndim == 3 else {}
    metadata = metadata or {}
    if "dpi" in metadata:
        extra |= {"resolution": metadata["dpi"], "resolutionunit": "inch"}
    tags = _list_texts_of_exif(exif)
    if "xmp" in metadata:
        tags.append((_XMP_TAG, "B", len(metadata["xmp"]), metadata["xmp"], True))
    description = next((value for tag, _, _, value, _ in tags if tag == 270), None)
    options = {"description": description, "software": False, "metadata": None, "iccprofile": icc, **extra}
    options["extratags"] = [tag for tag in tags if tag[0] != 270]
    # Into memory first: NumPy does not see that a disk takes only a part of what it writes to a file.
    encoded = _encode_tiff(tifffile, pixels, choose_compression(metadata), options)
    attach_directories(encoded, list_directories(exif))
    path.write_bytes(encoded.getbuffer())


def _encode_tiff(tifffile: Any, pixels: Array, compression: str | None, options: dict[str, Any]) -> BytesIO:
    """Encode with a compression; with the one that needs no further library if there is none for it."""
    encoded = BytesIO()
    if compression is None:
        tifffile.imwrite(encoded, pixels, **options)
        return encoded
    try:
        tifffile.imwrite(encoded, pixels, compression=_TIFFFILE_NAMES[compression], **options)
    except (ImportError, ValueError):
        encoded = BytesIO()
        tifffile.imwrite(encoded, pixels, compression="zlib", **options)
    return encoded


def _list_texts_of_exif(exif: bytes | None) -> list[tuple[Any, ...]]:
    """Return the texts of EXIF as tags for tifffile: as bytes, because it takes text in ASCII only."""
    texts = [(tag, value.encode()) for tag, value in load_exif(exif).items() if isinstance(value, str) and value]
    return [(tag, "s", 0, value, True) for tag, value in texts]


def make_chunk(name: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG file."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
