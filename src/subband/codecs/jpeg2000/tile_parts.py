"""Where the tile-parts of a codestream lie: by the lengths that it tells, or by going from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from subband.codecs.jpeg2000.faults import warn
from subband.codecs.jpeg2000.markers import EOC, SOT, TileLengths, TilePart, name_marker

__all__ = ["SOT_LENGTH", "TilePartIndex", "TilePartRange"]

#: Bytes of SOT, with its marker and length.
SOT_LENGTH = 12

#: How SOT begins.
_SOT_HEAD = bytes.fromhex("ff90000a")


@dataclass(frozen=True)
class TilePartRange:
    """A tile-part: where it begins and ends, what SOT says, and its number among all of the stream."""

    start: int
    stop: int
    sot: TilePart
    number: int
    is_cut: bool = False


@dataclass(frozen=True, eq=False)
class TilePartIndex:
    """Finds the tile-parts of a codestream.

    Attributes
    ----------
    data : uint8 array
        The whole file.
    start, stop : int
        Where the first tile-part begins, and where the codestream ends.
    count : int
        Tiles of the image.
    tables : sequence of TileLengths
        What the main header tells of their lengths.
    """

    data: NDArray[np.uint8]
    start: int
    stop: int
    count: int
    tables: Sequence[TileLengths]

    @cached_property
    def all(self) -> list[TilePartRange]:
        """All tile-parts, found by going from one to the next; warns where the stream ends early.

        Where there is none, or one does not end where another begins, the next one is looked for by its marker.
        """
        parts: list[TilePartRange] = []
        offset = self.start
        while offset + SOT_LENGTH <= self.stop:
            code = int.from_bytes(self.data[offset : offset + 2].tobytes(), "big")
            if code == EOC:
                return parts
            sot = TilePart.read(self.data[offset + 4 : offset + SOT_LENGTH].tobytes())
            fault = self._find_fault(offset, code, sot)
            if fault:
                warn(fault)
                offset = self._find_next(offset + 1)
                continue
            end = offset + (sot.length or self.stop - offset)
            if not self._may_end(end):
                end = self._find_next(offset + SOT_LENGTH)
                if end < self.stop:
                    warn(f"a part of tile {sot.tile} declares {sot.length} bytes, and another begins at byte {end}")
                else:
                    end = offset + sot.length
            is_cut = end > self.stop
            parts.append(TilePartRange(offset, min(end, self.stop), sot, len(parts), is_cut))
            if is_cut:
                warn(f"the stream ends within a part of tile {sot.tile}")
                return parts
            offset = end
        if offset + 2 > self.stop and (not parts or parts[-1].sot.length):
            warn("the stream ends before its last marker")
        return parts

    def _find_fault(self, offset: int, code: int, sot: TilePart) -> str:
        """Return what is wrong with a tile-part, or nothing."""
        if code != SOT:
            return f"byte {offset} holds {name_marker(code)} where a tile-part or the end belongs"
        if sot.tile >= self.count:
            return f"a tile-part at byte {offset} names tile {sot.tile}; there are {self.count}"
        if 0 < sot.length < SOT_LENGTH + 2:
            return f"a tile-part at byte {offset} declares {sot.length} bytes, less than its own header"
        return ""

    def _may_end(self, offset: int) -> bool:
        """Tell whether a tile-part may end at an offset: another, or the end of the stream, comes there."""
        if offset >= self.stop:
            return offset == self.stop
        code = self.data[offset : offset + 2].tobytes()
        return code in (_SOT_HEAD[:2], EOC.to_bytes(2, "big")) or offset + 1 == self.stop

    @cached_property
    def _marked(self) -> NDArray[np.int64]:
        """Where all tile-parts begin, by their markers, which look like nothing else."""
        body = self.data[self.start : self.stop]
        at = np.flatnonzero(body[: max(len(body) - SOT_LENGTH + 1, 0)] == _SOT_HEAD[0])
        for step in range(1, len(_SOT_HEAD)):
            at = at[body[at + step] == _SOT_HEAD[step]]
        return at + self.start

    def _find_next(self, offset: int) -> int:
        """Return where the next tile-part from an offset on begins; the end of the stream if there is none."""
        after = int(np.searchsorted(self._marked, offset))
        return int(self._marked[after]) if after < len(self._marked) else self.stop

    def find(self, tiles: Iterable[int]) -> dict[int, list[TilePartRange]]:
        """Return the parts of some tiles by the lengths that TLM tells, of all by going through the stream."""
        wanted = list(tiles)
        told = self._told_parts if len(wanted) < self.count else {}
        if told:
            found = {tile: [self._read_told(tile, *each) for each in told.get(tile, ())] for tile in wanted}
            parts = {tile: [part for part in several if part is not None] for tile, several in found.items()}
            if parts == found:
                return parts
        return {tile: self.by_tile.get(tile, []) for tile in wanted}

    def _read_told(self, tile: int, number: int, offset: int, length: int) -> TilePartRange | None:
        """Return a tile-part where TLM tells that it is, or None if it is not there."""
        head = self.data[offset : offset + SOT_LENGTH].tobytes()
        sot = TilePart.read(head[4:]) if head[:4] == _SOT_HEAD else None
        if sot is None or sot.tile != tile or sot.length not in (0, length):
            return None
        return TilePartRange(offset, offset + length, sot, number)

    @cached_property
    def by_tile(self) -> dict[int, list[TilePartRange]]:
        """The parts of each tile that has any."""
        found: dict[int, list[TilePartRange]] = {}
        for part in self.all:
            found.setdefault(part.sot.tile, []).append(part)
        return found

    @cached_property
    def _told_parts(self) -> dict[int, list[tuple[int, int, int]]]:
        """What TLM tells of each tile: number, offset and length of its parts; nothing if it cannot be true."""
        tables = sorted(self.tables, key=lambda table: table.index)
        lengths = [length for table in tables for length in table.lengths]
        numbers = [number for table in tables for number in table.tiles if number is not None]
        if (
            len(numbers) < len(lengths)
            or self.start + sum(lengths) > self.stop
            or min(lengths, default=0) < SOT_LENGTH + 2
        ):
            return {}
        found: dict[int, list[tuple[int, int, int]]] = {}
        ends = accumulate(lengths, initial=self.start)
        for number, (offset, length, tile) in enumerate(zip(ends, lengths, numbers, strict=False)):
            found.setdefault(tile, []).append((number, offset, length))
        return found
