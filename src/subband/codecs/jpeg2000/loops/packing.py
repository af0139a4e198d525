"""The compiled loops that write packets: headers with their tag trees, and the bytes of blocks behind them.

The header of a packet depends on the earlier packets of its own precinct alone. So the packets of one precinct are made
together, layer by layer, and each is written straight to its offset in the order of the file.

References
----------
ISO/IEC 15444-1, annex B.10.
"""

from __future__ import annotations

import numpy as np

from subband.codecs.jpeg2000.loops.segments import count_room
from subband.compiled.compiling import stored

__all__ = ["pack_precincts"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}

# What the pen holds: where its next byte goes, that byte so far, its free bits, and whether it writes or only counts.
_AT, _BYTE, _FREE, _WRITES = range(4)

# More than any number of layers or bit planes.
_NEVER = 2**30


@stored(inline="always", **_OPTIONS)
def _put(pen, out, bit):
    """Append a bit; behind a byte of ones comes a zero, so that no header looks like a marker."""
    pen[_FREE] -= 1
    pen[_BYTE] |= bit << pen[_FREE]
    if pen[_FREE] == 0:
        _turn(pen, out)


@stored(**_OPTIONS)
def _turn(pen, out):
    """Go on to the next byte."""
    if pen[_WRITES]:
        out[pen[_AT]] = pen[_BYTE]
    pen[_FREE] = 7 if pen[_BYTE] == 255 else 8
    pen[_BYTE] = 0
    pen[_AT] += 1


@stored(**_OPTIONS)
def _put_number(pen, out, number, bits):
    """Append some bits, as many at a time as the byte has room for."""
    while bits > 0:
        count = min(bits, pen[_FREE])
        bits -= count
        pen[_FREE] -= count
        pen[_BYTE] |= ((number >> bits) & ((1 << count) - 1)) << pen[_FREE]
        if pen[_FREE] == 0:
            _turn(pen, out)


@stored(**_OPTIONS)
def _finish(pen, out):
    """Fill the last byte with zeros."""
    if pen[_FREE] < 8:
        if pen[_WRITES]:
            out[pen[_AT]] = pen[_BYTE]
        pen[_AT] += 1
    pen[_FREE] = 8
    pen[_BYTE] = 0


@stored(**_OPTIONS)
def _put_passes(pen, out, count):
    if count == 1:
        _put(pen, out, 0)
    elif count == 2:
        _put_number(pen, out, 2, 2)
    elif count <= 5:
        _put_number(pen, out, 0b1100 | (count - 3), 4)
    elif count <= 36:
        _put_number(pen, out, 0b1111 << 5 | (count - 6), 9)
    else:
        _put_number(pen, out, 0b111111111 << 7 | (count - 37), 16)


@stored(**_OPTIONS)
def _count_nodes(rows, columns):
    nodes = rows * columns
    while rows * columns > 1:
        rows, columns = (rows + 1) >> 1, (columns + 1) >> 1
        nodes += rows * columns
    return nodes


@stored(**_OPTIONS)
def _count_precinct(precincts, bands, precinct):
    """Return how many nodes the trees of a precinct have, and how many blocks there are."""
    nodes, blocks = 0, 0
    first_band = precincts[precinct, 0]
    for band in range(first_band, first_band + precincts[precinct, 1]):
        nodes += _count_nodes(bands[band, 1], bands[band, 2])
        blocks += bands[band, 1] * bands[band, 2]
    return nodes, blocks


@stored(**_OPTIONS)
def _plant(values, shape, rows, columns):
    """Build a tag tree: each inner node is the least of its children; `shape` takes start and width of each level."""
    height, start = 0, 0
    shape[0, 0], shape[0, 1] = 0, columns
    while rows * columns > 1:
        above = start + rows * columns
        upper_rows, upper_columns = (rows + 1) >> 1, (columns + 1) >> 1
        for node in range(upper_rows * upper_columns):
            values[above + node] = _NEVER
        for row in range(rows):
            for column in range(columns):
                parent = above + (row >> 1) * upper_columns + (column >> 1)
                values[parent] = min(values[parent], values[start + row * columns + column])
        rows, columns, start = upper_rows, upper_columns, above
        height += 1
        shape[height, 0], shape[height, 1] = start, columns
    return height


@stored(**_OPTIONS)
def _put_leaf(pen, out, values, lows, known, shape, height, row, column, threshold):
    """Tell whether a leaf is below the threshold, and its value if it is; what was told before is not repeated."""
    low = 0
    for storey in range(height, -1, -1):
        node = shape[storey, 0] + (row >> storey) * shape[storey, 1] + (column >> storey)
        low = max(low, lows[node])
        while low < threshold:
            if low >= values[node]:
                if not known[node]:
                    _put(pen, out, 1)
                    known[node] = 1
                break
            _put(pen, out, 0)
            low += 1
        lows[node] = low


@stored(inline="always", **_OPTIONS)
def _count_bits(number):
    bits = 0
    while number:
        number >>= 1
        bits += 1
    return bits


@stored(**_OPTIONS)
def _put_lengths(pen, out, ends, first, last, length_bits, style):
    """Tell how many bytes passes `first` to `last` take, a number for each codeword; return the new state."""
    more = 0
    begin, done = first, ends[first - 1] if first else 0
    while begin <= last:
        passes = min(count_room(begin, style), last + 1 - begin)
        end = ends[begin + passes - 1]
        more = max(more, _count_bits(end - done) - (length_bits + _count_bits(passes) - 1))
        begin, done = begin + passes, end
    for _ in range(more):
        _put(pen, out, 1)
    _put(pen, out, 0)
    length_bits += more
    begin, done = first, ends[first - 1] if first else 0
    while begin <= last:
        passes = min(count_room(begin, style), last + 1 - begin)
        end = ends[begin + passes - 1]
        _put_number(pen, out, end - done, length_bits + _count_bits(passes) - 1)
        begin, done = begin + passes, end
    return length_bits


@stored(**_OPTIONS)
def pack_precincts(
    precincts, bands, zero_planes, kept, ends, style, markers, is_writing, offsets, numbers, data, starts, out, sizes
):
    """Measure the packets of all precincts, or write them.

    Parameters
    ----------
    precincts : int64[n, 2]
        First row in `bands` of each precinct, and how many.
    bands : int64[m, 3]
        First block, rows and columns of the blocks of a band in a precinct; its blocks are numbered row by row.
    zero_planes : int32[blocks]
        Empty bit planes above the first that holds anything.
    kept : int32[layers, blocks]
        Passes up to and with each layer.
    ends : int32[blocks, most_passes]
        Bytes of passes up to and with each.
    style : int
        Of the code blocks.
    markers : int
        1 for SOP before packets, plus 2 for EPH behind their headers.
    is_writing : bool
        Else only `sizes` is filled in.
    offsets, numbers : int64[n, layers]
        Where each packet goes in `out`, and which it is of its tile.
    data, starts
        The bytes of all blocks, and where those of each begin.
    out : uint8[:]
        Takes the packets.
    sizes : int64[n, layers]
        Takes their lengths.
    """
    layers = kept.shape[0]
    pen = np.zeros(4, np.int64)
    pen[_WRITES] = 1 if is_writing else 0
    most_nodes, most_blocks, most_bands = 0, 0, 0
    for precinct in range(precincts.shape[0]):
        nodes, blocks = _count_precinct(precincts, bands, precinct)
        most_nodes, most_blocks = max(most_nodes, nodes), max(most_blocks, blocks)
        most_bands = max(most_bands, precincts[precinct, 1])
    # memory for the largest, because small precincts are written faster than it is taken
    values, lows = np.empty((2, most_nodes), np.int32), np.empty((2, most_nodes), np.int32)
    known = np.empty((2, most_nodes), np.uint8)
    shapes, heights = np.zeros((most_bands, 32, 2), np.int64), np.zeros(most_bands, np.int64)
    length_bits = np.empty(most_blocks, np.int64)
    for precinct in range(precincts.shape[0]):
        first_band, count = precincts[precinct, 0], precincts[precinct, 1]
        nodes, blocks = _count_precinct(precincts, bands, precinct)
        for tree in range(2):
            for node in range(nodes):
                lows[tree, node], known[tree, node] = 0, 0
        for block in range(blocks):
            length_bits[block] = 3
        trunk = 0
        for band in range(count):
            first, rows, columns = bands[first_band + band]
            for block in range(rows * columns):
                layer = 0
                while layer < layers and kept[layer, first + block] == 0:
                    layer += 1
                values[0, trunk + block] = layer
                # a block that never comes must not lower what is told of its neighbours
                values[1, trunk + block] = zero_planes[first + block] if layer < layers else _NEVER
            if rows * columns:
                heights[band] = _plant(values[0, trunk:], shapes[band], rows, columns)
                _plant(values[1, trunk:], shapes[band], rows, columns)
            trunk += _count_nodes(rows, columns)
        for layer in range(layers):
            offset = offsets[precinct, layer] if is_writing else 0
            pen[_AT], pen[_FREE], pen[_BYTE] = offset, 8, 0
            if markers & 1:
                if is_writing:
                    number = numbers[precinct, layer]
                    out[offset], out[offset + 1], out[offset + 2], out[offset + 3] = 0xFF, 0x91, 0, 4
                    out[offset + 4], out[offset + 5] = (number >> 8) & 255, number & 255
                pen[_AT] += 6
            is_empty = True
            for band in range(count):
                first, rows, columns = bands[first_band + band]
                for block in range(first, first + rows * columns):
                    if kept[layer, block] > (kept[layer - 1, block] if layer else 0):
                        is_empty = False
            _put(pen, out, 0 if is_empty else 1)
            trunk, seen = 0, 0
            body = 0
            for band in range(0 if is_empty else count):
                first, rows, columns = bands[first_band + band]
                for index_in_band in range(rows * columns):
                    block = first + index_in_band
                    row, column = index_in_band // columns, index_in_band % columns
                    before = kept[layer - 1, block] if layer else 0
                    now = kept[layer, block]
                    if before == 0:
                        _put_leaf(
                            pen, out, values[0, trunk:], lows[0, trunk:], known[0, trunk:], shapes[band],
                            heights[band], row, column, layer + 1,
                        )  # fmt: skip
                    else:
                        _put(pen, out, 1 if now > before else 0)
                    if now > before:
                        if before == 0:
                            _put_leaf(
                                pen, out, values[1, trunk:], lows[1, trunk:], known[1, trunk:], shapes[band],
                                heights[band], row, column, zero_planes[block] + 1,
                            )  # fmt: skip
                        _put_passes(pen, out, now - before)
                        length_bits[seen] = _put_lengths(
                            pen, out, ends[block], before, now - 1, length_bits[seen], style
                        )  # fmt: skip
                        body += ends[block, now - 1] - (ends[block, before - 1] if before else 0)
                    seen += 1
                trunk += _count_nodes(rows, columns)
            _finish(pen, out)
            if markers & 2:
                if is_writing:
                    out[pen[_AT]], out[pen[_AT] + 1] = 0xFF, 0x92
                pen[_AT] += 2
            sizes[precinct, layer] = pen[_AT] - offset + body
            if is_writing and not is_empty:
                _copy_bodies(bands[first_band : first_band + count], kept, layer, ends, data, starts, out, pen[_AT])


@stored(**_OPTIONS)
def _copy_bodies(bands, kept, layer, ends, data, starts, out, at):
    for band in range(bands.shape[0]):
        first, rows, columns = bands[band]
        for block in range(first, first + rows * columns):
            before = kept[layer - 1, block] if layer else 0
            now = kept[layer, block]
            if now > before:
                begin = ends[block, before - 1] if before else 0
                length = ends[block, now - 1] - begin
                begin += starts[block]
                # a slice on the left side takes longer than few bytes do
                for k in range(length):
                    out[at + k] = data[begin + k]
                at += length
