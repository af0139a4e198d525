"""What a file is made of: its boxes, markers and tile-parts as a tree, with their positions, lengths and fields.

Damage is shown where it is, rather than raised, so that a file that cannot be decoded can still be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.boxes import (
    SIGNATURE,
    BitsPerComponent,
    Box,
    ColourSpecification,
    ImageHeader,
    Palette,
    Resolution,
    read_boxes,
)
from subband.codecs.jpeg2000.fields import FieldReader
from subband.codecs.jpeg2000.header import view_bytes
from subband.codecs.jpeg2000.markers import EOC, SOC, SOD, SOT, TilePart, name_marker, read_segment
from subband.codecs.jpeg2000.parameters import ImageSize
from subband.errors import CodecError

__all__ = ["Element", "inspect"]

Bytes = NDArray[np.uint8]

#: Values of a field that are shown; a list of lengths can be very long.
_MOST_VALUES = 16

#: Tile-parts and segments that are shown.
_MOST_ELEMENTS = 100_000


@dataclass(frozen=True)
class Element:
    """A part of a file.

    Attributes
    ----------
    kind : {"file", "box", "marker", "tile-part", "codestream", "damage"}
        What it is.
    name : str
        The type of a box, or what the standard calls a marker.
    offset, length : int
        Where it begins in the file, and its bytes, head included.
    fields : dict
        What it says: names and values that JSON can hold.
    children : tuple of Element
        What lies in it.
    """

    kind: str
    name: str
    offset: int
    length: int
    fields: dict[str, Any]
    children: tuple[Element, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Element]]:
        """Yield this element and all within it, each with its depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def find(self, name: str) -> list[Element]:
        """Return all elements of a name, such as ``'COD'`` or ``'ihdr'``."""
        return [element for _, element in self.walk() if element.name == name]

    def as_dict(self) -> dict[str, Any]:
        """Return the tree as dictionaries and lists, for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "offset": self.offset,
            "length": self.length,
            "fields": self.fields,
            "children": [child.as_dict() for child in self.children],
        }

    def __str__(self) -> str:
        lines = []
        for depth, element in self.walk():
            said = ", ".join(f"{name}={value}" for name, value in element.fields.items())
            head = f"{'  ' * depth}{element.name} at {element.offset}, {element.length} bytes"
            lines.append(f"{head}: {said}" if said else head)
        return "\n".join(lines)


def inspect(data: bytes | bytearray | memoryview | str | PathLike[str]) -> Element:
    """Return what a file is made of.

    Parameters
    ----------
    data : bytes or path
        A JP2 file or a codestream, or where it lies.

    Returns
    -------
    Element
        The file, with boxes, markers and tile-parts in it. Printed, it is an indented list.

    Raises
    ------
    CodecError
        If it is neither.

    Examples
    --------
    >>> from subband.codecs.jpeg2000 import inspect
    >>> from subband.codecs.jpeg2000.markers import Comment
    >>> tree = inspect(bytes.fromhex("ff4f") + Comment(b"hello").write())
    >>> print(tree)
    file at 0, 13 bytes
      codestream at 0, 13 bytes
        SOC at 0, 2 bytes
        COM at 2, 11 bytes: content=hello, is_text=True
        damage at 13, 0 bytes: message=the codestream ends before its EOC
    """
    array = view_bytes(data)
    if array[:2].tobytes() == SOC.to_bytes(2, "big"):
        children: tuple[Element, ...] = (_inspect_codestream(array, 0, len(array)),)
    elif array[:12].tobytes() == SIGNATURE:
        try:
            children = tuple(_inspect_box(array, box) for box in read_boxes(array))
        except CodecError as error:
            children = (_damage(0, error),)
    else:
        raise CodecError("the data are neither a JP2 file nor a JPEG 2000 codestream")
    return Element("file", "file", 0, len(array), {}, children)


def _inspect_box(data: Bytes, box: Box) -> Element:
    children = tuple(_inspect_box(data, inner) for inner in box.boxes)
    said: dict[str, Any] = {}
    if box.kind == "jp2c":
        children = (_inspect_codestream(data, box.start, box.stop),)
    elif not box.boxes:
        content = data[box.start : min(box.stop, box.start + (1 << 20))].tobytes()
        try:
            said = _read_content(box.kind, content)
        except CodecError as error:
            children = (_damage(box.start, error),)
    return Element("box", box.kind, box.offset, box.length, said, children)


def _read_content(kind: str, content: bytes) -> dict[str, Any]:
    """Return the fields of a box."""
    simple = {each.kind: each for each in (ImageHeader, BitsPerComponent, ColourSpecification, Palette)}
    if kind in simple:
        said = _list_fields(simple[kind].read(content))
        if kind == "colr":
            said["colour_space"] = ColourSpecification.read(content).name
        return said
    if kind in ("resc", "resd"):
        return _list_fields(Resolution.read(kind, content))
    if kind == "ftyp":
        reader = FieldReader(content, kind)
        brand, version = reader.take(4).decode("latin-1"), reader.long()
        compatible = reader.rest().decode("latin-1")
        return {
            "brand": brand,
            "version": version,
            "compatible": [compatible[i : i + 4] for i in range(0, len(compatible), 4)],
        }
    if kind == "cdef":
        reader = FieldReader(content, kind)
        rows = [[reader.short() for _ in range(3)] for _ in range(min(reader.short(), reader.left // 6))]
        return {"channels": [dict(zip(("channel", "role", "association"), row, strict=True)) for row in rows]}
    if kind == "cmap":
        reader = FieldReader(content, kind)
        rows = [[reader.short(), reader.byte(), reader.byte()] for _ in range(len(content) // 4)]
        return {"mapping": [dict(zip(("component", "type", "column"), row, strict=True)) for row in rows]}
    if kind == "xml ":
        return {"text": content[:400].decode("utf-8", "replace")}
    return {}


def _inspect_codestream(data: Bytes, start: int, stop: int) -> Element:
    """Return the markers of a codestream; those of tile-parts lie in them."""
    children = [Element("marker", "SOC", start, 2, {})]
    count = 0
    offset = start + 2
    ended = False
    while offset + 2 <= stop and not ended and len(children) < _MOST_ELEMENTS:
        code = int.from_bytes(data[offset : offset + 2].tobytes(), "big")
        try:
            if code == EOC:
                element, ended = Element("marker", "EOC", offset, 2, {}), True
            elif code == SOT:
                element = _inspect_tile_part(data, offset, stop, count)
            else:
                element, count = _inspect_segment(data, offset, stop, count)
        except CodecError as error:
            children.append(_damage(offset, error))
            break
        children.append(element)
        offset += element.length
    else:
        if not ended:
            children.append(_damage(offset, "the codestream ends before its EOC"))
    return Element("codestream", "codestream", start, stop - start, {}, tuple(children))


def _inspect_tile_part(data: Bytes, offset: int, stop: int, count: int) -> Element:
    """Return a tile-part and the segments of its header."""
    if offset + 12 > stop:
        raise CodecError("the codestream ends within SOT")
    sot = TilePart.read(data[offset + 4 : offset + 12].tobytes())
    length = sot.length
    if length == 0:
        length = stop - offset - (2 if data[stop - 2 : stop].tobytes() == EOC.to_bytes(2, "big") else 0)
    if length < 14:
        raise CodecError(f"SOT declares {length} bytes, less than a header has")
    end = min(offset + length, stop)
    children: list[Element] = []
    position = offset + 12
    while position + 2 <= end:
        code = int.from_bytes(data[position : position + 2].tobytes(), "big")
        if code == SOD:
            children.append(Element("marker", "SOD", position, end - position, {"packet_bytes": end - position - 2}))
            break
        try:
            element, _ = _inspect_segment(data, position, end, count)
        except CodecError as error:
            children.append(_damage(position, error))
            break
        children.append(element)
        position += element.length
    if offset + length > stop:
        children.append(_damage(stop, f"the codestream ends {offset + length - stop} bytes before the tile-part does"))
    return Element("tile-part", "SOT", offset, end - offset, _list_fields(sot), tuple(children))


def _inspect_segment(data: Bytes, offset: int, stop: int, count: int) -> tuple[Element, int]:
    """Return a segment, and the number of components once it is known."""
    code = int.from_bytes(data[offset : offset + 2].tobytes(), "big")
    if code < 0xFF00:
        raise CodecError(f"{code:#06x} stands where a marker belongs")
    if 0xFF30 <= code <= 0xFF3F:
        return Element("marker", name_marker(code), offset, 2, {}), count
    length = int.from_bytes(data[offset + 2 : offset + 4].tobytes(), "big")
    if length < 2 or offset + 2 + length > stop:
        raise CodecError(f"{name_marker(code)} declares {length} bytes, more than there are, or none")
    segment = read_segment(code, data[offset + 4 : offset + 2 + length].tobytes(), count)
    if isinstance(segment, ImageSize):
        count = len(segment.components)
    return Element("marker", name_marker(code), offset, 2 + length, _list_fields(segment)), count


def _damage(offset: int, error: CodecError | str) -> Element:
    return Element("damage", "damage", offset, 0, {"message": str(error)})


def _list_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON can hold them."""
    return {each.name: _simplify(getattr(value, each.name)) for each in fields(value) if each.name != "code"}


def _simplify(value: Any) -> Any:
    """Return numbers, texts, lists and dictionaries; what is long is cut."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        is_text = value.isascii() and value.decode("latin-1").isprintable()
        return value.decode("ascii") if is_text and len(value) <= 400 else f"{len(value)} bytes"
    if isinstance(value, np.ndarray):
        return f"{' × '.join(map(str, value.shape))} numbers"
    if is_dataclass(value) and not isinstance(value, type):
        return _list_fields(value)
    if isinstance(value, tuple | list):
        shown = [_simplify(each) for each in value[:_MOST_VALUES]]
        return shown if len(value) <= _MOST_VALUES else [*shown, f"… {len(value) - _MOST_VALUES} more"]
    return value if isinstance(value, int | float | str | bool) or value is None else str(value)
