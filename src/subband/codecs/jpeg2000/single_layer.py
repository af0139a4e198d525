"""Packets of an image of one layer whose blocks have one pass and lie in order.

Headers are written once, and bodies copied by several threads. The blocks of a precinct follow each other in the layout
of a tile, so that the body of a packet is one stretch of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from subband.codecs.jpeg2000.packing import Packer
from subband.compiled import Kernels
from subband.engines.threads import get_threads, run_tasks
from subband.typing import Array

__all__ = ["SingleLayerPacker"]

_loops = Kernels("subband.codecs.jpeg2000.loops.headers")

# Bytes of the markers before and behind the header of a packet.
_SOP, _EPH = 6, 2

# Bytes that a thread copies at once, at least.
_TOGETHER = 1 << 18


@dataclass(frozen=True, eq=False)
class SingleLayerPacker(Packer):
    """Writes the packets of an image of one layer; `starts` rise from block to block."""

    @cached_property
    def _headers(self) -> tuple[Array, Array, Array]:
        """All headers, one behind the other, where each ends, and where the body of each packet begins and ends."""
        sizes = np.ascontiguousarray(self.ends[:, 0])
        # twice as many nodes as blocks, each of which tells its planes once, and whether a block is there
        most = int(self.zero_planes.max(initial=0)) + 8
        blocks = self.cells[:, 1] * self.cells[:, 2]
        room = int((2 * blocks + 64).sum()) * most // 4 + 16 * (len(sizes) + len(self.precincts))
        out, ends = np.empty(room, np.uint8), np.empty(len(self.precincts), np.int64)
        bodies = np.empty((len(ends), 2), np.int64)
        _loops.write_headers(self.precincts, self.cells, self.zero_planes, sizes, self.starts, out, ends, bodies)
        return out, ends, bodies

    def measure(self, kept: Array) -> Array:
        """Return the bytes of each packet, precincts × 1; blocks that have bytes are kept."""
        assert len(kept) == 1
        _, ends, bodies = self._headers
        around = (_SOP if self.markers & 1 else 0) + (_EPH if self.markers & 2 else 0)
        sizes: Array = ends + (bodies[:, 1] - bodies[:, 0] + around)
        sizes[1:] -= ends[:-1]
        return sizes[:, None]

    def write(self, kept: Array, offsets: Array, numbers: Array, out: Array) -> None:
        """Write each packet at its offset."""
        assert len(kept) == 1
        headers, ends, bodies = self._headers
        goals = np.empty(len(ends), np.int64)
        _loops.copy_headers(headers, ends, offsets[:, 0], numbers[:, 0], self.markers, out, goals)
        edges = np.zeros(len(ends) + 1, np.int64)
        np.cumsum(bodies[:, 1] - bodies[:, 0], out=edges[1:])
        total = int(edges[-1])
        step = max(_TOGETHER, -(-total // (4 * get_threads())))
        run_tasks(
            lambda first, last: _loops.copy_bodies(self.data, bodies, edges, goals, first, last, out),
            [(first, min(first + step, total)) for first in range(0, total, step)],
        )
