"""The compiled decoder of high-throughput code-blocks (ISO/IEC 15444-15).

A block is scanned in *quads* of two by two samples, whose four bits are the upper and lower left and the upper and
lower right sample. The cleanup pass holds three streams: an adaptive run-length code and codewords, which tell where
samples are significant and how long they are, and the samples themselves. The first two are read for the whole block
before the third, so that the processor has independent work in either loop.

A sample is kept as its sign, the highest of 32 bits, and twice its magnitude in units of the lowest plane, with the
middle of its interval.

Whatever the bytes are, the decoder makes a bounded number of decisions; it writes to its own arrays and to the
positions in the table, which its caller has checked.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_context
from subband.codecs.jpeg2000.blocks.loops.ht_refinement import read_refinement
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import peek, unstuff_backward, unstuff_forward
from subband.codecs.jpeg2000.blocks.loops.ht_tables import (
    BOTH_FIRST,
    BOTH_LARGE,
    MEL_EXPONENTS,
    QUAD_WORDS,
    READ_OFFSETS,
)
from subband.codecs.jpeg2000.blocks.loops.words import measure_bits
from subband.codecs.jpeg2000.blocks.styles import CAUSAL
from subband.compiled.compiling import stored

__all__ = ["decode_range"]

# Bits that a sample may have with its sign and the half below its lowest plane.
_MOST_BITS = 30

# The most bytes that the two codes beside the samples may take.
_MOST_SUFFIX = 4079

_SIGN = 1 << 31


@stored(**STORED)
def decode_range(
    data, table, first, last, planes, passes, segments, starts, style, roi_shift, form, integers, floats, damaged
):
    """Decode the blocks `first` … `last` to their positions, and tell which are damaged.

    What is written has the form 0, integers, 1, floats that are integers, or 2, floats in the middle of an interval.
    """
    area, around, across = 1, 1, 1
    for block in range(first, last):
        height, width = table[block, 2] + 1, table[block, 3] + 1
        area = max(area, height * width)
        around = max(around, (height + 2) * (width + 3))
        across = max(across, width)
    samples = np.empty(area, np.uint32)
    quads = np.empty(around, np.int32)
    # more than the samples of a block and of the row in which reading behind the end is noticed
    bits = np.zeros(8 * area + 4352, np.uint8)
    marks = np.empty(around, np.uint8)
    tops = np.empty(across, np.int64)
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        number, segment = _find_set(segments, starts, block)
        plane = nb.int64(planes[block]) - 1 - number // 3
        count = min(nb.int64(passes[block]) - number, 3 if plane > 0 else 1)
        is_bad = segment < 0 or plane < 0 or plane >= _MOST_BITS or count < 1
        if not is_bad:
            at = min(max(segments[segment, 0], 0), data.size)
            end = at + min(max(segments[segment, 1], 0), data.size - at)
            is_bad = not _decode_cleanup(data, at, end, height, width, plane, quads, bits, tops, samples)
        if is_bad:
            for k in range(height * (width + width % 2)):
                samples[k] = 0
            plane = nb.int64(0)
        elif count > 1 and segment + 1 < starts[block + 1]:
            at = min(max(segments[segment + 1, 0], 0), data.size)
            end = at + min(max(segments[segment + 1, 1], 0), data.size - at)
            read_refinement(
                data, at, end, height, width, min(count - 1, segments[segment + 1, 2]), style & CAUSAL != 0, bits,
                marks, samples,
            )  # fmt: skip
            plane -= 1
        damaged[block] = is_bad
        _store(table, block, samples, plane, roi_shift, form, integers, floats)


@nb.njit(**OPTIONS)
def _find_set(segments, starts, block):
    """Return the number of the last cleanup pass that has bytes, and its segment; -1 if there is none.

    Each cleanup pass begins a block anew, one plane finer than the one before.
    """
    number, found, found_number = nb.int64(0), nb.int64(-1), nb.int64(0)
    for segment in range(starts[block], starts[block + 1]):
        if number % 3 == 0 and segments[segment, 1] > 1 and segments[segment, 2] > 0:
            found, found_number = segment, number
        number += max(segments[segment, 2], 0)
    return found_number, found


@nb.njit(**OPTIONS)
def _decode_cleanup(data, at, end, height, width, plane, quads, bits, tops, samples):
    """Decode the cleanup pass of a block; tell whether its bytes make sense."""
    if end - at < 2:
        return False
    suffix = nb.int64(data[end - 1]) << 4 | nb.int64(data[end - 2]) & 15
    if suffix < 2 or suffix > min(end - at, _MOST_SUFFIX):
        return False
    high, wide = (height + 1) // 2, (width + 1) // 2
    middle = end - suffix
    before = nb.int64(data[end - 2]) | 15
    count = nb.int64(3) if before >> 4 & 7 == 7 else nb.int64(4)
    total = unstuff_backward(data, middle, end - 3, (before >> 4) & ((1 << count) - 1), count, before, bits)
    if not _read_quads(data, middle, end, bits, total, high, wide, quads):
        return False
    total = unstuff_forward(data, at, middle, nb.int64(1), 4 * height * width + 8, bits)
    return _read_samples(bits, total, height, width, plane, quads, tops, samples)


@nb.njit(**OPTIONS)
def _read_run(data, end, at, state, pending, count):
    """Read the next run of the adaptive code: twice its zeros, less two, or twice its zeros and one if a one follows.

    The state is a step, and 16 if the last byte was 0xFF, behind which one has seven bits. Returns the run, the new
    state, the next byte, and the bits that are pending and their number.
    """
    while count < 6:
        byte = nb.int64(255)
        if at < end - 1:
            byte = nb.int64(data[at]) | (15 if at == end - 2 else 0)
        wide = nb.int64(7) if state >> 4 else nb.int64(8)
        pending = pending << wide | byte & ((1 << wide) - 1)
        count += wide
        state = state & 15 | (16 if byte == 255 else 0)
        at += 1
    step = state & 15
    exponent = MEL_EXPONENTS[step]
    count -= 1
    if pending >> count & 1:
        run = (1 << (exponent + 1)) - 2
        state += step < 12
    else:
        count -= exponent
        run = (pending >> count & ((1 << exponent) - 1)) << 1 | 1
        state -= step > 0
    return run, state, at, pending & 0xFFFF, count


@nb.njit(**OPTIONS)
def _read_quads(data, middle, end, bits, total, high, wide, quads):
    """Read what is significant and how long it is: into each quad the fields of its codeword, and its offset at bit 16.

    There is a quad without anything before and behind each row, and a row of these above the first.
    """
    bits, quads = address(bits), address(quads)
    pitch = wide + 3
    for k in range(pitch):
        quads[k] = 0
    run, state, at, pending, left = _read_run(data, end, middle, nb.int64(0), nb.int64(0), nb.int64(0))
    position = nb.int64(0)
    for row in range(high):
        k = (row + 1) * pitch + 1
        quads[k - 1] = 0
        table = 1024 if row > 0 else 0
        # of the quads above: the one to the left, and the one itself
        corner, above, before = nb.int64(0), nb.int64(quads[k - pitch]), nb.int64(0)
        for column in range(0, wide, 2):
            word = peek(bits, position)
            next_above = nb.int64(quads[k - pitch + 1])
            context = find_context(row, corner, above, next_above, before)
            first = nb.int64(0)
            is_coded = True
            if context == 0:
                run -= 2
                is_coded = run == -1
                if run < 0:
                    run, state, at, pending, left = _read_run(data, end, at, state, pending, left)
            if is_coded:
                first = nb.int64(QUAD_WORDS[table + (context << 7) + (word & 127)])
                word >>= first & 7
                position += first & 7
            corner, above = above, next_above
            second = nb.int64(0)
            next_above = nb.int64(quads[k - pitch + 2])
            if column + 1 < wide:
                context = find_context(row, corner, above, next_above, first)
                is_coded = True
                if context == 0:
                    run -= 2
                    is_coded = run == -1
                    if run < 0:
                        run, state, at, pending, left = _read_run(data, end, at, state, pending, left)
                if is_coded:
                    second = nb.int64(QUAD_WORDS[table + (context << 7) + (word & 127)])
                    word >>= second & 7
                    position += second & 7
            corner, above = above, next_above
            before = second
            kind = first >> 3 & 1 | second >> 2 & 2
            if kind > 0:
                if kind == 3 and row == 0:
                    run -= 2
                    kind = nb.int64(BOTH_LARGE) if run == -1 else nb.int64(BOTH_FIRST)
                    if run < 0:
                        run, state, at, pending, left = _read_run(data, end, at, state, pending, left)
                offsets = READ_OFFSETS[kind << 6 | word & 63]
                word >>= offsets & 15
                length = offsets >> 8 & 15
                first |= ((offsets >> 12 & 15) + (word & ((1 << length) - 1))) << 16
                other = (offsets >> 4 & 15) - length
                second |= ((offsets >> 16 & 15) + (word >> length & ((1 << other) - 1))) << 16
                position += (offsets & 15) + (offsets >> 4 & 15)
            quads[k] = first
            quads[k + 1] = second
            k += 2
        # behind an odd number of quads there is an empty one already
        quads[(row + 1) * pitch + 1 + wide] = 0
        quads[(row + 1) * pitch + 2 + wide] = 0
        if position > total:
            return False
    return True


@nb.njit(**OPTIONS)
def _read_samples(bits, total, height, width, plane, quads, tops, samples):
    """Read the samples of a block, each row of an even length; tell whether they are not too long.

    `tops` holds, for each corner between two quads, the ones of the samples above it, which predict an exponent.
    """
    bits, quads, tops, samples = address(bits), address(quads), address(tops), address(samples)
    wide, pitch = (width + 1) // 2, (width + 1) // 2 + 3
    stride = 2 * wide
    for k in range(wide + 1):
        tops[k] = 0
    position = nb.int64(0)
    longest = nb.int64(0)
    for row in range((height + 1) // 2):
        left = nb.int64(0)
        k = (row + 1) * pitch + 1
        upper, lower = 2 * row * stride, (2 * row + 1) * stride
        has_lower = 2 * row + 1 < height
        before = tops[0]
        for column in range(wide):
            after = tops[column + 1]
            quad = nb.int64(quads[k + column])
            significant = quad >> 4 & 15
            value_0, value_1, value_2, value_3 = nb.int64(0), nb.int64(0), nb.int64(0), nb.int64(0)
            if significant:
                predicted = nb.int64(1)
                if significant & (significant - 1):
                    predicted = max(measure_bits(before | after) - 1, 1)
                exponent = predicted + (quad >> 16)
                longest = max(longest, exponent)
                if exponent > _MOST_BITS:
                    return False
                count = (exponent & -(significant & 1)) - (quad >> 12 & 1)
                value_0 = peek(bits, position) & ((1 << count) - 1) | (quad >> 8 & 1) << count
                position += count
                count = (exponent & -(significant >> 1 & 1)) - (quad >> 13 & 1)
                value_1 = peek(bits, position) & ((1 << count) - 1) | (quad >> 9 & 1) << count
                position += count
                count = (exponent & -(significant >> 2 & 1)) - (quad >> 14 & 1)
                value_2 = peek(bits, position) & ((1 << count) - 1) | (quad >> 10 & 1) << count
                position += count
                count = (exponent & -(significant >> 3)) - (quad >> 15 & 1)
                value_3 = peek(bits, position) & ((1 << count) - 1) | (quad >> 11 & 1) << count
                position += count
            tops[column] = left | (value_1 | 1) & -(significant >> 1 & 1)
            left = (value_3 | 1) & -(significant >> 3)
            before = after
            samples[upper + 2 * column] = (((value_0 | 1) + 2) | value_0 << 31) & -(significant & 1)
            samples[upper + 2 * column + 1] = (((value_2 | 1) + 2) | value_2 << 31) & -(significant >> 2 & 1)
            if has_lower:
                samples[lower + 2 * column] = (((value_1 | 1) + 2) | value_1 << 31) & -(significant >> 1 & 1)
                samples[lower + 2 * column + 1] = (((value_3 | 1) + 2) | value_3 << 31) & -(significant >> 3)
        tops[wide] = left
        # the last byte may be of ones that are left out
        if position > total + 8:
            return False
    return longest + plane <= _MOST_BITS


@nb.njit(**OPTIONS)
def _store(table, block, samples, plane, roi_shift, form, integers, floats):
    """Write the coefficients of a block to their positions."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    pitch = width + width % 2
    for y in range(height):
        start, k = offset + y * stride, y * pitch
        if roi_shift > 0:
            for x in range(width):
                value = nb.int64(samples[k + x] & nb.uint32(0x7FFFFFFF)) << plane
                if value >> 1 >= 1 << roi_shift:
                    value >>= roi_shift
                value = -value if samples[k + x] >> nb.uint32(31) else value
                if form == 2:
                    floats[start + x] = nb.float64(value) * 0.5
                elif form == 1:
                    floats[start + x] = nb.float64(-(-value >> 1) if value < 0 else value >> 1)
                else:
                    integers[start + x] = -(-value >> 1) if value < 0 else value >> 1
        elif form == 2:
            scale = nb.float32(0.5 * (1 << plane))
            for x in range(width):
                sample = samples[k + x]
                value = nb.float32(nb.int32(sample & nb.uint32(0x7FFFFFFF))) * scale
                floats[start + x] = -value if nb.int32(sample) < 0 else value
        else:
            for x in range(width):
                sample = nb.int32(samples[k + x])
                value = nb.int32(nb.int32(sample & nb.int32(0x7FFFFFFF)) << nb.int32(plane)) >> nb.int32(1)
                signed = -value if sample < 0 else value
                if form == 1:
                    floats[start + x] = nb.float32(signed)
                else:
                    integers[start + x] = signed
