"""Codestreams as bytes: the main header, tile-parts with their lengths, and packets in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.markers import EOC, SOC, SOD, Capabilities, Comment, PacketLengths, TileLengths, TilePart
from subband.codecs.jpeg2000.packing import Packer, list_packets
from subband.codecs.jpeg2000.parameters import (
    CodingDefault,
    ImageSize,
    Progression,
    ProgressionChange,
    RegionOfInterest,
)
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.steps import Quantiser
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["END", "StreamWriter"]

# Lengths that fit into one segment, whatever they are.
_PLT_LENGTHS, _TLM_LENGTHS = 13000, 10000


# Bytes of a tile-part beside packets and their lengths: SOT and SOD.
_PART_BYTES = 14

#: What stands behind the last tile.
END = EOC.to_bytes(2, "big")


@dataclass(frozen=True)
class _Part:
    """A tile-part: its tile among those that are written, its number and that of all, its head, and its packets."""

    tile: int
    number: int
    count: int
    head: bytes
    packets: slice
    length: int


@dataclass(frozen=True, eq=False)
class _Plan:
    """What becomes of tiles: their parts, the numbers of packets in their order, and the bytes of each."""

    parts: list[_Part]
    order: Array
    packets: Array

    @property
    def lengths(self) -> list[int]:
        """Bytes of each part."""
        return [part.length for part in self.parts]


@dataclass(frozen=True, eq=False)
class StreamWriter:
    """Writes the codestream of an image whose blocks are coded.

    Attributes
    ----------
    size : ImageSize
        The image.
    coding : CodingDefault
        How it is coded.
    layouts : sequence of TileLayout
        Its tiles.
    settings : Settings
        Which markers are wanted.
    """

    size: ImageSize
    coding: CodingDefault
    layouts: Sequence[TileLayout]
    settings: Settings

    def write_header(self, quantiser: Quantiser, guard_bits: int, shift: int = 0) -> bytes:
        """Return what stands before the tiles; `shift` is that of regions of interest, if there are any."""
        segments = [SOC.to_bytes(2, "big"), self.size.write()]
        if self.settings.ht:
            planes = guard_bits - 1 + max(step.exponent for steps in quantiser.steps for step in steps)
            segments.append(Capabilities.of_blocks(planes, is_reversible=self.settings.is_reversible).write())
        segments += [self.coding.write(), quantiser.write(guard_bits)]
        count = len(self.size.components)
        if shift:
            segments += [RegionOfInterest(component, shift).write(count) for component in range(count)]
        if self._changes:
            segments.append(ProgressionChange(self._changes).write(count))
        if self.settings.comment is not None:
            segments.append(Comment(self.settings.comment.encode("latin-1", "replace")).write())
        return b"".join(segments)

    @property
    def _changes(self) -> tuple[Progression, ...]:
        """The progressions that POC declares, the last of which has all that is left; none if there are no changes."""
        return (*self.settings.changes, Progression(self.settings.order)) if self.settings.changes else ()

    def measure(self, before: int, sizes: Array) -> int:
        """Return the bytes of the file: what stands before the tiles, and packets with all that goes with them."""
        cuts = [self._cut_tile(layout, sizes.shape[1]) for layout in self.layouts]
        parts = sum(len(cut) - 1 for cut in cuts)
        total = before + int(sizes.sum()) + _PART_BYTES * parts + len(END)
        if self.settings.tlm:
            total += 6 * parts + 6 * -(-parts // _TLM_LENGTHS)
        if self.settings.plt:
            total += int(sum((sizes >= 1 << bits).sum() for bits in (0, 7, 14, 21, 28)))
            total += sum(5 * -(-int(count) // _PLT_LENGTHS) for cut in cuts for count in np.diff(cut))
        return total

    def write(
        self,
        header: bytes,
        packer: Packer,
        kept: Array,
        progressions: Sequence[Sequence[Progression]] | None = None,
        segments: Sequence[bytes] | None = None,
        tiles: Sequence[int] | None = None,
    ) -> bytes:
        """Return the whole stream, given the passes that each layer keeps.

        Tiles may have their own progressions, segments of headers and numbers; else they are alike, and all there.
        """
        tiles = range(len(self.layouts)) if tiles is None else tiles
        plan = self._plan(packer, kept, progressions, segments)
        header += self.write_tile_lengths(plan.lengths, [tiles[part.tile] for part in plan.parts])
        out = np.empty(len(header) + sum(plan.lengths) + len(END), np.uint8)
        out[: len(header)] = np.frombuffer(header, np.uint8)
        out[-len(END) :] = np.frombuffer(END, np.uint8)
        self._fill(out, len(header), plan, packer, kept, tiles)
        return out.tobytes()

    def write_tiles(self, packer: Packer, kept: Array, tiles: Sequence[int]) -> tuple[bytes, list[int]]:
        """Return tiles alone, which have these numbers, and the bytes of their parts."""
        plan = self._plan(packer, kept, None, None)
        out = np.empty(sum(plan.lengths), np.uint8)
        self._fill(out, 0, plan, packer, kept, tiles)
        return out.tobytes(), plan.lengths

    def write_tile_lengths(self, lengths: Sequence[int], tiles: Sequence[int]) -> bytes:
        """Return the lengths of tile-parts, if they are wanted."""
        if not self.settings.tlm:
            return b""
        return b"".join(
            TileLengths(
                number, tuple(tiles[first : first + _TLM_LENGTHS]), tuple(lengths[first : first + _TLM_LENGTHS])
            ).write()
            for number, first in enumerate(range(0, len(lengths), _TLM_LENGTHS))
        )  # fmt: skip

    def _cut_tile(self, layout: TileLayout, layers: int) -> list[int]:
        """Return behind which packets of a tile its parts end, 0 first."""
        if not self.settings.tile_parts:
            return [0, layout.precinct_count * layers]
        levels = max(map(len, layout.resolutions))
        counts = [
            sum(found[level].precinct_count for found in layout.resolutions if level < len(found))
            for level in range(levels)
        ]
        return [0, *accumulate(count * layers for count in counts)]

    def _plan(
        self,
        packer: Packer,
        kept: Array,
        progressions: Sequence[Sequence[Progression]] | None,
        segments: Sequence[bytes] | None,
    ) -> _Plan:
        """Return how long tiles and packets become."""
        sizes = packer.measure(kept)
        layers = sizes.shape[1]
        if progressions is None and (changes := self._changes):
            progressions = [changes] * len(self.layouts)
        order = list_packets(self.size, self.layouts, progressions or self.settings.order, layers)
        packets = sizes.reshape(-1)[order]
        parts, first = [], 0
        for tile, layout in enumerate(self.layouts):
            cuts = self._cut_tile(layout, layers)
            for number, (start, stop) in enumerate(pairwise(cuts)):
                own = slice(first + start, first + stop)
                head = self._write_lengths(packets[own])
                if segments is not None and number == 0:
                    head = segments[tile] + head
                length = _PART_BYTES + len(head) + int(packets[own].sum())
                parts.append(_Part(tile, number, len(cuts) - 1, head, own, length))
            first += cuts[-1]
        return _Plan(parts, order, packets)

    def _fill(self, out: Array, at: int, plan: _Plan, packer: Packer, kept: Array, tiles: Sequence[int]) -> None:
        """Write tiles into a buffer, from a byte on."""
        packets, order = plan.packets, plan.order
        offsets, numbers = np.empty(packets.size, np.int64), np.empty(packets.size, np.int64)
        first = 0
        for part in plan.parts:
            tile = tiles[part.tile]
            if part.length >= 2**32:
                raise ArgumentError(f"tile {tile} has {part.length} bytes, and 2³² - 1 are allowed; use smaller tiles")
            text = TilePart(tile, part.length, part.number, part.count).write() + part.head + SOD.to_bytes(2, "big")
            out[at : at + len(text)] = np.frombuffer(text, np.uint8)
            own = part.packets
            ends = np.cumsum(packets[own])
            offsets[order[own]] = at + len(text) + ends - packets[own]
            # packets are counted through all parts of a tile
            first = first if part.number else own.start
            numbers[order[own]] = np.arange(own.start - first, own.stop - first)
            at += part.length
        packer.write(kept, offsets.reshape(-1, len(kept)), numbers.reshape(-1, len(kept)), out)

    def _write_lengths(self, lengths: Array) -> bytes:
        """Return the lengths of the packets of a tile, if they are wanted."""
        if not self.settings.plt:
            return b""
        if len(lengths) > 256 * _PLT_LENGTHS:
            raise ArgumentError(f"plt=True has room for {256 * _PLT_LENGTHS} packets a tile, not {len(lengths)}")
        return b"".join(
            PacketLengths(number, tuple(lengths[first : first + _PLT_LENGTHS].tolist())).write()
            for number, first in enumerate(range(0, len(lengths), _PLT_LENGTHS))
        )
