"""Preparing tiles: which coefficients are needed, and which code-blocks hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.codestream import Codestream, TileStream
from subband.codecs.jpeg2000.faults import TooManyError, warn
from subband.codecs.jpeg2000.geometry import Band, Rectangle, TileLayout, find_tile_rectangle, lay_out_tile
from subband.codecs.jpeg2000.layouts import Spans, describe_tile
from subband.codecs.jpeg2000.packets import BlockStream
from subband.codecs.jpeg2000.parameters import CodingDefault, CodingStyle, ImageSize, Progression, Quantisation
from subband.codecs.jpeg2000.progressions import PacketOrder
from subband.codecs.jpeg2000.tile_packets import order_progressions, read_packets
from subband.codecs.jpeg2000.transform import Windows, find_band_window, find_windows

__all__ = [
    "BandPart",
    "KnownTiles",
    "PlaneGroup",
    "TileWork",
    "count_planes",
    "count_room",
    "prepare_tile",
]

Table = NDArray[np.int64]

#: Code-blocks and precincts that a tile may have for each of its bytes, beyond those that any tile may have.
_BLOCKS_A_BYTE = 8
_FREE_BLOCKS = 1 << 20

#: Resolutions of components of tiles that are not like others, for each byte of all tiles, beyond those of any stream.
_UNLIKE_A_BYTE = 1 / 8
_FREE_UNLIKE = 1 << 15

#: Tiles with no more components, samples and code-blocks are remembered from one stream to the next: they take longer
#: to be laid out than to be decoded.
_FEW_COMPONENTS = 4
_SMALL = 1 << 18
_FEW_BLOCKS = 1 << 10


@dataclass(frozen=True)
class BandPart:
    """The part of a band that is needed, and the whole blocks around it."""

    need: Rectangle
    area: Rectangle


@dataclass(frozen=True, eq=False)
class PlaneGroup:
    """Components of a tile that are alike, so that they are transformed together.

    `window` holds the samples that are wanted, `windows` what that takes at each resolution, and `parts` the same for
    the bands of each resolution, by kind; `samples` are the coefficients of these.
    """

    components: tuple[int, ...]
    window: Rectangle
    windows: Windows
    parts: tuple[dict[str, BandPart], ...]
    is_reversible: bool
    samples: int


@dataclass(frozen=True, eq=False)
class TileWork:
    """A tile whose packets are read; `chosen` are the blocks to decode, and `planes` their bit planes.

    Where tiles are alike, layout and groups have the coordinates of the first of them, but for the windows of groups.
    """

    stream: TileStream
    layout: TileLayout
    blocks: BlockStream
    groups: tuple[PlaneGroup, ...]
    chosen: Table = field(repr=False)
    planes: NDArray[np.int32] = field(repr=False)

    @property
    def samples(self) -> int:
        """Coefficients that are decoded."""
        return sum(group.samples for group in self.groups)


@dataclass(frozen=True, eq=False)
class _Shape:
    """What tiles have in common that differ only in where they lie, and in their bytes."""

    layout: TileLayout
    groups: tuple[PlaneGroup, ...]
    is_needed: NDArray[np.bool_] = field(repr=False)
    wanted: NDArray[np.bool_] | None = field(repr=False)
    orders: tuple[PacketOrder, ...] | None = field(repr=False)
    planes: NDArray[np.int32] = field(repr=False)


@dataclass(eq=False)
class KnownTiles:
    """Tiles that were prepared, so that others that are like them need less.

    `unlike` counts the resolutions of components of those that are not alike; there may be `most_unlike`.
    """

    most_unlike: float = float("inf")
    unlike: int = 0
    spans: Spans = field(default_factory=dict)
    shapes: dict[object, _Shape] = field(default_factory=dict)
    # what is known by its identity has to stay alive
    kept: list[object] = field(default_factory=list)

    @classmethod
    def of(cls, tiles: Sequence[TileStream]) -> KnownTiles:
        """Return what is known before any tile of a stream is, with the limits of its bytes."""
        return cls(_FREE_UNLIKE + _UNLIKE_A_BYTE * sum(stop - start for tile in tiles for start, stop in tile.bodies))

    def count(self, tile: TileStream) -> None:
        """Count a tile that is like no other; raise a `TooManyError` if there are too many of these."""
        self.unlike += sum(style.levels + 1 for style in tile.styles)
        if self.unlike > self.most_unlike:
            raise TooManyError(
                f"tiles that are not alike declare {self.unlike} resolutions of components or more; "
                f"the stream can hold {self.most_unlike:.0f}"
            )


def count_room(tiles: Sequence[TileStream]) -> int:
    """Return how many precincts, and how many code-blocks, tiles may have together, by the bytes that they have."""
    told = sum(len(tile.headers) for tile in tiles if tile.headers is not None)
    return _FREE_BLOCKS + _BLOCKS_A_BYTE * (told + sum(stop - start for tile in tiles for start, stop in tile.bodies))


def prepare_tile(
    stream: Codestream,
    tile: TileStream,
    windows: dict[int, Rectangle],
    reduce: int,
    layers: int | None,
    most_blocks: int | None = None,
    known: KnownTiles | None = None,
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
    known : KnownTiles, optional
        Other tiles of the stream, prepared with the same arguments; takes this one.

    Raises
    ------
    CodecError
        If the tile declares what cannot be decoded, and `TooManyError` if that is too many precincts or code-blocks.
    """
    most = count_room([tile]) if most_blocks is None else most_blocks
    shape = _find_shape(stream, tile, windows, reduce, most, known)
    reader, data = read_packets(stream, tile, shape.layout, shape.wanted, layers, shape.orders)
    blocks = reader.gather(data)
    planes: NDArray[np.int32] = shape.planes - blocks.zero_planes
    is_there = shape.is_needed & (blocks.passes > 0)
    chosen = np.flatnonzero(is_there & (planes > 0))
    if len(chosen) < (count := int(np.count_nonzero(is_there))):
        warn(f"{count - len(chosen)} code-blocks of tile {tile.tile} have more empty bit planes than there are")
    return TileWork(tile, shape.layout, blocks, shape.groups, chosen, planes[chosen])


def _find_shape(
    stream: Codestream,
    tile: TileStream,
    windows: dict[int, Rectangle],
    reduce: int,
    most: int,
    known: KnownTiles | None,
) -> _Shape:
    """Return the shape of a tile, that of another one if they are alike and wanted as a whole."""
    is_whole = known is not None
    area = find_tile_rectangle(stream.size, tile.tile)
    inside = {}
    for component, window in windows.items():
        steps = stream.size.components[component]
        own = area
        if steps.dx > 1 or steps.dy > 1 or reduce:
            own = area.divide(steps.dx, steps.dy).divide(1 << reduce, 1 << reduce)
        inside[component] = own
        is_whole = is_whole and window.holds(own)
    if known is None or not is_whole:
        if known is not None:
            known.count(tile)
        return _make_shape(stream.size, tile, windows, reduce, most)
    key = (
        describe_tile(stream.size, tile.styles, tile.tile, known.spans),
        id(tile.styles),
        tuple(map(id, tile.quantisations)),
        tile.shifts,
        tile.progressions,
        tile.coding.layers,
    )
    shape = known.shapes.get(key)
    if shape is None or shape.layout.cost > most:
        known.count(tile)
        shape = known.shapes[key] = _find_small_shape(stream.size, tile, inside, windows, reduce, most)
        known.kept += [tile.styles, tile.quantisations]
    # written out: `replace` would take longer than reading the packets of a small tile
    groups = tuple(
        PlaneGroup(g.components, inside[g.components[0]], g.windows, g.parts, g.is_reversible, g.samples)
        for g in shape.groups
    )
    return _Shape(shape.layout, groups, shape.is_needed, shape.wanted, shape.orders, shape.planes)


def _find_small_shape(
    size: ImageSize,
    tile: TileStream,
    inside: dict[int, Rectangle],
    windows: dict[int, Rectangle],
    reduce: int,
    most: int,
) -> _Shape:
    """Return the shape of a whole tile, perhaps one that is remembered from another stream."""
    is_small = (
        len(size.components) <= _FEW_COMPONENTS and sum(own.area for own in inside.values()) << 2 * reduce <= _SMALL
    )
    if not is_small or most < _FEW_BLOCKS:
        return _make_shape(size, tile, windows, reduce, most)
    own = (tile.coding, tile.styles, tile.quantisations, tile.shifts, tile.progressions)
    try:
        return _recall_shape(size, tile.tile, own, tuple(windows.items()), reduce)
    except TooManyError:
        return _make_shape(size, tile, windows, reduce, most)


@lru_cache(maxsize=64)
def _recall_shape(
    size: ImageSize,
    tile: int,
    own: tuple[
        CodingDefault, tuple[CodingStyle, ...], tuple[Quantisation, ...], tuple[int, ...], tuple[Progression, ...]
    ],
    windows: tuple[tuple[int, Rectangle], ...],
    reduce: int,
) -> _Shape:
    """Return the shape of a tile with headers like these."""
    return _make_shape(size, TileStream(tile, *own, (), (), None, False), dict(windows), reduce, _FEW_BLOCKS)


def _make_shape(size: ImageSize, tile: TileStream, windows: dict[int, Rectangle], reduce: int, most: int) -> _Shape:
    layout = lay_out_tile(size, tile.styles, tile.tile, most_blocks=most)
    groups = _group_components(tile, layout, windows, reduce)
    needs = _find_needs(layout, groups)
    is_needed = _find_needed_blocks(layout, needs)
    nothing = np.zeros(len(layout.blocks), np.int32)
    wanted = _find_wanted(layout, needs, is_needed)
    # one that changes is followed as far as packets are there
    orders: tuple[PacketOrder, ...] | None = None
    if len(tile.progressions) == 1:
        orders = tuple(order_progressions(layout, size, tile))
    return _Shape(layout, groups, is_needed, wanted, orders, count_planes(tile, layout, nothing))


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
        samples = len(components) * sum(part.area.area for level in parts for part in level.values())
        groups.append(PlaneGroup(tuple(components), inside, chain, parts, style.is_reversible, samples))
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


def count_planes(tile: TileStream, layout: TileLayout, zero_planes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the bit planes of each block: those of its band, less the empty ones (E.1)."""
    of_band = np.zeros(len(layout.bands), np.int32)
    known: dict[tuple[int, int, int], int] = {}
    for number, band in enumerate(layout.bands):
        quantisation = tile.quantisations[band.component]
        key = (id(quantisation), band.number, tile.shifts[band.component])
        if key not in known and band.rectangle.area:
            known[key] = quantisation.guard_bits + quantisation.step(band.number)[0] - 1 + tile.shifts[band.component]
        of_band[number] = known.get(key, 0)
    planes: NDArray[np.int32] = of_band[layout.blocks[:, 4]] - zero_planes
    return planes
