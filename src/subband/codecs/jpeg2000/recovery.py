"""Reading on behind damage: where packets begin is told by markers before them (SOP), or by their lengths (PLT).

What a precinct gets in a packet depends on its packets before, so that a precinct of which one is damaged ends there;
all others are read on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.packets import PacketReader
from subband.codecs.jpeg2000.packing import list_progression
from subband.codecs.jpeg2000.progressions import PacketOrder

__all__ = ["Piece", "find_marked_pieces", "find_told_pieces", "list_sequence", "read_pieces"]

#: Packets of a tile that are read one by one at most.
_MOST_PACKETS = 1 << 16

#: Bytes of SOP, with its marker and length, how it begins, and how many packets it tells apart.
_SOP_LENGTH, _SOP_HEAD, _NUMBERS = 6, (0xFF, 0x91, 0x00, 0x04), 1 << 16


@dataclass(frozen=True)
class Piece:
    """Where a packet lies, and the number that it has in its tile, or None if it is the one behind the last."""

    start: int
    stop: int
    number: int | None = None


def find_marked_pieces(data: NDArray[np.uint8], bodies: Sequence[tuple[int, int]]) -> list[Piece]:
    """Return where packets lie by the markers before them; no byte of a packet looks like one.

    Examples
    --------
    >>> data = np.frombuffer(bytes.fromhex("ff9100040007 80 ff9100040008 c0aa"), np.uint8)
    >>> find_marked_pieces(data, [(0, 15)])
    [Piece(start=0, stop=7, number=7), Piece(start=7, stop=15, number=8)]
    """
    pieces = []
    for start, stop in bodies:
        body = data[start:stop]
        at = np.flatnonzero(body[: max(len(body) - _SOP_LENGTH + 1, 0)] == _SOP_HEAD[0])
        for step in (1, 2, 3):
            at = at[body[at + step] == _SOP_HEAD[step]]
        numbers = body[at + 4].astype(np.int64) << 8 | body[at + 5]
        edges = pairwise([*(at + start).tolist(), stop])
        pieces += [Piece(*edge, number) for edge, number in zip(edges, numbers.tolist(), strict=True)]
    return pieces


def find_told_pieces(bodies: Sequence[tuple[int, int]], lengths: Sequence[NDArray[np.int64]]) -> list[Piece]:
    """Return where packets lie by their lengths; none unless these are as long as the tile-parts.

    Examples
    --------
    >>> find_told_pieces([(10, 15)], [np.array([2, 3])])
    [Piece(start=10, stop=12, number=None), Piece(start=12, stop=15, number=None)]
    """
    pieces = []
    for (start, stop), told in zip(bodies, lengths, strict=True):
        edges = start + np.concatenate([np.zeros(1, np.int64), np.cumsum(told)])
        if edges[-1] != stop:
            return []
        pieces += [Piece(a, b) for a, b in pairwise(edges.tolist())]
    return pieces


def list_sequence(orders: Iterable[PacketOrder], precincts: int, layers: int) -> NDArray[np.int64]:
    """Return the packets of a tile in their order, each ``precinct * layers + layer``; none if they are too many."""
    if precincts * layers > _MOST_PACKETS:
        return np.zeros(0, np.int64)
    found = np.concatenate([np.zeros(0, np.int64), *(list_progression(order, layers) for order in orders)])
    return found[np.sort(np.unique(found, return_index=True)[1])]


def read_pieces(
    reader: PacketReader, data: NDArray[np.uint8], pieces: Sequence[Piece], sequence: NDArray[np.int64], layers: int
) -> int:
    """Read packets one by one; return how many are damaged, missing, or of precincts of which one is.

    Parameters
    ----------
    reader : PacketReader
        That of the tile, which has read nothing yet.
    data : uint8 array
        The stream.
    pieces : sequence of Piece
        Where packets lie.
    sequence : int64 array
        From `list_sequence`.
    layers : int
        Of the tile.
    """
    dead: set[int] = set()
    read, expected = 0, 0
    for index, piece in enumerate(pieces):
        number = _find_number(pieces, index, expected)
        if number >= len(sequence):
            break
        # those of which nothing is there
        dead.update((sequence[expected:number] // layers).tolist())
        precinct, layer = divmod(int(sequence[number]), layers)
        expected = number + 1
        if precinct in dead:
            continue
        # what lies behind the last one is no part of it
        is_exact = index + 1 < len(pieces)
        if reader.read_one(data, piece.start, piece.stop, precinct, layer, is_exact=is_exact):
            read += 1
        else:
            dead.add(precinct)
    return len(sequence) - read


def _find_number(pieces: Sequence[Piece], index: int, expected: int) -> int:
    """Return the number of a packet in its tile; a marker counts to 65535, and may be damaged itself."""
    told = pieces[index].number
    if told is None:
        return expected
    ahead = (told - expected) % _NUMBERS
    following = pieces[index + 1].number if index + 1 < len(pieces) else None
    if ahead and following is not None and (following - expected) % _NUMBERS == 1:
        return expected
    return expected + ahead
