"""Packets of coded blocks in any order, and with a style for each component: more than the encoder asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from subband.codecs.jpeg2000.packing import Packer


@dataclass(frozen=True)
class Written:
    """Packets one behind the other, and for each: precinct, layer, start, length of its header, length of all."""

    data: np.ndarray
    packets: np.ndarray


def list_in_turn(orders):
    """Return (precinct, layer) of every packet; what was there before is left out."""
    found = {}
    for order in orders:
        for first, last in pairwise(order.bounds):
            for layer in range(order.layers):
                found.update(((int(precinct), layer), None) for precinct in order.precincts[first:last])
    return np.array(list(found)).reshape(-1, 2)


def write(layout, orders, styles, zero_planes, passes, ends, starts, data, *, uses_sop=False, uses_eph=False):
    """Write the packets of a tile; `styles` has one for each band, `passes` are blocks × layers, cumulative."""
    ends, kept = ends.astype(np.int32), np.ascontiguousarray(passes.T, np.int32)
    packer = Packer.from_layouts(
        [layout], zero_planes.astype(np.int32), ends, data, starts.astype(np.int64), 0, sop=uses_sop, eph=uses_eph
    )
    # a packer has one style, and so have all bands of a precinct
    style = np.array(styles)[layout.cells[layout.precinct_cells[:-1], 0]]
    packers = [
        (style == each, replace(packer, precincts=packer.precincts[style == each], style=int(each)))
        for each in np.unique(style)
    ]
    sizes, numbers = np.zeros((2, layout.precinct_count, len(kept)), np.int64)
    for mine, each in packers:
        sizes[mine] = each.measure(kept)
    precincts, layers = list_in_turn(orders).T
    lengths = sizes[precincts, layers]
    places, first = np.zeros_like(sizes), np.cumsum(lengths) - lengths
    places[precincts, layers], numbers[precincts, layers] = first, np.arange(len(first))
    out = np.zeros(lengths.sum(), np.uint8)
    for mine, each in packers:
        each.write(kept, places[mine], numbers[mine], out)
    bodies = measure_bodies(layout, ends, kept)[precincts, layers]
    return Written(out, np.stack([precincts, layers, first, lengths - bodies, lengths], axis=1))


def measure_bodies(layout, ends, kept):
    """Return the bytes of blocks in each packet, precincts × layers."""
    until = np.take_along_axis(np.pad(ends, ((0, 0), (1, 0))), kept.T.astype(np.int64), axis=1)
    counts = layout.cells[:, 1] * layout.cells[:, 2]
    cell = np.repeat(np.arange(len(counts)), counts)
    bodies = np.zeros((layout.precinct_count, len(kept)), np.int64)
    np.add.at(bodies, np.searchsorted(layout.precinct_cells, cell, "right") - 1, np.diff(until, axis=1, prepend=0))
    return bodies


@pytest.fixture(scope="session")
def write_packets():
    return write
