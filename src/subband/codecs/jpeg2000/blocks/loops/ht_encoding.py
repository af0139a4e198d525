"""The compiled encoder of high-throughput code-blocks; see `ht_decoding` for what a block holds."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, copy_bytes
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_pitch
from subband.codecs.jpeg2000.blocks.loops.ht_listing import FIELDS, LONGS, list_quads
from subband.codecs.jpeg2000.blocks.loops.ht_refinement import write_magnitudes, write_significance
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import stuff_backward, stuff_forward
from subband.codecs.jpeg2000.blocks.loops.ht_tables import MEL_EXPONENTS
from subband.codecs.jpeg2000.blocks.loops.words import count_bits
from subband.codecs.jpeg2000.blocks.styles import CAUSAL
from subband.compiled.compiling import stored

__all__ = ["encode_range"]


@stored(**STORED)
def encode_range(
    samples, table, first, last, style, half, lowest, most_planes, passes, planes, ends, gains, sizes, room
):
    """Encode the blocks `first` … `last`, one behind the other.

    The cleanup pass of a block holds its planes from `lowest` up; there may be two passes more for the plane below.
    Writes how many planes a block has, where each pass ends, by how much it lowers the squared error if there are
    several, and how many bytes a block has; `passes` becomes 0 where nothing is above the lowest plane, or more than
    `most_planes` are there. The bytes go to `room`; if there are more, all of them are returned, else nothing.
    """
    area = 1
    for block in range(first, last):
        area = max(area, (table[block, 2] + 1) * find_pitch(table[block, 3] + 1))
    values = np.empty(area, np.uint32)
    marks = np.empty(3 * area + 16, np.uint8)
    fields, longs = np.empty(FIELDS, np.int32), np.empty(LONGS, np.int64)
    events = np.empty(2 * area + 16, np.uint8)
    # a sample has 32 bits at most, a codeword and an offset 15 for four samples
    bits, words = np.empty(4 * area + 64, np.uint8), np.empty(area + 64, np.uint8)
    runs, ends_of_words = np.empty(area + 64, np.uint8), np.empty(area + 64, np.uint8)
    out = room
    end = nb.int64(0)
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        plane = nb.int64(lowest[block])
        planes[block] = _load(samples, table, block, plane, values)
        count = nb.int64(passes[block]) if plane < planes[block] <= most_planes else nb.int64(0)
        passes[block] = count
        start = end
        if count > 0:
            position, word_position, event_count = list_quads(values, height, width, bits, words, events, fields, longs)
            # every byte takes seven bits or more, and an event one at most; of each other pass, two bits of a sample
            out = _make_room(out, end, (position + word_position) // 7 + event_count + 2 * count * area // 7 + 64)
            end = _write_cleanup(
                bits, position, words, word_position, events, event_count, runs, ends_of_words, out, end
            )
            ends[block, 0] = end - start
        if count > 1:
            _load(samples, table, block, plane - 1, values)
            end = write_significance(values, height, width, style & CAUSAL != 0, bits, marks, out, end)
            ends[block, 1] = end - start
            if count > 2:
                end = write_magnitudes(values, height, width, bits, marks, runs, out, end)
                ends[block, 2] = end - start
            _measure_gains(samples, table, block, plane, half, marks, gains[block])
        for number in range(count, ends.shape[1]):
            ends[block, number] = end - start
            gains[block, number] = gains[block, count - 1] if count > 0 else 0.0
        sizes[block] = end - start
    return out[:end] if out.size > room.size else out[:0]


@nb.njit(**OPTIONS)
def _make_room(out, end, count):
    """Return an array with room for so many bytes behind the first ones: the same, or a copy."""
    if end + count <= out.size:
        return out
    larger = np.empty(2 * out.size + count, np.uint8)
    copy_bytes(out, nb.int64(0), end, larger, nb.int64(0))
    return larger


@nb.njit(**OPTIONS)
def _load(samples, table, block, plane, values):
    """Write sign and magnitude of the samples of a block, without the planes below one, in rows of pairs of quads.

    Returns how many planes it has with those.
    """
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    samples, values = address(samples), address(values)
    pitch = find_pitch(width)
    shift = nb.int32(plane)
    every = nb.int32(0)
    for y in range(height):
        start, k = offset + y * stride, y * pitch
        for x in range(width):
            sample = nb.int32(samples[start + x])
            sign = nb.int32(sample >> nb.int32(31))
            magnitude = nb.int32(nb.int32(sample ^ sign) - sign)
            every = nb.int32(every | magnitude)
            values[k + x] = nb.uint32(nb.int32(magnitude >> shift) | nb.int32(sample & nb.int32(-0x80000000)))
        for x in range(width, pitch):
            values[k + x] = 0
    if height % 2:
        for k in range(height * pitch, (height + 1) * pitch):
            values[k] = 0
    return count_bits(every)


@nb.njit(**OPTIONS)
def _write_cleanup(bits, position, words, word_position, events, count, runs, back, out, first):
    """Write the bits of a cleanup pass as bytes, from one of `out` on, and return where they end."""
    at = stuff_forward(bits, position, nb.int64(1), out, first)
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
