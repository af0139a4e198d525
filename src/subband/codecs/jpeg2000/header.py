"""What a file says about its image before anything is decoded."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.boxes import (
    EXTRAS,
    SIGNATURE,
    Box,
    Jp2Header,
    find_image_boxes,
    read_boxes,
    read_fragments,
)
from subband.codecs.jpeg2000.codestream import Codestream, read_codestream
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import count_tiles
from subband.codecs.jpeg2000.parameters import CodingComponent, ComponentSize, Order
from subband.errors import ArgumentTypeError, CodecError

__all__ = ["Header", "OpenFile", "open_file", "read_header", "view_bytes"]

_SOC_SIZ = bytes.fromhex("ff4fff51")

#: Bytes that boxes beside the image may have together.
_MOST_EXTRAS = 1 << 26


@dataclass(frozen=True, eq=False)
class Header:
    """What a file says about its image.

    Attributes
    ----------
    width, height : int
        Of the reference grid; a component may have fewer columns and rows.
    components : tuple of ComponentSize
        Bits, sign and steps of each.
    tiles : (int, int)
        Number of tiles across and down.
    levels : int
        Levels of decomposition, so that `reduce` can be 0 to `levels`; tiles may have others.
    layers : int
        Layers of quality.
    order : Order
        The order of packets.
    is_reversible : bool
        Whether the wavelet is the 5/3 of integers.
    has_colour_transform : bool
        Whether the first three components were decorrelated.
    boxes : tuple of Box
        Those of a JP2 file; empty for a bare codestream.
    jp2 : Jp2Header or None
        Colours, palette and channels.
    comments : tuple of str
        The texts of the codestream.
    extras : tuple of (str, bytes)
        Type and content of boxes that stand beside the image: ``"uuid"``, such as EXIF, XMP and GeoJP2, ``"xml "``,
        ``"uinf"`` and ``"asoc"``; `encode` takes them as `boxes`.
    """

    width: int
    height: int
    components: tuple[ComponentSize, ...]
    tiles: tuple[int, int]
    levels: int
    layers: int
    order: Order
    is_reversible: bool
    has_colour_transform: bool
    boxes: tuple[Box, ...]
    jp2: Jp2Header | None
    comments: tuple[str, ...]
    extras: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)

    @property
    def colour_space(self) -> str:
        """The name of the colour space, or ``'unknown'``."""
        return self.jp2.colours[0].name if self.jp2 is not None and self.jp2.colours else "unknown"

    @property
    def icc_profile(self) -> bytes | None:
        """The ICC profile, if there is one."""
        colours = self.jp2.colours if self.jp2 is not None else ()
        return next((colour.profile for colour in colours if colour.profile), None)


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A file whose headers are read."""

    stream: Codestream
    header: Header


def read_header(data: bytes | bytearray | memoryview | str | PathLike[str]) -> Header:
    """Read what a file says about its image, without decoding it.

    Parameters
    ----------
    data : bytes or path
        A JP2 file or a codestream, or where it lies.

    Raises
    ------
    CodecError
        If it is neither, or its headers are damaged.
    """
    return open_file(data).header


def open_file(data: bytes | bytearray | memoryview | str | PathLike[str]) -> OpenFile:
    """Read the headers of a file; of a path, only what is needed is read from disk."""
    array = view_bytes(data)
    if array[:4].tobytes() == _SOC_SIZ:
        return _describe(read_codestream(array), (), None)
    if array[:12].tobytes() != SIGNATURE:
        start = array[:4].tobytes().hex() or "nothing"
        raise CodecError(f"the data begin with {start}, which is neither a JP2 file nor a JPEG 2000 codestream")
    boxes = read_boxes(array)
    stream = _find_codestream(array, boxes)
    described = find_image_boxes(boxes)
    jp2 = None if described is None else Jp2Header.read(array, described)
    extras = [(box.kind, array[box.start : box.stop].tobytes()) for box in boxes if box.kind in EXTRAS]
    if sum(len(content) for _, content in extras) > _MOST_EXTRAS:
        warn(f"boxes beside the image hold more than {_MOST_EXTRAS} bytes, and are passed over")
        extras = []
    return _describe(stream, boxes, jp2, tuple(extras))


def _find_codestream(array: NDArray[np.uint8], boxes: tuple[Box, ...]) -> Codestream:
    """Return the first codestream of a file, which a table of fragments may tell where to find."""
    whole = [box for box in boxes if box.kind == "jp2c"]
    tables = [inner for box in boxes if box.kind == "ftbl" for inner in box.boxes if inner.kind == "flst"]
    if len(whole) + len(tables) > 1:
        warn(f"the file holds {len(whole) + len(tables)} codestreams; the first of them is read")
    if whole:
        return read_codestream(array, whole[0].start, whole[0].stop)
    if not tables:
        raise CodecError(f"the JP2 file holds no codestream; its boxes are {[box.kind for box in boxes]}")
    pieces = read_fragments(array, tables[0])
    if len(pieces) == 1:
        return read_codestream(array, *pieces[0])
    if sum(stop - start for start, stop in pieces) > len(array):
        raise CodecError("the fragments of the codestream are longer than the file")
    return read_codestream(np.concatenate([array[start:stop] for start, stop in pieces]))


def _describe(
    stream: Codestream, boxes: tuple[Box, ...], jp2: Jp2Header | None, extras: tuple[tuple[str, bytes], ...] = ()
) -> OpenFile:
    size, coding = stream.size, stream.coding
    levels = [coding.style.levels, *(own.style.levels for own in stream.select(CodingComponent))]
    header = Header(
        size.x1 - size.x0,
        size.y1 - size.y0,
        size.components,
        count_tiles(size),
        min(levels),
        coding.layers,
        coding.order,
        coding.style.is_reversible,
        coding.has_colour_transform,
        boxes,
        jp2,
        stream.comments,
        extras,
    )
    return OpenFile(stream, header)


def view_bytes(data: bytes | bytearray | memoryview | str | PathLike[str]) -> NDArray[np.uint8]:
    """Return bytes, or those of a file, as an array that is not copied."""
    if isinstance(data, bytes | bytearray | memoryview):
        return np.frombuffer(data, np.uint8)
    if not isinstance(data, str | PathLike):
        raise ArgumentTypeError(f"data is a {type(data).__name__}; give bytes or a path")
    with Path(data).open("rb") as file:
        if file.seek(0, 2) == 0:
            return np.zeros(0, np.uint8)
        # pages that are not touched are never read; the map lives as long as the array
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
