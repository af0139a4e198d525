"""Reading the samples of a high-throughput block, once it is known which are significant and how long they may be.

A row of quads is gone through three times: how many bits each quad has, eight and more quads at a time; where these
begin, which is a running sum; and the samples themselves, two quads at a time.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, count_leading
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import peek
from subband.codecs.jpeg2000.blocks.loops.ht_vectors import unpack_pair, unpack_whole_pair

__all__ = ["MOST_BITS", "read_samples"]

#: Bits that a sample may have with its sign and the half below its lowest plane.
MOST_BITS = 30

# Bits of a sample up to which two of them lie within the bits that are read at once.
_SHORT = 28


@nb.njit(**OPTIONS)
def read_samples(bits, total, high, wide, plane, quads, tops, lengths, exponents, samples, first, stride, is_whole):
    """Read the samples of a block, in rows of whole pairs of quads; tell whether they are not too long.

    They are written from `first` on, in rows `stride` apart, as integers in units of plane 0 if it `is_whole`.

    `tops` holds two rows, above and below, of the lower samples of each quad, which predict exponents; there is an
    empty quad before and behind each. There is an empty quad behind an odd number of quads.
    """
    bits, quads, tops = address(bits), address(quads), address(tops)
    lengths, exponents, samples = address(lengths), address(exponents), address(samples)
    even = wide + wide % 2
    pitch = wide + 3
    for k in range(2 * (even + 2)):
        tops[k] = 0
    position, longest = nb.int64(0), nb.int64(0)
    for row in range(high):
        k = (row + 1) * pitch + 1
        above, below = (even + 2, 0) if row % 2 else (0, even + 2)
        longest = max(longest, _measure_quads(quads, k, tops, above, even, lengths, exponents))
        upper = first + 2 * row * stride
        if longest > _SHORT:
            if longest > MOST_BITS:
                return False
            for column in range(even):
                position = _read_long_quad(
                    bits, position, nb.int64(quads[k + column]), nb.int64(exponents[column]), samples,
                    upper + 2 * column, upper + stride + 2 * column, tops, below + 1 + column, is_whole, plane,
                )  # fmt: skip
        elif is_whole:
            for column in range(0, even, 2):
                length, other = nb.int64(lengths[column]), nb.int64(lengths[column + 1])
                second = position + (length & 0xFFFF)
                unpack_whole_pair(
                    quads, k + column, exponents, column, peek(bits, position), peek(bits, position + (length >> 16)),
                    peek(bits, second), peek(bits, second + (other >> 16)), samples, upper + 2 * column,
                    upper + stride + 2 * column, tops, below + 1 + column, plane,
                )  # fmt: skip
                position = second + (other & 0xFFFF)
        else:
            for column in range(0, even, 2):
                length, other = nb.int64(lengths[column]), nb.int64(lengths[column + 1])
                second = position + (length & 0xFFFF)
                unpack_pair(
                    quads, k + column, exponents, column, peek(bits, position), peek(bits, position + (length >> 16)),
                    peek(bits, second), peek(bits, second + (other >> 16)), samples, upper + 2 * column,
                    upper + stride + 2 * column, tops, below + 1 + column,
                )  # fmt: skip
                position = second + (other & 0xFFFF)
        # the last byte may be of ones that are left out
        if position > total + 8:
            return False
    return longest + plane <= MOST_BITS


@nb.njit(**OPTIONS)
def _measure_quads(quads, k, tops, above, count, lengths, exponents):
    """Write the exponent and the bits of each quad of a row, those of its left samples from bit 16 on.

    Returns the largest exponent; those that are written are cut off, so that reading stays near the end.
    """
    longest = nb.int64(0)
    for column in range(count):
        quad = nb.int64(quads[k + column])
        significant = quad >> 4 & 15
        left, own, right = tops[above + column], tops[above + column + 1], tops[above + column + 2]
        around = (left >> 32 | own >> 32 | own | right) & 0x7FFFFFFF
        # a sample alone in its quad is not predicted
        is_predicted = nb.int64(significant & (significant - 1) != 0)
        exponent = 63 - count_leading(around & -is_predicted | 3) + (quad >> 16)
        longest = max(longest, exponent)
        exponent = min(exponent, MOST_BITS)
        known = quad >> 12 & 15
        first = exponent * ((significant & 1) + (significant >> 1 & 1)) - (known & 1) - (known >> 1 & 1)
        other = exponent * ((significant >> 2 & 1) + (significant >> 3)) - (known >> 2 & 1) - (known >> 3)
        exponents[column] = nb.int32(exponent)
        lengths[column] = nb.int32(first << 16 | first + other)
    return longest


@nb.njit(**OPTIONS)
def _read_long_quad(bits, position, quad, exponent, samples, upper, lower, tops, at, is_whole, plane):
    """Read the four samples of a quad one by one; return where the next begins."""
    predicted = nb.int64(0)
    for number in range(4):
        is_there = quad >> (4 + number) & 1
        count = (exponent & -is_there) - (quad >> (12 + number) & 1)
        value = peek(bits, position) & ((1 << count) - 1) | (quad >> (8 + number) & 1) << count
        position += count
        sample = (((value | 1) + 2) | value << 31) & -is_there
        if is_whole:
            sample = ((((value | 1) + 2) & -is_there) << plane) >> 1
            sample = -sample if value & 1 else sample
        samples[(lower if number & 1 else upper) + (number >> 1)] = nb.int32(sample & 0xFFFFFFFF)
        if number & 1:
            predicted |= ((value | 1) & -is_there) << (32 * (number >> 1))
    tops[at] = predicted
    return position
