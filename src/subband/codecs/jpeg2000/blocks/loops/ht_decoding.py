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
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_pitch
from subband.codecs.jpeg2000.blocks.loops.ht_quads import MEL_STATE, read_quads, read_two_quads, start_runs
from subband.codecs.jpeg2000.blocks.loops.ht_refinement import read_refinement
from subband.codecs.jpeg2000.blocks.loops.ht_samples import MOST_BITS, read_samples
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import unstuff_backward, unstuff_forward
from subband.codecs.jpeg2000.blocks.styles import CAUSAL
from subband.compiled.compiling import stored

__all__ = ["decode_range"]

# The most bytes that the two codes beside the samples may take.
_MOST_SUFFIX = 4079

# What is known of a block whose cleanup pass is found: whether it makes sense, its lowest plane, where its samples
# begin and end, its segment and passes, and the bits of its codewords, all of them and those that were read.
_IS_GOOD, _PLANE, _FIRST, _MIDDLE, _SEGMENT, _PASSES, _TOTAL, _READ, _FOUND = range(9)


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
        area = max(area, height * find_pitch(width))
        around = max(around, (height + 2) * (width + 3))
        across = max(across, width)
    samples = np.empty(area, np.uint32)
    # two blocks are read side by side
    quads = np.empty((2, around), np.int32)
    contexts = np.empty((2, across + 1), np.int32)
    words = np.zeros((2, area + 2 * _MOST_SUFFIX), np.uint8)
    runs = np.empty((2, MEL_STATE), np.int64)
    found = np.empty((2, _FOUND), np.int64)
    # more than the samples of a block and of the row in which reading behind the end is noticed
    bits = np.zeros(8 * area + 4352, np.uint8)
    marks = np.empty(around, np.uint8)
    tops = np.empty(across + 8, np.int64)
    lengths, exponents = np.empty(across, np.int32), np.empty(across, np.int32)
    block = first
    while block < last:
        height, width = table[block, 2], table[block, 3]
        high, wide = (height + 1) // 2, (width + 1) // 2
        count = 1
        if block + 1 < last and table[block + 1, 2] == height and table[block + 1, 3] == width:
            count = 2
        for k in range(count):
            _open_block(data, planes, passes, segments, starts, block + k, words[k], runs[k], found[k])
        if count == 2 and found[0, _IS_GOOD] and found[1, _IS_GOOD]:
            found[0, _READ], found[1, _READ] = read_two_quads(
                data, words[0], words[1], high, wide, runs[0], runs[1], contexts[0], contexts[1], quads[0], quads[1]
            )
        else:
            for k in range(count):
                if found[k, _IS_GOOD]:
                    found[k, _READ] = read_quads(data, words[k], high, wide, runs[k], contexts[k], quads[k])
        for k in range(count):
            plane, is_good = found[k, _PLANE], found[k, _IS_GOOD] and found[k, _READ] <= found[k, _TOTAL]
            # what comes in whole pairs of quads, and is not refined, goes where it belongs at once
            is_whole = form == 0 and roi_shift == 0 and found[k, _PASSES] == 1 and width % 4 == 0 and height % 2 == 0
            if is_good:
                total = unstuff_forward(
                    data, found[k, _FIRST], found[k, _MIDDLE], nb.int64(1), 4 * height * width + 8, bits
                )
                goal, at, stride = samples.view(np.int32), nb.int64(0), find_pitch(width)
                if is_whole:
                    goal, at, stride = integers, table[block + k, 0], table[block + k, 1]
                is_good = read_samples(
                    bits, total, high, wide, plane, quads[k], tops, lengths, exponents, goal, at, stride, is_whole
                )
            if not is_good:
                for at in range(height * find_pitch(width)):
                    samples[at] = 0
                plane = nb.int64(0)
            elif found[k, _PASSES] > 1:
                segment = found[k, _SEGMENT] + 1
                start, end = _cut_segment(data, segments, segment)
                read_refinement(
                    data, start, end, height, width, min(found[k, _PASSES] - 1, segments[segment, 2]),
                    style & CAUSAL != 0, bits, marks, samples,
                )  # fmt: skip
                plane -= 1
            damaged[block + k] = not is_good
            if is_good and is_whole:
                continue
            _store(table, block + k, samples, plane, roi_shift, form, integers, floats)
        block += count


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
def _cut_segment(data, segments, segment):
    """Return where a segment begins and ends, inside the data whatever it says."""
    start = min(max(segments[segment, 0], 0), data.size)
    return start, start + min(max(segments[segment, 1], 0), data.size - start)


@nb.njit(**OPTIONS)
def _open_block(data, planes, passes, segments, starts, block, words, runs, found):
    """Find the parts of a block's cleanup pass, if they make sense, and take the codewords from their bytes."""
    number, segment = _find_set(segments, starts, block)
    plane = nb.int64(planes[block]) - 1 - number // 3
    count = min(nb.int64(passes[block]) - number, 3 if plane > 0 else 1)
    found[_IS_GOOD] = 0
    if segment < 0 or plane < 0 or plane >= MOST_BITS or count < 1:
        return
    at, end = _cut_segment(data, segments, segment)
    if end - at < 2:
        return
    suffix = nb.int64(data[end - 1]) << 4 | nb.int64(data[end - 2]) & 15
    if suffix < 2 or suffix > min(end - at, _MOST_SUFFIX):
        return
    middle = end - suffix
    before = nb.int64(data[end - 2]) | 15
    ready = nb.int64(3) if before >> 4 & 7 == 7 else nb.int64(4)
    found[_TOTAL] = unstuff_backward(data, middle, end - 3, (before >> 4) & ((1 << ready) - 1), ready, before, words)
    start_runs(runs, data, middle, end)
    found[_IS_GOOD], found[_PLANE], found[_FIRST], found[_MIDDLE] = 1, plane, at, middle
    found[_SEGMENT] = segment
    found[_PASSES] = count if segment + 1 < starts[block + 1] else 1


@nb.njit(**OPTIONS)
def _store(table, block, samples, plane, roi_shift, form, integers, floats):
    """Write the coefficients of a block to their positions."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    samples, integers, floats = address(samples), address(integers), address(floats)
    pitch = find_pitch(width)
    for y in range(height):
        start, k = offset + y * stride, y * pitch
        if roi_shift > 0:
            _store_shifted(samples, k, width, plane, roi_shift, form, integers, floats, start)
        elif form == 2:
            scale = nb.float32(0.5 * (1 << plane))
            for x in range(width):
                sample = nb.int32(samples[k + x])
                value = nb.float32(nb.int32(sample & nb.int32(0x7FFFFFFF))) * scale
                floats[start + x] = -value if sample < 0 else value
        elif form == 1:
            for x in range(width):
                floats[start + x] = nb.float32(_round(samples[k + x], plane))
        else:
            for x in range(width):
                integers[start + x] = _round(samples[k + x], plane)


@nb.njit(**OPTIONS)
def _round(sample, plane):
    """Return a sample as an integer, the middle of its interval rounded towards zero."""
    sample = nb.int32(sample)
    value = nb.int32(nb.int32(sample & nb.int32(0x7FFFFFFF)) << nb.int32(plane)) >> nb.int32(1)
    sign = sample >> nb.int32(31)
    return nb.int32((value ^ sign) - sign)


@nb.njit(**OPTIONS)
def _store_shifted(samples, k, width, plane, roi_shift, form, integers, floats, start):
    """Write a row of coefficients, those of a region of interest shifted down."""
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
