"""Writing the quads of a high-throughput block as plain bits: of samples, of codewords, and events for the runs.

All that a codeword depends on is known from the start. So a row of quads is gone through several times, by loops that a
compiler turns into vectors: which samples are significant and how long they are; what the neighbours say about that;
and the bits of the samples. Nothing waits but the positions of bits, which are kept in registers until eight bits are
full.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, is_rare
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_pitch
from subband.codecs.jpeg2000.blocks.loops.ht_tables import MOST_OFFSETS, PAIR_CODES, QUAD_CODES
from subband.codecs.jpeg2000.blocks.loops.words import count_bits, keep_bits, store_word

__all__ = ["FIELDS", "LONGS", "list_quads"]

# How many bits can be added to those of a byte that are waiting.
_MOST_AT_ONCE = 56

# Numbers from one field of a row to the next, more than a block has quads across with an empty one on either side. It
# is a constant, and all fields are in one array, because a compiler has to know that they do not overlap.
_APART = 2064

# What is known of each quad of a row, from index 1 on: which samples are significant; twice the lower ones, less one;
# and the same of the row above.
_SIGNIFICANCE, _LEFT, _RIGHT = 0, _APART, 2 * _APART
_SIGNIFICANCE_ABOVE, _LEFT_ABOVE, _RIGHT_ABOVE = 3 * _APART, 4 * _APART, 5 * _APART
# The exponent of its largest sample and which samples have that, its context, its exponent, by how much that exceeds
# what is predicted, where its codeword is in the table, which bits that tells, and how many bits there are.
_OWN, _HIGHEST, _CONTEXT, _EXPONENT = 6 * _APART, 7 * _APART, 8 * _APART, 9 * _APART
_OFFSET, _CODE, _KNOWN, _LENGTH = 10 * _APART, 11 * _APART, 12 * _APART, 13 * _APART

#: Numbers of 32 and of 64 bits that `list_quads` keeps.
FIELDS, LONGS = 14 * _APART, _APART

# Where the codewords of all rows but the first begin in their table.
_LATER = 2048


@nb.njit(**OPTIONS)
def _append(bits, at, pending, used, number, count):
    """Add up to 56 bits behind less than eight that wait; return where the next byte goes, and what waits then."""
    pending |= number << used
    used += count
    store_word(bits, at, pending)
    return at + (used >> 3), pending >> (used & 56), used & 7


@nb.njit(**OPTIONS)
def list_quads(values, height, width, bits, words, events, fields, longs):
    """Write the plain bits of samples and codewords, and the events of the run-length code; return how many of each.

    `fields` and `longs` are scratch.
    """
    values, bits, words = address(values), address(bits), address(words)
    events, fields, longs = address(events), address(fields), address(longs)
    wide, stride = (width + 1) // 2, find_pitch(width)
    even = wide + wide % 2
    for field in range(0, 7 * _APART, _APART):
        fields[field] = 0
    for k in range(even + 2):
        fields[_SIGNIFICANCE_ABOVE + k], fields[_LEFT_ABOVE + k], fields[_RIGHT_ABOVE + k] = 0, 0, 0
    at, pending, used = nb.int64(0), nb.int64(0), nb.int64(0)
    word_at, word_pending, word_used = nb.int64(0), nb.int64(0), nb.int64(0)
    count = nb.int64(0)
    for row in range((height + 1) // 2):
        upper = 2 * row * stride
        lower = upper + stride
        _measure_row(values, upper, lower, even, fields)
        if row == 0:
            _find_first_contexts(even, fields)
            _predict_row(even, nb.int32(0), fields)
            count = _list_first_events(wide, fields, events)
        else:
            least = _find_contexts(even, fields)
            _predict_row(even, nb.int32(_LATER), fields)
            if least == 0:
                count = _list_events(wide, fields, events, count)
        if even > wide:
            # a quad that is not there is coded like nothing amid nothing, which has no codeword
            fields[_CODE + even] = 0
        pairs = 0 if row > 0 else MOST_OFFSETS * MOST_OFFSETS
        word_at, word_pending, word_used = _write_words(words, word_at, word_pending, word_used, even, pairs, fields)
        _measure_bits(values, upper, lower, even, fields, longs)
        at, pending, used = _write_samples(bits, at, pending, used, values, upper, lower, even, fields, longs)
        for k in range(1, even + 1):
            fields[_SIGNIFICANCE_ABOVE + k] = fields[_SIGNIFICANCE + k]
            fields[_LEFT_ABOVE + k] = fields[_LEFT + k]
            fields[_RIGHT_ABOVE + k] = fields[_RIGHT + k]
    bits[at] = pending
    words[word_at] = word_pending
    return 8 * at + used, 8 * word_at + word_used, count


@nb.njit(**OPTIONS)
def _double(sample):
    """Return twice a magnitude less one, whose highest bit is that of the exponent; nothing for nothing."""
    magnitude = nb.int32(sample & nb.uint32(0x7FFFFFFF))
    return nb.int32(nb.int32(magnitude + magnitude) - nb.int32(magnitude != 0))


@nb.njit(**OPTIONS)
def _is_highest(one, every):
    """Tell whether a number is as long as one that has all its bits, and not nothing."""
    return nb.int32((one ^ every) < (one & every))


@nb.njit(**OPTIONS)
def _measure_row(values, upper, lower, count, fields):
    """Write which samples of each quad are significant, how long they are, and the longest ones."""
    for k in range(count):
        first, second = _double(values[upper + 2 * k]), _double(values[lower + 2 * k])
        third, fourth = _double(values[upper + 2 * k + 1]), _double(values[lower + 2 * k + 1])
        every = nb.int32(first | second | third | fourth)
        fields[_SIGNIFICANCE + 1 + k] = nb.int32(
            nb.int32(first != 0) | nb.int32(second != 0) << 1 | nb.int32(third != 0) << 2 | nb.int32(fourth != 0) << 3
        )
        fields[_HIGHEST + 1 + k] = nb.int32(
            _is_highest(first, every)
            | _is_highest(second, every) << 1
            | _is_highest(third, every) << 2
            | _is_highest(fourth, every) << 3
        )
        fields[_LEFT + 1 + k] = second
        fields[_RIGHT + 1 + k] = fourth
        fields[_OWN + 1 + k] = count_bits(every)


@nb.njit(**OPTIONS)
def _find_first_contexts(count, fields):
    """Write the context of each quad of the first row, which depends on the one before it."""
    for k in range(count):
        before = fields[_SIGNIFICANCE + k]
        fields[_CONTEXT + 1 + k] = nb.int32((before | before >> 1) & 1 | before >> 1 & 6)


@nb.njit(**OPTIONS)
def _find_contexts(count, fields):
    """Write the context of each quad of another row; return the least of them."""
    least = nb.int32(7)
    for k in range(count):
        before, corner = fields[_SIGNIFICANCE + k], fields[_SIGNIFICANCE_ABOVE + k]
        above, after = fields[_SIGNIFICANCE_ABOVE + 1 + k], fields[_SIGNIFICANCE_ABOVE + 2 + k]
        context = nb.int32(
            (corner >> 3 | above >> 1) & 1 | (before >> 1 | before >> 2) & 2 | (above >> 1 | after << 1) & 4
        )
        fields[_CONTEXT + 1 + k] = context
        least = nb.int32(min(least, context))
    return least


@nb.njit(**OPTIONS)
def _predict_row(count, table, fields):
    """Write the exponent of each quad, by how much it exceeds what the row above predicts, and its codeword."""
    for k in range(1, count + 1):
        significant, context = fields[_SIGNIFICANCE + k], fields[_CONTEXT + k]
        around = nb.int32(
            fields[_RIGHT_ABOVE - 1 + k]
            | fields[_LEFT_ABOVE + k]
            | fields[_RIGHT_ABOVE + k]
            | fields[_LEFT_ABOVE + 1 + k]
        )
        # a sample alone in its quad is not predicted
        is_predicted = nb.int32(significant & nb.int32(significant - 1)) != 0
        predicted = nb.int32(count_bits(nb.int32((around if is_predicted else nb.int32(0)) | 3)) - 1)
        exponent = nb.int32(max(fields[_OWN + k], predicted))
        offset = nb.int32(exponent - predicted) if significant != 0 else nb.int32(0)
        fields[_EXPONENT + k] = exponent
        fields[_OFFSET + k] = offset
        # without an offset no sample stands out
        highest = fields[_HIGHEST + k] if offset != 0 else nb.int32(0)
        fields[_CODE + k] = nb.int32(table | context << 8 | significant << 4 | highest)


@nb.njit(**OPTIONS)
def _list_first_events(count, fields, events):
    """Write the events of the first row, where each pair of quads may have one of its own; return how many."""
    number = nb.int64(0)
    for k in range(1, count + 1, 2):
        events[number] = fields[_SIGNIFICANCE + k] != 0
        number += fields[_CONTEXT + k] == 0
        if k < count:
            events[number] = fields[_SIGNIFICANCE + 1 + k] != 0
            number += fields[_CONTEXT + 1 + k] == 0
            least = min(fields[_OFFSET + k], fields[_OFFSET + 1 + k])
            events[number] = least > 2
            number += least > 0
    return number


@nb.njit(**OPTIONS)
def _list_events(count, fields, events, number):
    """Add the events of another row; return how many there are."""
    for k in range(1, count + 1):
        events[number] = fields[_SIGNIFICANCE + k] != 0
        number += fields[_CONTEXT + k] == 0
    return number


@nb.njit(**OPTIONS)
def _write_words(words, at, pending, used, count, pairs, fields):
    """Add the codewords of a row and those of offsets, two quads at a time; see `_append` for what is returned."""
    codes, pair_codes = address(QUAD_CODES), address(PAIR_CODES)
    for k in range(1, count + 1, 2):
        code, next_code = nb.int64(codes[fields[_CODE + k]]), nb.int64(codes[fields[_CODE + 1 + k]])
        fields[_KNOWN + k], fields[_KNOWN + 1 + k] = nb.int32(code >> 12), nb.int32(next_code >> 12)
        number, length = code & 255, code >> 8 & 15
        number |= (next_code & 255) << length
        length += next_code >> 8 & 15
        pair = pair_codes[pairs + fields[_OFFSET + k] * MOST_OFFSETS + fields[_OFFSET + 1 + k]]
        number |= (pair & 0xFFFF) << length
        at, pending, used = _append(words, at, pending, used, number, length + (pair >> 16))
    return at, pending, used


@nb.njit(**OPTIONS)
def _measure_sample(sample, exponent, known):
    """Return how many bits are written of a sample, and these: twice what it has beyond one, and its sign."""
    magnitude = nb.int32(sample & nb.uint32(0x7FFFFFFF))
    count = nb.int32(nb.int32(exponent if magnitude != 0 else nb.int32(0)) - known)
    sign = nb.int32(nb.uint32(sample) >> nb.uint32(31))
    return count, keep_bits(nb.int32(nb.int32(magnitude + magnitude) - nb.int32(2) | sign), count)


@nb.njit(**OPTIONS)
def _measure_bits(values, upper, lower, count, fields, longs):
    """Write the bits of the samples of each quad, and how many these are; of more than 64, what does not matter."""
    for k in range(count):
        exponent, known = fields[_EXPONENT + 1 + k], fields[_KNOWN + 1 + k]
        first, bits = _measure_sample(values[upper + 2 * k], exponent, nb.int32(known & 1))
        second, more = _measure_sample(values[lower + 2 * k], exponent, nb.int32(known >> 1 & 1))
        left = nb.int64(bits) | nb.int64(more) << nb.int64(first)
        third, bits = _measure_sample(values[upper + 2 * k + 1], exponent, nb.int32(known >> 2 & 1))
        fourth, more = _measure_sample(values[lower + 2 * k + 1], exponent, nb.int32(known >> 3 & 1))
        right = nb.int64(bits) | nb.int64(more) << nb.int64(third)
        half = nb.int32(first + second)
        longs[k] = left | right << nb.int64(half)
        fields[_LENGTH + k] = nb.int32(half + nb.int32(third + fourth))


@nb.njit(**OPTIONS)
def _write_samples(bits, at, pending, used, values, upper, lower, count, fields, longs):
    """Add the bits of all samples of a row; see `_append` for what is returned."""
    for k in range(count):
        length = nb.int64(fields[_LENGTH + k])
        if is_rare(length > _MOST_AT_ONCE):
            exponent, known = fields[_EXPONENT + 1 + k], fields[_KNOWN + 1 + k]
            for number in range(4):
                sample = values[(lower if number & 1 else upper) + 2 * k + (number >> 1)]
                own, rest = _measure_sample(sample, exponent, nb.int32(known >> number & 1))
                at, pending, used = _append(bits, at, pending, used, nb.int64(rest), nb.int64(own))
        else:
            at, pending, used = _append(bits, at, pending, used, longs[k], length)
    return at, pending, used
