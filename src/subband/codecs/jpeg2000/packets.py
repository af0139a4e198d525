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

#: A number in a tag tree of which nothing is known yet.
_UNKNOWN = np.iinfo(np.int32).max

_STATES = ("done", "more", "cut", "corrupt")


@dataclass(frozen=True, eq=False)
class BlockStream:
    """What the packets of a tile hold for its blocks.

    Attributes
    ----------
    data : uint8[:]
        The bytes of all blocks, perhaps with others between them.
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
        starts = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(last - first, out=starts[1:])
        if starts[-1] == len(self.segments):
            return self.segments.copy(), starts
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
        # one piece of memory for all that is known of blocks, and one for nodes: small tiles would wait for more
        of_blocks, of_nodes = np.empty((3, blocks), np.int32), np.empty((4, nodes), np.int32)
        of_blocks[0], of_blocks[1], of_blocks[2] = -1, 0, _LENGTH_BITS
        of_nodes[0::2], of_nodes[1::2] = _UNKNOWN, 0
        self._zero_planes: NDArray[np.int32] = of_blocks[0]
        self._styles = self._spread_styles(styles)
        self._state = (*of_blocks, *of_nodes, self._styles)
        self._next_layer = np.zeros(layout.precinct_count, np.int64)
        self._orders: Iterator[PacketOrder] = iter(())
        self._order: PacketOrder | None = None
        self._cursor = np.array([0, 0, -1], np.int64)
        self._left = np.zeros(1, np.int64)
        self._chunks = np.empty((max(64, blocks), 5), np.int64)
        self._count = 0
        #: Where in the stream the last packet ended that was read.
        self.position = 0

    def _spread_styles(self, styles: Sequence[int]) -> Table:
        """Return the style of each block, given that of each band."""
        decided = [style | UNDECIDED if style & HIGH_THROUGHPUT else style for style in styles]
        if len(set(decided)) == 1:
            return np.full(len(self._layout.blocks), decided[0], np.int64)
        return np.array(decided, np.int64)[self._layout.blocks[:, 4]]

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
        self.position = int(body[0])
        return _STATES[status]

    def read_one(self, data: Bytes, start: int, stop: int, precinct: int, layer: int, *, is_exact: bool = True) -> bool:
        """Read a packet that lies between two byte offsets.

        Nothing that it says counts unless it takes all bytes, or ends before if `is_exact` is False. Returns whether it
        counts.
        """
        before, left = self._count, int(self._left[0])
        self._next_layer[precinct] = layer
        self._orders = iter(())
        self._order = PacketOrder(np.array([precinct], np.int64), np.array([0, 1], np.int64), layer + 1)
        self._cursor[:] = (0, 0, -1)
        self._left[0] = 1 << 62
        status = self.read(data, start, stop)
        self._left[0] = left
        if status == "done" and (self.position == stop or not is_exact):
            return True
        self._count = before
        return False

    @property
    def chunks(self) -> Table:
        """What was read, in the order of the stream: block, first byte, bytes, passes, and passes before."""
        return self._chunks[: self._count]

    @property
    def zero_planes(self) -> NDArray[np.int32]:
        """Empty bit planes on top of each block, -1 for one that has nothing."""
        return self._zero_planes

    @property
    def styles(self) -> Table:
        """The style of each block, decided where blocks of both kinds are mixed and one was read."""
        return self._styles

    def gather(self, data: Bytes) -> BlockStream:
        """Return what was read, with the bytes of each segment together: in the data themselves if they lie so."""
        blocks, styles = self._layout.blocks, self.styles
        gathered, segments, starts, passes = _loops.gather_blocks(data, self._chunks, self._count, len(blocks), styles)
        return BlockStream(gathered if len(gathered) else data, self.zero_planes, passes, styles, segments, starts)
