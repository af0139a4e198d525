"""The compiled encoder of code-blocks."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, copy_bytes, count_leading, hold, skip
from subband.codecs.jpeg2000.blocks.loops.columns import WORDS, clear_columns, describe_block
from subband.codecs.jpeg2000.blocks.loops.contexts import UNIFORM
from subband.codecs.jpeg2000.blocks.loops.groups import FIELDS, GROUP, count_groups
from subband.codecs.jpeg2000.blocks.loops.modelling import (
    gather_bits,
    list_cleanup,
    list_refinement,
    list_significance,
    measure_refinement,
)
from subband.codecs.jpeg2000.blocks.loops.mq import (
    CONTEXTS,
    CROWDED,
    LANES,
    NEXT,
    REGISTERS,
    encode_symbols,
    encode_together,
    list_choices,
    reset_contexts,
    start_segment,
)
from subband.codecs.jpeg2000.blocks.loops.segments import code_alone, end_coded, keep_registers
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
    columns, words = np.empty(around, np.int64), np.empty(WORDS, np.int64)
    groups = np.zeros(FIELDS * (most_groups + 1), np.int64)
    arrays = (address(columns), address(words), address(magnitudes), address(signs), address(bits))
    lanes = LANES if style & (BYPASS | RESET | TERMINATE) == 0 and last - first > 1 else 1
    # each plane has a symbol a coefficient, three a column where a run ends, and four at its end; each sign is one
    room = most * (area + area // 4 * 3 + 4) + area + 16
    symbols = np.empty((lanes, room), np.uint8)
    # no symbol takes more than 15 bits, and no byte holds fewer than 7
    out = np.empty((lanes, room * 15 // 7 + 64), np.uint8)
    stops = np.empty((lanes, 3 * most), np.int64)
    states, registers = np.empty((lanes, 3 * most, REGISTERS), np.int64), np.empty((lanes, REGISTERS), np.int64)
    contexts, kept = np.empty(CONTEXTS * lanes, np.int64), np.empty((lanes, CONTEXTS), np.int64)
    choices = list_choices()
    # Numba would compile what is called once more for a plain 0 or 1
    none, one = nb.int64(0), nb.int64(1)
    all_bytes = np.empty(area * (last - first), np.uint8)
    # blocks end in another order than they begin
    starts = np.zeros(last - first, np.int64)
    begin, following = nb.int64(0), first
    blocks, numbers = np.full(lanes, -1), np.zeros(lanes, np.int64)
    while True:
        busy = nb.int64(0)
        for lane in range(lanes):
            while blocks[lane] < 0 and following < last:
                block = nb.int64(following)
                sizes[block], following = 0, following + 1
                if planes[block] > 0:
                    _list_block(
                        samples, table, block, style, half, nb.int64(planes[block]), arrays, address(groups),
                        address(symbols[lane]), stops[lane], gains[block],
                    )  # fmt: skip
                    blocks[lane], numbers[lane] = block, 0
                    _start_lane(choices, contexts[CONTEXTS * lane :], kept[lane], registers[lane])
            if blocks[lane] >= 0:
                busy += 1
            else:
                _start_lane(choices, contexts[CONTEXTS * lane :], kept[lane], registers[lane])
        if busy == 0:
            break
        if lanes > 1:
            _code_pass(symbols, stops, blocks, numbers, busy, choices, contexts, kept, registers, out)
        for lane in range(lanes):
            block = blocks[lane]
            if block < 0:
                continue
            passes = 3 * nb.int64(planes[block]) - 2
            if lanes == 1:
                size = code_alone(
                    symbols[lane], stops[lane], passes, style, choices, contexts, states[lane], out[lane], ends[block]
                )  # fmt: skip
            else:
                while numbers[lane] < passes and registers[lane, NEXT] == stops[lane, numbers[lane]]:
                    keep_registers(registers[lane], states[lane, numbers[lane]])
                    numbers[lane] += 1
                if numbers[lane] < passes:
                    continue
                size = end_coded(states[lane], none, passes - 1, out[lane], one, style, ends[block]) - 1
            if begin + size > all_bytes.size:
                larger = np.empty(2 * all_bytes.size + size, np.uint8)
                copy_bytes(all_bytes, none, begin, larger, none)
                all_bytes = larger
            copy_bytes(out[lane], one, size, all_bytes, begin)
            starts[block - first], sizes[block] = begin, size
            begin += size
            blocks[lane] = -1
    hold(columns, words, magnitudes, signs, bits, groups, symbols, choices)
    for block in range(first, last):
        count = max(3 * nb.int64(planes[block]) - 2, 0)
        for number in range(count, ends.shape[1]):
            ends[block, number] = sizes[block]
            gains[block, number] = gains[block, count - 1] if count > 0 else 0.0
    ordered, begin = np.empty(begin, np.uint8), nb.int64(0)
    for block in range(first, last):
        copy_bytes(all_bytes, starts[block - first], nb.int64(sizes[block]), ordered, begin)
        begin += sizes[block]
    return ordered


@nb.njit(**OPTIONS)
def _start_lane(choices, contexts, kept, registers):
    """Prepare to encode a block, or what goes along with others."""
    reset_contexts(choices, contexts)
    reset_contexts(choices, kept)
    start_segment(registers, nb.int64(1))


@nb.njit(**OPTIONS)
def _code_pass(symbols, stops, blocks, numbers, busy, choices, contexts, kept, registers, out):
    """Encode the blocks of all lanes until one of them is at the end of a pass."""
    count = nb.int64(symbols.shape[1])
    for lane in range(LANES):
        if blocks[lane] >= 0:
            count = min(count, stops[lane, numbers[lane]] - registers[lane, NEXT])
    if busy > 1:
        for lane in range(LANES):
            # a lane without a block goes along with the others
            for k in range(count if blocks[lane] < 0 else 0):
                symbols[lane, k] = 0
        encode_together(symbols, count, choices, contexts, kept, registers, out, nb.int64(CROWDED))
        return
    for lane in range(LANES):
        if blocks[lane] >= 0:
            own, following = contexts[CONTEXTS * lane :], registers[lane, NEXT] + count
            encode_symbols(symbols[lane], registers[lane, NEXT], following, choices, own, registers[lane], out[lane])
            registers[lane, NEXT] = following


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
    samples = address(samples)
    for stripe in range(height // 4):
        start = offset + 4 * stripe * stride
        _load_stripe(
            skip(samples, start), skip(samples, start + stride), skip(samples, start + 2 * stride),
            skip(samples, start + 3 * stride), width, skip(magnitudes, 4 * stripe * width), skip(signs, stripe * width),
        )  # fmt: skip
    if height % 4 != 0:
        stripe = height // 4
        for column in range(width):
            k = stripe * width + column
            signs[k] = 0
            for row in range(4):
                value = samples[offset + (4 * stripe + row) * stride + column] if row < height % 4 else 0
                signs[k] |= nb.uint8(value < 0) << row
                magnitudes[4 * k + row] = abs(value)
    return clear_columns(columns, width, height)


@nb.njit(**OPTIONS)
def _load_stripe(upper, second, third, lower, width, magnitudes, signs):
    """Do so for a stripe of four rows, all of whose columns are treated alike, and at once."""
    for k in range(width):
        a, b, c, d = upper[k], second[k], third[k], lower[k]
        magnitudes[4 * k] = abs(a)
        magnitudes[4 * k + 1] = abs(b)
        magnitudes[4 * k + 2] = abs(c)
        magnitudes[4 * k + 3] = abs(d)
        signs[k] = (a >> 31) & 1 | (b >> 31) & 2 | (c >> 31) & 4 | (d >> 31) & 8
