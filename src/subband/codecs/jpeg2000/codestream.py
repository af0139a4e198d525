"""A codestream: its main header, and what the headers of a tile say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import MOST_TILES, count_tiles
from subband.codecs.jpeg2000.markers import (
    EOC,
    PART_2_MARKERS,
    SOC,
    SOD,
    SOT,
    Comment,
    PackedHeaders,
    PackedTileHeaders,
    PacketLengths,
    Segment,
    TileLengths,
    name_marker,
    read_segment,
)
from subband.codecs.jpeg2000.parameters import (
    CodingComponent,
    CodingDefault,
    CodingStyle,
    ImageSize,
    Progression,
    ProgressionChange,
    Quantisation,
    QuantisationComponent,
    QuantisationDefault,
    RegionOfInterest,
)
from subband.codecs.jpeg2000.tile_parts import SOT_LENGTH, TilePartIndex, TilePartRange
from subband.errors import CodecError

__all__ = ["Codestream", "PlacedSegment", "TileStream", "read_codestream", "read_segments"]

Bytes = NDArray[np.uint8]
T = TypeVar("T")

#: What SIZ declares for a stream that uses Part 2.
_PART_2 = 0x8000

# What a tile-part tells of the lengths of its packets if it tells nothing.
_NO_LENGTHS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class PlacedSegment:
    """A marker segment and where it begins; `length` counts marker and all."""

    offset: int
    length: int
    segment: Segment


@dataclass(frozen=True, eq=False)
class TileStream:
    """What the headers of a tile say, and where its packets are.

    Attributes
    ----------
    tile : int
        Its number.
    coding : CodingDefault
        Order, layers and colour transform.
    styles, quantisations, shifts : tuple
        For each component.
    progressions : tuple of Progression
        One, or those that POC declares.
    bodies : tuple of (int, int)
        Where the packets lie, for each tile-part.
    lengths : tuple of int64 arrays
        The lengths of the packets of each tile-part, as far as they are told.
    headers : uint8 array or None
        The packet headers, where they are packed.
    is_cut : bool
        Whether the stream ends before the tile does.
    """

    tile: int
    coding: CodingDefault
    styles: tuple[CodingStyle, ...]
    quantisations: tuple[Quantisation, ...]
    shifts: tuple[int, ...]
    progressions: tuple[Progression, ...]
    bodies: tuple[tuple[int, int], ...]
    lengths: tuple[NDArray[np.int64], ...]
    headers: Bytes | None
    is_cut: bool


@dataclass(frozen=True, eq=False)
class Codestream:
    """A codestream whose main header is read.

    Attributes
    ----------
    data : uint8 array
        The whole file.
    start, stop : int
        Where the codestream lies in it.
    size : ImageSize
        The image.
    coding : CodingDefault
        Of tiles that do not say otherwise.
    segments : tuple of PlacedSegment
        All of the main header.
    body : int
        Where the first tile-part begins.
    """

    data: Bytes
    start: int
    stop: int
    size: ImageSize
    coding: CodingDefault
    segments: tuple[PlacedSegment, ...]
    body: int
    _packed: list[Bytes] = field(default_factory=list, repr=False)
    _known: dict[object, tuple[Any, ...]] = field(default_factory=dict, repr=False)

    def select(self, kind: type[T]) -> list[T]:
        """Return the segments of the main header that are of a kind."""
        return [placed.segment for placed in self.segments if isinstance(placed.segment, kind)]

    @property
    def comments(self) -> tuple[str, ...]:
        """The texts of the main header."""
        return tuple(comment.text for comment in self.select(Comment) if comment.is_text)

    @cached_property
    def _defaults(self) -> tuple[tuple[Any, ...], ...]:
        """What the main header says for each component: style, quantisation and shift; and its progressions.

        Tiles that say nothing else share these: there may be as many tiles as segments, and components as either.
        """
        nothing: tuple[Any, ...] = (None,) * len(self.size.components)
        changes = self.select(ProgressionChange)
        return (
            _spread(nothing, self.select(CodingDefault), self.select(CodingComponent), "style"),
            _spread(nothing, self.select(QuantisationDefault), self.select(QuantisationComponent), "quantisation"),
            _spread((0,) * len(nothing), (), self.select(RegionOfInterest), "shift"),
            tuple(each for change in changes for each in change.progressions),
        )

    @cached_property
    def tile_parts(self) -> TilePartIndex:
        """Where the tile-parts lie."""
        return TilePartIndex(self.data, self.body, self.stop, prod(count_tiles(self.size)), self.select(TileLengths))

    def read_tile(self, tile: int, parts: Sequence[TilePartRange]) -> TileStream:
        """Read the headers of the parts of a tile.

        Raises
        ------
        CodecError
            If they do not tell all that is needed.
        """
        if len(parts) == 1 and (plain := self._read_plain_tile(tile, parts[0])) is not None:
            return plain
        segments: list[Segment] = []
        bodies, lengths, packed = [], [], []
        parts = sorted(parts, key=lambda part: part.sot.part)
        for part in parts:
            found, body = self.read_tile_part_header(part)
            own_segments = [placed.segment for placed in found]
            segments += [s for s in own_segments if isinstance(s, _LAYERED)]
            told = sorted((s for s in own_segments if isinstance(s, PacketLengths)), key=lambda each: each.index)
            lengths.append(np.array([length for each in told for length in each.lengths], np.int64))
            # their numbers may begin anew in each tile-part, or go on
            pieces = [placed.segment for placed in found if isinstance(placed.segment, PackedTileHeaders)]
            packed += [piece.data for piece in sorted(pieces, key=lambda each: each.index)]
            bodies.append((body, part.stop))
        own: dict[type, list[Any]] = {kind: [s for s in segments if isinstance(s, kind)] for kind in _LAYERED}
        coding: CodingDefault = own[CodingDefault][-1] if own[CodingDefault] else self.coding
        styles, quantisations, shifts, progressions = self._defaults
        styles = self._share(styles, own[CodingDefault], own[CodingComponent], "style")
        quantisations = self._share(quantisations, own[QuantisationDefault], own[QuantisationComponent], "quantisation")
        if None in quantisations:
            raise CodecError(f"nothing tells how component {quantisations.index(None)} is quantised: QCD is missing")
        shifts = self._share(shifts, (), own[RegionOfInterest], "shift")
        if own[ProgressionChange]:
            progressions = tuple(each for change in own[ProgressionChange] for each in change.progressions)
        return TileStream(
            tile,
            coding,
            styles,
            quantisations,
            shifts,
            progressions or (Progression(coding.order),),
            tuple(bodies),
            tuple(lengths),
            self._join_headers(packed, parts),
            any(part.is_cut for part in parts),
        )

    def _share(self, values: tuple[Any, ...], default: Sequence[Any], own: Sequence[Any], name: str) -> tuple[Any, ...]:
        """Return what `_spread` does, the same object for tiles that say the same."""
        if not default and not own:
            return values
        key = (name, tuple(default[-1:]), tuple(own))
        if key not in self._known:
            self._known[key] = _spread(values, default, own, name)
        return self._known[key]

    def _read_plain_tile(self, tile: int, part: TilePartRange) -> TileStream | None:
        """Return a tile of one part whose header says nothing of its own, as most do; None if it is not one."""
        body = part.start + SOT_LENGTH
        if part.stop - body < 2 or self.data[body] != SOD >> 8 or self.data[body + 1] != SOD & 255:
            return None
        styles, quantisations, shifts, progressions = self._defaults
        if None in quantisations or self._split_packed_headers():
            return None
        progressions = progressions or (Progression(self.coding.order),)
        bodies = ((body + 2, part.stop),)
        return TileStream(
            tile, self.coding, styles, quantisations, shifts, progressions, bodies, (_NO_LENGTHS,), None, part.is_cut
        )

    def read_tile_part_header(self, part: TilePartRange) -> tuple[list[PlacedSegment], int]:
        """Return the segments of the header of a tile-part behind SOT, and where its packets begin."""
        found, body = read_segments(self.data, part.start + SOT_LENGTH, part.stop, SOD, len(self.size.components))
        return found, body + 2

    def _join_headers(self, packed: Sequence[bytes], parts: Sequence[TilePartRange]) -> Bytes | None:
        """Return the packet headers of a tile that are packed in its own headers, given in turn, or in the main one."""
        if packed:
            return np.frombuffer(b"".join(packed), np.uint8)
        groups = self._split_packed_headers()
        if not groups:
            return None
        mine = [groups[part.number] for part in parts if part.number < len(groups)]
        return np.concatenate([np.zeros(0, np.uint8), *mine])

    def _split_packed_headers(self) -> list[Bytes]:
        """Return the packet headers of each tile-part that the main header holds."""
        pieces = sorted(self.select(PackedHeaders), key=lambda piece: piece.index)
        if pieces and not self._packed:
            text = np.frombuffer(b"".join(piece.data for piece in pieces), np.uint8)
            position = 0
            while position + 4 <= len(text):
                length = int.from_bytes(text[position : position + 4].tobytes(), "big")
                self._packed.append(text[position + 4 : position + 4 + length])
                position += 4 + length
        return self._packed


_LAYERED: tuple[type, ...] = (
    CodingDefault,
    CodingComponent,
    QuantisationDefault,
    QuantisationComponent,
    RegionOfInterest,
    ProgressionChange,
)


def read_codestream(data: Bytes, start: int = 0, stop: int | None = None) -> Codestream:
    """Read the main header of a codestream.

    Parameters
    ----------
    data : uint8 array
        The whole file.
    start, stop : int
        Where the codestream lies in it.

    Raises
    ------
    CodecError
        If there is none, or its header is not one that can be decoded.
    """
    stop = len(data) if stop is None else stop
    if stop - start < 4 or data[start : start + 2].tobytes() != SOC.to_bytes(2, "big"):
        raise CodecError(f"there is no JPEG 2000 codestream at byte {start}: it would begin with ff4f")
    segments, body = read_segments(data, start + 2, stop, SOT, 0)
    sizes = [placed.segment for placed in segments if isinstance(placed.segment, ImageSize)]
    codings = [placed.segment for placed in segments if isinstance(placed.segment, CodingDefault)]
    if not sizes:
        raise CodecError("the codestream has no SIZ, which tells how large it is")
    if not codings:
        raise CodecError("the codestream has no COD, which tells how it is coded")
    if sizes[0].capabilities & _PART_2:
        warn(f"SIZ declares extensions of Part 2 ({sizes[0].capabilities:#06x}), which are not known here")
    wide, high = count_tiles(sizes[0])
    if wide * high > MOST_TILES:
        raise CodecError(f"SIZ declares {wide} by {high} tiles; there can be {MOST_TILES}")
    return Codestream(data, start, stop, sizes[0], codings[-1], tuple(segments), body)


def read_segments(
    data: Bytes, offset: int, stop: int, last: int, component_count: int
) -> tuple[list[PlacedSegment], int]:
    """Read segments up to a marker; return them, and where that marker is.

    Parameters
    ----------
    data : uint8 array
        The whole file.
    offset, stop : int
        Where to read.
    last : int
        The marker that ends the header.
    component_count : int
        Components of the image; 0 if SIZ is among the segments.

    Raises
    ------
    CodecError
        If the header ends before that marker, or a segment cannot be read.
    """
    found: list[PlacedSegment] = []
    while offset + 2 <= stop:
        code = int.from_bytes(data[offset : offset + 2].tobytes(), "big")
        if code == last:
            return found, offset
        if not 0xFF00 <= code <= 0xFFFF:
            raise CodecError(f"byte {offset} holds {code:#06x} where a marker belongs")
        if 0xFF30 <= code <= 0xFF3F:
            # the only markers of headers that have no length
            offset += 2
            continue
        if code in PART_2_MARKERS:
            raise CodecError(f"byte {offset} holds {name_marker(code)}, an extension of Part 2 that is not known here")
        if code in (SOC, SOT, SOD, EOC):
            raise CodecError(f"byte {offset} holds {name_marker(code)} within a header")
        length = int.from_bytes(data[offset + 2 : offset + 4].tobytes(), "big")
        end = offset + 2 + length
        if length < 2 or end > stop:
            raise CodecError(
                f"{name_marker(code)} at byte {offset} declares {length} bytes, more than there are, or none"
            )
        segment = read_segment(code, data[offset + 4 : end].tobytes(), component_count)
        if isinstance(segment, ImageSize):
            component_count = len(segment.components)
        elif component_count == 0:
            raise CodecError(f"{name_marker(code)} at byte {offset} comes before SIZ, which has to be the first")
        found.append(PlacedSegment(offset, end - offset, segment))
        offset = end
    raise CodecError(f"a header ends at byte {stop} before its {name_marker(last)}")


def _spread(values: tuple[Any, ...], default: Sequence[Any], own: Sequence[Any], name: str) -> tuple[Any, ...]:
    """Return one value for each component: what it says itself, else what is said for all, else the one it has."""
    if default:
        values = (getattr(default[-1], name),) * len(values)
    if own:
        changed = list(values)
        for each in own:
            changed[each.component] = getattr(each, name)
        values = tuple(changed)
    return values
