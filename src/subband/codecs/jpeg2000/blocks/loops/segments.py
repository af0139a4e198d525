"""The bytes of a block from its symbols: codeword segments, and where they may be cut."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.codecs.jpeg2000.blocks.loops.cuts import measure_length
from subband.codecs.jpeg2000.blocks.loops.mq import (
    AT,
    FREE,
    REGISTERS,
    encode_symbols,
    finish_segment,
    reset_contexts,
    start_segment,
)
from subband.codecs.jpeg2000.blocks.loops.raw_bits import finish_raw, start_raw, write_raw
from subband.codecs.jpeg2000.blocks.styles import PREDICTABLE, RESET
from subband.codecs.jpeg2000.loops.segments import count_room, is_raw_pass

__all__ = ["code_alone", "end_coded", "keep_registers"]


@nb.njit(**OPTIONS)
def keep_registers(registers, state):
    """Note the registers as they are after a pass."""
    for register in range(REGISTERS):
        state[register] = registers[register]


@nb.njit(**OPTIONS)
def code_alone(symbols, stops, passes, style, choices, contexts, states, out, ends):
    """Write the passes of a block from the second byte of `out` on, and return how many bytes they are.

    The symbols of a pass end where `stops` says; `states` receives the registers after each pass.
    """
    reset_contexts(choices, contexts)
    begin, end = nb.int64(1), nb.int64(1)
    first, first_pass = nb.int64(0), nb.int64(0)
    for number in range(passes):
        is_raw = is_raw_pass(number, style)
        registers = states[number]
        if number > first_pass:
            keep_registers(states[number - 1], registers)
        elif is_raw:
            start_raw(registers, begin)
        else:
            start_segment(registers, begin)
        if is_raw:
            write_raw(symbols, first, stops[number], registers, out)
        else:
            # the byte in front of the segment belongs to the one before
            before = out[begin - 1]
            encode_symbols(symbols, first, stops[number], choices, contexts, registers, out)
            out[begin - 1] = before
        first = stops[number]
        if style & RESET != 0:
            reset_contexts(choices, contexts)
        if number == passes - 1 or count_room(number, style) == 1:
            if is_raw:
                end = _end_raw(states, first_pass, number, out, begin, style, ends)
            else:
                end = end_coded(states, first_pass, number, out, begin, style, ends)
            begin, first_pass = end, number + 1
    return end - 1


@nb.njit(**OPTIONS)
def end_coded(states, first, last, out, begin, style, ends):
    """End a segment of the arithmetic coder, and find where its passes may be cut."""
    before = out[begin - 1]
    end = finish_segment(states[last], out, style & PREDICTABLE != 0)
    out[begin - 1] = before
    if style & PREDICTABLE == 0:
        end = measure_length(states[last], out, begin, end)
    for number in range(first, last):
        ends[number] = measure_length(states[number], out, begin, end) - 1
    ends[last] = end - 1
    return end


@nb.njit(**OPTIONS)
def _end_raw(states, first, last, out, begin, style, ends):
    """End a segment of raw bits, and find where its passes may be cut."""
    end = finish_raw(states[last], out, begin, style & PREDICTABLE != 0)
    for number in range(first, last):
        used = states[number, AT] + (1 if states[number, FREE] < 8 else 0)
        ends[number] = min(used, end) - 1
    ends[last] = end - 1
    return end
