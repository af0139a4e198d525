"""The bytes of a block from its symbols: codeword segments, and where they may be cut."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.codecs.jpeg2000.blocks.loops.contexts import INITIAL
from subband.codecs.jpeg2000.blocks.loops.mq import (
    AT,
    CONTEXTS,
    FREE,
    REGISTERS,
    encode_symbols,
    encode_two,
    finish_raw,
    finish_segment,
    measure_length,
    start_raw,
    start_segment,
    write_raw,
)
from subband.codecs.jpeg2000.blocks.styles import PREDICTABLE, RESET
from subband.codecs.jpeg2000.loops.segments import count_room, is_raw_pass

__all__ = ["code_one", "code_two"]


@nb.njit(**OPTIONS)
def _reset(contexts, first):
    """Forget what the contexts of a block have learnt."""
    for context in range(CONTEXTS):
        contexts[first + context] = INITIAL[context]


@nb.njit(**OPTIONS)
def _keep(registers, state):
    """Note the registers as they are after a pass."""
    for register in range(REGISTERS):
        state[register] = registers[register]


@nb.njit(**OPTIONS)
def code_one(symbols, stops, passes, style, contexts, states, out, ends):
    """Write the passes of a block from the second byte of `out` on, and return how many bytes they are.

    The symbols of a pass end where `stops` says; `states` receives the registers after each pass.
    """
    _reset(contexts, nb.int64(0))
    begin, end = nb.int64(1), nb.int64(1)
    first, first_pass = nb.int64(0), nb.int64(0)
    for number in range(passes):
        is_raw = is_raw_pass(number, style)
        registers = states[number]
        if number > first_pass:
            _keep(states[number - 1], registers)
        elif is_raw:
            start_raw(registers, begin)
        else:
            start_segment(registers, begin)
        if is_raw:
            write_raw(symbols, first, stops[number], registers, out)
        else:
            # the byte in front of the segment belongs to the one before
            before = out[begin - 1]
            encode_symbols(symbols, first, stops[number], contexts, registers, out)
            out[begin - 1] = before
        first = stops[number]
        if style & RESET != 0:
            _reset(contexts, nb.int64(0))
        if number == passes - 1 or count_room(number, style) == 1:
            if is_raw:
                end = _end_raw(states, first_pass, number, out, begin, style, ends)
            else:
                end = _end_coded(states, first_pass, number, out, begin, style, ends)
            begin, first_pass = end, number + 1
    return end - 1


@nb.njit(**OPTIONS)
def code_two(
    symbols, stops, passes, states, out, ends,
    other_symbols, other_stops, other_passes, other_states, other_out, other_ends,
    style, contexts, registers,
):  # fmt: skip
    """Do what `code_one` does, for two blocks of a single segment each, and return the bytes of both."""
    _reset(contexts, nb.int64(0))
    _reset(contexts, nb.int64(CONTEXTS))
    mine, others = registers[:REGISTERS], registers[REGISTERS : 2 * REGISTERS]
    # Numba would compile what is called once more for a plain 0 or 1
    none, one = nb.int64(0), nb.int64(1)
    start_segment(mine, one)
    start_segment(others, one)
    k, other_k, number, other_number = none, none, none, none
    while number < passes and other_number < other_passes:
        count = min(stops[number] - k, other_stops[other_number] - other_k)
        encode_two(symbols, k, other_symbols, other_k, count, contexts, registers, out, other_out)
        k += count
        other_k += count
        while number < passes and k == stops[number]:
            _keep(mine, states[number])
            number += 1
        while other_number < other_passes and other_k == other_stops[other_number]:
            _keep(others, other_states[other_number])
            other_number += 1
    while number < passes:
        encode_symbols(symbols, k, stops[number], contexts, mine, out)
        k = stops[number]
        _keep(mine, states[number])
        number += 1
    for context in range(CONTEXTS):
        contexts[context] = contexts[CONTEXTS + context]
    while other_number < other_passes:
        encode_symbols(other_symbols, other_k, other_stops[other_number], contexts, others, other_out)
        other_k = other_stops[other_number]
        _keep(others, other_states[other_number])
        other_number += 1
    end = _end_coded(states, none, passes - 1, out, one, style, ends)
    other_end = _end_coded(other_states, none, other_passes - 1, other_out, one, style, other_ends)
    return end - 1, other_end - 1


@nb.njit(**OPTIONS)
def _end_coded(states, first, last, out, begin, style, ends):
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
