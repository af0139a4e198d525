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

__all__ = ["StreamWriter"]

# Lengths that fit into one segment, whatever they are.
_PLT_LENGTHS, _TLM_LENGTHS = 13000, 10000


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
        sizes = packer.measure(kept)
        layers = sizes.shape[1]
        order = list_packets(self.size, self.layouts, progressions or self.settings.order, layers)
        lengths = sizes.reshape(-1)[order]
        counts = np.array([layout.precinct_count * layers for layout in self.layouts])
        firsts = np.concatenate([[0], np.cumsum(counts)])
        heads = [self._write_lengths(lengths[a:b]) for a, b in pairwise(firsts)]
        if segments is not None:
            heads = [own + head for own, head in zip(segments, heads, strict=True)]
        tiles = range(len(self.layouts)) if tiles is None else tiles
        bodies = np.add.reduceat(np.append(lengths, 0), firsts[:-1]) * (counts > 0)
        parts = [14 + len(head) + int(body) for head, body in zip(heads, bodies, strict=True)]
        header += self._write_tile_lengths(parts, tiles)
        out = np.empty(len(header) + sum(parts) + 2, np.uint8)
        out[: len(header)] = np.frombuffer(header, np.uint8)
        offsets, numbers = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
        at = len(header)
        for tile, (head, length) in enumerate(zip(heads, parts, strict=True)):
            if length >= 2**32:
                raise ArgumentError(f"tile {tile} has {length} bytes, and 2³² - 1 are allowed; use smaller tiles")
            text = TilePart(tiles[tile], length, 0, 1).write() + head + SOD.to_bytes(2, "big")
            out[at : at + len(text)] = np.frombuffer(text, np.uint8)
            own = slice(firsts[tile], firsts[tile + 1])
            ends = np.cumsum(lengths[own])
            offsets[order[own]] = at + len(text) + ends - lengths[own]
            numbers[order[own]] = np.arange(counts[tile])
            at += length
        packer.write(kept, offsets.reshape(sizes.shape), numbers.reshape(sizes.shape), out)
        out[-2:] = divmod(EOC, 256)
        return out.tobytes()

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

    def _write_tile_lengths(self, parts: Sequence[int], tiles: Sequence[int]) -> bytes:
        """Return the lengths of tiles, if they are wanted."""
        if not self.settings.tlm:
            return b""
        return b"".join(
            TileLengths(
                number, tuple(tiles[first : first + _TLM_LENGTHS]), tuple(parts[first : first + _TLM_LENGTHS])
            ).write()
            for number, first in enumerate(range(0, len(parts), _TLM_LENGTHS))
        )  # fmt: skip
