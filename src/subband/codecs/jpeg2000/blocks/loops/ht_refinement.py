"""The two passes that refine a high-throughput block by one plane: new neighbours of what is significant, and its bits.

Samples are scanned in stripes of four rows, column by column. The first pass goes over samples that are not significant
but have a neighbour that is; behind the bits of each four columns come the signs of those that it found. Its bytes are
read forwards. The second pass has a bit for each sample that was significant before; its bytes are read backwards from
the end of the same segment.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_pitch
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import (
    peek,
    put,
    stuff_backward,
    stuff_forward,
    unstuff_backward,
    unstuff_forward,
)

__all__ = ["read_refinement", "write_magnitudes", "write_significance"]

# What a mark says of a sample: it was significant before, or has become so in the first pass.
_OLD, _NEW = 1, 2


@nb.njit(**OPTIONS)
def _mark(samples, height, width, marks):
    """Mark what is significant, with a border of one sample around."""
    marks, samples = address(marks), address(samples)
    pitch, stride = width + 2, find_pitch(width)
    for k in range((height + 2) * pitch):
        marks[k] = 0
    for y in range(height):
        for x in range(width):
            marks[(y + 1) * pitch + x + 1] = _OLD if samples[y * stride + x] != 0 else 0


@nb.njit(**OPTIONS)
def _has_neighbour(marks, k, pitch, is_last):
    """Tell whether a neighbour of a sample is significant; of a last row those below do not count."""
    above = marks[k - pitch - 1] | marks[k - pitch] | marks[k - pitch + 1]
    beside = marks[k - 1] | marks[k + 1]
    below = marks[k + pitch - 1] | marks[k + pitch] | marks[k + pitch + 1]
    return above | beside != 0 or (not is_last and below != 0)


@nb.njit(**OPTIONS)
def read_refinement(data, first, last, height, width, passes, is_causal, bits, marks, samples):
    """Read one or two passes, and give all samples the precision of the next plane."""
    _mark(samples, height, width, marks)
    stride = find_pitch(width)
    total = unstuff_forward(data, first, last, nb.int64(0), height * width // 4 + 8, bits)
    _clear(bits, total, 2 * height * width)
    _read_significance(bits, height, width, is_causal, marks)
    for y in range(height):
        for x in range(width):
            mark = marks[(y + 1) * (width + 2) + x + 1]
            value = nb.int64(samples[y * stride + x])
            if mark & _OLD:
                samples[y * stride + x] = (value & 0x7FFFFFFF) << 1 | (value >> 31) << 31
            elif mark & _NEW:
                samples[y * stride + x] = 3 | (nb.int64(mark) >> 2) << 31
    if passes > 1:
        # more than these bits no block has
        least = max(first, last - height * width // 7 - 2)
        total = unstuff_backward(data, least, last - 1, nb.int64(0), nb.int64(0), nb.int64(255), bits)
        _clear(bits, total, height * width)
        _read_magnitudes(bits, height, width, marks, samples)


@nb.njit(**OPTIONS)
def _clear(bits, first, last):
    """Clear whole bytes behind the first of two positions, up to the second and a word more."""
    for k in range((first + 7) // 8, last // 8 + 16):
        bits[k] = 0


@nb.njit(**OPTIONS)
def _read_significance(bits, height, width, is_causal, marks):
    """Read the first pass into the marks, whose third bit becomes the sign."""
    bits, marks = address(bits), address(marks)
    pitch = width + 2
    position = nb.int64(0)
    for top in range(0, height, 4):
        rows = min(4, height - top)
        for left in range(0, width, 4):
            columns = min(4, width - left)
            for x in range(left, left + columns):
                for y in range(top, top + rows):
                    k = (y + 1) * pitch + x + 1
                    if marks[k] == 0 and _has_neighbour(marks, k, pitch, is_causal and y == top + 3):
                        marks[k] = _NEW * (peek(bits, position) & 1)
                        position += 1
            for x in range(left, left + columns):
                for y in range(top, top + rows):
                    k = (y + 1) * pitch + x + 1
                    if marks[k] == _NEW:
                        marks[k] |= (peek(bits, position) & 1) << 2
                        position += 1


@nb.njit(**OPTIONS)
def _read_magnitudes(bits, height, width, marks, samples):
    """Read the second pass: where the lower or the upper half of an interval is."""
    bits, marks, samples = address(bits), address(marks), address(samples)
    pitch, stride = width + 2, find_pitch(width)
    position = nb.int64(0)
    for top in range(0, height, 4):
        for x in range(width):
            for y in range(top, min(top + 4, height)):
                if marks[(y + 1) * pitch + x + 1] & _OLD:
                    bit = peek(bits, position) & 1
                    position += 1
                    samples[y * stride + x] = nb.int64(samples[y * stride + x]) + 2 * bit - 1


@nb.njit(**OPTIONS)
def write_significance(samples, height, width, is_causal, bits, marks, out, at):
    """Write the first pass of samples that have a sign and a magnitude with one plane to come; return where it ends."""
    # what is significant before the pass has more than the plane to come
    _mark_old(samples, height, width, marks)
    total = _list_significance(samples, height, width, is_causal, bits, marks)
    return stuff_forward(bits, total, nb.int64(0), out, at)


@nb.njit(**OPTIONS)
def _mark_old(samples, height, width, marks):
    marks, samples = address(marks), address(samples)
    pitch, stride = width + 2, find_pitch(width)
    for k in range((height + 2) * pitch):
        marks[k] = 0
    for y in range(height):
        for x in range(width):
            marks[(y + 1) * pitch + x + 1] = _OLD if nb.int64(samples[y * stride + x]) & 0x7FFFFFFF > 1 else 0


@nb.njit(**OPTIONS)
def _list_significance(samples, height, width, is_causal, bits, marks):
    """Write the plain bits of the first pass, and return how many there are."""
    bits, marks, samples = address(bits), address(marks), address(samples)
    pitch, stride = width + 2, find_pitch(width)
    position = nb.int64(0)
    bits[0] = 0
    for top in range(0, height, 4):
        rows = min(4, height - top)
        for left in range(0, width, 4):
            columns = min(4, width - left)
            for x in range(left, left + columns):
                for y in range(top, top + rows):
                    k = (y + 1) * pitch + x + 1
                    if marks[k] == 0 and _has_neighbour(marks, k, pitch, is_causal and y == top + 3):
                        bit = nb.int64(samples[y * stride + x]) & 1
                        marks[k] = _NEW * bit
                        position = put(bits, position, bit, 1)
            for x in range(left, left + columns):
                for y in range(top, top + rows):
                    if marks[(y + 1) * pitch + x + 1] == _NEW:
                        position = put(bits, position, nb.int64(samples[y * stride + x]) >> 31, 1)
    return position


@nb.njit(**OPTIONS)
def write_magnitudes(samples, height, width, bits, marks, plain, out, at):
    """Write the second pass behind the first; return where it ends."""
    total = _list_magnitudes(samples, height, width, bits, marks)
    count, byte, used = stuff_backward(bits, total, nb.int64(0), nb.int64(0), plain)
    if used > 0:
        plain[count] = byte
        count += 1
    for k in range(count):
        out[at + k] = plain[count - 1 - k]
    return at + count


@nb.njit(**OPTIONS)
def _list_magnitudes(samples, height, width, bits, marks):
    """Write the plain bits of the second pass, and return how many there are."""
    bits, marks, samples = address(bits), address(marks), address(samples)
    pitch, stride = width + 2, find_pitch(width)
    position = nb.int64(0)
    bits[0] = 0
    for top in range(0, height, 4):
        for x in range(width):
            for y in range(top, min(top + 4, height)):
                if marks[(y + 1) * pitch + x + 1] & _OLD:
                    position = put(bits, position, nb.int64(samples[y * stride + x]) & 1, 1)
    return position
