"""Codestreams as bytes: the main header, tile-parts with their lengths, and packets in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.markers import EOC, SOC, SOD, Capabilities, Comment, PacketLengths, TileLengths, TilePart
from subband.codecs.jpeg2000.packing import Packer, list_packets
from subband.codecs.jpeg2000.parameters import CodingDefault, ImageSize, Progression
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.steps import Quantiser
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["END", "StreamWriter"]

# Lengths that fit into one segment, whatever they are.
_PLT_LENGTHS, _TLM_LENGTHS = 13000, 10000


#: What stands behind the last tile.
END = EOC.to_bytes(2, "big")


@dataclass(frozen=True, eq=False)
class _Parts:
    """How long tiles become: what stands in the head of each, its bytes, and its packets in their order.

    `order` numbers the packets, `packets` has their lengths, and `firsts` where those of each tile begin.
    """

    heads: list[bytes]
    lengths: list[int]
    order: Array
    packets: Array
    firsts: Array


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

    def write_header(self, quantiser: Quantiser, guard_bits: int) -> bytes:
        """Return what stands before the tiles."""
        segments = [SOC.to_bytes(2, "big"), self.size.write()]
        if self.settings.ht:
            planes = guard_bits - 1 + max(step.exponent for steps in quantiser.steps for step in steps)
            segments.append(Capabilities.of_blocks(planes, is_reversible=self.settings.is_reversible).write())
        segments += [self.coding.write(), quantiser.write(guard_bits)]
        if self.settings.comment is not None:
            segments.append(Comment(self.settings.comment.encode("latin-1", "replace")).write())
        return b"".join(segments)

    def measure(self, before: int, sizes: Array) -> int:
        """Return the bytes of the file: what stands before the tiles, and packets with all that goes with them."""
        tiles = len(self.layouts)
        total = before + int(sizes.sum()) + 14 * tiles + 2
        if self.settings.tlm:
            total += 6 * tiles + 6 * -(-tiles // _TLM_LENGTHS)
        if self.settings.plt:
            total += int(sum((sizes >= 1 << bits).sum() for bits in (0, 7, 14, 21, 28)))
            counts = np.array([layout.precinct_count * sizes.shape[1] for layout in self.layouts])
            total += int((5 * -(-counts // _PLT_LENGTHS)).sum())
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
        parts = self._lay_out(packer, kept, progressions, segments)
        header += self.write_tile_lengths(parts.lengths, tiles)
        out = np.empty(len(header) + sum(parts.lengths) + len(END), np.uint8)
        out[: len(header)] = np.frombuffer(header, np.uint8)
        out[-len(END) :] = np.frombuffer(END, np.uint8)
        self._fill(out, len(header), parts, packer, kept, tiles)
        return out.tobytes()

    def write_tiles(self, packer: Packer, kept: Array, tiles: Sequence[int]) -> tuple[bytes, list[int]]:
        """Return tiles alone, which have these numbers, and the bytes of each."""
        parts = self._lay_out(packer, kept, None, None)
        out = np.empty(sum(parts.lengths), np.uint8)
        self._fill(out, 0, parts, packer, kept, tiles)
        return out.tobytes(), parts.lengths

    def write_tile_lengths(self, parts: Sequence[int], tiles: Sequence[int]) -> bytes:
        """Return the lengths of tiles, if they are wanted."""
        if not self.settings.tlm:
            return b""
        return b"".join(
            TileLengths(
                number, tuple(tiles[first : first + _TLM_LENGTHS]), tuple(parts[first : first + _TLM_LENGTHS])
            ).write()
            for number, first in enumerate(range(0, len(parts), _TLM_LENGTHS))
        )  # fmt: skip

    def _lay_out(
        self,
        packer: Packer,
        kept: Array,
        progressions: Sequence[Sequence[Progression]] | None,
        segments: Sequence[bytes] | None,
    ) -> _Parts:
        """Return how long tiles and packets become."""
        sizes = packer.measure(kept)
        layers = sizes.shape[1]
        order = list_packets(self.size, self.layouts, progressions or self.settings.order, layers)
        packets = sizes.reshape(-1)[order]
        counts = np.array([layout.precinct_count * layers for layout in self.layouts])
        firsts = np.concatenate([[0], np.cumsum(counts)])
        heads = [self._write_lengths(packets[a:b]) for a, b in pairwise(firsts)]
        if segments is not None:
            heads = [own + head for own, head in zip(segments, heads, strict=True)]
        bodies = np.add.reduceat(np.append(packets, 0), firsts[:-1]) * (counts > 0)
        lengths = [14 + len(head) + int(body) for head, body in zip(heads, bodies, strict=True)]
        return _Parts(heads, lengths, order, packets, firsts)

    def _fill(self, out: Array, at: int, parts: _Parts, packer: Packer, kept: Array, tiles: Sequence[int]) -> None:
        """Write tiles into a buffer, from a byte on."""
        packets = parts.packets
        offsets, numbers = np.empty(packets.size, np.int64), np.empty(packets.size, np.int64)
        for tile, head, length, (first, last) in zip(
            tiles, parts.heads, parts.lengths, pairwise(parts.firsts), strict=True
        ):
            if length >= 2**32:
                raise ArgumentError(f"tile {tile} has {length} bytes, and 2³² - 1 are allowed; use smaller tiles")
            text = TilePart(tile, length, 0, 1).write() + head + SOD.to_bytes(2, "big")
            out[at : at + len(text)] = np.frombuffer(text, np.uint8)
            own = slice(first, last)
            ends = np.cumsum(packets[own])
            offsets[parts.order[own]] = at + len(text) + ends - packets[own]
            numbers[parts.order[own]] = np.arange(last - first)
            at += length
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
