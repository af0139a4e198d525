"""What the encoder says about a bit plane: the symbols of its three passes.

Magnitudes lie in stripes: the four of a column side by side, columns from left to right. Words are those of `columns`.

A pass that finds coefficients returns how many symbols there are now, and a sum that tells by how much it lowers the
squared error, of twice the sample minus its new value. What refinement adds is the distance from the old value. Samples
and values are doubled, since values lie in the middle of an interval.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, count_trailing
from subband.codecs.jpeg2000.blocks.loops.columns import OWN, SIGNED, count_strips, find_sign, open_strip
from subband.codecs.jpeg2000.blocks.loops.contexts import (
    AROUND,
    RUN,
    SELF,
    SELVES,
    SIGNIFICANCE,
    UNIFORM,
    VISITS,
)
from subband.codecs.jpeg2000.blocks.loops.groups import (
    FIELDS,
    FIRST,
    GROUP,
    READY,
    SECOND,
    THIRD,
    close_group,
    find_later,
    list_refined,
    open_group,
)

__all__ = ["gather_bits", "list_cleanup", "list_refinement", "list_significance", "measure_refinement"]


@nb.njit(**OPTIONS)
def gather_bits(magnitudes, plane, count, bits):
    """Write the bits of a plane, those of the four coefficients of a column together."""
    for k in range(count):
        a = (magnitudes[4 * k] >> plane) & 1
        b = (magnitudes[4 * k + 1] >> plane) & 1
        c = (magnitudes[4 * k + 2] >> plane) & 1
        d = (magnitudes[4 * k + 3] >> plane) & 1
        bits[k] = a | b << 1 | c << 2 | d << 3


@nb.njit(forceinline=True, **OPTIONS)
def _join(bits, first):
    """Return the bits of a group from those of its columns; what lies behind the last one means nothing."""
    joint = nb.int64(0)
    for k in range(GROUP):
        joint |= nb.int64(bits[first + k]) << (4 * k)
    return joint


@nb.njit(**OPTIONS)
def list_significance(arrays, shape, plane, half, is_raw, is_causal, symbols, count):
    """List the symbols of the significance propagation pass."""
    columns, words, magnitudes, signs, bits = arrays
    zeros = shape[0]
    value = 2 if plane == 0 and half == 0 else 3 << plane
    total = 0
    group, at, column, first, now, free = open_group(columns, words, shape, is_causal, nb.int64(0))
    while now != 0:
        seen = now
        ones, negative = _join(bits, first >> 2), _join(signs, first >> 2)
        while now != 0:
            k = count_trailing(now)
            here = column + (k >> 2)
            shift = 3 * (k & 3)
            word = nb.int64(words[here])
            around = word >> shift
            bit, sign = (ones >> k) & 1, (negative >> k) & 1
            mask = -bit
            # the second one stays only if there is a sign
            symbols[count] = 2 * nb.int64(zeros[around & AROUND]) + bit
            symbols[count + 1] = sign if is_raw else find_sign(around) ^ sign
            count += 1 + bit
            total += (2 * (2 * nb.int64(magnitudes[first + k]) + half) - value) & mask
            found = (SELF | nb.int64(SELF) << 32 & -sign) << shift & mask
            words[here] = word | found
            words[here + 1] |= found >> 1
            later = find_later(k, free) & mask
            now = now & (now - 1) | later
            seen |= later
        close_group(columns, words, at, column, seen)
        group, at, column, first, now, free = open_group(columns, words, shape, is_causal, group)
    return count, total * nb.float64(value)


@nb.njit(**OPTIONS)
def list_refinement(arrays, shape, is_causal, groups, symbols, count):
    """List the symbols of the magnitude refinement pass; return how many there are now."""
    columns, words, _, _, bits = arrays
    end = count + list_refined(columns, words, shape, is_causal, groups)
    group = 0
    while count < end:
        ready, second, third = groups[group + READY], groups[group + SECOND], groups[group + THIRD]
        ones = _join(bits, groups[group + FIRST] >> 2)
        while ready != 0:
            k = count_trailing(ready)
            ready &= ready - 1
            symbols[count] = 28 + 2 * ((second >> k) & 1) + 4 * ((third >> k) & 1) + ((ones >> k) & 1)
            count += 1
        group += FIELDS
    return count


@nb.njit(**OPTIONS)
def measure_refinement(magnitudes, size, plane, half):
    """Return by how much the refinement pass lowers the squared error, four times.

    It codes what was significant above its plane, which is known without following the passes.
    """
    middle = nb.int64(2 << plane)
    total, count = nb.int64(0), nb.int64(0)
    for k in range(size):
        magnitude = nb.int64(magnitudes[k])
        is_coded = nb.int64(magnitude >= middle)
        total += abs(((2 * magnitude + half) & (2 * middle - 1)) - middle) * is_coded
        count += is_coded
    if plane == 0 and half == 0:
        return 2.0 * total
    step = nb.float64(1 << plane)
    return step * (2.0 * total - count * step)


@nb.njit(**OPTIONS)
def list_cleanup(arrays, shape, below, plane, half, is_causal, symbols, count):
    """List the symbols of the cleanup pass, and forget which coefficients were visited; `below` are not there."""
    columns, words, magnitudes, signs, bits = arrays
    zeros, width, stripes = shape
    value = 2 if plane == 0 and half == 0 else 3 << plane
    total = 0
    for strip in range(count_strips(width, stripes)):
        at, first, keep, left = open_strip(columns, words, shape, strip, below, is_causal)
        while left != 0:
            column = count_trailing(left)
            left &= left - 1
            k = first + 4 * column
            word = words[column] | (columns[at + column - 1] & SIGNED) >> 1
            ones = nb.int64(bits[k >> 2])
            ready = ~(word | word >> 16) & SELVES
            is_unknown = 1
            if word & (SIGNIFICANCE | VISITS) == 0:
                if ones == 0:
                    symbols[count] = 2 * RUN
                    count += 1
                    continue
                row = count_trailing(ones)
                symbols[count] = 2 * RUN + 1
                symbols[count + 1] = 2 * UNIFORM + (row >> 1)
                symbols[count + 2] = 2 * UNIFORM + (row & 1)
                count += 3
                ready &= nb.int64(-SELF) << (3 * row)
                is_unknown = 0
            while ready != 0:
                shift = count_trailing(ready) - 4
                ready &= ready - 1
                # a third of the shift
                row = shift * 11 >> 5
                here = word >> shift
                bit = (ones >> row) & 1
                symbols[count] = 2 * nb.int64(zeros[here & AROUND]) + bit
                count += is_unknown
                is_unknown = 1
                if bit:
                    sign = (nb.int64(signs[k >> 2]) >> row) & 1
                    symbols[count] = find_sign(here) ^ sign
                    count += 1
                    total += 2 * (2 * nb.int64(magnitudes[k + row]) + half) - value
                    word |= (SELF | nb.int64(SELF) << 32 & -sign) << shift
            columns[at + column] = word & OWN & keep
    return count, total * nb.float64(value)
