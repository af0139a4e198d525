"""Packets of an image of one layer whose blocks have one pass and lie in order.

Headers are written once, and bodies copied. The blocks of a precinct follow each other in the layout of a tile, so that
the body of a packet is one stretch of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from subband.codecs.jpeg2000.packing import Packer
from subband.compiled import Kernels
from subband.typing import Array

__all__ = ["SingleLayerPacker"]

_loops = Kernels("subband.codecs.jpeg2000.loops.headers")

_SOP = np.array([0xFF, 0x91, 0, 4, 0, 0], np.uint8)
_EPH = np.array([0xFF, 0x92], np.uint8)


@dataclass(frozen=True, eq=False)
class SingleLayerPacker(Packer):
    """Writes the packets of an image of one layer; `starts` rise from block to block."""

    @cached_property
    def _headers(self) -> tuple[Array, Array]:
        """All headers, one behind the other, and where each ends."""
        sizes = np.ascontiguousarray(self.ends[:, 0])
        # twice as many nodes as blocks, each of which tells its planes once, and whether a block is there
        most = int(self.zero_planes.max(initial=0)) + 8
        blocks = self.cells[:, 1] * self.cells[:, 2]
        room = int((2 * blocks + 64).sum()) * most // 4 + 16 * (len(sizes) + len(self.precincts))
        out, ends = np.empty(room, np.uint8), np.empty(len(self.precincts), np.int64)
        _loops.write_headers(self.precincts, self.cells, self.zero_planes, sizes, out, ends)
        return out, ends

    @cached_property
    def _bodies(self) -> Array:
        """Where the body of each packet begins and ends."""
        count = len(self.starts)
        total = int(self.starts[-1] + self.ends[-1, 0]) if count else 0
        edges = np.append(self.starts, total)
        counts = self.cells[:, 1] * self.cells[:, 2]
        cell_ends = np.append(0, np.cumsum(counts))
        first, number = self.precincts.T
        bounds: Array = edges[np.stack([cell_ends[first], cell_ends[first + number]], axis=1)]
        return bounds

    def measure(self, kept: Array) -> Array:
        """Return the bytes of each packet, precincts × 1; blocks that have bytes are kept."""
        assert len(kept) == 1
        _, ends = self._headers
        around = (len(_SOP) if self.markers & 1 else 0) + (len(_EPH) if self.markers & 2 else 0)
        sizes: Array = np.diff(ends, prepend=0) + np.diff(self._bodies, axis=1)[:, 0] + around
        return sizes[:, None]

    def write(self, kept: Array, offsets: Array, numbers: Array, out: Array) -> None:
        """Write each packet at its offset."""
        assert len(kept) == 1
        headers, ends = self._headers
        start = 0
        for at, number, end, (first, last) in zip(
            offsets[:, 0].tolist(), numbers[:, 0].tolist(), ends.tolist(), self._bodies.tolist(), strict=True
        ):
            if self.markers & 1:
                out[at : at + 6] = _SOP
                out[at + 4], out[at + 5] = number >> 8 & 255, number & 255
                at += 6
            out[at : at + end - start] = headers[start:end]
            at += end - start
            if self.markers & 2:
                out[at : at + 2] = _EPH
                at += 2
            out[at : at + last - first] = self.data[first:last]
            start = end
