"""Reading the packets of a tile: in their order, from all of its parts, and behind damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.codestream import Codestream, TileStream
from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.geometry import TileLayout
from subband.codecs.jpeg2000.markers import EOC
from subband.codecs.jpeg2000.packets import PacketReader
from subband.codecs.jpeg2000.parameters import ImageSize
from subband.codecs.jpeg2000.progressions import PacketOrder, order_packets, tabulate_precincts
from subband.codecs.jpeg2000.recovery import find_marked_pieces, find_told_pieces, list_sequence, read_pieces
from subband.errors import CodecError

__all__ = ["order_progressions", "read_packets"]

#: The marker behind the last tile.
_EOC = EOC.to_bytes(2, "big")

#: Changes of the progression of a tile; far more than any encoder has a use for.
_MOST_CHANGES = 512

#: Precincts that all progressions of a tile may go over together, for each of its bytes, beyond those of any tile. Even
#: one that goes over none looks at a part of them.
_ORDERED_A_BYTE = 8
_FREE_ORDERED = 1 << 22
_LOOKED_AT = 16


def read_packets(
    stream: Codestream,
    tile: TileStream,
    layout: TileLayout,
    wanted: NDArray[np.bool_] | None = None,
    layers: int | None = None,
    orders: Sequence[PacketOrder] | None = None,
) -> tuple[PacketReader, NDArray[np.uint8]]:
    """Read the packets of all tile-parts, and return what has read them and the bytes that it points to.

    Warns where they end early. The orders of packets are those that the tile declares, if they are not known.
    """
    reader = _make_reader(tile, layout, wanted, layers)
    if len(tile.progressions) > _MOST_CHANGES:
        raise CodecError(f"POC declares {len(tile.progressions)} progressions; {_MOST_CHANGES} are accepted")
    known: Iterable[PacketOrder] | None = orders
    if known is None:
        known = order_progressions(layout, stream.size, tile)
    reader.follow(known, tile.coding.layers)
    data, status, left = stream.data, "more", 0
    if tile.headers is not None:
        # headers that are packed elsewhere do not tell where a tile-part ends, so the bodies are read as one
        data = np.concatenate([np.zeros(0, np.uint8), *(data[start:stop] for start, stop in tile.bodies)])
        status = reader.read(data, 0, len(data), tile.headers)
        left = len(data) - reader.position
    else:
        for number, ((start, stop), lengths) in enumerate(zip(tile.bodies, tile.lengths, strict=True)):
            status = reader.read(data, start, stop, lengths=lengths)
            if status != "more":
                left = stop - reader.position + sum(last - first for first, last in tile.bodies[number + 1 :])
                break
    is_whole = wanted is None and (layers is None or layers >= tile.coding.layers)
    if status == "corrupt" or (is_whole and reader.is_done and left > 2):
        found = _recover(stream, tile, layout, wanted, layers)
        if found is not None:
            return found, data
    if status == "corrupt" and len(reader.chunks) == 0:
        raise CodecError("its first packets make no sense, and nothing of it can be decoded")
    if is_whole and reader.is_done:
        _check_end(tile, data[reader.position : reader.position + 2].tobytes(), left)
    if not reader.is_done and (status != "more" or not tile.is_cut):
        said = "ends early" if status in ("more", "cut") else "holds packets that make no sense"
        warn(f"tile {tile.tile} {said}; what came before is decoded")
    return reader, data


def _make_reader(
    tile: TileStream, layout: TileLayout, wanted: NDArray[np.bool_] | None, layers: int | None
) -> PacketReader:
    return PacketReader(
        layout,
        [tile.styles[component].block_style for component in layout.band_components],
        wanted=wanted,
        layers=tile.coding.layers if layers is None else layers,
        uses_sop=tile.coding.uses_sop,
        uses_eph=tile.coding.uses_eph,
    )


def _recover(
    stream: Codestream,
    tile: TileStream,
    layout: TileLayout,
    wanted: NDArray[np.bool_] | None,
    layers: int | None,
) -> PacketReader | None:
    """Read the packets of a damaged tile one by one; None if nothing tells where they begin."""
    if tile.headers is not None:
        return None
    pieces = find_marked_pieces(stream.data, tile.bodies) if tile.coding.uses_sop else []
    pieces = pieces or find_told_pieces(tile.bodies, tile.lengths)
    if len(pieces) < 2:
        return None
    orders = order_progressions(layout, stream.size, tile)
    sequence = list_sequence(orders, layout.precinct_count, tile.coding.layers)
    if len(sequence) == 0:
        return None
    reader = _make_reader(tile, layout, wanted, layers)
    damaged = read_pieces(reader, stream.data, pieces, sequence, tile.coding.layers)
    if damaged == 0:
        return None
    warn(f"{damaged} of {len(sequence)} packets of tile {tile.tile} are damaged or cannot be used; others are decoded")
    return reader


def _check_end(tile: TileStream, rest: bytes, left: int) -> None:
    """Warn about bytes that are left behind the last packet of a tile; `rest` are the first of them."""
    # a tile-part that goes on to the end of the stream holds its last marker
    if left > 0 and not (left == 2 and rest == _EOC):
        warn(f"tile {tile.tile} has {left} bytes behind its last packet, which are passed over")


def order_progressions(layout: TileLayout, size: ImageSize, tile: TileStream) -> Iterator[PacketOrder]:
    """Give the order of the packets of each progression, as long as these do not go over precincts again and again."""
    precincts = tabulate_precincts(layout, size)
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
