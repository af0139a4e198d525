"""Writing the packets of a tile: headers that tell which blocks get how many passes and bytes, then the bytes."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.loops.bits import BYTE, LEFT, PLACE, finish_writing, put_bit, put_bits
from subband.codecs.jpeg2000.loops.segments import count_room
from subband.codecs.jpeg2000.loops.tag_trees import MOST_DEPTH, UNKNOWN, fill_tree, find_path, write_tag

__all__ = ["fill_trees", "write_packets"]


@nb.njit(cache=True, nogil=True, error_model="numpy")
def fill_trees(cells, passes, zero_planes, inclusion, zeros):
    """Fill the tag trees of all cells: the first layer of each block, and its empty bit planes."""
    layers = passes.shape[1]
    for cell in range(len(cells)):
        wide, high, first, node = cells[cell, 1], cells[cell, 2], cells[cell, 3], cells[cell, 4]
        for leaf in range(wide * high):
            layer = 0
            while layer < layers and passes[first + leaf, layer] == 0:
                layer += 1
            inclusion[node + leaf] = layer
            zeros[node + leaf] = zero_planes[first + leaf] if layer < layers else UNKNOWN
        if wide * high:
            fill_tree(inclusion, node, wide, high)
            fill_tree(zeros, node, wide, high)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _put_passes(target, bits, count):
    """Write the codeword of a number of passes (table B.4)."""
    if count == 1:
        put_bit(target, bits, 0)
    elif count == 2:
        put_bits(target, bits, 2, 2)
    elif count <= 5:
        put_bits(target, bits, 0b1100 | (count - 3), 4)
    elif count <= 36:
        put_bits(target, bits, 0b111100000 | (count - 6), 9)
    else:
        put_bits(target, bits, 0b1111111110000000 | (count - 37), 16)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _measure(number):
    """Return how many bits a number has."""
    width = 0
    while number >> width:
        width += 1
    return width


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _end_of(ends, block, count):
    return ends[block, count - 1] if count > 0 else 0


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _put_lengths(target, bits, block, start, stop, ends, style, length_bits):
    """Write how long the segments of passes `start` to `stop` are, and first how wide these numbers are."""
    more = 0
    done = start
    while done < stop:
        now = min(stop - done, count_room(done, style))
        width = _measure(_end_of(ends, block, done + now) - _end_of(ends, block, done))
        more = max(more, width - length_bits[block] - (_measure(now) - 1))
        done += now
    for _ in range(more):
        put_bit(target, bits, 1)
    put_bit(target, bits, 0)
    length_bits[block] += more
    done = start
    while done < stop:
        now = min(stop - done, count_room(done, style))
        length = _end_of(ends, block, done + now) - _end_of(ends, block, done)
        put_bits(target, bits, length, length_bits[block] + _measure(now) - 1)
        done += now


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _bound_packet(precinct, layer, precinct_cells, cells, passes, ends):
    """Return more bytes than the packet can have, and how many of them are its body."""
    bound, body = 32, 0
    for cell in range(precinct_cells[precinct], precinct_cells[precinct + 1]):
        for block in range(cells[cell, 3], cells[cell, 3] + cells[cell, 1] * cells[cell, 2]):
            stop = passes[block, layer]
            start = passes[block, layer - 1] if layer else 0
            body += _end_of(ends, block, stop) - _end_of(ends, block, start)
            bound += 48 + 6 * (stop - start)
    return bound + body, body


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _write_header(target, bits, layer, precinct, layout, state, styles, passes, ends, path):
    precinct_cells, cells = layout
    length_bits, inclusion, inclusion_low, inclusion_known, zeros, zeros_low, zeros_known = state
    has_any = False
    for cell in range(precinct_cells[precinct], precinct_cells[precinct + 1]):
        for block in range(cells[cell, 3], cells[cell, 3] + cells[cell, 1] * cells[cell, 2]):
            start = passes[block, layer - 1] if layer else 0
            has_any = has_any or passes[block, layer] > start
    bits[BYTE] = 0
    bits[LEFT] = 8
    put_bit(target, bits, 1 if has_any else 0)
    if has_any:
        for cell in range(precinct_cells[precinct], precinct_cells[precinct + 1]):
            wide, high, first, node = cells[cell, 1], cells[cell, 2], cells[cell, 3], cells[cell, 4]
            for y in range(high):
                for x in range(wide):
                    block = first + y * wide + x
                    stop = passes[block, layer]
                    start = passes[block, layer - 1] if layer else 0
                    if start > 0:
                        put_bit(target, bits, 1 if stop > start else 0)
                    else:
                        depth = find_path(path, node, wide, high, x, y)
                        write_tag(target, bits, inclusion, inclusion_low, inclusion_known, path, depth, layer + 1)
                        if stop > 0:
                            planes = zeros[path[0]]
                            write_tag(target, bits, zeros, zeros_low, zeros_known, path, depth, planes + 1)
                    if stop > start:
                        _put_passes(target, bits, stop - start)
                        _put_lengths(target, bits, block, start, stop, ends, styles[cells[cell, 0]], length_bits)
    finish_writing(target, bits)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def write_packets(order, bounds, layers, next_layer, has_sop, has_eph, layout, state, styles, passes, ends, starts,
                  data, target, position, packets, count):  # fmt: skip
    """Write packets in their order behind those that are there; return target, position, packets and their count.

    A row of `packets` is precinct, layer, start, length of the header (with markers), and length of all.
    """
    precinct_cells, cells = layout
    path = np.empty(MOST_DEPTH, np.int64)
    bits = np.zeros(5, np.int64)
    for run in range(len(bounds) - 1):
        for layer in range(layers):
            for place in range(bounds[run], bounds[run + 1]):
                precinct = order[place]
                if layer < next_layer[precinct]:
                    continue
                next_layer[precinct] = layer + 1
                bound, body = _bound_packet(precinct, layer, precinct_cells, cells, passes, ends)
                if position + bound > len(target):
                    grown = np.empty(2 * len(target) + bound, np.uint8)
                    grown[:position] = target[:position]
                    target = grown
                if count == len(packets):
                    more = np.empty((2 * count + 64, 5), np.int64)
                    more[:count] = packets
                    packets = more
                begin = position
                if has_sop:
                    number = count & 0xFFFF
                    target[position], target[position + 1], target[position + 2] = 0xFF, 0x91, 0
                    target[position + 3], target[position + 4], target[position + 5] = 4, number >> 8, number & 0xFF
                    position += 6
                bits[PLACE] = position
                _write_header(target, bits, layer, precinct, layout, state, styles, passes, ends, path)
                position = bits[PLACE]
                if has_eph:
                    target[position], target[position + 1] = 0xFF, 0x92
                    position += 2
                packets[count, 0], packets[count, 1], packets[count, 2] = precinct, layer, begin
                packets[count, 3] = position - begin
                packets[count, 4] = position - begin + body
                count += 1
                for cell in range(precinct_cells[precinct], precinct_cells[precinct + 1]):
                    for block in range(cells[cell, 3], cells[cell, 3] + cells[cell, 1] * cells[cell, 2]):
                        stop = _end_of(ends, block, passes[block, layer])
                        start = _end_of(ends, block, passes[block, layer - 1]) if layer else 0
                        for byte in range(start, stop):
                            target[position + byte - start] = data[starts[block] + byte]
                        position += stop - start
    return target, position, packets, count
