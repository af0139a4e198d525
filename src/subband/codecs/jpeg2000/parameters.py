"""The marker segments that shape an image: its size, and how each component is transformed, quantised and ordered.

Each segment is a frozen dataclass. `read` takes what stands behind the marker and the length; `write` gives the whole
segment, marker and length included. Names are plain; the letters of the standard stand beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import ClassVar, Self

from subband.codecs.jpeg2000.blocks.styles import BYPASS, CAUSAL, HIGH_THROUGHPUT, MIXED, TERMINATE
from subband.codecs.jpeg2000.fields import FieldReader, pack_segment
from subband.errors import CodecError

__all__ = [
    "HIGH_THROUGHPUT_STREAM",
    "CodingComponent",
    "CodingDefault",
    "CodingStyle",
    "ComponentSize",
    "ImageSize",
    "Order",
    "Progression",
    "ProgressionChange",
    "Quantisation",
    "QuantisationComponent",
    "QuantisationDefault",
    "RegionOfInterest",
]

#: Levels of decomposition that a stream may have.
MOST_LEVELS = 32

#: What SIZ declares for a stream that uses Part 15.
HIGH_THROUGHPUT_STREAM = 0x4000

#: Components that a stream may have.
MOST_COMPONENTS = 16384


class Order(IntEnum):
    """The five orders of packets: what runs slowest stands first."""

    LRCP = 0
    RLCP = 1
    RPCL = 2
    PCRL = 3
    CPRL = 4


@dataclass(frozen=True)
class ComponentSize:
    """One component: bits of a sample, whether they are signed, and every how many columns and rows there is one."""

    precision: int
    is_signed: bool = False
    dx: int = 1
    dy: int = 1


@dataclass(frozen=True)
class ImageSize:
    """SIZ: where the image and its tiles lie on the reference grid.

    The image covers columns `x0` to `x1` and rows `y0` to `y1`; tiles begin at `tile_x0`, `tile_y0`.
    """

    code: ClassVar[int] = 0xFF51
    name: ClassVar[str] = "SIZ"

    x1: int
    y1: int
    x0: int
    y0: int
    tile_width: int
    tile_height: int
    tile_x0: int
    tile_y0: int
    components: tuple[ComponentSize, ...]
    capabilities: int = 0

    _HEAD: ClassVar[Struct] = Struct(">H8IH")

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment and check that it describes an image."""
        fields = FieldReader(payload, cls.name)
        capabilities, x1, y1, x0, y0, width, height, tile_x0, tile_y0, count = fields.unpack(cls._HEAD)
        if not 1 <= count <= MOST_COMPONENTS:
            raise CodecError(f"SIZ declares {count} components; there must be 1 to {MOST_COMPONENTS}")
        components = []
        for number in range(count):
            depth, dx, dy = fields.byte(), fields.byte(), fields.byte()
            precision = (depth & 0x7F) + 1
            if precision > 38:
                raise CodecError(f"SIZ declares {precision} bits for component {number}; the standard ends at 38")
            if dx == 0 or dy == 0:
                raise CodecError(f"SIZ declares a step of {dx} by {dy} for component {number}; steps begin at 1")
            components.append(ComponentSize(precision, bool(depth & 0x80), dx, dy))
        size = cls(x1, y1, x0, y0, width, height, tile_x0, tile_y0, tuple(components), capabilities)
        size.check()
        return size

    def write(self) -> bytes:
        """Return the whole segment."""
        head = self._HEAD.pack(
            self.capabilities,
            self.x1,
            self.y1,
            self.x0,
            self.y0,
            self.tile_width,
            self.tile_height,
            self.tile_x0,
            self.tile_y0,
            len(self.components),
        )
        sizes = bytes(
            value
            for size in self.components
            for value in ((size.precision - 1) | (size.is_signed << 7), size.dx, size.dy)
        )
        return pack_segment(self.code, head + sizes)

    def check(self) -> None:
        """Raise a `CodecError` unless image and tiles lie as the standard asks."""
        if self.x0 >= self.x1 or self.y0 >= self.y1:
            raise CodecError(f"SIZ declares an empty image, from ({self.x0}, {self.y0}) to ({self.x1}, {self.y1})")
        if self.tile_width == 0 or self.tile_height == 0:
            raise CodecError(f"SIZ declares empty tiles of {self.tile_width} by {self.tile_height}")
        first_x, first_y = self.tile_x0 + self.tile_width, self.tile_y0 + self.tile_height
        if self.tile_x0 > self.x0 or self.tile_y0 > self.y0 or first_x <= self.x0 or first_y <= self.y0:
            raise CodecError(
                f"SIZ declares a first tile from ({self.tile_x0}, {self.tile_y0}) to ({first_x}, {first_y}), "
                f"which does not hold the first sample at ({self.x0}, {self.y0})"
            )


@dataclass(frozen=True)
class CodingStyle:
    """The part that COD and COC share: levels, code-blocks, wavelet and precincts of a component.

    `block_width` and `block_height` are exponents of two; `precincts` holds the exponents of width and height for each
    resolution from coarse to fine. `block_style` holds the bits of the block coder: 1 bypass, 2 reset, 4 terminate
    each pass, 8 vertically causal, 16 predictable termination, 32 segmentation symbols, 64 high-throughput blocks, and
    128 beside it where these are mixed with blocks of Part 1.
    """

    levels: int = 5
    block_width: int = 6
    block_height: int = 6
    block_style: int = 0
    is_reversible: bool = True
    precincts: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read_from(cls, fields: FieldReader, has_precincts: bool) -> Self:
        """Read the style from within a segment."""
        levels, width, height = fields.byte(), fields.byte() + 2, fields.byte() + 2
        style, transform = fields.byte(), fields.byte()
        if levels > MOST_LEVELS:
            raise CodecError(f"{fields.name} declares {levels} levels; the standard ends at {MOST_LEVELS}")
        if width > 10 or height > 10 or width + height > 12:
            raise CodecError(
                f"{fields.name} declares code-blocks of 2^{width} by 2^{height}; "
                "a side ends at 2^10 and the area at 2^12"
            )
        if style & MIXED and not style & HIGH_THROUGHPUT:
            raise CodecError(f"{fields.name} declares the block style {style:#04x}, which is not known here")
        if style & HIGH_THROUGHPUT and style & ~(HIGH_THROUGHPUT | MIXED | CAUSAL):
            # the other flags apply to blocks of Part 1 only, and those that cut segments are not mixed with Part 15
            if style & MIXED and style & (BYPASS | TERMINATE):
                raise CodecError(
                    f"{fields.name} declares mixed blocks of the style {style:#04x}, which is not known here"
                )
            style = style if style & MIXED else style & (HIGH_THROUGHPUT | CAUSAL)
        if transform > 1:
            raise CodecError(f"{fields.name} declares the wavelet {transform}; Part 1 has 0 (9/7) and 1 (5/3)")
        precincts: tuple[tuple[int, int], ...] = ()
        if has_precincts:
            sizes = [fields.byte() for _ in range(levels + 1)]
            precincts = tuple((size & 15, size >> 4) for size in sizes)
            if any(0 in exponents for exponents in precincts[1:]):
                raise CodecError(f"{fields.name} declares a precinct of 2^0 above the lowest resolution")
        return cls(levels, width, height, style, bool(transform), precincts)

    def write_body(self) -> bytes:
        """Return the bytes of the style."""
        head = (self.levels, self.block_width - 2, self.block_height - 2, self.block_style, int(self.is_reversible))
        return bytes(head) + bytes(width | height << 4 for width, height in self.precincts)

    def precinct(self, resolution: int) -> tuple[int, int]:
        """Return the exponents of width and height of a precinct at a resolution, 0 being the coarsest.

        Examples
        --------
        >>> CodingStyle().precinct(3), CodingStyle(levels=1, precincts=((7, 7), (8, 8))).precinct(1)
        ((15, 15), (8, 8))
        """
        return self.precincts[resolution] if self.precincts else (15, 15)


@dataclass(frozen=True)
class CodingDefault:
    """COD: the order of packets, layers, the colour transform, and the style of all components.

    Examples
    --------
    >>> cod = CodingDefault(Order.RPCL, layers=3, style=CodingStyle(levels=2))
    >>> CodingDefault.read(cod.write()[4:]) == cod
    True
    """

    code: ClassVar[int] = 0xFF52
    name: ClassVar[str] = "COD"

    order: Order = Order.LRCP
    layers: int = 1
    has_colour_transform: bool = False
    style: CodingStyle = CodingStyle()
    uses_sop: bool = False
    uses_eph: bool = False

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        fields = FieldReader(payload, cls.name)
        flags, order, layers, colour = fields.byte(), fields.byte(), fields.short(), fields.byte()
        if order > Order.CPRL:
            raise CodecError(f"COD declares the progression {order}; there are 0 to {int(Order.CPRL)}")
        if layers == 0:
            raise CodecError("COD declares no layers; there must be 1 to 65535")
        if colour > 1:
            raise CodecError(f"COD declares the colour transform {colour}; Part 1 has 0 and 1")
        style = CodingStyle.read_from(fields, bool(flags & 1))
        return cls(Order(order), layers, bool(colour), style, bool(flags & 2), bool(flags & 4))

    def write(self) -> bytes:
        """Return the whole segment."""
        flags = bool(self.style.precincts) | self.uses_sop << 1 | self.uses_eph << 2
        head = bytes((flags, self.order)) + self.layers.to_bytes(2, "big") + bytes((self.has_colour_transform,))
        return pack_segment(self.code, head + self.style.write_body())


@dataclass(frozen=True)
class CodingComponent:
    """COC: the style of one component."""

    code: ClassVar[int] = 0xFF53
    name: ClassVar[str] = "COC"

    component: int
    style: CodingStyle

    @classmethod
    def read(cls, payload: bytes, component_count: int) -> Self:
        """Read the segment of an image with so many components."""
        fields = FieldReader(payload, cls.name)
        component = fields.component(component_count)
        flags = fields.byte()
        return cls(component, CodingStyle.read_from(fields, bool(flags & 1)))

    def write(self, component_count: int) -> bytes:
        """Return the whole segment."""
        head = _pack_component(self.component, component_count) + bytes((bool(self.style.precincts),))
        return pack_segment(self.code, head + self.style.write_body())


@dataclass(frozen=True)
class Quantisation:
    """The part that QCD and QCC share.

    `style` is 0 without quantisation, 1 if all steps derive from the first, 2 if each band has its own. `steps` holds
    exponent and mantissa of each band, in the order LL, HL, LH, HH from coarse to fine; the mantissa is 0 in style 0.
    """

    style: int
    guard_bits: int
    steps: tuple[tuple[int, int], ...]

    @classmethod
    def read_from(cls, fields: FieldReader) -> Self:
        """Read what is left of a segment."""
        flags = fields.byte()
        style, guard_bits = flags & 31, flags >> 5
        if style > 2:
            raise CodecError(f"{fields.name} declares the quantisation {style}; there are 0 to 2")
        if style == 0:
            steps = tuple((fields.byte() >> 3, 0) for _ in range(fields.left))
        else:
            numbers = [fields.short() for _ in range(fields.left // 2)]
            steps = tuple((number >> 11, number & 0x7FF) for number in numbers)
        if not steps or len(steps) > 3 * MOST_LEVELS + 1:
            raise CodecError(f"{fields.name} holds {len(steps)} steps; there must be 1 to {3 * MOST_LEVELS + 1}")
        return cls(style, guard_bits, steps[:1] if style == 1 else steps)

    def write_body(self) -> bytes:
        """Return the bytes of the quantisation."""
        head = bytes((self.style | self.guard_bits << 5,))
        if self.style == 0:
            return head + bytes(exponent << 3 for exponent, _ in self.steps)
        return head + b"".join((exponent << 11 | mantissa).to_bytes(2, "big") for exponent, mantissa in self.steps)

    def step(self, band: int) -> tuple[int, int]:
        """Return exponent and mantissa of a band, counted LL, then HL, LH, HH of each resolution.

        Raises
        ------
        CodecError
            If the segment ends before that band.

        Examples
        --------
        >>> Quantisation(1, 2, ((10, 512),)).step(4)
        (9, 512)
        """
        if self.style == 1:
            exponent, mantissa = self.steps[0]
            return max(exponent - max(band - 1, 0) // 3, 0), mantissa
        if band >= len(self.steps):
            raise CodecError(f"the quantisation has {len(self.steps)} steps, and band {band} needs one")
        return self.steps[band]


@dataclass(frozen=True)
class QuantisationDefault:
    """QCD: the quantisation of all components."""

    code: ClassVar[int] = 0xFF5C
    name: ClassVar[str] = "QCD"

    quantisation: Quantisation

    @classmethod
    def read(cls, payload: bytes, component_count: int = 0) -> Self:  # noqa: ARG003 - as all segments
        """Read the segment."""
        return cls(Quantisation.read_from(FieldReader(payload, cls.name)))

    def write(self) -> bytes:
        """Return the whole segment."""
        return pack_segment(self.code, self.quantisation.write_body())


@dataclass(frozen=True)
class QuantisationComponent:
    """QCC: the quantisation of one component."""

    code: ClassVar[int] = 0xFF5D
    name: ClassVar[str] = "QCC"

    component: int
    quantisation: Quantisation

    @classmethod
    def read(cls, payload: bytes, component_count: int) -> Self:
        """Read the segment of an image with so many components."""
        fields = FieldReader(payload, cls.name)
        return cls(fields.component(component_count), Quantisation.read_from(fields))

    def write(self, component_count: int) -> bytes:
        """Return the whole segment."""
        return pack_segment(
            self.code, _pack_component(self.component, component_count) + self.quantisation.write_body()
        )


@dataclass(frozen=True)
class RegionOfInterest:
    """RGN: by how many bits the coefficients of a region of interest were shifted up (max-shift)."""

    code: ClassVar[int] = 0xFF5E
    name: ClassVar[str] = "RGN"

    component: int
    shift: int

    @classmethod
    def read(cls, payload: bytes, component_count: int) -> Self:
        """Read the segment of an image with so many components."""
        fields = FieldReader(payload, cls.name)
        component, style, shift = fields.component(component_count), fields.byte(), fields.byte()
        if style != 0:
            raise CodecError(f"RGN declares the style {style}; Part 1 has only 0, max-shift")
        return cls(component, shift)

    def write(self, component_count: int) -> bytes:
        """Return the whole segment."""
        return pack_segment(self.code, _pack_component(self.component, component_count) + bytes((0, self.shift)))


@dataclass(frozen=True)
class Progression:
    """One stretch of packets: an order, within ranges of resolutions, components and layers."""

    order: Order
    resolution_start: int = 0
    resolution_stop: int = MOST_LEVELS + 1
    component_start: int = 0
    component_stop: int = MOST_COMPONENTS
    layer_stop: int = 65535


@dataclass(frozen=True)
class ProgressionChange:
    """POC: stretches of packets that follow each other; a packet already sent is not sent again."""

    code: ClassVar[int] = 0xFF5F
    name: ClassVar[str] = "POC"

    progressions: tuple[Progression, ...]

    @classmethod
    def read(cls, payload: bytes, component_count: int) -> Self:
        """Read the segment of an image with so many components."""
        fields = FieldReader(payload, cls.name)
        wide = component_count > 256
        progressions = []
        while fields.left >= (9 if wide else 7):
            resolution_start = fields.byte()
            component_start = fields.short() if wide else fields.byte()
            layer_stop, resolution_stop = fields.short(), fields.byte()
            # a single byte cannot tell 256, so that 0 stands for it
            component_stop = (fields.short() or MOST_COMPONENTS) if wide else (fields.byte() or 256)
            order = fields.byte()
            if order > Order.CPRL:
                raise CodecError(f"POC declares the progression {order}; there are 0 to {int(Order.CPRL)}")
            progressions.append(
                Progression(
                    Order(order), resolution_start, resolution_stop, component_start, component_stop, layer_stop
                )
            )
        if not progressions:
            raise CodecError("POC holds no progression")
        return cls(tuple(progressions))

    def write(self, component_count: int) -> bytes:
        """Return the whole segment."""
        wide = 2 if component_count > 256 else 1
        body = b"".join(
            bytes((p.resolution_start,))
            + p.component_start.to_bytes(wide, "big")
            + p.layer_stop.to_bytes(2, "big")
            + bytes((p.resolution_stop,))
            + (min(p.component_stop, component_count) & (0xFF if wide == 1 else 0xFFFF)).to_bytes(wide, "big")
            + bytes((p.order,))
            for p in self.progressions
        )
        return pack_segment(self.code, body)


def _pack_component(component: int, component_count: int) -> bytes:
    """Return the number of a component, which takes two bytes where there may be more than 256 of them."""
    return component.to_bytes(1 if component_count < 257 else 2, "big")
