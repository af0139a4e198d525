"""Reading packets: a layer of a precinct, a header that tells what each code-block gets, and the bytes of the blocks.

`PacketReader` reads those of a tile into what the block decoder takes; it walks the orders of
`subband.codecs.jpeg2000.progressions` in compiled loops. `subband.codecs.jpeg2000.packing` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.blocks.styles import HIGH_THROUGHPUT, UNDECIDED
from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.loops.statuses import DONE
from subband.codecs.jpeg2000.progressions import PacketOrder
from subband.compiled import Kernels

__all__ = ["BlockStream", "PacketReader"]

_loops = Kernels("subband.codecs.jpeg2000.loops.packet_reading")

Bytes = NDArray[np.uint8]
Table = NDArray[np.int64]

#: How wide the lengths of a block are before anything was said about them.
_LENGTH_BITS = 3

_STATES = ("done", "more", "cut", "corrupt")


@dataclass(frozen=True, eq=False)
class BlockStream:
    """What the packets of a tile hold for its blocks.

    Attributes
    ----------
    data : uint8[:]
        The bytes of all blocks, one block behind the other.
    zero_planes : int32[blocks]
        Empty bit planes on top, -1 for a block that has nothing.
    passes : int32[blocks]
        Coding passes.
    styles : int64[blocks]
        Of each block: that of its band, decided where blocks of both kinds are mixed.
    segments : int64[m, 3]
        Start in `data`, length and number of passes of each codeword segment.
    segment_starts : int64[blocks + 1]
        The first segment of each block.
    """

    data: Bytes
    zero_planes: NDArray[np.int32]
    passes: NDArray[np.int32]
    styles: Table
    segments: Table
    segment_starts: Table

    def select(self, chosen: Table) -> tuple[Table, Table]:
        """Return the segments of some blocks, and the first of each of these and the number of all."""
        first, last = self.segment_starts[chosen], self.segment_starts[chosen + 1]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(last - first)])
        which = np.repeat(first - starts[:-1], last - first)
        return self.segments[which + np.arange(len(which))], starts


class PacketReader:
    """Reads the packets of one tile, from one tile-part after the other.

    Parameters
    ----------
    layout : TileLayout
        The tile.
    styles : sequence of int
        The block style of each band of the layout.
    wanted : bool[precincts], optional
        The precincts whose blocks are to be decoded, all by default.
    layers : int
        The layers that are to be decoded.
    uses_sop, uses_eph : bool
        Whether markers may stand before packets and behind their headers.
    """

    def __init__(
        self,
        layout: TileLayout,
        styles: Sequence[int],
        *,
        wanted: NDArray[np.bool_] | None = None,
        layers: int = 65535,
        uses_sop: bool = False,
        uses_eph: bool = False,
    ) -> None:
        self._layout = layout
        self._wanted = np.ones(layout.precinct_count, np.bool_) if wanted is None else wanted
        self._most_layers = layers
        self._markers = (uses_sop, uses_eph)
        blocks, nodes = len(layout.blocks), layout.node_count
        unknown = np.iinfo(np.int32).max
        self._state = (
            np.full(blocks, -1, np.int32),
            np.zeros(blocks, np.int32),
            np.full(blocks, _LENGTH_BITS, np.int32),
            np.full(nodes, unknown, np.int32),
            np.zeros(nodes, np.int32),
            np.full(nodes, unknown, np.int32),
            np.zeros(nodes, np.int32),
            np.array([style | UNDECIDED if style & HIGH_THROUGHPUT else style for style in styles], np.int64)[
                layout.blocks[:, 4]
            ],
        )
        self._next_layer = np.zeros(layout.precinct_count, np.int64)
        self._orders: Iterator[PacketOrder] = iter(())
        self._order: PacketOrder | None = None
        self._cursor = np.array([0, 0, -1], np.int64)
        self._left = np.zeros(1, np.int64)
        self._chunks = np.empty((max(64, blocks), 5), np.int64)
        self._count = 0

    def follow(self, orders: Iterable[PacketOrder], layers: int) -> None:
        """Set the orders in which packets come, and how many layers there are."""
        self._orders = iter(orders)
        self._order = next(self._orders, None)
        self._left[0] = int(self._wanted.sum()) * min(layers, self._most_layers)

    @property
    def is_done(self) -> bool:
        """Whether all packets that are wanted were read."""
        return bool(self._left[0] <= 0)

    def read(
        self,
        data: Bytes,
        start: int,
        stop: int,
        headers: Bytes | None = None,
        lengths: Table | None = None,
    ) -> str:
        """Read the packets between two byte offsets.

        Parameters
        ----------
        data : uint8[:]
            The stream; all calls have to be given the same.
        start, stop : int
            Where the packets lie.
        headers : uint8[:], optional
            The headers of the packets, where they are packed elsewhere.
        lengths : int64[:], optional
            The lengths of the packets, which allow to pass over those that are not wanted.

        Returns
        -------
        {"done", "more", "cut", "corrupt"}
            Whether all packets are read, or the bytes end between packets or within one, or make no sense.
        """
        is_packed = headers is not None
        source = data if headers is None else headers
        body = np.array([start, 0, 0, stop, 0], np.int64)
        head = np.array([0, 0, 0, len(source), 0], np.int64)
        lengths = np.zeros(0, np.int64) if lengths is None else lengths
        length_cursor = np.zeros(1, np.int64)
        status = DONE
        while (order := self._order) is not None:
            self._chunks, self._count, status = _loops.read_packets(
                data,
                body,
                source,
                head,
                is_packed,
                order.precincts,
                order.bounds,
                order.layers,
                self._cursor,
                self._next_layer,
                self._wanted,
                self._most_layers,
                self._left,
                lengths,
                length_cursor,
                *self._markers,
                (self._layout.precinct_cells, self._layout.cells),
                self._state,
                self._chunks,
                self._count,
            )
            if status != DONE or self._left[0] <= 0:
                break
            self._order = next(self._orders, None)
            self._cursor[:] = (0, 0, -1)
        return _STATES[status]

    def gather(self, data: Bytes) -> BlockStream:
        """Return what was read, with the bytes of each block together."""
        blocks, styles = self._layout.blocks, self._state[-1]
        gathered, segments, starts, passes = _loops.gather_blocks(data, self._chunks, self._count, len(blocks), styles)
        return BlockStream(gathered, self._state[0], passes, styles, segments, starts)
