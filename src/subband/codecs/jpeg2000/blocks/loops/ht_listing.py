"""Writing the quads of a high-throughput block as plain bits: of samples, of codewords, and events for the runs.

All that a codeword depends on is known from the start, so that nothing waits but the positions of bits, which are kept
in registers until eight bits are full.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, count_leading
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_context, find_pitch
from subband.codecs.jpeg2000.blocks.loops.ht_tables import MOST_OFFSETS, PAIR_CODES, QUAD_CODES
from subband.codecs.jpeg2000.blocks.loops.ht_vectors import find_highest, measure_pair, pack_pair
from subband.codecs.jpeg2000.blocks.loops.words import measure_bits, store_word

__all__ = ["list_quads"]

# How many bits can be added to those of a byte that are waiting.
_MOST_AT_ONCE = 56


@nb.njit(**OPTIONS)
def _append(bits, at, pending, used, number, count):
    """Add up to 56 bits behind less than eight that wait; return where the next byte goes, and what waits then."""
    pending |= number << used
    used += count
    store_word(bits, at, pending)
    full = used >> 3
    # a shift by all 64 bits is none
    return at + full, (pending >> (4 * full)) >> (4 * full) & 255, used & 7


@nb.njit(**OPTIONS)
def list_quads(values, height, width, bits, words, events, tops, significance, every, numbers, lengths):
    """Write the plain bits of samples and codewords, and the events of the run-length code; return how many of each.

    `tops` is as for the decoder, `significance` holds that of the quads above and of this row, both with an empty quad
    before and behind, and the other arrays are scratch.
    """
    values, bits, words = address(values), address(bits), address(words)
    events, tops, significance = address(events), address(tops), address(significance)
    every, numbers, lengths = address(every), address(numbers), address(lengths)
    codes, pair_codes = address(QUAD_CODES), address(PAIR_CODES)
    wide, stride = (width + 1) // 2, find_pitch(width)
    even = wide + wide % 2
    for k in range(2 * (even + 2)):
        tops[k] = 0
        significance[k] = 0
    at, pending, used = nb.int64(0), nb.int64(0), nb.int64(0)
    word_at, word_pending, word_used = nb.int64(0), nb.int64(0), nb.int64(0)
    count = nb.int64(0)
    for row in range((height + 1) // 2):
        above, own = (even + 2, 0) if row % 2 else (0, even + 2)
        upper = 2 * row * stride
        for column in range(0, even, 2):
            found = measure_pair(
                values, upper + 2 * column, upper + stride + 2 * column, tops, own + 1 + column, every, column
            )
            significance[own + 1 + column] = (found & 15) << 4
            significance[own + 2 + column] = found & 0xF0
        table = 2048 if row > 0 else 0
        pairs = 0 if row > 0 else MOST_OFFSETS * MOST_OFFSETS
        for column in range(0, even, 2):
            first, context = _find_state(significance, above, own, column, row)
            second, next_context = _find_state(significance, above, own, column + 1, row)
            predicted = _predict(tops, above + column, first)
            next_predicted = _predict(tops, above + column + 1, second)
            exponent, offset = _measure_exponent(every[column], predicted, first)
            next_exponent, next_offset = _measure_exponent(every[column + 1], next_predicted, second)
            left, right = upper + 2 * column, upper + stride + 2 * column
            highest = find_highest(values, left, right, exponent - 1, next_exponent - 1)
            # without an offset no sample stands out
            own_highest = highest & 15 & -nb.int64(offset > 0)
            next_highest = highest >> 4 & -nb.int64(next_offset > 0)
            code = nb.int64(codes[table + (context << 8) + first + own_highest])
            next_code = nb.int64(codes[table + (next_context << 8) + second + next_highest])
            if column + 1 >= wide:
                next_code = nb.int64(0)
            else:
                next_context += 8
            events[count] = first > 0
            count += context == 0
            # only a quad that is there has an event
            events[count] = second > 0
            count += next_context == 8
            if row == 0 and offset > 0 and next_offset > 0:
                events[count] = offset > 2 and next_offset > 2
                count += 1
            number, length = code & 255, code >> 8 & 15
            number |= (next_code & 255) << length
            length += next_code >> 8 & 15
            pair_code = pair_codes[pairs + offset * MOST_OFFSETS + next_offset]
            word_at, word_pending, word_used = _append(
                words, word_at, word_pending, word_used, number | (pair_code & 0xFFFF) << length,
                length + (pair_code >> 16),
            )  # fmt: skip
            pack_pair(
                values, left, right, exponent, next_exponent, code >> 12 & 15 | next_code >> 8 & 0xF0, numbers, lengths
            )
            for quad in range(0, 4, 2):
                both = lengths[quad] + lengths[quad + 1]
                if both <= _MOST_AT_ONCE:
                    joint = numbers[quad] | numbers[quad + 1] << lengths[quad]
                    at, pending, used = _append(bits, at, pending, used, joint, both)
                else:
                    for half in range(quad, quad + 2):
                        # the samples of one half may have more bits than can be added at once
                        short = min(lengths[half], 32)
                        number = numbers[half]
                        at, pending, used = _append(bits, at, pending, used, number & ((1 << short) - 1), short)
                        at, pending, used = _append(bits, at, pending, used, number >> short, lengths[half] - short)
    bits[at] = pending
    words[word_at] = word_pending
    return 8 * at + used, 8 * word_at + word_used, count


@nb.njit(**OPTIONS)
def _find_state(significance, above, own, column, row):
    """Return the significance of a quad, from bit 4 on, and its context."""
    at = own + 1 + column
    top = above + 1 + column
    context = find_context(row, significance[top - 1], significance[top], significance[top + 1], significance[at - 1])
    return significance[at], context


@nb.njit(**OPTIONS)
def _predict(tops, above, significant):
    """Return the exponent that the samples above a quad predict; one sample alone is not predicted."""
    around = (tops[above] >> 32 | tops[above + 1] >> 32 | tops[above + 1] | tops[above + 2]) & 0x7FFFFFFF
    is_predicted = nb.int64(significant & (significant - 16) != 0)
    return 63 - count_leading(around & -is_predicted | 3)


@nb.njit(**OPTIONS)
def _measure_exponent(every, predicted, significant):
    """Return the exponent of a quad, and by how much it exceeds what is predicted; 1 and 0 if nothing is there."""
    own = measure_bits((every >> 32 | every) & 0x7FFFFFFF)
    exponent = max(own, predicted)
    return exponent, (exponent - predicted) & -nb.int64(significant > 0)
