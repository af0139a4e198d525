"""From blocks of Part 1 to high-throughput blocks and back, without a transform and without a loss.

Both coders code the same planes of the same integers, and cut blocks at the same passes: a high-throughput cleanup pass
holds all planes of Part 1 up to a cleanup pass there, and what refines it is what the next two passes of Part 1 code.
So a block that was cut anywhere is decoded and coded by the other, and decodes to the same coefficients.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from subband.codecs.jpeg2000.blocks import EncodedBlocks, decode_blocks, encode_blocks
from subband.codecs.jpeg2000.blocks.styles import CAUSAL, HIGH_THROUGHPUT
from subband.codecs.jpeg2000.boxes import pack_box
from subband.codecs.jpeg2000.codestream import Codestream, PlacedSegment, TileStream
from subband.codecs.jpeg2000.coding import join_blocks
from subband.codecs.jpeg2000.faults import CodecWarning
from subband.codecs.jpeg2000.geometry import find_component_rectangle
from subband.codecs.jpeg2000.header import open_file
from subband.codecs.jpeg2000.markers import SOC, Capabilities, CorrespondingProfile, PacketLengths, TileLengths
from subband.codecs.jpeg2000.packing import Packer
from subband.codecs.jpeg2000.parameters import (
    HIGH_THROUGHPUT_STREAM,
    CodingComponent,
    CodingDefault,
    CodingStyle,
    ProgressionChange,
)
from subband.codecs.jpeg2000.settings import Settings
from subband.codecs.jpeg2000.streams import StreamWriter
from subband.codecs.jpeg2000.tile_parts import TilePartRange
from subband.codecs.jpeg2000.tiles import TileWork, prepare_tile
from subband.errors import CodecError
from subband.typing import Array

__all__ = ["transcode"]

# Segments of headers that are written anew, or that tell of packets that are no more.
_DROPPED = (0xFF50, 0xFF51, 0xFF55, 0xFF57, 0xFF58, 0xFF59, 0xFF60, 0xFF61)


def transcode(data: bytes | bytearray | memoryview | str | PathLike[str], *, ht: bool = True) -> bytes:
    """Code the blocks of a file anew, as high-throughput blocks (HTJ2K) or as those of Part 1, without a loss.

    Parameters
    ----------
    data : bytes or path
        A JP2 or JPH file or a codestream, of either kind, or of mixed blocks.
    ht : bool
        Whether the result has high-throughput blocks.

    Returns
    -------
    bytes
        A file with the same boxes, or a codestream if it was one; it decodes to the same samples.

    Raises
    ------
    CodecError
        If the file is damaged or cut short, or its coefficients have more than 29 bits.

    Notes
    -----
    The result has one layer, with all that the file has. The profile that SIZ declares is kept for the way back (CPF).

    Examples
    --------
    >>> import numpy as np
    >>> from subband.codecs.jpeg2000 import decode, encode, transcode
    >>> image = np.arange(4096, dtype=np.uint16).reshape(64, 64)
    >>> fast = transcode(encode(image))
    >>> fast[20:24], bool((decode(fast).samples == image).all()), transcode(fast, ht=False) == encode(image)
    (b'jph ', True, True)
    """
    file = open_file(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CodecWarning)
        try:
            stream = _Transcoder(file.stream, ht).run()
        except CodecWarning as warning:
            raise CodecError(f"the stream is not whole, and cannot be coded anew without a loss: {warning}") from None
    if not file.header.boxes:
        return stream
    brand = b"jph " if ht else b"jp2 "
    changed = {"ftyp": pack_box("ftyp", brand + bytes(4) + brand), "jp2c": pack_box("jp2c", stream)}
    whole = file.stream.data
    return b"".join(
        changed[box.kind] if box.kind in changed else whole[box.offset : box.stop].tobytes()
        for box in file.header.boxes
    )


@dataclass
class _Transcoder:
    """What the parts of the work share: the stream, and whether it gets high-throughput blocks."""

    stream: Codestream
    ht: bool

    def run(self) -> bytes:
        """Return the new codestream."""
        stream = self.stream
        parts_of = stream.tile_parts.by_tile
        works, found, planes = [], [], [np.zeros(0, np.int32)]
        for tile in sorted(parts_of):
            work = self._read_tile(stream.read_tile(tile, parts_of[tile]))
            blocks, zero_planes = self._code_tile(work)
            works.append(work)
            found.append(blocks)
            planes.append(zero_planes)
        layouts = [work.layout for work in works]
        blocks = join_blocks(found)
        packer = Packer.from_layouts(
            layouts, np.concatenate(planes), blocks.ends, blocks.data, blocks.starts,
            HIGH_THROUGHPUT if self.ht else 0, sop=stream.coding.uses_sop, eph=stream.coding.uses_eph,
        )  # fmt: skip
        has_lengths = any(isinstance(s.segment, PacketLengths) for s in self._list_segments(parts_of))
        settings = Settings(plt=has_lengths, tlm=bool(stream.select(TileLengths)))
        writer = StreamWriter(stream.size, stream.coding, layouts, settings)
        heads = [
            self._write_segments(list(self._list_segments({work.stream.tile: parts_of[work.stream.tile]})))
            for work in works
        ]
        progressions = [[replace(each, layer_stop=1) for each in work.stream.progressions] for work in works]
        tiles = [work.stream.tile for work in works]
        return writer.write(self._write_header(works), packer, blocks.passes[None], progressions, heads, tiles)

    def _read_tile(self, tile: TileStream) -> TileWork:
        windows = {
            number: find_component_rectangle(self.stream.size, number)
            for number in range(len(self.stream.size.components))
        }
        return prepare_tile(self.stream, tile, windows, 0, None)

    def _code_tile(self, work: TileWork) -> tuple[EncodedBlocks, Array]:
        """Decode the blocks of a tile and code them anew; return them, and the empty planes above each."""
        layout, chosen = work.layout, work.chosen
        x0, y0, x1, y1, band = layout.blocks[chosen].T
        areas = (x1 - x0) * (y1 - y0)
        orientations = np.array([each.orientation for each in layout.bands], np.int64)[band]
        table = np.stack([np.cumsum(areas) - areas, x1 - x0, y1 - y0, x1 - x0, orientations], axis=1)
        samples = np.zeros(int(areas.sum()), np.int32)
        passes = np.minimum(work.blocks.passes[chosen], 3 * work.planes - 2).astype(np.int32)
        self._decode(work, table, passes, samples)
        # the plane that the last cleanup pass ends with, and passes from there on
        lowest, counts = work.planes - 1 - (passes - 1) // 3, (passes - 1) % 3 + 1
        styles = np.array(
            [_change_style(work.stream.styles[each.component], self.ht).block_style for each in layout.bands]
        )
        parts, order = [], []
        for style in np.unique(styles[band]).tolist():
            rows = np.flatnonzero(styles[band] == style)
            order.append(rows)
            parts.append(encode_blocks(samples, table[rows], style, True, lowest[rows], counts[rows]))
        if not parts:
            parts, order = [encode_blocks(samples, table)], [np.zeros(0, np.int64)]
        blocks = _spread_blocks(join_blocks(parts), chosen[np.concatenate(order)], len(layout.blocks))
        highest = np.zeros(len(layout.blocks), np.int32)
        highest[chosen] = lowest if self.ht else blocks.planes[chosen] - 1
        whole = np.zeros(len(layout.blocks), np.int32)
        whole[chosen] = work.planes + work.blocks.zero_planes[chosen]
        if not self.ht:
            kept = np.zeros(len(layout.blocks), np.int32)
            kept[chosen] = np.maximum(3 * (highest[chosen] - lowest) + counts, 0)
            blocks = replace(blocks, passes=np.minimum(blocks.passes, kept))
        return blocks, np.maximum(whole - 1 - highest, 0)

    def _decode(self, work: TileWork, table: Array, passes: Array, samples: Array) -> None:
        """Decode the blocks of a tile as integers, whatever their wavelet."""
        styles = work.blocks.styles[work.chosen]
        for style in np.unique(styles).tolist():
            rows = np.flatnonzero(styles == style)
            segments, starts = work.blocks.select(work.chosen[rows])
            damaged = decode_blocks(
                work.blocks.data, table[rows], work.planes[rows], passes[rows], segments, starts, style, samples
            )
            if damaged.any():
                raise CodecError(f"{np.count_nonzero(damaged)} code-blocks of tile {work.stream.tile} are damaged")

    def _list_segments(self, parts_of: dict[int, list[TilePartRange]]) -> Iterator[PlacedSegment]:
        """Return the segments of the headers of tile-parts."""
        for parts in parts_of.values():
            for part in sorted(parts, key=lambda part: part.sot.part):
                yield from self.stream.read_tile_part_header(part)[0]

    def _write_header(self, works: Sequence[TileWork]) -> bytes:
        """Return what stands before the tiles."""
        stream = self.stream
        known = stream.select(CorrespondingProfile)
        profile = known[0].profile if known else stream.size.capabilities & ~HIGH_THROUGHPUT_STREAM
        size = replace(stream.size, capabilities=HIGH_THROUGHPUT_STREAM if self.ht else profile)
        parts = [SOC.to_bytes(2, "big"), size.write()]
        if self.ht:
            bound = max((int((w.planes + w.blocks.zero_planes[w.chosen]).max(initial=0)) for w in works), default=0)
            is_reversible = all(style.is_reversible for work in works for style in work.stream.styles)
            has_regions = any(shift for work in works for shift in work.stream.shifts)
            parts.append(Capabilities.of_blocks(bound, is_reversible=is_reversible, has_regions=has_regions).write())
            if profile:
                parts.append(CorrespondingProfile(profile).write())
        return b"".join(parts) + self._write_segments(stream.segments)

    def _write_segments(self, segments: Sequence[PlacedSegment]) -> bytes:
        """Return segments of a header for the other coder and one layer; what knows of neither stays as it is."""
        count = len(self.stream.size.components)
        found = []
        for placed in segments:
            segment = placed.segment
            if segment.code in _DROPPED:
                continue
            if isinstance(segment, CodingDefault):
                style = _change_style(segment.style, self.ht)
                sop, eph = self.stream.coding.uses_sop, self.stream.coding.uses_eph
                found.append(replace(segment, style=style, layers=1, uses_sop=sop, uses_eph=eph).write())
            elif isinstance(segment, CodingComponent):
                found.append(replace(segment, style=_change_style(segment.style, self.ht)).write(count))
            elif isinstance(segment, ProgressionChange):
                changes = tuple(replace(each, layer_stop=1) for each in segment.progressions)
                found.append(replace(segment, progressions=changes).write(count))
            else:
                found.append(self.stream.data[placed.offset : placed.offset + placed.length].tobytes())
        return b"".join(found)


def _change_style(style: CodingStyle, ht: bool) -> CodingStyle:
    """Return the style for the other coder; that contexts are causal is all that both know."""
    return replace(style, block_style=style.block_style & CAUSAL | (HIGH_THROUGHPUT if ht else 0))


def _spread_blocks(blocks: EncodedBlocks, chosen: Array, count: int) -> EncodedBlocks:
    """Return blocks as some of so many, of which the others have nothing."""

    def spread(values: Array) -> Array:
        out = np.zeros((count, *values.shape[1:]), values.dtype)
        out[chosen] = values
        return out

    return EncodedBlocks(
        blocks.data, *map(spread, (blocks.starts, blocks.planes, blocks.passes, blocks.ends, blocks.gains))
    )
