"""Where tiles, resolutions, bands, precincts and code-blocks lie (ISO/IEC 15444-1, annex B).

An image lies on a reference grid and is cut into tiles. Each component of a tile has resolutions from coarse to fine,
each resolution has one band (LL, the coarsest) or three (HL, LH, HH), and is cut into precincts. The part of a band
that lies in a precinct is a *cell*; it is cut into code-blocks. All coordinates are those of the standard: absolute,
not relative to the tile.

`lay_out_tile` numbers all of these within a tile, from component to component, resolution to resolution, precinct to
precinct, band to band and block to block, and gives them as tables that compiled loops can walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.faults import TooManyError
from subband.codecs.jpeg2000.parameters import CodingStyle, ImageSize
from subband.compiled import Kernels

__all__ = [
    "BLOCK_COLUMNS",
    "CELL_COLUMNS",
    "MOST_TILES",
    "PRECINCT_COST",
    "Band",
    "Rectangle",
    "Resolution",
    "TileLayout",
    "count_tiles",
    "find_component_rectangle",
    "find_tile_rectangle",
    "lay_out_tile",
]

_loops = Kernels("subband.codecs.jpeg2000.loops.layout")

_ORIENTATIONS = {"LL": 0, "LH": 0, "HL": 1, "HH": 2}

#: The standard numbers tiles with 16 bits.
MOST_TILES = 65535

#: Code-blocks that take as much memory as a precinct, which takes a byte of a stream even if nothing is in it.
PRECINCT_COST = 8

#: What the columns of `TileLayout.cells` hold: its band, its blocks across and down, its first block, and the first of
#: the nodes that its tag trees have.
CELL_COLUMNS = ("band", "wide", "high", "first_block", "first_node")

#: What the columns of `TileLayout.blocks` hold: the rectangle in coordinates of the band, and the band.
BLOCK_COLUMNS = ("x0", "y0", "x1", "y1", "band")

#: Which of the two directions is high-pass in each kind of band, as (horizontal, vertical).
_DIRECTIONS = {"LL": (0, 0), "HL": (1, 0), "LH": (0, 1), "HH": (1, 1)}

Table = NDArray[np.int64]


@dataclass(frozen=True)
class Rectangle:
    """Columns `x0` to `x1` and rows `y0` to `y1`, the last ones excluded.

    Examples
    --------
    >>> Rectangle(0, 0, 5, 9).divide(2, 4)
    Rectangle(x0=0, y0=0, x1=3, y1=3)
    """

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return max(self.x1 - self.x0, 0)

    @property
    def height(self) -> int:
        """Number of rows."""
        return max(self.y1 - self.y0, 0)

    @property
    def area(self) -> int:
        """Number of samples."""
        return self.width * self.height

    def divide(self, dx: int, dy: int) -> Rectangle:
        """Return the samples of a grid that has only every `dx`-th column and `dy`-th row."""
        return Rectangle(-(-self.x0 // dx), -(-self.y0 // dy), -(-self.x1 // dx), -(-self.y1 // dy))

    def holds(self, other: Rectangle) -> bool:
        """Return whether another one lies inside, and is not empty."""
        is_inside = self.x0 <= other.x0 and self.y0 <= other.y0 and other.x1 <= self.x1 and other.y1 <= self.y1
        return is_inside and other.x0 < other.x1 and other.y0 < other.y1

    def intersect(self, other: Rectangle) -> Rectangle:
        """Return what lies in both, perhaps nothing."""
        x0, y0 = max(self.x0, other.x0), max(self.y0, other.y0)
        return Rectangle(x0, y0, max(x0, min(self.x1, other.x1)), max(y0, min(self.y1, other.y1)))


@dataclass(frozen=True)
class Band:
    """One band of a resolution.

    Attributes
    ----------
    component, resolution : int
        Where it belongs to; resolution 0 is the coarsest.
    kind : {"LL", "HL", "LH", "HH"}
        HL is high-pass horizontally, LH vertically.
    level : int
        The level of decomposition, 1 being the finest; the number of all levels for LL.
    number : int
        Index in the list of quantisation steps: 0 for LL, then three for each resolution.
    rectangle : Rectangle
        Where its coefficients lie.
    block_width, block_height : int
        Exponents of the largest block that precincts allow.
    """

    component: int
    resolution: int
    kind: str
    level: int
    number: int
    rectangle: Rectangle
    block_width: int
    block_height: int

    @property
    def orientation(self) -> int:
        """What the block coder takes: 0 for LL and LH, 1 for HL, 2 for HH."""
        return _ORIENTATIONS[self.kind]

    @property
    def gain_bits(self) -> int:
        """Bits by which the range of the band exceeds that of the samples: 0 for LL, 1 for HL and LH, 2 for HH."""
        return sum(_DIRECTIONS[self.kind])


@dataclass(frozen=True)
class Resolution:
    """One resolution of a component of a tile.

    Attributes
    ----------
    component, resolution : int
        Which one; resolution 0 is the coarsest.
    rectangle : Rectangle
        Where its samples lie, were the image reconstructed up to here.
    precinct_width, precinct_height : int
        Exponents of the size of a precinct.
    precincts_wide, precincts_high : int
        Number of precincts; both may be 0.
    first_precinct : int
        The number of its first precinct within the tile.
    bands : tuple of int
        Its bands, as indices of `TileLayout.bands`.
    scale : int
        Levels of decomposition above it: one of its samples stands for 2^scale samples of the component.
    """

    component: int
    resolution: int
    rectangle: Rectangle
    precinct_width: int
    precinct_height: int
    precincts_wide: int
    precincts_high: int
    first_precinct: int
    bands: tuple[int, ...]
    scale: int

    @property
    def precinct_count(self) -> int:
        """Number of precincts."""
        return self.precincts_wide * self.precincts_high


@dataclass(frozen=True, eq=False)
class TileLayout:
    """Everything in a tile, numbered.

    Attributes
    ----------
    rectangle : Rectangle
        Where the tile lies on the reference grid.
    components : tuple of Rectangle
        Where its components lie, each on its own grid.
    resolutions : tuple of tuple of Resolution
        For each component, from coarse to fine.
    bands : tuple of Band
        For each component and resolution: LL, or HL, LH and HH.
    precinct_cells : int64[precincts + 1]
        The first cell of each precinct, and the number of all cells.
    cells : int64[cells, 5]
        `CELL_COLUMNS` of each cell.
    blocks : int64[blocks, 5]
        `BLOCK_COLUMNS` of each code-block.
    node_count : int
        Nodes that the tag trees of all cells have together.
    """

    rectangle: Rectangle
    components: tuple[Rectangle, ...]
    resolutions: tuple[tuple[Resolution, ...], ...]
    bands: tuple[Band, ...]
    precinct_cells: Table
    cells: Table
    blocks: Table
    node_count: int

    @property
    def precinct_count(self) -> int:
        """Number of precincts."""
        return len(self.precinct_cells) - 1

    @property
    def cost(self) -> int:
        """Code-blocks, or precincts as such."""
        return max(len(self.blocks), PRECINCT_COST * self.precinct_count)

    def move(self, rectangle: Rectangle, components: tuple[Rectangle, ...]) -> TileLayout:
        """Return the layout of a tile that is like this one and lies elsewhere; all else is shared."""
        # written out: `replace` would take longer than coding a small tile
        return TileLayout(
            rectangle,
            components,
            self.resolutions,
            self.bands,
            self.precinct_cells,
            self.cells,
            self.blocks,
            self.node_count,
        )

    @property
    def samples(self) -> int:
        """Samples of all components."""
        return sum(area.area for area in self.components)

    @cached_property
    def band_components(self) -> tuple[int, ...]:
        """The component of each band."""
        return tuple(band.component for band in self.bands)

    @cached_property
    def band_areas(self) -> Table:
        """How many coefficients each band has."""
        return np.array([band.rectangle.area for band in self.bands], np.int64)

    @cached_property
    def block_table(self) -> Table:
        """What the block coder takes, for positions within the band of each block."""
        areas = np.array([(each.x0, each.y0, max(each.width, 1)) for each in (b.rectangle for b in self.bands)])
        x0, y0, x1, y1, band = self.blocks.T
        left, top, stride = areas[band].T
        return np.stack([(y0 - top) * stride + x0 - left, stride, y1 - y0, x1 - x0, self.orientations[band]], axis=1)

    @cached_property
    def orientations(self) -> Table:
        """What the block coder takes for the blocks of each band."""
        return np.array([band.orientation for band in self.bands], np.int64)


def count_tiles(size: ImageSize) -> tuple[int, int]:
    """Return the number of tiles across and down.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.parameters import ComponentSize
    >>> count_tiles(ImageSize(100, 50, 0, 0, 32, 32, 0, 0, (ComponentSize(8),)))
    (4, 2)
    """
    wide = -(-(size.x1 - size.tile_x0) // size.tile_width)
    return wide, -(-(size.y1 - size.tile_y0) // size.tile_height)


def find_tile_rectangle(size: ImageSize, tile: int) -> Rectangle:
    """Return where a tile lies on the reference grid.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.parameters import ComponentSize
    >>> find_tile_rectangle(ImageSize(100, 50, 5, 0, 32, 32, 0, 0, (ComponentSize(8),)), 4)
    Rectangle(x0=5, y0=32, x1=32, y1=50)
    """
    row, column = divmod(tile, count_tiles(size)[0])
    left, top = size.tile_x0 + column * size.tile_width, size.tile_y0 + row * size.tile_height
    x0, y0 = max(left, size.x0), max(top, size.y0)
    x1, y1 = min(left + size.tile_width, size.x1), min(top + size.tile_height, size.y1)
    return Rectangle(x0, y0, max(x0, x1), max(y0, y1))


def find_component_rectangle(size: ImageSize, component: int, reduce: int = 0) -> Rectangle:
    """Return where a component of the whole image lies on its own grid, `reduce` levels left out."""
    steps = size.components[component]
    whole = Rectangle(size.x0, size.y0, size.x1, size.y1).divide(steps.dx, steps.dy)
    return whole.divide(1 << reduce, 1 << reduce)


def lay_out_tile(
    size: ImageSize, styles: Sequence[CodingStyle], tile: int, *, most_blocks: int | None = None
) -> TileLayout:
    """Number everything in a tile.

    Parameters
    ----------
    size : ImageSize
        The image.
    styles : sequence of CodingStyle
        One for each component.
    tile : int
        The number of the tile.
    most_blocks : int, optional
        How many code-blocks are acceptable; a precinct counts as `PRECINCT_COST` of them.

    Raises
    ------
    TooManyError
        If there are more.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.parameters import ComponentSize
    >>> size = ImageSize(100, 50, 0, 0, 100, 50, 0, 0, (ComponentSize(8),))
    >>> layout = lay_out_tile(size, [CodingStyle(levels=1, block_width=4, block_height=4)], 0)
    >>> [(band.kind, band.rectangle.width, band.rectangle.height) for band in layout.bands]
    [('LL', 50, 25), ('HL', 50, 25), ('LH', 50, 25), ('HH', 50, 25)]
    >>> len(layout.blocks), layout.cells[0].tolist(), layout.blocks[3].tolist()
    (32, [0, 4, 2, 0, 0], [48, 0, 50, 16, 0])
    """
    most = 1 << 62 if most_blocks is None else most_blocks
    rectangle = find_tile_rectangle(size, tile)
    areas = tuple(rectangle.divide(steps.dx, steps.dy) for steps in size.components)
    resolutions: list[tuple[Resolution, ...]] = []
    bands: list[Band] = []
    precinct_count = 0
    known: dict[tuple[CodingStyle, Rectangle], int] = {}
    for component, (style, area) in enumerate(zip(styles, areas, strict=True)):
        found: list[Resolution] = []
        # most components are like another one, of which only the numbers have to be changed
        like = known.setdefault((style, area), component)
        for r in range(style.levels + 1):
            if like < component:
                resolution, more = _copy_resolution(resolutions[like][r], bands, component, precinct_count)
            else:
                resolution = _lay_out_resolution(component, style, area, r, len(bands), precinct_count)
                more = [_lay_out_band(resolution, style, area, kind) for kind in _kinds(r)]
            bands += more
            precinct_count += resolution.precinct_count
            found.append(resolution)
        resolutions.append(tuple(found))
    if PRECINCT_COST * precinct_count > most:
        raise TooManyError(
            f"a tile declares {precinct_count} precincts; its stream can hold {most // PRECINCT_COST} at most"
        )
    rows = np.array([_tabulate_resolution(each) for found in resolutions for each in found], np.int64)
    edges = np.array([_tabulate_band(band) for band in bands], np.int64)
    precinct_cells, cells, blocks, nodes = _loops.tabulate_blocks(rows, edges, most)
    if len(precinct_cells) <= precinct_count:
        raise TooManyError(f"a tile declares {nodes} code-blocks or more; its stream can hold {most} at most")
    return TileLayout(rectangle, areas, tuple(resolutions), tuple(bands), precinct_cells, cells, blocks, int(nodes))


def _kinds(resolution: int) -> tuple[str, ...]:
    return ("HL", "LH", "HH") if resolution else ("LL",)


def _copy_resolution(
    level: Resolution, bands: Sequence[Band], component: int, first_precinct: int
) -> tuple[Resolution, list[Band]]:
    """Return the same resolution of another component, and its bands."""
    copies = []
    for number in level.bands:
        b = bands[number]
        copies.append(
            Band(component, b.resolution, b.kind, b.level, b.number, b.rectangle, b.block_width, b.block_height)
        )
    copied = Resolution(
        component,
        level.resolution,
        level.rectangle,
        level.precinct_width,
        level.precinct_height,
        level.precincts_wide,
        level.precincts_high,
        first_precinct,
        tuple(range(len(bands), len(bands) + len(copies))),
        level.scale,
    )
    return copied, copies


def _lay_out_resolution(
    component: int, style: CodingStyle, area: Rectangle, r: int, first_band: int, first_precinct: int
) -> Resolution:
    scale = style.levels - r
    rectangle = area.divide(1 << scale, 1 << scale)
    width, height = style.precinct(r)
    wide = (-(-rectangle.x1 // (1 << width)) - (rectangle.x0 >> width)) if rectangle.width else 0
    high = (-(-rectangle.y1 // (1 << height)) - (rectangle.y0 >> height)) if rectangle.height else 0
    bands = tuple(range(first_band, first_band + len(_kinds(r))))
    return Resolution(component, r, rectangle, width, height, wide, high, first_precinct, bands, scale)


def _lay_out_band(resolution: Resolution, style: CodingStyle, area: Rectangle, kind: str) -> Band:
    r = resolution.resolution
    level = style.levels - r + 1 if r else style.levels
    horizontal, vertical = _DIRECTIONS[kind]
    half, step = 1 << level >> 1, 1 << level
    shifted = Rectangle(
        area.x0 - half * horizontal, area.y0 - half * vertical, area.x1 - half * horizontal, area.y1 - half * vertical
    )
    width, height = resolution.precinct_width - (r > 0), resolution.precinct_height - (r > 0)
    return Band(
        resolution.component,
        r,
        kind,
        level,
        0 if r == 0 else 3 * r - 3 + ("HL", "LH", "HH").index(kind) + 1,
        shifted.divide(step, step),
        min(style.block_width, width),
        min(style.block_height, height),
    )


def _tabulate_resolution(level: Resolution) -> tuple[int, ...]:
    """Return what the compiled loop has to know of a resolution."""
    # above the coarsest resolution a precinct holds half as many columns and rows of each band
    half = level.resolution > 0
    return (
        level.bands[0],
        len(level.bands),
        level.rectangle.x0 >> level.precinct_width,
        level.rectangle.y0 >> level.precinct_height,
        level.precincts_wide,
        level.precincts_high,
        level.precinct_width - half,
        level.precinct_height - half,
    )


def _tabulate_band(band: Band) -> tuple[int, ...]:
    """Return what the compiled loop has to know of a band."""
    area = band.rectangle
    return (area.x0, area.y0, area.x1, area.y1, band.block_width, band.block_height)
