"""The layouts of all tiles of an image: tiles that differ only in where they lie share all of them but that.

Small tiles take less time to be coded than to be laid out one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from subband.codecs.jpeg2000.faults import TooManyError
from subband.codecs.jpeg2000.geometry import Rectangle, TileLayout, count_tiles, find_tile_rectangle, lay_out_tile
from subband.codecs.jpeg2000.parameters import CodingStyle, ImageSize

__all__ = ["Spans", "describe_tile", "find_kinds", "lay_out_tiles"]

#: An image of one tile with no more samples and code-blocks is remembered: it takes longer to be laid out than coded.
_SMALL = 1 << 18
_FEW_BLOCKS = 1 << 10

#: What is known of columns (axis 0) and rows (1) of tiles, by the identity of their styles.
Spans = dict[tuple[int, int, int], tuple[int, ...]]


def lay_out_tiles(size: ImageSize, styles: Sequence[CodingStyle]) -> list[TileLayout]:
    """Number everything in each tile of an image.

    Parameters
    ----------
    size : ImageSize
        The image.
    styles : sequence of CodingStyle
        One for each component, the same in all tiles.

    Returns
    -------
    list of TileLayout
        `rectangle` and `components` are those of the tile. All else is that of the first tile like it: the same
        objects, so that ``a.bands is b.bands`` tells whether tiles are alike, with the coordinates of that tile.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.parameters import ComponentSize
    >>> size = ImageSize(100, 64, 0, 0, 32, 32, 0, 0, (ComponentSize(8),))
    >>> layouts = lay_out_tiles(size, [CodingStyle(levels=2)])
    >>> [layouts[tile].bands is layouts[0].bands for tile in (1, 2, 3, 4, 7)]
    [True, True, False, True, False]
    """
    wide, high = count_tiles(size)
    if wide * high == 1 and len(styles) * find_tile_rectangle(size, 0).area <= _SMALL:
        try:
            return [_recall_layout(size, tuple(styles))]
        except TooManyError:
            return [lay_out_tile(size, styles, 0)]
    columns = [find_tile_rectangle(size, column) for column in range(wide)]
    rows = [find_tile_rectangle(size, row * wide) for row in range(high)]
    # numbers stand for what is the same, because that takes longer to compare
    numbers: dict[tuple[int, ...], int] = {}
    across = [numbers.setdefault(_describe(size, styles, each, 0), len(numbers)) for each in columns]
    down = [numbers.setdefault(_describe(size, styles, each, 1), len(numbers)) for each in rows]
    known: dict[tuple[int, int], TileLayout] = {}
    layouts = []
    for tile, (row, column) in enumerate(product(range(high), range(wide))):
        first = known.get((down[row], across[column]))
        if first is None:
            layout = known[down[row], across[column]] = lay_out_tile(size, styles, tile)
        else:
            rectangle = Rectangle(columns[column].x0, rows[row].y0, columns[column].x1, rows[row].y1)
            layout = first.move(rectangle, _divide(rectangle, size))
        layouts.append(layout)
    return layouts


def _divide(rectangle: Rectangle, size: ImageSize) -> tuple[Rectangle, ...]:
    """Return where the components of a tile lie; most of them where the tile does."""
    return tuple(
        rectangle if steps.dx == steps.dy == 1 else rectangle.divide(steps.dx, steps.dy) for steps in size.components
    )


def find_kinds(layouts: Sequence[TileLayout]) -> tuple[list[TileLayout], list[int]]:
    """Return the first tile of each kind, and the kind of every tile: those are alike that differ in where they lie.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.parameters import ComponentSize
    >>> size = ImageSize(100, 64, 0, 0, 32, 32, 0, 0, (ComponentSize(8),))
    >>> find_kinds(lay_out_tiles(size, [CodingStyle(levels=2)]))[1]
    [0, 0, 0, 1, 0, 0, 0, 1]
    """
    keys = [id(layout.bands) for layout in layouts]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    which = [numbers[key] for key in keys]
    firsts = dict(zip(reversed(which), reversed(layouts), strict=True))
    return [firsts[number] for number in range(len(firsts))], which


@lru_cache(maxsize=64)
def _recall_layout(size: ImageSize, styles: tuple[CodingStyle, ...]) -> TileLayout:
    """Return the layout of the only tile of an image."""
    return lay_out_tile(size, styles, 0, most_blocks=_FEW_BLOCKS)


def describe_tile(size: ImageSize, styles: Sequence[CodingStyle], tile: int, spans: Spans) -> object:
    """Return what tiles with the same styles have in common if they share all but where they lie.

    `spans` keeps what is known of columns and rows of tiles.
    """
    row, column = divmod(tile, count_tiles(size)[0])
    own = id(styles)
    across, down = spans.get((own, 0, column)), spans.get((own, 1, row))
    if across is None or down is None:
        first = find_tile_rectangle(size, tile)
        across = spans[own, 0, column] = _describe(size, styles, first, 0)
        down = spans[own, 1, row] = _describe(size, styles, first, 1)
    return across, down


def _describe(size: ImageSize, styles: Sequence[CodingStyle], rectangle: Rectangle, axis: int) -> tuple[int, ...]:
    """Return all that the layout of a tile depends on along one axis, 0 for columns and 1 for rows."""
    found: list[int] = []
    first, last = (rectangle.y0, rectangle.y1) if axis else (rectangle.x0, rectangle.x1)
    known: set[tuple[CodingStyle, int]] = set()
    for style, steps in zip(styles, size.components, strict=True):
        step = steps.dy if axis else steps.dx
        if (style, step) not in known:
            known.add((style, step))
            found += _describe_span(-(-first // step), -(-last // step), style, axis, step, first)
    return tuple(found)


def _describe_span(start: int, stop: int, style: CodingStyle, axis: int, step: int, tile: int) -> list[int]:
    """Return how a component of a tile is cut along one axis, relative to where it begins."""
    found = [start % (1 << style.levels), stop - start]
    block = style.block_height if axis else style.block_width
    for resolution in range(style.levels + 1):
        scale = style.levels - resolution
        first, last = -(-start >> scale), -(-stop >> scale)
        exponent = style.precinct(resolution)[axis]
        found.append(_find_cuts(first, last, exponent))
        # what lies at the edge of a precinct has the position of that edge, not of the tile
        found.append((first << scale) * step - tile if first % (1 << exponent) == 0 else 0)
        level = scale + 1 if resolution else scale
        for high in range(2 if resolution else 1):
            shift = high << level >> 1
            low, top = -(-(start - shift) >> level), -(-(stop - shift) >> level)
            found.append(_find_cuts(low, top, max(min(block, exponent - (resolution > 0)), 0)))
    return found


def _find_cuts(first: int, last: int, exponent: int) -> int:
    """Return where a span lies among cuts every 2^exponent samples; -1 if there is none inside."""
    return -1 if first >> exponent == (last - 1) >> exponent else first % (1 << exponent)
