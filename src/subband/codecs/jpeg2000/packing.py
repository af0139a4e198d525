"""From coded blocks to packets: their order, their sizes and their bytes.

The tables of all tiles are joined into one, so that one compiled loop measures or writes the packets of the whole
image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.layouts import find_kinds
from subband.codecs.jpeg2000.parameters import ImageSize, Order, Progression
from subband.codecs.jpeg2000.progressions import PacketOrder, order_packets, tabulate_precincts
from subband.compiled import Kernels
from subband.engines.threads import get_threads, run_tasks
from subband.errors import CodecError
from subband.typing import Array

__all__ = ["Packer", "list_packets", "list_progression"]

_loops = Kernels("subband.codecs.jpeg2000.loops.packing")

# Precincts that a thread takes at once, at least.
_TOGETHER = 256

# Blocks of an image up to which its packets are remembered, as is its layout.
_FEW = 1 << 10


@dataclass(frozen=True, eq=False)
class Packer:
    """What is needed to write the packets of an image.

    Attributes
    ----------
    precincts, cells : ndarray of int64
        First cell of each precinct and how many; first block, rows and columns of each cell.
    zero_planes : ndarray of int32
        Of each block: empty bit planes above the first that holds anything.
    ends : ndarray of int32
        Blocks × passes: bytes up to and with each pass.
    data, starts : ndarray
        The bytes of all blocks, and where those of each begin.
    style : int
        Of the block coder.
    markers : int
        1 for SOP, plus 2 for EPH.
    """

    precincts: Array
    cells: Array
    zero_planes: Array
    ends: Array
    data: Array
    starts: Array
    style: int
    markers: int

    @classmethod
    def from_layouts(
        cls, layouts: Sequence[TileLayout], zero_planes: Array, ends: Array, data: Array, starts: Array, style: int,
        *, sop: bool, eph: bool,
    ) -> Packer:  # fmt: skip
        """Join the tables of all tiles, whose blocks follow each other."""
        kinds, which = find_kinds(layouts)
        firsts = [layout.precinct_cells for layout in kinds]
        precincts = [np.stack([first[:-1], np.diff(first)], axis=1) for first in firsts]
        cells = [layout.cells[:, [3, 2, 1]] for layout in kinds]
        return cls(
            _spread(precincts, which, [len(layout.cells) for layout in kinds]),
            _spread(cells, which, [len(layout.blocks) for layout in kinds]),
            zero_planes, np.ascontiguousarray(ends), data, starts, style, int(sop) + 2 * int(eph),
        )  # fmt: skip

    def measure(self, kept: Array) -> Array:
        """Return the bytes of each packet, precincts × layers, given the passes that each layer keeps."""
        nowhere = np.zeros((1, 1), np.int64)
        return self._pack(kept, False, nowhere, nowhere, np.zeros(1, np.uint8))

    def write(self, kept: Array, offsets: Array, numbers: Array, out: Array) -> None:
        """Write each packet at its offset."""
        self._pack(kept, True, offsets, numbers, out)

    def _pack(self, kept: Array, is_writing: bool, offsets: Array, numbers: Array, out: Array) -> Array:
        sizes = np.zeros((len(self.precincts), len(kept)), np.int64)

        def work(first: int, last: int) -> None:
            rows = slice(first, last)
            goals = (offsets[rows], numbers[rows]) if is_writing else (offsets, numbers)
            _loops.pack_precincts(
                self.precincts[rows], self.cells, self.zero_planes, kept, self.ends, self.style, self.markers,
                is_writing, *goals, self.data, self.starts, out, sizes[rows],
            )  # fmt: skip

        count = len(self.precincts)
        together = max(_TOGETHER, -(-count // (4 * get_threads())))
        run_tasks(work, [(first, min(first + together, count)) for first in range(0, count, together)])
        return sizes


def list_packets(
    size: ImageSize, layouts: Sequence[TileLayout], order: Order | Sequence[Sequence[Progression]], layers: int
) -> Array:
    """Return the packets of all tiles in the order of the stream: one for all, or the progressions of each.

    Returns
    -------
    ndarray of int64
        Numbers of packets, each ``precinct * layers + layer``, precincts counted through all tiles.

    Examples
    --------
    >>> from subband.codecs.jpeg2000.geometry import lay_out_tile
    >>> from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize
    >>> size = ImageSize(32, 32, 0, 0, 32, 32, 0, 0, (ComponentSize(8),))
    >>> layouts = [lay_out_tile(size, [CodingStyle(levels=1)], 0)]
    >>> list_packets(size, layouts, Order.LRCP, 2).tolist(), list_packets(size, layouts, Order.RLCP, 2).tolist()
    ([0, 2, 1, 3], [0, 1, 2, 3])
    """
    if isinstance(order, Order) and len(layouts) == 1 and len(layouts[0].blocks) <= _FEW:
        return _recall_packets(size, layouts[0], order, layers)
    return _list_packets(size, layouts, order, layers)


@lru_cache(maxsize=64)
def _recall_packets(size: ImageSize, layout: TileLayout, order: Order, layers: int) -> Array:
    """Return the packets of the only tile of an image; such a layout is remembered too."""
    packets = _list_packets(size, [layout], order, layers)
    packets.flags.writeable = False
    return packets


def _list_packets(
    size: ImageSize, layouts: Sequence[TileLayout], order: Order | Sequence[Sequence[Progression]], layers: int
) -> Array:
    """Return the packets of all tiles; see `list_packets`."""
    kinds, which = find_kinds(layouts)
    if not isinstance(order, Order):
        # the same progressions are most often the same object
        orders = {(kind, id(each)): (kinds[kind], each) for kind, each in zip(which, order, strict=True)}
        numbers = {key: number for number, key in enumerate(orders)}
        which = [numbers[kind, id(each)] for kind, each in zip(which, order, strict=True)]
        found = [_list_tile(size, layout, each, layers) for layout, each in orders.values()]
    else:
        found = [_list_tile(size, layout, [Progression(order)], layers) for layout in kinds]
    return _spread([packets[:, None] for packets in found], which, [len(packets) for packets in found])[:, 0]


def _list_tile(size: ImageSize, layout: TileLayout, progressions: Sequence[Progression], layers: int) -> Array:
    """Return the packets of a tile in the order of its progressions."""
    table = tabulate_precincts(layout, size)
    parts = [list_progression(order_packets(table, each, layers), layers) for each in progressions]
    packets: Array = np.concatenate(parts)
    if len(parts) > 1:
        # a packet that was there before is left out
        packets = packets[np.sort(np.unique(packets, return_index=True)[1])]
    if len(packets) < layout.precinct_count * layers:
        raise CodecError(f"POC has room for {len(packets)} of the {layout.precinct_count * layers} packets of a tile")
    return packets


def _spread(tables: Sequence[Array], which: Sequence[int], counts: Sequence[int]) -> Array:
    """Return the tables of all tiles below each other, given those of each kind.

    First columns number something that each kind of tile has so many of, and go on from tile to tile.
    """
    joined: Array = np.concatenate([np.zeros((0, tables[0].shape[1]), np.int64), *(tables[kind] for kind in which)])
    own = np.array(counts, np.int64)[which]
    joined[:, 0] += np.repeat(np.cumsum(own) - own, np.array([len(table) for table in tables])[which])
    return joined


def list_progression(packets: PacketOrder, layers: int) -> Array:
    """Return the numbers of packets of one progression, precincts counted within the tile."""
    run = np.repeat(np.arange(len(packets.bounds) - 1), np.diff(packets.bounds))
    number = np.arange(len(packets.precincts))
    layer = np.repeat(np.arange(packets.layers), len(number))
    # within a run, layers run slower than precincts
    sequence = np.lexsort((np.tile(number, packets.layers), layer, np.tile(run, packets.layers)))
    return (np.tile(packets.precincts, packets.layers) * layers + layer)[sequence]
