"""The boxes of a JP2 file (ISO/IEC 15444-1, annex I): what stands around a codestream.

A box has a length, a type of four letters, and a content. `read_boxes` finds them without reading what is large;
`Jp2Header` holds what those in ``jp2h`` say about colours, palettes and channels. Boxes of other types are kept as they
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.fields import FieldReader
from subband.errors import CodecError

__all__ = [
    "EXTRAS",
    "SIGNATURE",
    "BitsPerComponent",
    "Box",
    "ChannelDefinition",
    "ColourSpecification",
    "ImageHeader",
    "Jp2Header",
    "Palette",
    "Resolution",
    "find_image_boxes",
    "pack_box",
    "read_boxes",
    "read_fragments",
    "write_jp2",
]

#: The first box of every JP2 file.
SIGNATURE = bytes.fromhex("0000000c6a5020200d0a870a")

#: Boxes that hold boxes.
SUPERBOXES = frozenset({"jp2h", "res ", "uinf", "asoc", "jpch", "jplh", "cgrp", "ftbl"})

#: Boxes that stand beside the image, and go from file to file as they are.
EXTRAS = ("uuid", "xml ", "uinf", "asoc")

_DEEPEST = 8
_MOST_BOXES = 10_000


@dataclass(frozen=True)
class Box:
    """A box: its type, where it begins, where its content begins and ends, and the boxes in it."""

    kind: str
    offset: int
    start: int
    stop: int
    boxes: tuple[Box, ...] = ()

    @property
    def length(self) -> int:
        """Bytes of the whole box."""
        return self.stop - self.offset


def read_boxes(data: NDArray[np.uint8], start: int = 0, stop: int | None = None) -> tuple[Box, ...]:
    """Find the boxes between two byte offsets, and those in them.

    A box that reaches over the end is cut there.

    Examples
    --------
    >>> data = np.frombuffer(SIGNATURE + pack_box("abcd", b"123"), np.uint8)
    >>> [(box.kind, box.start, box.stop) for box in read_boxes(data)]
    [('jP  ', 8, 12), ('abcd', 20, 23)]
    """
    counter = iter(range(_MOST_BOXES))
    return tuple(_iterate_boxes(data, start, len(data) if stop is None else stop, 0, counter))


def _iterate_boxes(data: NDArray[np.uint8], start: int, stop: int, depth: int, counter: Iterator[int]) -> Iterator[Box]:
    while stop - start >= 8:
        if next(counter, None) is None:
            raise CodecError(f"the file holds more than {_MOST_BOXES} boxes")
        head = bytes(data[start : min(start + 16, stop)])
        length, kind, content = int.from_bytes(head[:4], "big"), head[4:8].decode("latin-1"), start + 8
        if length == 1 and len(head) == 16:
            length, content = int.from_bytes(head[8:], "big"), start + 16
        elif length == 0:
            length = stop - start
        if length < content - start:
            raise CodecError(f"box {kind!r} at byte {start} declares {length} bytes, less than its own head")
        end = min(start + length, stop)
        inside = tuple(_iterate_boxes(data, content, end, depth + 1, counter)) if _is_super(kind, depth) else ()
        yield Box(kind, start, content, end, inside)
        start = end


def _is_super(kind: str, depth: int) -> bool:
    return kind in SUPERBOXES and depth < _DEEPEST


def find_image_boxes(boxes: Sequence[Box]) -> Box | None:
    """Return the box that describes the image, ``jp2h``, with what other headers of a JPX file say where it is silent.

    A JPX file may describe its codestreams in ``jpch`` and how they are composed in ``jplh``; the first of each count.
    """
    first = {box.kind: box for box in reversed(boxes)}
    found = list(first["jp2h"].boxes) if "jp2h" in first else []
    others = [inner for kind in ("jpch", "jplh") if kind in first for inner in first[kind].boxes]
    others += [inner for box in others if box.kind == "cgrp" for inner in box.boxes]
    known = {box.kind for box in found}
    found += [box for box in others if box.kind not in known]
    if not found:
        return first.get("jp2h")
    return Box("jp2h", found[0].offset, found[0].start, found[-1].stop, tuple(found))


def read_fragments(data: NDArray[np.uint8], box: Box) -> list[tuple[int, int]]:
    """Return where the pieces of a codestream begin and end, which ``flst`` tells.

    Raises
    ------
    CodecError
        If they lie in another file, or beyond the end of this one.
    """
    fields = FieldReader(bytes(data[box.start : box.stop]), "flst")
    pieces = []
    for _ in range(fields.short()):
        start, length, other = fields.long() << 32 | fields.long(), fields.long(), fields.short()
        if other:
            raise CodecError("flst tells that a part of the codestream lies in another file, which is not read")
        if start + length > len(data):
            raise CodecError(f"flst tells of bytes {start} to {start + length}; the file has {len(data)}")
        pieces.append((start, start + length))
    if not pieces:
        raise CodecError("flst tells of no part of the codestream")
    return pieces


def pack_box(kind: str, content: bytes) -> bytes:
    """Return a whole box.

    Examples
    --------
    >>> pack_box("xml ", b"<a/>").hex()
    '0000000c786d6c203c612f3e'
    """
    return _begin_box(kind, len(content)) + content


def _begin_box(kind: str, count: int) -> bytes:
    """Return what stands before so many bytes of a box."""
    name, length = kind.encode("latin-1"), count + 8
    if length < 1 << 32:
        return length.to_bytes(4, "big") + name
    return (1).to_bytes(4, "big") + name + (length + 8).to_bytes(8, "big")


@dataclass(frozen=True)
class ImageHeader:
    """``ihdr``: the size of the image once more; `bits` is None if components differ."""

    kind: ClassVar[str] = "ihdr"

    height: int
    width: int
    components: int
    bits: tuple[int, bool] | None
    is_colour_unknown: bool = False
    has_rights: bool = False

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the content of the box."""
        fields = FieldReader(content, cls.kind)
        height, width, components, bits = fields.long(), fields.long(), fields.short(), fields.byte()
        compression, unknown, rights = fields.byte(), fields.byte(), fields.byte()
        if compression != 7:
            raise CodecError(f"ihdr declares the compression {compression}; JP2 has only 7")
        return cls(height, width, components, None if bits == 255 else _unpack_bits(bits), bool(unknown), bool(rights))

    def write(self) -> bytes:
        """Return the whole box."""
        bits = 255 if self.bits is None else _pack_bits(self.bits)
        size = self.height.to_bytes(4, "big") + self.width.to_bytes(4, "big") + self.components.to_bytes(2, "big")
        return pack_box(self.kind, size + bytes((bits, 7, self.is_colour_unknown, self.has_rights)))


@dataclass(frozen=True)
class BitsPerComponent:
    """``bpcc``: bits of each component, and whether they are signed."""

    kind: ClassVar[str] = "bpcc"

    bits: tuple[tuple[int, bool], ...]

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the content of the box."""
        return cls(tuple(map(_unpack_bits, content)))

    def write(self) -> bytes:
        """Return the whole box."""
        return pack_box(self.kind, bytes(map(_pack_bits, self.bits)))


@dataclass(frozen=True)
class ColourSpecification:
    """``colr``: what the colours are, as a number or an ICC profile."""

    kind: ClassVar[str] = "colr"

    #: Numbers of colour spaces, and their names.
    NAMES: ClassVar[dict[int, str]] = {0: "bilevel", 12: "CMYK", 14: "CIELab", 16: "sRGB", 17: "greyscale", 18: "sYCC"}

    method: int
    space: int | None = None
    profile: bytes = field(default=b"", repr=False)
    precedence: int = 0
    approximation: int = 0

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the content of the box."""
        fields = FieldReader(content, cls.kind)
        method, precedence, approximation = fields.byte(), fields.byte(), fields.byte()
        if method == 1:
            return cls(method, fields.long(), b"", precedence, approximation)
        return cls(method, None, fields.rest(), precedence, approximation)

    def write(self) -> bytes:
        """Return the whole box."""
        content = self.profile if self.space is None else self.space.to_bytes(4, "big")
        return pack_box(self.kind, bytes((self.method, self.precedence, self.approximation)) + content)

    @property
    def name(self) -> str:
        """The name of the colour space, such as ``'sRGB'``, or ``'ICC'``."""
        if self.space is None:
            return "ICC" if self.method in (2, 3) else f"method {self.method}"
        return self.NAMES.get(self.space, f"number {self.space}")


@dataclass(frozen=True, eq=False)
class Palette:
    """``pclr``: a table of colours, entries × columns, and the bits of each column."""

    kind: ClassVar[str] = "pclr"

    entries: NDArray[np.int64]
    bits: tuple[tuple[int, bool], ...]

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the content of the box."""
        fields = FieldReader(content, cls.kind)
        count, columns = fields.short(), fields.byte()
        if not 1 <= count <= 1024 or columns == 0:
            raise CodecError(f"pclr declares {count} entries of {columns} columns; there are 1 to 1024 of 1 or more")
        bits = tuple(_unpack_bits(fields.byte()) for _ in range(columns))
        if any(depth > 32 for depth, _ in bits):
            raise CodecError(f"pclr declares a column of {max(bits)[0]} bits; more than 32 are not known here")
        widths = [-(-depth // 8) for depth, _ in bits]
        entries = np.zeros((count, columns), np.int64)
        for row in range(count):
            for column, ((depth, is_signed), width) in enumerate(zip(bits, widths, strict=True)):
                value = int.from_bytes(fields.take(width), "big") & ((1 << depth) - 1)
                entries[row, column] = value - (1 << depth) if is_signed and value >> (depth - 1) else value
        return cls(entries, bits)

    def write(self) -> bytes:
        """Return the whole box."""
        count, columns = self.entries.shape
        body = bytearray(count.to_bytes(2, "big") + bytes((columns, *map(_pack_bits, self.bits))))
        for row in self.entries.tolist():
            for value, (depth, _) in zip(row, self.bits, strict=True):
                body += (value & ((1 << depth) - 1)).to_bytes(-(-depth // 8), "big")
        return pack_box(self.kind, bytes(body))


@dataclass(frozen=True)
class ChannelDefinition:
    """One entry of ``cdef``: a channel, whether it is colour (0), opacity (1) or opacity applied (2), and of what.

    An association of 0 is the whole image, 1 and more are colours in their order, 65535 is nothing.
    """

    channel: int
    role: int
    association: int


@dataclass(frozen=True)
class Resolution:
    """``resc`` or ``resd``: samples for a metre, down and across, as they were captured or are to be displayed."""

    kind: str
    vertical: Fraction
    horizontal: Fraction

    @classmethod
    def read(cls, kind: str, content: bytes) -> Self:
        """Read the content of the box."""
        fields = FieldReader(content, kind)
        numbers = [fields.short() for _ in range(4)]
        if numbers[1] == 0 or numbers[3] == 0:
            raise CodecError(f"{kind} declares a resolution with a denominator of 0")
        powers = [(fields.byte() ^ 128) - 128 for _ in range(2)]
        vertical, horizontal = Fraction(numbers[0], numbers[1]), Fraction(numbers[2], numbers[3])
        return cls(kind, vertical * Fraction(10) ** powers[0], horizontal * Fraction(10) ** powers[1])

    def write(self) -> bytes:
        """Return the whole box; each number is rounded to a fraction of 16 bits times a power of ten."""
        parts = [_pack_fraction(value) for value in (self.vertical, self.horizontal)]
        body = b"".join(part[0] for part in parts) + bytes(part[1] & 255 for part in parts)
        return pack_box(self.kind, body)


@dataclass(frozen=True)
class Jp2Header:
    """What ``jp2h`` says.

    Attributes
    ----------
    image : ImageHeader
        The size.
    bits : BitsPerComponent or None
        Where components differ.
    colours : tuple of ColourSpecification
        The best comes first.
    palette : Palette or None
        With `mapping`, how components become channels.
    mapping : tuple of (component, column)
        One for each channel; the column of the palette is None where the component is taken as it is.
    channels : tuple of ChannelDefinition
        Empty if nothing is said.
    resolutions : tuple of Resolution
        As captured and as displayed.
    """

    image: ImageHeader
    bits: BitsPerComponent | None = None
    colours: tuple[ColourSpecification, ...] = ()
    palette: Palette | None = None
    mapping: tuple[tuple[int, int | None], ...] = ()
    channels: tuple[ChannelDefinition, ...] = ()
    resolutions: tuple[Resolution, ...] = ()

    @classmethod
    def read(cls, data: NDArray[np.uint8], box: Box) -> Self:
        """Read the boxes in ``jp2h``.

        Raises
        ------
        CodecError
            If ``ihdr`` is missing, or one of them cannot be read.
        """
        contents = {inner.kind: bytes(data[inner.start : inner.stop]) for inner in box.boxes}
        if "ihdr" not in contents:
            raise CodecError("jp2h holds no ihdr, so that nothing tells what the file holds")
        colours = [
            ColourSpecification.read(bytes(data[inner.start : inner.stop]))
            for inner in box.boxes
            if inner.kind == "colr"
        ]
        resolutions = [
            Resolution.read(inner.kind, bytes(data[inner.start : inner.stop]))
            for outer in box.boxes
            if outer.kind == "res "
            for inner in outer.boxes
            if inner.kind in ("resc", "resd")
        ]
        palette = Palette.read(contents["pclr"]) if "pclr" in contents else None
        return cls(
            ImageHeader.read(contents["ihdr"]),
            BitsPerComponent.read(contents["bpcc"]) if "bpcc" in contents else None,
            tuple(colours),
            palette,
            _read_mapping(contents["cmap"], palette) if "cmap" in contents else (),
            _read_channels(contents["cdef"]) if "cdef" in contents else (),
            tuple(resolutions),
        )

    def write(self) -> bytes:
        """Return the whole ``jp2h``."""
        parts = [self.image.write()]
        if self.bits is not None:
            parts.append(self.bits.write())
        parts += [colour.write() for colour in self.colours]
        if self.palette is not None:
            parts.append(self.palette.write())
        if self.mapping:
            entries = (
                component.to_bytes(2, "big") + bytes((column is not None, column or 0))
                for component, column in self.mapping
            )
            parts.append(pack_box("cmap", b"".join(entries)))
        if self.channels:
            numbers = [value for entry in self.channels for value in (entry.channel, entry.role, entry.association)]
            body = b"".join(number.to_bytes(2, "big") for number in (len(self.channels), *numbers))
            parts.append(pack_box("cdef", body))
        if self.resolutions:
            parts.append(pack_box("res ", b"".join(each.write() for each in self.resolutions)))
        return pack_box("jp2h", b"".join(parts))


def write_jp2(codestream: bytes, header: Jp2Header, others: Sequence[bytes] = (), brand: str = "jp2 ") -> bytes:
    """Return a whole JP2 file around a codestream, or one of another brand; `others` are boxes that stand before it."""
    name = brand.encode("ascii")
    kind = pack_box("ftyp", name + bytes(4) + name)
    begin = _begin_box("jp2c", len(codestream))
    return b"".join((SIGNATURE, kind, header.write(), *others, begin, codestream))


def _read_mapping(content: bytes, palette: Palette | None) -> tuple[tuple[int, int | None], ...]:
    fields = FieldReader(content, "cmap")
    mapping: list[tuple[int, int | None]] = []
    while fields.left >= 4:
        component, kind, column = fields.short(), fields.byte(), fields.byte()
        if kind == 1 and (palette is None or column >= len(palette.bits)):
            raise CodecError(f"cmap names column {column} of a palette that does not have it")
        mapping.append((component, column if kind == 1 else None))
    return tuple(mapping)


def _read_channels(content: bytes) -> tuple[ChannelDefinition, ...]:
    fields = FieldReader(content, "cdef")
    count = fields.short()
    if fields.left < 6 * count:
        raise CodecError(f"cdef declares {count} channels, and holds {fields.left // 6}")
    return tuple(ChannelDefinition(fields.short(), fields.short(), fields.short()) for _ in range(count))


def _unpack_bits(byte: int) -> tuple[int, bool]:
    return (byte & 0x7F) + 1, bool(byte & 0x80)


def _pack_bits(bits: tuple[int, bool]) -> int:
    return (bits[0] - 1) | (bits[1] << 7)


def _pack_fraction(value: Fraction) -> tuple[bytes, int]:
    """Return numerator and denominator of 16 bits, and the power of ten that they are multiplied by."""
    power = 0
    while value > 65535:
        value, power = value / 10, power + 1
    while 0 < value < 1:
        value, power = value * 10, power - 1
    near = value.limit_denominator(65535)
    while near.numerator > 65535:
        near = near.limit_denominator(near.denominator // 2)
    return near.numerator.to_bytes(2, "big") + near.denominator.to_bytes(2, "big"), power
