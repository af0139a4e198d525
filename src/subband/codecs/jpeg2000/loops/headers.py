"""The compiled loops that write the packets of an image of one layer.

Each block is there with one pass, or not at all, and the blocks of a packet follow each other.
`subband.codecs.jpeg2000.loops.packing` writes any number of layers and passes, and looks at everything once to measure
and once to write. High-throughput blocks are coded in less time than that.

References
----------
ISO/IEC 15444-1, annex B.10.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import copy_bytes
from subband.compiled.compiling import stored

__all__ = ["copy_bodies", "copy_headers", "write_headers"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}

# More than any number of bit planes.
_NEVER = 1 << 30

# How wide the lengths of a block are before anything was said about them.
_LENGTH_BITS = 3


@nb.njit(**_OPTIONS)
def _put(out, at, byte, free, number, count):
    """Append bits; behind a byte of ones comes a zero, so that no header looks like a marker."""
    for bit in range(count - 1, -1, -1):
        free -= 1
        byte |= (number >> bit & 1) << free
        if free == 0:
            out[at] = byte
            at += 1
            free = 7 if byte == 255 else 8
            byte = 0
    return at, byte, free


@nb.njit(**_OPTIONS)
def _plant(values, first, rows, columns):
    """Build a tag tree from its leaves on: each inner node is the least of its children; return where it ends."""
    while rows * columns > 1:
        above = first + rows * columns
        upper_rows, upper_columns = (rows + 1) >> 1, (columns + 1) >> 1
        for node in range(above, above + upper_rows * upper_columns):
            values[node] = _NEVER
        for row in range(rows):
            for column in range(columns):
                parent = above + (row >> 1) * upper_columns + (column >> 1)
                values[parent] = min(values[parent], values[first + row * columns + column])
        first, rows, columns = above, upper_rows, upper_columns
    return first + rows * columns


@nb.njit(**_OPTIONS)
def _put_leaf(out, at, byte, free, values, lows, path, depth, threshold):
    """Tell whether a leaf is below the threshold, and its value if it is; what was told before is not repeated."""
    low = 0
    for step in range(depth - 1, -1, -1):
        node = path[step]
        # the lowest bit says whether the value was told
        low = max(low, lows[node] >> 1)
        is_known = lows[node] & 1
        if low < threshold and not is_known:
            zeros = min(threshold, values[node]) - low
            if zeros > 0:
                at, byte, free = _put(out, at, byte, free, 0, zeros)
                low += zeros
            if low < threshold:
                at, byte, free = _put(out, at, byte, free, 1, 1)
                is_known = 1
        lows[node] = low << 1 | is_known
    return at, byte, free


@stored(**_OPTIONS)
def write_headers(precincts, cells, zero_planes, sizes, starts, out, ends, bodies):
    """Write the headers of all precincts one behind the other, without markers, and find what goes behind each.

    Parameters
    ----------
    precincts : int64[n, 2]
        First row in `cells` of each precinct, and how many.
    cells : int64[m, 3]
        First block, rows and columns of each cell; its blocks are numbered row by row.
    zero_planes : int32[blocks]
        Empty bit planes above the first that holds anything.
    sizes : int32[blocks]
        Bytes of each block, 0 for one that is not there.
    starts : int64[blocks]
        Where those of each begin.
    out : uint8[:]
        Takes the headers.
    ends : int64[n]
        Takes where each ends.
    bodies : int64[n, 2]
        Takes where the bytes of its blocks begin, and where they end.
    """
    most = 1
    for cell in range(cells.shape[0]):
        most = max(most, 2 * cells[cell, 1] * cells[cell, 2] + 64)
    values, planes = np.empty(most, np.int64), np.empty(most, np.int64)
    value_lows, plane_lows = np.empty(most, np.int64), np.empty(most, np.int64)
    path = np.empty(34, np.int64)
    at = 0
    for precinct in range(precincts.shape[0]):
        byte, free = 0, 8
        is_empty = True
        bodies[precinct, 0], bodies[precinct, 1] = 0, 0
        for cell in range(precincts[precinct, 0], precincts[precinct, 0] + precincts[precinct, 1]):
            first = cells[cell, 0]
            for block in range(first, first + cells[cell, 1] * cells[cell, 2]):
                if sizes[block] > 0:
                    if is_empty:
                        bodies[precinct, 0] = starts[block]
                    bodies[precinct, 1] = starts[block] + sizes[block]
                    is_empty = False
        at, byte, free = _put(out, at, byte, free, 0 if is_empty else 1, 1)
        for cell in range(precincts[precinct, 0], precincts[precinct, 0] + precincts[precinct, 1]):
            first, rows, columns = cells[cell, 0], cells[cell, 1], cells[cell, 2]
            if is_empty or rows * columns == 0:
                continue
            for block in range(rows * columns):
                is_there = sizes[first + block] > 0
                values[block] = 0 if is_there else 1
                # a block that never comes must not lower what is told of its neighbours
                planes[block] = zero_planes[first + block] if is_there else _NEVER
            end = _plant(values, 0, rows, columns)
            _plant(planes, 0, rows, columns)
            for node in range(end):
                value_lows[node] = 0
                plane_lows[node] = 0
            for row in range(rows):
                for column in range(columns):
                    block = first + row * columns + column
                    depth = 0
                    base, high, wide, y, x = 0, rows, columns, row, column
                    while True:
                        path[depth] = base + y * wide + x
                        depth += 1
                        if high <= 1 and wide <= 1:
                            break
                        base += high * wide
                        high, wide, y, x = (high + 1) >> 1, (wide + 1) >> 1, y >> 1, x >> 1
                    at, byte, free = _put_leaf(out, at, byte, free, values, value_lows, path, depth, 1)
                    size = sizes[block]
                    if size == 0:
                        continue
                    at, byte, free = _put_leaf(
                        out, at, byte, free, planes, plane_lows, path, depth, zero_planes[block] + 1
                    )
                    width = 0
                    while size >> width:
                        width += 1
                    width = max(width, _LENGTH_BITS)
                    # a zero for a single pass, ones by how much the length is wider than usual, and a zero
                    more = width - _LENGTH_BITS
                    at, byte, free = _put(out, at, byte, free, ((1 << more) - 1) << 1, more + 2)
                    at, byte, free = _put(out, at, byte, free, size, width)
        if free < 8:
            out[at] = byte
            at += 1
        ends[precinct] = at


@stored(**_OPTIONS)
def copy_headers(headers, ends, offsets, numbers, markers, out, goals):
    """Write each header at its offset, with the markers around it; `goals` takes where its body begins."""
    start = 0
    for precinct in range(len(ends)):
        at = offsets[precinct]
        if markers & 1:
            number = numbers[precinct]
            out[at], out[at + 1], out[at + 2], out[at + 3] = 0xFF, 0x91, 0, 4
            out[at + 4], out[at + 5] = number >> 8 & 255, number & 255
            at += 6
        copy_bytes(headers, start, ends[precinct] - start, out, at)
        at += ends[precinct] - start
        if markers & 2:
            out[at], out[at + 1] = 0xFF, 0x92
            at += 2
        goals[precinct] = at
        start = ends[precinct]


@stored(**_OPTIONS)
def copy_bodies(data, bodies, edges, goals, first, last, out):
    """Write the bytes `first` … `last` of all bodies, of which each has those between two `edges`."""
    precinct = np.searchsorted(edges, first, "right") - 1
    while first < last:
        stop = min(edges[precinct + 1], last)
        within = first - edges[precinct]
        copy_bytes(data, bodies[precinct, 0] + within, stop - first, out, goals[precinct] + within)
        first = stop
        precinct += 1
