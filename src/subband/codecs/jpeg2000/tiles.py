"""Reading tiles: which coefficients are needed, and what the packets hold for their code-blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.codestream import Codestream, TileStream
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import Band, Rectangle, TileLayout, lay_out_tile
from subband.codecs.jpeg2000.packets import BlockStream, PacketReader
from subband.codecs.jpeg2000.parameters import CodingStyle
from subband.codecs.jpeg2000.progressions import PacketOrder, PrecinctTable, order_packets, tabulate_precincts
from subband.codecs.jpeg2000.transform import Windows, find_band_window, find_windows
from subband.errors import CodecError

__all__ = ["BandPart", "PlaneGroup", "TileWork", "count_room", "prepare_tile"]

Table = NDArray[np.int64]

#: Code-blocks and precincts that a tile may have for each of its bytes, beyond those that any tile may have.
_BLOCKS_A_BYTE = 8
_FREE_BLOCKS = 1 << 20

#: Changes of the progression of a tile; far more than any encoder has a use for.
_MOST_CHANGES = 512

#: Precincts that all progressions of a tile may go over together, for each of its bytes, beyond those of any tile. Even
#: one that goes over none looks at a part of them.
_ORDERED_A_BYTE = 8
_FREE_ORDERED = 1 << 22
_LOOKED_AT = 16


@dataclass(frozen=True)
class BandPart:
    """The part of a band that is needed, and the whole blocks around it."""

    need: Rectangle
    area: Rectangle


@dataclass(frozen=True, eq=False)
class PlaneGroup:
    """Components of a tile that are alike, so that they are transformed together.

    `window` holds the samples that are wanted, `windows` what that takes at each resolution, and `parts` the same for
    the bands of each resolution, by kind.
    """

    components: tuple[int, ...]
    window: Rectangle
    windows: Windows
    parts: tuple[dict[str, BandPart], ...]
    is_reversible: bool


@dataclass(frozen=True, eq=False)
class TileWork:
    """A tile whose packets are read; `chosen` are the blocks to decode, and `planes` their bit planes."""

    stream: TileStream
    layout: TileLayout
    blocks: BlockStream
    groups: tuple[PlaneGroup, ...]
    chosen: Table = field(repr=False)
    planes: NDArray[np.int32] = field(repr=False)

    @property
    def samples(self) -> int:
        """Coefficients that are decoded."""
        return sum(
            len(group.components) * part.area.area
            for group in self.groups
            for level in group.parts
            for part in level.values()
        )


def count_room(tiles: Sequence[TileStream]) -> int:
    """Return how many precincts, and how many code-blocks, tiles may have together, by the bytes that they have."""
    return _FREE_BLOCKS + _BLOCKS_A_BYTE * sum(stop - start for tile in tiles for start, stop in tile.bodies)


def prepare_tile(
    stream: Codestream,
    tile: TileStream,
    windows: dict[int, Rectangle],
    reduce: int,
    layers: int | None,
    most_blocks: int | None = None,
) -> TileWork:
    """Read the packets of a tile.

    Parameters
    ----------
    stream : Codestream
        The codestream.
    tile : TileStream
        What the headers of the tile say.
    windows : dict of int to Rectangle
        For each component that is wanted, the samples that are, at the resolution that is.
    reduce : int
        Levels that are left out.
    layers : int, optional
        Layers that are decoded, all by default.
    most_blocks : int, optional
        Precincts and code-blocks that it may have; what its own bytes can hold by default.

    Raises
    ------
    CodecError
        If the tile declares what cannot be decoded, and `TooManyError` if that is too many precincts or code-blocks.
    """
    most = count_room([tile]) if most_blocks is None else most_blocks
    layout = lay_out_tile(stream.size, tile.styles, tile.tile, most_blocks=most)
    groups = _group_components(tile, layout, windows, reduce)
    needs = _find_needs(layout, groups)
    is_needed = _find_needed_blocks(layout, needs)
    blocks = _read_packets(stream, tile, layout, _find_wanted(layout, needs, is_needed), layers)
    planes = _count_planes(tile, layout, blocks)
    chosen = np.flatnonzero(is_needed & (blocks.passes > 0) & (planes > 0))
    return TileWork(tile, layout, blocks, groups, chosen, planes[chosen])


def _group_components(
    tile: TileStream, layout: TileLayout, windows: dict[int, Rectangle], reduce: int
) -> tuple[PlaneGroup, ...]:
    """Put components together that have the same position and style."""
    found: dict[tuple[Rectangle, CodingStyle, Rectangle], list[int]] = {}
    for component, window in windows.items():
        key = (layout.components[component], tile.styles[component], window)
        found.setdefault(key, []).append(component)
    groups = []
    for (_, style, window), components in found.items():
        levels = layout.resolutions[components[0]][: style.levels - reduce + 1]
        inside = window.intersect(levels[-1].rectangle)
        if inside.area == 0:
            continue
        chain = find_windows(inside, [level.rectangle for level in levels], style.is_reversible)
        parts = tuple(
            {layout.bands[number].kind: _cut_band(layout.bands[number], merged) for number in level.bands}
            for level, merged in zip(levels, chain.merged, strict=True)
        )
        groups.append(PlaneGroup(tuple(components), inside, chain, parts, style.is_reversible))
    return tuple(groups)


def _cut_band(band: Band, merged: Rectangle) -> BandPart:
    """Return the part of a band that is needed, and the whole blocks that it touches."""
    need = find_band_window(merged, band.kind).intersect(band.rectangle)
    if need.area == 0:
        return BandPart(need, need)
    width, height = band.block_width, band.block_height
    whole = Rectangle(
        need.x0 >> width << width,
        need.y0 >> height << height,
        -(-need.x1 >> width) << width,
        -(-need.y1 >> height) << height,
    )
    return BandPart(need, whole.intersect(band.rectangle))


def _find_needs(layout: TileLayout, groups: Sequence[PlaneGroup]) -> dict[int, Rectangle]:
    """Return which coefficients of each band are needed; bands that are not there are not needed."""
    return {
        number: part.need
        for group in groups
        for component in group.components
        for level, parts in zip(layout.resolutions[component], group.parts, strict=False)
        for number, part in zip(level.bands, parts.values(), strict=True)
    }


def _find_needed_blocks(layout: TileLayout, needs: dict[int, Rectangle]) -> NDArray[np.bool_]:
    edges = np.zeros((len(layout.bands), 4), np.int64)
    for number, need in needs.items():
        edges[number] = (need.x0, need.y0, need.x1, need.y1)
    x0, y0, x1, y1, band = layout.blocks.T
    left, top, right, bottom = edges[band].T
    is_needed: NDArray[np.bool_] = (x0 < right) & (x1 > left) & (y0 < bottom) & (y1 > top)
    return is_needed


def _find_wanted(
    layout: TileLayout, needs: dict[int, Rectangle], is_needed: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Return which precincts hold blocks that are needed; None if all do."""
    if len(needs) == len(layout.bands) and is_needed.all():
        return None
    counts = layout.cells[:, 1] * layout.cells[:, 2]
    cell = np.repeat(np.arange(len(counts)), counts)
    precinct = np.repeat(np.arange(layout.precinct_count), np.diff(layout.precinct_cells))
    wanted = np.zeros(layout.precinct_count, np.bool_)
    wanted[precinct[cell[is_needed]]] = True
    return wanted


def _read_packets(
    stream: Codestream,
    tile: TileStream,
    layout: TileLayout,
    wanted: NDArray[np.bool_] | None,
    layers: int | None,
) -> BlockStream:
    """Read the packets of all tile-parts; warn where they end early."""
    reader = PacketReader(
        layout,
        [tile.styles[band.component].block_style for band in layout.bands],
        wanted=wanted,
        layers=tile.coding.layers if layers is None else layers,
        uses_sop=tile.coding.uses_sop,
        uses_eph=tile.coding.uses_eph,
    )
    precincts = tabulate_precincts(layout, stream.size)
    if len(tile.progressions) > _MOST_CHANGES:
        raise CodecError(f"POC declares {len(tile.progressions)} progressions; {_MOST_CHANGES} are accepted")
    layer_count = tile.coding.layers
    reader.follow(_order_progressions(precincts, tile), layer_count)
    data, status = stream.data, "more"
    if tile.headers is not None:
        # headers that are packed elsewhere do not tell where a tile-part ends, so the bodies are read as one
        data = np.concatenate([np.zeros(0, np.uint8), *(data[start:stop] for start, stop in tile.bodies)])
        status = reader.read(data, 0, len(data), tile.headers)
    else:
        for (start, stop), lengths in zip(tile.bodies, tile.lengths, strict=True):
            status = reader.read(data, start, stop, lengths=lengths)
            if status != "more":
                break
    if not reader.is_done and (status != "more" or not tile.is_cut):
        said = "ends early" if status in ("more", "cut") else "holds packets that make no sense"
        warn(f"tile {tile.tile} {said}; what came before is decoded")
    return reader.gather(data)


def _order_progressions(precincts: PrecinctTable, tile: TileStream) -> Iterator[PacketOrder]:
    """Give the order of the packets of each progression, as long as these do not go over precincts again and again."""
    most = _FREE_ORDERED + _ORDERED_A_BYTE * sum(stop - start for start, stop in tile.bodies)
    ordered = 0
    for progression in tile.progressions:
        ordered += len(precincts.index) // _LOOKED_AT
        order = order_packets(precincts, progression, tile.coding.layers)
        ordered += len(order.precincts)
        if len(tile.progressions) > 1 and ordered > most:
            raise CodecError(f"POC goes over {ordered} precincts or more; the stream can hold {most} at most")
        if len(order.precincts):
            yield order


def _count_planes(tile: TileStream, layout: TileLayout, blocks: BlockStream) -> NDArray[np.int32]:
    """Return the bit planes of each block: those of its band, less the empty ones (E.1)."""
    of_band = np.zeros(len(layout.bands), np.int32)
    known: dict[tuple[int, int, int], int] = {}
    for number, band in enumerate(layout.bands):
        quantisation = tile.quantisations[band.component]
        key = (id(quantisation), band.number, tile.shifts[band.component])
        if key not in known and band.rectangle.area:
            known[key] = quantisation.guard_bits + quantisation.step(band.number)[0] - 1 + tile.shifts[band.component]
        of_band[number] = known.get(key, 0)
    planes: NDArray[np.int32] = of_band[layout.blocks[:, 4]] - blocks.zero_planes
    return planes
