"""The compiled encoder of code-blocks."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, copy_bytes, count_leading, hold
from subband.codecs.jpeg2000.blocks.loops.columns import STRIP, clear_columns, describe_block
from subband.codecs.jpeg2000.blocks.loops.contexts import UNIFORM
from subband.codecs.jpeg2000.blocks.loops.groups import FIELDS, GROUP, count_groups
from subband.codecs.jpeg2000.blocks.loops.modelling import (
    gather_bits,
    list_cleanup,
    list_refinement,
    list_significance,
    measure_refinement,
)
from subband.codecs.jpeg2000.blocks.loops.mq import CONTEXTS, REGISTERS
from subband.codecs.jpeg2000.blocks.loops.segments import code_one, code_two
from subband.codecs.jpeg2000.blocks.styles import BYPASS, CAUSAL, RESET, SYMBOLS, TERMINATE
from subband.codecs.jpeg2000.loops.segments import is_raw_pass
from subband.compiled.compiling import stored

__all__ = ["count_planes", "encode_range"]


@stored(**STORED)
def count_planes(samples, table, first, last, planes, sums):
    """Write the number of bit planes that the largest magnitude of each block needs, and the sum of all of them."""
    samples = address(samples)
    for block in range(first, last):
        offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
        every, total = nb.int32(0), nb.int64(0)
        for row in range(height):
            start = offset + row * stride
            for column in range(width):
                sample = nb.int32(samples[start + column])
                sign = nb.int32(sample >> nb.int32(31))
                magnitude = nb.int32(nb.int32(sample ^ sign) - sign)
                every |= magnitude
                total += magnitude
        sums[block] = total
        found = nb.int64(every) & 0xFFFFFFFF
        planes[block] = 64 - count_leading(found) if found != 0 else 0


@stored(**STORED)
def encode_range(samples, table, first, last, style, half, planes, ends, gains, sizes):
    """Encode the blocks `first` … `last` and return their bytes, one block behind the other.

    Writes where each pass may be cut, by how much it lowers the squared error, and how many bytes a block has.
    """
    area, around, most, most_groups = 4, 1, 1, 1
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        stripes = (height + 3) // 4
        area = max(area, 4 * stripes * width)
        around = max(around, (stripes + 2) * (width + 2))
        most = max(most, nb.int64(planes[block]))
        most_groups = max(most_groups, count_groups(width, stripes))
    magnitudes = np.empty(area, np.uint32)
    # groups read on behind the last column
    signs, bits = np.zeros(area // 4 + GROUP, np.uint8), np.zeros(area // 4 + GROUP, np.uint8)
    columns, words = np.empty(around, np.int64), np.empty(STRIP + 1, np.int64)
    groups = np.zeros(FIELDS * (most_groups + 1), np.int64)
    arrays = (address(columns), address(words), address(magnitudes), address(signs), address(bits))
    # each plane has a symbol a coefficient, three a column where a run ends, and four at its end; each sign is one
    room = most * (area + area // 4 * 3 + 4) + area + 16
    symbols, other_symbols = np.empty(room, np.uint8), np.empty(room, np.uint8)
    stops, other_stops = np.empty(3 * most, np.int64), np.empty(3 * most, np.int64)
    states, other_states = np.empty((3 * most, REGISTERS), np.int64), np.empty((3 * most, REGISTERS), np.int64)
    contexts = np.empty(2 * CONTEXTS, np.int64)
    registers = np.empty(2 * REGISTERS, np.int64)
    out, other_out = np.zeros(4096, np.uint8), np.zeros(4096, np.uint8)
    all_bytes = np.empty(area * (last - first), np.uint8)
    none, one, end = nb.int64(0), nb.int64(1), nb.int64(0)
    can_pair = style & (BYPASS | RESET | TERMINATE) == 0
    waiting = -1
    for block in range(first, last):
        passes = max(3 * nb.int64(planes[block]) - 2, 0)
        sizes[block] = 0
        if passes > 0 and waiting < 0:
            _list_block(
                samples, table, block, style, half, nb.int64(planes[block]), arrays, address(groups),
                address(symbols), stops, gains[block],
            )  # fmt: skip
            waiting = block
            if can_pair and block < last - 1:
                continue
        elif passes > 0:
            _list_block(
                samples, table, block, style, half, nb.int64(planes[block]), arrays, address(groups),
                address(other_symbols), other_stops, gains[block],
            )  # fmt: skip
        elif waiting < 0 or block < last - 1:
            continue
        count = max(3 * nb.int64(planes[waiting]) - 2, 0)
        out = _make_room(out, stops[count - 1])
        if waiting < block and passes > 0:
            other_out = _make_room(other_out, other_stops[passes - 1])
            size, other_size = code_two(
                symbols, stops, count, states, out, ends[waiting],
                other_symbols, other_stops, passes, other_states, other_out, ends[block],
                style, contexts, registers,
            )  # fmt: skip
        else:
            size = code_one(symbols, stops, count, style, contexts, states, out, ends[waiting])
            other_size = none
        if end + size + other_size > all_bytes.size:
            larger = np.empty(2 * all_bytes.size + size + other_size, np.uint8)
            copy_bytes(all_bytes, none, end, larger, none)
            all_bytes = larger
        copy_bytes(out, one, size, all_bytes, end)
        sizes[waiting] = size
        end += size
        if other_size > 0:
            copy_bytes(other_out, one, other_size, all_bytes, end)
            sizes[block] = other_size
            end += other_size
        waiting = -1
    hold(columns, words, magnitudes, signs, bits, groups, symbols, other_symbols)
    for block in range(first, last):
        passes = max(3 * nb.int64(planes[block]) - 2, 0)
        for number in range(passes, ends.shape[1]):
            ends[block, number] = sizes[block]
            gains[block, number] = gains[block, passes - 1] if passes > 0 else 0.0
    return all_bytes[:end]


@nb.njit(**OPTIONS)
def _make_room(out, symbols):
    """Return a buffer for so many symbols: none takes more than 15 bits, and no byte holds fewer than 7."""
    needed = symbols * 15 // 7 + 64
    return out if out.size >= needed else np.zeros(needed, np.uint8)


@nb.njit(**OPTIONS)
def _list_block(samples, table, block, style, half, planes, arrays, groups, symbols, stops, gains):
    """List the symbols of all passes of a block, where those of each pass end, and the gains so far."""
    _, _, magnitudes, _, bits = arrays
    below = _load(samples, table, block, arrays)
    shape = describe_block(table, block)
    _, width, stripes = shape
    is_causal = style & CAUSAL != 0
    # Numba would compile the passes once more for a plain 0
    count = nb.int64(0)
    total = 0.0
    for number in range(3 * planes - 2):
        kind = (number + 2) % 3
        plane = planes - 1 - (number + 2) // 3
        if kind == 0 or number == 0:
            gather_bits(magnitudes, plane, stripes * width, bits)
        if kind == 0:
            is_raw = is_raw_pass(number, style)
            count, gain = list_significance(arrays, shape, plane, half, is_raw, is_causal, symbols, count)
        elif kind == 1:
            count = list_refinement(arrays, shape, is_causal, groups, symbols, count)
            gain = measure_refinement(magnitudes, 4 * stripes * width, plane, half)
        else:
            count, gain = list_cleanup(arrays, shape, below, plane, half, is_causal, symbols, count)
            if style & SYMBOLS != 0:
                for k in range(4):
                    symbols[count + k] = 2 * UNIFORM + (1 - k % 2)
                count += 4
        total += gain / 4
        gains[number] = total
        stops[number] = count


@nb.njit(**OPTIONS)
def _load(samples, table, block, arrays):
    """Split the samples of a block into magnitudes and signs, in stripes, and clear its columns."""
    columns, _, magnitudes, signs, _ = arrays
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    stripes = (height + 3) // 4
    for stripe in range(stripes):
        rows = min(4, height - 4 * stripe)
        for column in range(width):
            start = offset + 4 * stripe * stride + column
            k = stripe * width + column
            negative = 0
            for row in range(rows):
                value = samples[start + row * stride]
                negative |= nb.int64(value < 0) << row
                magnitudes[4 * k + row] = abs(value)
            for row in range(rows, 4):
                magnitudes[4 * k + row] = 0
            signs[k] = negative
    return clear_columns(columns, width, height)
