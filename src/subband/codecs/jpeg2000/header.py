"""What a file says about its image before anything is decoded."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.boxes import SIGNATURE, Box, Jp2Header, read_boxes
from subband.codecs.jpeg2000.codestream import Codestream, read_codestream
from subband.codecs.jpeg2000.geometry import count_tiles
from subband.codecs.jpeg2000.parameters import CodingComponent, ComponentSize, Order
from subband.errors import ArgumentTypeError, CodecError

__all__ = ["Header", "OpenFile", "open_file", "read_header", "view_bytes"]

_SOC_SIZ = bytes.fromhex("ff4fff51")


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
    found = {box.kind: box for box in reversed(boxes)}
    if "jp2c" not in found:
        raise CodecError(f"the JP2 file holds no codestream; its boxes are {[box.kind for box in boxes]}")
    stream = read_codestream(array, found["jp2c"].start, found["jp2c"].stop)
    jp2 = Jp2Header.read(array, found["jp2h"]) if "jp2h" in found else None
    return _describe(stream, boxes, jp2)


def _describe(stream: Codestream, boxes: tuple[Box, ...], jp2: Jp2Header | None) -> OpenFile:
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
