"""The markers of a codestream, and the segments that say where things are: tile-parts, packets, packed headers.

The segments that shape the image stand in `subband.codecs.jpeg2000.parameters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any, ClassVar, Protocol, Self

from subband.codecs.jpeg2000.fields import FieldReader, pack_segment
from subband.codecs.jpeg2000.parameters import (
    CodingComponent,
    CodingDefault,
    ImageSize,
    ProgressionChange,
    QuantisationComponent,
    QuantisationDefault,
    RegionOfInterest,
)
from subband.errors import CodecError

__all__ = [
    "EOC",
    "EPH",
    "MARKER_NAMES",
    "PART_2_MARKERS",
    "SOC",
    "SOD",
    "SOP",
    "SOT",
    "Capabilities",
    "Comment",
    "ComponentRegistration",
    "CorrespondingProfile",
    "PackedHeaders",
    "PackedTileHeaders",
    "PacketLengths",
    "Segment",
    "TileLengths",
    "TilePart",
    "UnknownSegment",
    "name_marker",
    "read_segment",
]

SOC, SOT, SOD, EOC, SOP, EPH = 0xFF4F, 0xFF90, 0xFF93, 0xFFD9, 0xFF91, 0xFF92

#: What the standard calls its markers.
MARKER_NAMES = {
    SOC: "SOC",
    SOT: "SOT",
    SOD: "SOD",
    EOC: "EOC",
    SOP: "SOP",
    EPH: "EPH",
    0xFF50: "CAP",
    0xFF51: "SIZ",
    0xFF52: "COD",
    0xFF53: "COC",
    0xFF55: "TLM",
    0xFF57: "PLM",
    0xFF58: "PLT",
    0xFF59: "CPF",
    0xFF5C: "QCD",
    0xFF5D: "QCC",
    0xFF5E: "RGN",
    0xFF5F: "POC",
    0xFF60: "PPM",
    0xFF61: "PPT",
    0xFF63: "CRG",
    0xFF64: "COM",
    0xFF72: "DFS",
    0xFF73: "ADS",
    0xFF74: "MCT",
    0xFF75: "MCC",
    0xFF76: "NLT",
    0xFF77: "MCO",
    0xFF78: "CBD",
    0xFF79: "ATK",
}

#: Those of Part 2 that change what samples are decoded to.
PART_2_MARKERS = range(0xFF72, 0xFF7A)


class Segment(Protocol):
    """What all segments have: a marker and a name."""

    @property
    def code(self) -> int:
        """The marker."""

    @property
    def name(self) -> str:
        """What the standard calls it."""


@dataclass(frozen=True)
class TilePart:
    """SOT: the tile that the tile-part belongs to, its length from this marker on, its number and how many there are.

    `length` is 0 if the tile-part reaches to the end of the stream, `count` is 0 if it is not told.

    Examples
    --------
    >>> TilePart(tile=3, length=100).write().hex()
    'ff90000a0003000000640000'
    """

    code: ClassVar[int] = SOT
    name: ClassVar[str] = "SOT"

    tile: int
    length: int
    part: int = 0
    count: int = 0

    _FORM: ClassVar[Struct] = Struct(">HIBB")

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        return cls(*FieldReader(payload, cls.name).unpack(cls._FORM))

    def write(self) -> bytes:
        """Return the whole segment, 12 bytes."""
        return pack_segment(self.code, self._FORM.pack(self.tile, self.length, self.part, self.count))


@dataclass(frozen=True)
class TileLengths:
    """TLM: the tiles and lengths of tile-parts, in the order of the stream; a tile is None where it is not told."""

    code: ClassVar[int] = 0xFF55
    name: ClassVar[str] = "TLM"

    index: int
    tiles: tuple[int | None, ...]
    lengths: tuple[int, ...]

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        fields = FieldReader(payload, cls.name)
        index, sizes = fields.byte(), fields.byte()
        tile_bytes, length_bytes = sizes >> 4 & 3, 4 if sizes & 0x40 else 2
        if tile_bytes == 3:
            raise CodecError("TLM declares tile numbers of 3 bytes; there are 0, 1 and 2")
        tiles: list[int | None] = []
        lengths = []
        while fields.left >= tile_bytes + length_bytes:
            tiles.append(int.from_bytes(fields.take(tile_bytes), "big") if tile_bytes else None)
            lengths.append(int.from_bytes(fields.take(length_bytes), "big"))
        return cls(index, tuple(tiles), tuple(lengths))

    def write(self) -> bytes:
        """Return the whole segment; tile numbers take two bytes and lengths four."""
        entries = zip(self.tiles, self.lengths, strict=True)
        body = b"".join((tile or 0).to_bytes(2, "big") + length.to_bytes(4, "big") for tile, length in entries)
        return pack_segment(self.code, bytes((self.index, 0x60)) + body)


@dataclass(frozen=True)
class PacketLengths:
    """PLT: the lengths of the packets of a tile-part.

    Examples
    --------
    >>> plt = PacketLengths(0, (1, 127, 128, 70000))
    >>> PacketLengths.read(plt.write()[4:]).lengths
    (1, 127, 128, 70000)
    """

    code: ClassVar[int] = 0xFF58
    name: ClassVar[str] = "PLT"

    index: int
    lengths: tuple[int, ...]

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment; a length that is cut off at its end is dropped."""
        fields = FieldReader(payload, cls.name)
        index = fields.byte()
        lengths = []
        value = 0
        for byte in fields.rest():
            value = (value << 7 | byte & 0x7F) & 0xFFFFFFFFFF
            if byte < 0x80:
                lengths.append(value)
                value = 0
        return cls(index, tuple(lengths))

    def write(self) -> bytes:
        """Return the whole segment."""
        body = bytearray((self.index,))
        for length in self.lengths:
            groups = max(1, -(-length.bit_length() // 7))
            body += bytes((length >> 7 * k & 0x7F) | (0x80 if k else 0) for k in reversed(range(groups)))
        return pack_segment(self.code, bytes(body))


@dataclass(frozen=True)
class _Numbered:
    """A segment that is one piece of a longer text; the pieces are joined in the order of their numbers."""

    code: ClassVar[int]
    name: ClassVar[str]

    index: int
    data: bytes

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        fields = FieldReader(payload, cls.name)
        return cls(fields.byte(), fields.rest())

    def write(self) -> bytes:
        """Return the whole segment."""
        return pack_segment(self.code, bytes((self.index,)) + self.data)


@dataclass(frozen=True)
class PackedHeaders(_Numbered):
    """PPM: packet headers of all tile-parts, each group with its length before it."""

    code: ClassVar[int] = 0xFF60
    name: ClassVar[str] = "PPM"


@dataclass(frozen=True)
class PackedTileHeaders(_Numbered):
    """PPT: packet headers of a tile."""

    code: ClassVar[int] = 0xFF61
    name: ClassVar[str] = "PPT"


@dataclass(frozen=True)
class PackedLengths(_Numbered):
    """PLM: packet lengths of all tile-parts; kept, and not needed."""

    code: ClassVar[int] = 0xFF57
    name: ClassVar[str] = "PLM"


@dataclass(frozen=True)
class ComponentRegistration:
    """CRG: how far components lie beside the grid, in 1/65536 of their steps, as (x, y)."""

    code: ClassVar[int] = 0xFF63
    name: ClassVar[str] = "CRG"

    offsets: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, payload: bytes, component_count: int) -> Self:
        """Read the segment of an image with so many components."""
        fields = FieldReader(payload, cls.name)
        return cls(tuple((fields.short(), fields.short()) for _ in range(component_count)))

    def write(self) -> bytes:
        """Return the whole segment."""
        return pack_segment(self.code, b"".join(x.to_bytes(2, "big") + y.to_bytes(2, "big") for x, y in self.offsets))


@dataclass(frozen=True)
class Comment:
    """COM: a text in Latin letters, or bytes of any kind."""

    code: ClassVar[int] = 0xFF64
    name: ClassVar[str] = "COM"

    content: bytes
    is_text: bool = True

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        fields = FieldReader(payload, cls.name)
        kind = fields.short()
        return cls(fields.rest(), kind == 1)

    def write(self) -> bytes:
        """Return the whole segment."""
        return pack_segment(self.code, int(self.is_text).to_bytes(2, "big") + self.content)

    @property
    def text(self) -> str:
        """The content as text, or as hexadecimal digits."""
        return self.content.decode("latin-1") if self.is_text else self.content.hex()


@dataclass(frozen=True)
class Capabilities:
    """CAP: what of other parts of the standard a stream uses, 16 bits for each part; Part 15 is what is known here.

    Examples
    --------
    >>> cap = Capabilities({15: 0x0022})
    >>> cap.write().hex(), Capabilities.read(cap.write()[4:]) == cap
    ('ff500008000200000022', True)
    """

    code: ClassVar[int] = 0xFF50
    name: ClassVar[str] = "CAP"

    parts: dict[int, int]

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        fields = FieldReader(payload, cls.name)
        mask = fields.long()
        return cls({part: fields.short() for part in range(1, 33) if mask >> (32 - part) & 1})

    def write(self) -> bytes:
        """Return the whole segment."""
        mask = sum(1 << (32 - part) for part in self.parts)
        values = b"".join(self.parts[part].to_bytes(2, "big") for part in sorted(self.parts))
        return pack_segment(self.code, mask.to_bytes(4, "big") + values)

    @classmethod
    def of_blocks(cls, planes: int, *, is_reversible: bool, has_regions: bool = False) -> Self:
        """Return what a stream of high-throughput blocks declares, given the most bit planes of any of its bands."""
        if planes <= 8:
            bound = 0
        elif planes < 28:
            bound = planes - 8
        else:
            bound = min(13 + planes // 4, 31)
        return cls({15: bound | (not is_reversible) << 5 | has_regions << 12})


@dataclass(frozen=True)
class CorrespondingProfile:
    r"""CPF: the profile that a stream would have if its blocks were those of Part 1.

    Examples
    --------
    >>> CorrespondingProfile(0x0700).write().hex(), CorrespondingProfile.read(b"\x07\x01").profile
    ('ff5900040701', 1792)
    """

    code: ClassVar[int] = 0xFF59
    name: ClassVar[str] = "CPF"

    profile: int

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment: a number of 16 bits at a time, the lowest ones first, and one too large."""
        words = [int.from_bytes(payload[at : at + 2], "big") for at in range(0, len(payload) - 1, 2)]
        return cls(sum(word << 16 * number for number, word in enumerate(words)) - 1)

    def write(self) -> bytes:
        """Return the whole segment."""
        number = self.profile + 1
        words = [number >> at & 0xFFFF for at in range(0, max(number.bit_length(), 1), 16)]
        return pack_segment(self.code, b"".join(word.to_bytes(2, "big") for word in words))


@dataclass(frozen=True)
class UnknownSegment:
    """A segment of a marker that Part 1 does not know; it is kept and passed over."""

    code: int
    data: bytes

    @property
    def name(self) -> str:
        """The name of the marker."""
        return name_marker(self.code)


_KINDS: dict[int, Any] = {
    kind.code: kind
    for kind in (
        ImageSize,
        CodingDefault,
        CodingComponent,
        QuantisationDefault,
        QuantisationComponent,
        RegionOfInterest,
        ProgressionChange,
        TilePart,
        TileLengths,
        PacketLengths,
        PackedLengths,
        PackedHeaders,
        PackedTileHeaders,
        ComponentRegistration,
        Comment,
        Capabilities,
        CorrespondingProfile,
    )
}


def name_marker(code: int) -> str:
    """Return what the standard calls a marker, or its number.

    Examples
    --------
    >>> name_marker(0xFF52), name_marker(0xFF30)
    ('COD', '0xff30')
    """
    return MARKER_NAMES.get(code, f"{code:#06x}")


def read_segment(code: int, payload: bytes, component_count: int) -> Segment:
    r"""Read any segment from what stands behind its marker and length.

    Parameters
    ----------
    code : int
        The marker.
    payload : bytes
        What stands behind the length.
    component_count : int
        Components of the image, which tells how wide their numbers are; 0 before SIZ was read.

    Raises
    ------
    CodecError
        If the segment ends early or holds what the standard does not allow.

    Examples
    --------
    >>> read_segment(0xFF64, b"\x00\x01Hello", 3).text
    'Hello'
    """
    kind = _KINDS.get(code)
    if kind is None:
        return UnknownSegment(code, payload)
    segment: Segment = kind.read(payload, component_count)
    return segment
