"""Codestreams as bytes: the main header, tile-parts with their lengths, and packets in their order."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.layouts import find_kinds
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

# What stands between the headers of a tile-part and its packets.
_SOD = SOD.to_bytes(2, "big")

# What CPython itself makes bytes with that are written to before anybody reads them.
_allocate_bytes: Callable[[None, int], bytes] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t
)(("PyBytes_FromStringAndSize", ctypes.pythonapi))  # fmt: skip

#: What stands behind the last tile.
END = EOC.to_bytes(2, "big")


@dataclass(frozen=True, eq=False)
class _Plan:
    """What becomes of tiles.

    Attributes
    ----------
    tiles, numbers, counts : ndarray of int64
        Of each tile-part: its tile among those that are written, its number and that of all of the tile.
    bounds : ndarray of int64
        The first packet of each part in the order of the stream, and the number of all.
    heads : sequence of bytes
        What stands between SOT and SOD of each part.
    order : ndarray of int64
        The numbers of packets in that order.
    packets : ndarray of int64
        Bytes of each packet in that order.
    """

    tiles: Array
    numbers: Array
    counts: Array
    bounds: Array
    heads: Sequence[bytes]
    order: Array
    packets: Array

    @cached_property
    def ends(self) -> Array:
        """How many bytes the packets before each have together, and all of them."""
        return np.append(0, np.cumsum(self.packets))

    @cached_property
    def lengths(self) -> Array:
        """Bytes of each part."""
        return _PART_BYTES + np.array([len(head) for head in self.heads]) + np.diff(self.ends[self.bounds])


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
        _, _, bounds = self._cut_tiles(sizes.shape[1])
        parts = len(bounds) - 1
        total = before + int(sizes.sum()) + _PART_BYTES * parts + len(END)
        if self.settings.tlm:
            total += 6 * parts + 6 * -(-parts // _TLM_LENGTHS)
        if self.settings.plt:
            total += int(sum((sizes >= 1 << bits).sum() for bits in (0, 7, 14, 21, 28)))
            total += 5 * int((-(-np.diff(bounds) // _PLT_LENGTHS)).sum())
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
        lengths = plan.lengths.tolist()
        header += self.write_tile_lengths(lengths, [tiles[tile] for tile in plan.tiles.tolist()])
        stream, out = _make_bytes(len(header) + sum(lengths) + len(END))
        out[: len(header)] = np.frombuffer(header, np.uint8)
        out[-len(END) :] = np.frombuffer(END, np.uint8)
        self._fill(out, len(header), plan, packer, kept, tiles)
        return stream

    def write_tiles(self, packer: Packer, kept: Array, tiles: Sequence[int]) -> tuple[bytes, list[int]]:
        """Return tiles alone, which have these numbers, and the bytes of their parts."""
        plan = self._plan(packer, kept, None, None)
        lengths = plan.lengths.tolist()
        stream, out = _make_bytes(sum(lengths))
        self._fill(out, 0, plan, packer, kept, tiles)
        return stream, lengths

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

    def _cut_tiles(self, layers: int) -> tuple[Array, Array, Array]:
        """Return the tile of each part, its number in the tile, and behind which packets parts end, 0 first."""
        kinds, which = find_kinds(self.layouts)
        cuts = [self._count_packets(layout, layers) for layout in kinds]
        tiles = np.repeat(np.arange(len(which)), np.array([len(counts) for counts in cuts])[which])
        numbers = np.concatenate([np.arange(len(cuts[kind])) for kind in which])
        return tiles, numbers, np.append(0, np.cumsum(np.concatenate([cuts[kind] for kind in which])))

    def _count_packets(self, layout: TileLayout, layers: int) -> list[int]:
        """Return how many packets the parts of a tile have."""
        if not self.settings.tile_parts:
            return [layout.precinct_count * layers]
        levels = max(map(len, layout.resolutions))
        return [
            layers * sum(found[level].precinct_count for found in layout.resolutions if level < len(found))
            for level in range(levels)
        ]

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
        tiles, numbers, bounds = self._cut_tiles(layers)
        heads = [b""] * len(tiles)
        if self.settings.plt:
            heads = [self._write_lengths(packets[first:last]) for first, last in pairwise(bounds)]
        if segments is not None:
            parts = zip(tiles, numbers, heads, strict=True)
            heads = [segments[tile] + head if number == 0 else head for tile, number, head in parts]
        return _Plan(tiles, numbers, np.bincount(tiles)[tiles], bounds, heads, order, packets)

    def _fill(self, out: Array, at: int, plan: _Plan, packer: Packer, kept: Array, tiles: Sequence[int]) -> None:
        """Write tiles into a buffer, from a byte on."""
        lengths, order = plan.lengths, plan.order
        if lengths.max(initial=0) >= 2**32:
            part = int(lengths.argmax())
            raise ArgumentError(
                f"tile {tiles[plan.tiles[part]]} has {lengths[part]} bytes, and 2³² - 1 are allowed; use smaller tiles"
            )
        fields = (plan.tiles.tolist(), lengths.tolist(), plan.numbers.tolist(), plan.counts.tolist(), plan.heads)
        texts = [
            TilePart(tiles[tile], length, number, count).write() + head + _SOD
            for tile, length, number, count, head in zip(*fields, strict=True)
        ]
        starts = at + np.cumsum(lengths) - lengths
        _scatter(texts, starts, out)
        # bodies begin behind the texts, and packets of a part follow each other
        bodies = starts + np.array([len(text) for text in texts]) - plan.ends[plan.bounds[:-1]]
        counts = np.diff(plan.bounds)
        offsets, numbers = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        offsets[order] = plan.ends[:-1] + np.repeat(bodies, counts)
        # packets are counted through all parts of a tile
        firsts = plan.bounds[:-1][plan.numbers == 0][plan.tiles]
        numbers[order] = np.arange(len(order)) - np.repeat(firsts, counts)
        packer.write(kept, offsets.reshape(-1, len(kept)), numbers.reshape(-1, len(kept)), out)

    def _write_lengths(self, lengths: Array) -> bytes:
        """Return the lengths of the packets of a tile-part as segments."""
        if len(lengths) > 256 * _PLT_LENGTHS:
            raise ArgumentError(f"plt=True has room for {256 * _PLT_LENGTHS} packets a tile, not {len(lengths)}")
        return b"".join(
            PacketLengths(number, tuple(lengths[first : first + _PLT_LENGTHS].tolist())).write()
            for number, first in enumerate(range(0, len(lengths), _PLT_LENGTHS))
        )


class _Writable:
    """The memory of bytes that nobody else has seen yet, for NumPy."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        interface = np.frombuffer(data, np.uint8).__array_interface__
        self.__array_interface__ = interface | {"data": (interface["data"][0], False)}


def _make_bytes(count: int) -> tuple[bytes, Array]:
    """Return bytes with any contents, and an array that writes to them; to copy a large array takes longer."""
    data = _allocate_bytes(None, count)
    # a single byte, and none, are objects that others have too
    return data, np.asarray(_Writable(data)) if count > 1 else np.zeros(count, np.uint8)


def _scatter(texts: Sequence[bytes], starts: Array, out: Array) -> None:
    """Write each text where it begins."""
    lengths = np.array([len(text) for text in texts])
    before = np.cumsum(lengths) - lengths
    out[np.arange(lengths.sum()) + np.repeat(starts - before, lengths)] = np.frombuffer(b"".join(texts), np.uint8)
