"""The compiled encoder of high-throughput code-blocks; see `ht_decoding` for what a block holds."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, copy_bytes
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_context
from subband.codecs.jpeg2000.blocks.loops.ht_refinement import write_magnitudes, write_significance
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import put, stuff_backward, stuff_forward
from subband.codecs.jpeg2000.blocks.loops.ht_tables import MEL_EXPONENTS, OFFSET_CODES, QUAD_CODES
from subband.codecs.jpeg2000.blocks.loops.words import measure_bits
from subband.codecs.jpeg2000.blocks.styles import CAUSAL
from subband.compiled.compiling import stored

__all__ = ["encode_range"]


@stored(**STORED)
def encode_range(samples, table, first, last, style, half, lowest, passes, ends, gains, sizes):
    """Encode the blocks `first` … `last` and return their bytes, one block behind the other.

    The cleanup pass of a block holds its planes from `lowest` up; there may be two passes more for the plane below.
    Writes where each pass ends, by how much it lowers the squared error if there are several, and how many bytes a
    block has.
    """
    area, across = 1, 1
    for block in range(first, last):
        area = max(area, (table[block, 2] + 1) * (table[block, 3] + 1))
        across = max(across, table[block, 3] + 1)
    values = np.empty(area, np.uint32)
    marks = np.empty(3 * area + 16, np.uint8)
    tops, rows = np.empty(across + 2, np.int64), np.empty(across + 6, np.int64)
    events = np.empty(2 * area + 16, np.uint8)
    # a sample has 32 bits at most, a codeword and an offset 15 for four samples
    bits, words = np.empty(4 * area + 64, np.uint8), np.empty(area + 64, np.uint8)
    runs, ends_of_words = np.empty(area + 64, np.uint8), np.empty(area + 64, np.uint8)
    out = np.empty(8 * area + 256, np.uint8)
    all_bytes = np.empty(area * (last - first) + 64, np.uint8)
    end = nb.int64(0)
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        count = nb.int64(passes[block])
        size = nb.int64(0)
        if count > 0:
            plane = nb.int64(lowest[block])
            _load(samples, table, block, plane, values)
            size = _write_cleanup(values, height, width, bits, words, events, runs, ends_of_words, tops, rows, out)
            ends[block, 0] = size
        if count > 1:
            _load(samples, table, block, plane - 1, values)
            size = write_significance(values, height, width, style & CAUSAL != 0, bits, marks, out, size)
            ends[block, 1] = size
            if count > 2:
                size = write_magnitudes(values, height, width, bits, marks, runs, out, size)
                ends[block, 2] = size
            _measure_gains(samples, table, block, plane, half, marks, gains[block])
        for number in range(count, ends.shape[1]):
            ends[block, number] = size
            gains[block, number] = gains[block, count - 1] if count > 0 else 0.0
        if end + size > all_bytes.size:
            larger = np.empty(2 * all_bytes.size + size, np.uint8)
            copy_bytes(all_bytes, nb.int64(0), end, larger, nb.int64(0))
            all_bytes = larger
        copy_bytes(out, nb.int64(0), size, all_bytes, end)
        sizes[block] = size
        end += size
    return all_bytes[:end]


@nb.njit(**OPTIONS)
def _load(samples, table, block, plane, values):
    """Write sign and magnitude of the samples of a block, without the planes below one, in rows of an even length."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    pitch = width + width % 2
    shift = nb.int32(plane)
    for y in range(height):
        start, k = offset + y * stride, y * pitch
        for x in range(width):
            sample = samples[start + x]
            values[k + x] = (nb.int32(abs(sample)) >> shift) | (sample & nb.int32(-0x80000000))
        if width % 2:
            values[k + width] = 0
    if height % 2:
        for k in range(height * pitch, (height + 1) * pitch):
            values[k] = 0


@nb.njit(**OPTIONS)
def _write_cleanup(values, height, width, bits, words, events, runs, back, tops, rows, out):
    """Write the cleanup pass of a block from the start of `out` on, and return how many bytes it has."""
    position, word_position, count = _list_quads(values, height, width, bits, words, events, tops, rows)
    at = stuff_forward(bits, position, nb.int64(1), out, nb.int64(0))
    middle = at
    run_count, byte, free = _write_runs(events, count, runs)
    copy_bytes(runs, nb.int64(0), run_count, out, at)
    at += run_count
    back_count, rest, used = stuff_backward(words, word_position, nb.int64(15), nb.int64(4), back)
    # the last bits of both codes share a byte if they do not contradict each other
    byte <<= free
    mask, other_mask = 255 & ~((1 << free) - 1), (1 << used) - 1
    joint = byte | rest
    if (joint ^ byte) & mask | (joint ^ rest) & other_mask == 0 and joint != 255 and back_count > 0:
        if mask | other_mask:
            out[at] = joint
            at += 1
    else:
        if mask:
            out[at] = byte
            at += 1
        if used:
            out[at] = rest
            at += 1
    for k in range(back_count):
        out[at + k] = back[back_count - 1 - k]
    at += back_count + 1
    suffix = at - middle
    out[at - 1] = suffix >> 4
    out[at - 2] = nb.int64(out[at - 2]) & 0xF0 | suffix & 15
    return at


@nb.njit(**OPTIONS)
def _list_quads(values, height, width, bits, words, events, tops, rows):
    """Write the plain bits of samples and codewords, and the events of the run-length code; return how many of each.

    `tops` is as for the decoder; `rows` holds the significance of the quads above and of this row.
    """
    values, bits, words = address(values), address(bits), address(words)
    events, tops, rows = address(events), address(tops), address(rows)
    wide = (width + 1) // 2
    pitch = wide + 3
    stride = 2 * wide
    for k in range(wide + 2):
        tops[k] = 0
    for k in range(2 * pitch):
        rows[k] = 0
    bits[0], words[0] = 0, 0
    position, word_position, count = nb.int64(0), nb.int64(0), nb.int64(0)
    for row in range((height + 1) // 2):
        table = 2048 if row > 0 else 0
        own, other = (pitch, 0) if row % 2 else (0, pitch)
        left = nb.int64(0)
        before_top = tops[0]
        offset = nb.int64(0)
        upper = 2 * row * stride
        for column in range(wide):
            k = upper + 2 * column
            sample_0, sample_2 = nb.int64(values[k]), nb.int64(values[k + 1])
            sample_1, sample_3 = nb.int64(values[k + stride]), nb.int64(values[k + stride + 1])
            magnitude_0, magnitude_1 = sample_0 & 0x7FFFFFFF, sample_1 & 0x7FFFFFFF
            magnitude_2, magnitude_3 = sample_2 & 0x7FFFFFFF, sample_3 & 0x7FFFFFFF
            is_0, is_1 = nb.int64(magnitude_0 > 0), nb.int64(magnitude_1 > 0)
            is_2, is_3 = nb.int64(magnitude_2 > 0), nb.int64(magnitude_3 > 0)
            ones_0, ones_1 = 2 * magnitude_0 - is_0, 2 * magnitude_1 - is_1
            ones_2, ones_3 = 2 * magnitude_2 - is_2, 2 * magnitude_3 - is_3
            significant = is_0 | is_1 << 1 | is_2 << 2 | is_3 << 3
            context = find_context(
                row, rows[other + column], rows[other + column + 1], rows[other + column + 2], rows[own + column]
            )
            rows[own + column + 1] = significant << 4
            after_top = tops[column + 1]
            now = nb.int64(0)
            if context == 0:
                events[count] = significant > 0
                count += 1
            if significant > 0:
                predicted = nb.int64(1)
                if significant & (significant - 1):
                    predicted = max(measure_bits(before_top | after_top) - 1, 1)
                exponent = max(measure_bits(ones_0 | ones_1 | ones_2 | ones_3), predicted)
                now = exponent - predicted
                top = exponent - 1
                highest = ones_0 >> top | ones_1 >> top << 1 | ones_2 >> top << 2 | ones_3 >> top << 3
                if now == 0:
                    highest = nb.int64(0)
                code = nb.int64(QUAD_CODES[table + (context << 8) + (significant << 4) + highest])
                word_position = put(words, word_position, code & 255, code >> 8 & 15)
                count_0 = (exponent & -is_0) - (code >> 12 & 1)
                count_1 = (exponent & -is_1) - (code >> 13 & 1)
                count_2 = (exponent & -is_2) - (code >> 14 & 1)
                count_3 = (exponent & -is_3) - (code >> 15 & 1)
                # twice the magnitude less one, and the sign as the lowest bit
                bits_0 = ((ones_0 ^ is_0) | sample_0 >> 31) & ((1 << count_0) - 1)
                bits_1 = ((ones_1 ^ is_1) | sample_1 >> 31) & ((1 << count_1) - 1)
                bits_2 = ((ones_2 ^ is_2) | sample_2 >> 31) & ((1 << count_2) - 1)
                bits_3 = ((ones_3 ^ is_3) | sample_3 >> 31) & ((1 << count_3) - 1)
                if exponent <= 14:
                    pair, other_pair = bits_0 | bits_1 << count_0, bits_2 | bits_3 << count_2
                    both = count_0 + count_1
                    position = put(bits, position, pair | other_pair << both, both + count_2 + count_3)
                else:
                    position = put(bits, position, bits_0, count_0)
                    position = put(bits, position, bits_1, count_1)
                    position = put(bits, position, bits_2, count_2)
                    position = put(bits, position, bits_3, count_3)
            elif context > 0:
                code = nb.int64(QUAD_CODES[table + (context << 8)])
                word_position = put(words, word_position, code & 255, code >> 8 & 15)
            tops[column] = left | ones_1
            left = ones_3
            before_top = after_top
            if column % 2 == 1 or column == wide - 1:
                # offsets come two at a time; the second quad of the last pair may be missing
                second = now if column % 2 else nb.int64(0)
                first = offset if column % 2 else now
                if row == 0 and first > 0 and second > 0:
                    is_large = first > 2 and second > 2
                    events[count] = is_large
                    count += 1
                    if is_large:
                        first -= 2
                        second -= 2
                    elif first > 2:
                        code = OFFSET_CODES[first]
                        word_position = put(words, word_position, code & 7, code >> 3 & 3)
                        word_position = put(words, word_position, second - 1, 1)
                        word_position = put(words, word_position, code >> 5 & 31, code >> 10)
                        first, second = nb.int64(0), nb.int64(0)
                if first | second:
                    code, other_code = OFFSET_CODES[first], OFFSET_CODES[second]
                    word_position = put(words, word_position, code & 7, code >> 3 & 3)
                    word_position = put(words, word_position, other_code & 7, other_code >> 3 & 3)
                    word_position = put(words, word_position, code >> 5 & 31, code >> 10)
                    word_position = put(words, word_position, other_code >> 5 & 31, other_code >> 10)
            offset = now
        tops[wide] = left
        rows[own + wide + 1] = 0
    return position, word_position, count


@nb.njit(**OPTIONS)
def _write_runs(events, count, out):
    """Write the run-length code of events; return how many bytes are full, the next one, and its free bits."""
    events, out = address(events), address(out)
    step, run = nb.int64(0), nb.int64(0)
    byte, free, at = nb.int64(0), nb.int64(8), nb.int64(0)
    for k in range(count + 1):
        exponent = MEL_EXPONENTS[step]
        code, length = nb.int64(1), nb.int64(1)
        if k == count:
            # what is left of a run is told as a whole one
            if run == 0:
                break
        elif events[k]:
            code, length = run, exponent + 1
            run = nb.int64(0)
            step = max(step - 1, 0)
        else:
            run += 1
            if run < 1 << exponent:
                continue
            run = nb.int64(0)
            step = min(step + 1, 12)
        for bit in range(length - 1, -1, -1):
            byte = byte << 1 | code >> bit & 1
            free -= 1
            if free == 0:
                out[at] = byte
                at += 1
                free = nb.int64(7) if byte == 255 else nb.int64(8)
                byte = nb.int64(0)
    return at, byte, free


@nb.njit(**OPTIONS)
def _measure_gains(samples, table, block, plane, half, marks, gains):
    """Write by how much the passes up to each lower the squared error; all numbers are doubled, as those of Part 1."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    cleanup, significance, magnitudes = 0.0, 0.0, 0.0
    for y in range(height):
        for x in range(width):
            value = 2 * abs(nb.int64(samples[offset + y * stride + x])) + half
            mark = marks[(y + 1) * (width + 2) + x + 1]
            if mark & 1:
                coarse = (value >> (plane + 1) << (plane + 1)) + (1 << plane)
                fine = (value >> plane << plane) + (1 << plane >> 1)
                cleanup += nb.float64(coarse) * nb.float64(2 * value - coarse)
                magnitudes += nb.float64(value - coarse) ** 2 - nb.float64(value - fine) ** 2
            elif mark & 2:
                fine = (value >> plane << plane) + (1 << plane >> 1)
                significance += nb.float64(fine) * nb.float64(2 * value - fine)
    gains[0] = cleanup / 4
    if gains.size > 1:
        gains[1] = (cleanup + significance) / 4
    if gains.size > 2:
        gains[2] = (cleanup + significance + magnitudes) / 4
