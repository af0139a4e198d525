"""The cleanup pass of the decoder."""

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
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import decode_symbol, put_margin, take_margin

__all__ = ["decode_cleanup", "decode_mark"]


@nb.njit(**OPTIONS)
def decode_cleanup(arrays, shape, below, value, is_causal, data):
    """Decode the cleanup pass of a bit plane, and forget which coefficients were visited; `below` are not there.

    Few of its symbols are surprising, so that branches are faster than going without them.
    """
    columns, words, magnitudes, states, contexts, registers = arrays
    zeros, width, stripes = shape
    interval, code, margin, waiting = take_margin(registers)
    for strip in range(count_strips(width, stripes)):
        at, first, keep, left = open_strip(columns, words, shape, strip, below, is_causal)
        while left != 0:
            column = count_trailing(left)
            left &= left - 1
            word = words[column] | (columns[at + column - 1] & SIGNED) >> 1
            ready = ~(word | word >> 16) & SELVES
            is_known = False
            if word & (SIGNIFICANCE | VISITS) == 0:
                bit, interval, code, margin, waiting = decode_symbol(
                    nb.int64(RUN), states, contexts, interval, code, margin, waiting, registers, data
                )
                if bit == 0:
                    continue
                upper, interval, code, margin, waiting = decode_symbol(
                    nb.int64(UNIFORM), states, contexts, interval, code, margin, waiting, registers, data
                )
                lower, interval, code, margin, waiting = decode_symbol(
                    nb.int64(UNIFORM), states, contexts, interval, code, margin, waiting, registers, data
                )
                ready &= nb.int64(-SELF) << (3 * (upper & 2 | lower & 1))
                is_known = True
            while ready != 0:
                shift = count_trailing(ready) - 4
                here = word >> shift
                ready &= ready - 1
                bit = nb.int64(-1)
                if not is_known:
                    context = nb.int64(zeros[here & AROUND])
                    bit, interval, code, margin, waiting = decode_symbol(
                        context, states, contexts, interval, code, margin, waiting, registers, data
                    )
                is_known = False
                if bit != 0:
                    # a third of the shift is the row
                    magnitudes[first + 4 * column + (shift * 11 >> 5)] = value
                    context = find_sign(here)
                    sign, interval, code, margin, waiting = decode_symbol(
                        context >> 1, states, contexts, interval, code, margin, waiting, registers, data
                    )
                    word |= (SELF | nb.int64(SELF) << 32 & (sign ^ -(context & 1))) << shift
            columns[at + column] = word & OWN & keep
    put_margin(registers, interval, code, margin, waiting)


@nb.njit(**OPTIONS)
def decode_mark(arrays, data):
    """Return the four bits that stand behind a cleanup pass to show that nothing went wrong."""
    _, _, _, states, contexts, registers = arrays
    interval, code, margin, waiting = take_margin(registers)
    mark = 0
    for _ in range(4):
        bit, interval, code, margin, waiting = decode_symbol(
            nb.int64(UNIFORM), states, contexts, interval, code, margin, waiting, registers, data
        )
        mark = 2 * mark - bit
    put_margin(registers, interval, code, margin, waiting)
    return mark
