"""In which order the packets of a tile follow each other (ISO/IEC 15444-1, B.12).

A packet is a layer of a precinct. All five orders are one list of precincts, cut into *runs*: within a run, the layers
run slower than the precincts. ``LRCP`` is a single run of all precincts; ``RLCP`` has a run for each resolution; in the
others each precinct is a run by itself, so that its layers follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.geometry import Resolution, TileLayout
from subband.codecs.jpeg2000.parameters import ImageSize, Order, Progression

__all__ = ["PacketOrder", "PrecinctTable", "iterate_packets", "order_packets", "tabulate_precincts"]

Table = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrecinctTable:
    """What the orders go by, one entry for each precinct of a tile: resolution, component, index and position."""

    resolution: Table
    component: Table
    index: Table
    x: Table
    y: Table


@dataclass(frozen=True, eq=False)
class PacketOrder:
    """Precincts in their order, and where the runs begin.

    Attributes
    ----------
    precincts : int64[n]
        Numbers of precincts within the tile.
    bounds : int64[runs + 1]
        The first index of each run in `precincts`, and `n`.
    layers : int
        Layers of each precinct. A packet that was there before is left out.
    """

    precincts: Table
    bounds: Table
    layers: int


def tabulate_precincts(layout: TileLayout, size: ImageSize) -> PrecinctTable:
    """Return the table of the precincts of a tile.

    The position of a precinct is that of its first sample on the reference grid, or of the tile where it begins before.
    """
    columns: list[tuple[Table, ...]] = []
    known: dict[tuple[object, ...], tuple[Table, ...]] = {}
    for resolutions in layout.resolutions:
        for level in resolutions:
            steps = size.components[level.component]
            key = (level.rectangle, level.precinct_width, level.precinct_height, level.scale, steps.dx, steps.dy)
            if key not in known:
                known[key] = _find_positions(level, steps.dx, steps.dy, layout)
            count = level.precinct_count
            names = np.empty((2, count), np.int64)
            names[0], names[1] = level.resolution, level.component
            columns.append((names[0], names[1], *known[key]))
    return PrecinctTable(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def order_packets(table: PrecinctTable, progression: Progression, layers: int) -> PacketOrder:
    """Return the order of the packets of one progression.

    Parameters
    ----------
    table : PrecinctTable
        The precincts of the tile.
    progression : Progression
        An order, and ranges of resolutions, components and layers.
    layers : int
        Layers of the tile.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.geometry import lay_out_tile
    >>> from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize
    >>> size = ImageSize(64, 64, 0, 0, 64, 64, 0, 0, (ComponentSize(8),) * 2)
    >>> layout = lay_out_tile(size, [CodingStyle(levels=1)] * 2, 0)
    >>> order = order_packets(tabulate_precincts(layout, size), Progression(Order.RLCP), 3)
    >>> order.precincts.tolist(), order.bounds.tolist()
    ([0, 2, 1, 3], [0, 2, 4])
    """
    mine = (
        (table.resolution >= progression.resolution_start)
        & (table.resolution < progression.resolution_stop)
        & (table.component >= progression.component_start)
        & (table.component < progression.component_stop)
    )
    chosen = np.flatnonzero(mine)
    r, c, k, x, y = (column[chosen] for column in (table.resolution, table.component, table.index, table.x, table.y))
    # lexsort takes the key that runs fastest first
    keys = {
        Order.LRCP: (k, c, r),
        Order.RLCP: (k, c, r),
        Order.RPCL: (k, c, x, y, r),
        Order.PCRL: (k, r, c, x, y),
        Order.CPRL: (k, r, x, y, c),
    }[progression.order]
    sorting = np.lexsort(keys)
    precincts = chosen[sorting]
    if progression.order == Order.LRCP:
        bounds = np.array([0, len(precincts)], np.int64)
    elif progression.order == Order.RLCP:
        changes = np.flatnonzero(np.diff(r[sorting])) + 1
        bounds = np.concatenate([np.zeros(1, np.int64), changes, np.array([len(precincts)], np.int64)])
    else:
        bounds = np.arange(len(precincts) + 1, dtype=np.int64)
    return PacketOrder(precincts.astype(np.int64), bounds.astype(np.int64), min(layers, progression.layer_stop))


def iterate_packets(
    layout: TileLayout, size: ImageSize, progressions: Sequence[Progression], layers: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (layer, resolution, component, precinct) of every packet of a tile, in their order.

    The precinct is numbered within its resolution. This is the plain form; `subband.codecs.jpeg2000.packets` walks the
    same orders in compiled loops.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.geometry import lay_out_tile
    >>> from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize
    >>> size = ImageSize(64, 64, 0, 0, 64, 64, 0, 0, (ComponentSize(8),))
    >>> layout = lay_out_tile(size, [CodingStyle(levels=1)], 0)
    >>> list(iterate_packets(layout, size, [Progression(Order.LRCP)], 2))
    [(0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)]
    """
    table = tabulate_precincts(layout, size)
    done = np.zeros(layout.precinct_count, np.int64)
    for progression in progressions:
        order = order_packets(table, progression, layers)
        for start, stop in zip(order.bounds[:-1], order.bounds[1:], strict=True):
            for layer in range(order.layers):
                for precinct in order.precincts[start:stop]:
                    if layer >= done[precinct]:
                        done[precinct] = layer + 1
                        yield (
                            layer,
                            int(table.resolution[precinct]),
                            int(table.component[precinct]),
                            int(table.index[precinct]),
                        )


def _find_positions(level: Resolution, dx: int, dy: int, layout: TileLayout) -> tuple[Table, Table, Table]:
    """Return the indices of precincts within a resolution, and where they begin on the reference grid."""
    area, tile = level.rectangle, layout.rectangle
    x = _find_starts(area.x0, level.precinct_width, level.scale, dx, level.precincts_wide, tile.x0)
    y = _find_starts(area.y0, level.precinct_height, level.scale, dy, level.precincts_high, tile.y0)
    indices = np.arange(level.precinct_count, dtype=np.int64)
    return indices, np.tile(x, level.precincts_high), np.repeat(y, level.precincts_wide)


def _find_starts(origin: int, exponent: int, scale: int, step: int, count: int, tile: int) -> Table:
    """Return where precincts begin along one direction of the reference grid."""
    positions = ((np.arange(count, dtype=np.int64) + (origin >> exponent)) << (exponent + scale)) * step
    if count and origin % (1 << exponent):
        positions[0] = tile
    return positions
