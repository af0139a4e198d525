"""The significance propagation pass of the decoder, of one block or of two at the same time.

No branch depends on symbols, which are as good as random: a block would wait for itself, and the other one with it.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, count_trailing, is_rare, skip
from subband.codecs.jpeg2000.blocks.loops.columns import find_sign
from subband.codecs.jpeg2000.blocks.loops.contexts import AROUND, SELF
from subband.codecs.jpeg2000.blocks.loops.groups import close_group, find_later, open_group
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import decode_evenly, put, take

__all__ = ["decode_significance"]


@nb.njit(**OPTIONS)
def decode_significance(arrays, shape, other_arrays, other_shape, value, is_causal, data):
    """Decode the pass of two blocks; one that has no stripes is left alone."""
    columns, words, magnitudes, states, contexts, registers = arrays
    columns2, words2, magnitudes2, _, contexts2, registers2 = other_arrays
    interval, code, waiting = take(registers)
    interval2, code2, waiting2 = take(registers2)
    group, at, column, first, now, free = open_group(columns, words, shape, is_causal, nb.int64(0))
    here, values = skip(words, column), skip(magnitudes, first)
    group2, at2, column2, first2, now2, free2 = open_group(columns2, words2, other_shape, is_causal, nb.int64(0))
    here2, values2 = skip(words2, column2), skip(magnitudes2, first2)
    seen, seen2 = now, now2
    while now != 0 and now2 != 0:
        now, seen, interval, code, waiting = _decode(
            now, seen, free, here, values, value, shape[0],
            states, contexts, interval, code, waiting, registers, data,
        )  # fmt: skip
        now2, seen2, interval2, code2, waiting2 = _decode(
            now2, seen2, free2, here2, values2, value, other_shape[0],
            states, contexts2, interval2, code2, waiting2, registers2, data,
        )  # fmt: skip
        if is_rare(now == 0):
            close_group(columns, words, at, column, seen)
            group, at, column, first, now, free = open_group(columns, words, shape, is_causal, group)
            here, values = skip(words, column), skip(magnitudes, first)
            seen = now
        if is_rare(now2 == 0):
            close_group(columns2, words2, at2, column2, seen2)
            group2, at2, column2, first2, now2, free2 = open_group(columns2, words2, other_shape, is_causal, group2)
            here2, values2 = skip(words2, column2), skip(magnitudes2, first2)
            seen2 = now2
    while now != 0:
        now, seen, interval, code, waiting = _decode(
            now, seen, free, here, values, value, shape[0],
            states, contexts, interval, code, waiting, registers, data,
        )  # fmt: skip
        if is_rare(now == 0):
            close_group(columns, words, at, column, seen)
            group, at, column, first, now, free = open_group(columns, words, shape, is_causal, group)
            here, values = skip(words, column), skip(magnitudes, first)
            seen = now
    while now2 != 0:
        now2, seen2, interval2, code2, waiting2 = _decode(
            now2, seen2, free2, here2, values2, value, other_shape[0],
            states, contexts2, interval2, code2, waiting2, registers2, data,
        )  # fmt: skip
        if is_rare(now2 == 0):
            close_group(columns2, words2, at2, column2, seen2)
            group2, at2, column2, first2, now2, free2 = open_group(columns2, words2, other_shape, is_causal, group2)
            here2, values2 = skip(words2, column2), skip(magnitudes2, first2)
            seen2 = now2
    put(registers, interval, code, waiting)
    put(registers2, interval2, code2, waiting2)


@nb.njit(forceinline=True, **OPTIONS)
def _decode(
    now, seen, free, words, magnitudes, value, zeros, states, contexts, interval, code, waiting, registers, data
):
    """Decode a coefficient and its sign, if it has one; return what comes next, and what has come altogether."""
    at = count_trailing(now)
    column, row = at >> 2, at & 3
    word = nb.int64(words[column])
    here = word >> (3 * row)
    mask, interval, code, waiting = decode_evenly(
        nb.int64(zeros[here & AROUND]), nb.int64(-1), states, contexts, interval, code, waiting, registers, data
    )
    context = find_sign(here)
    sign, interval, code, waiting = decode_evenly(
        context >> 1, mask, states, contexts, interval, code, waiting, registers, data
    )
    magnitudes[at] |= nb.uint32(value & mask)
    found = (SELF | nb.int64(SELF) << 32 & (sign ^ -(context & 1))) << (3 * row) & mask
    words[column] = word | found
    words[column + 1] |= found >> 1
    later = find_later(at, free) & mask
    return now & (now - 1) | later, seen | later, interval, code, waiting
