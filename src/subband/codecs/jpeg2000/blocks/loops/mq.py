"""The arithmetic coder: symbols in, bytes out.

The encoder gets the symbols of a pass as a list, so that its registers stay registers. In between, these have the form
that `REGISTERS` describes. While symbols are encoded, the interval has 16 bits below those of the standard, so that one
instruction tells how far it is to be shifted, and the code has a one above all of its bits, so that it counts its
shifts by itself.

A byte can only be written by a branch, which is as good as random. So several wait in the code. When they are written,
some carry may have passed all of them, while the standard would have stopped it behind a byte of ones. A byte that is
zero may have been one; then all is encoded once more from where bytes were written last, byte by byte.

A segment starts with the byte in front of its first, which never receives anything: the standard's way to start.
Therefore the buffer has at least one byte in front of every segment.

References
----------
ISO/IEC 15444-1, annex C.2; D.4.2 for the ends of segments.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import (
    OPTIONS,
    address,
    choose,
    count_leading,
    count_shift,
    is_rare,
    look_up,
    point_to,
    skip,
)
from subband.codecs.jpeg2000.blocks.loops.contexts import INITIAL, STATES
from subband.typing import Array

__all__ = [
    "AT",
    "BYTE",
    "CODE",
    "CONTEXTS",
    "CROWDED",
    "FREE",
    "INTERVAL",
    "LANES",
    "REGISTERS",
    "encode_symbols",
    "encode_together",
    "finish_segment",
    "list_choices",
    "reset_contexts",
    "start_segment",
]

#: Registers of the encoder: size of the interval, its lower end, bits until a byte is complete, the byte that may still
#: receive a carry, where this byte goes, and the symbol that comes next.
INTERVAL, CODE, FREE, BYTE, AT, NEXT, REGISTERS = range(7)

#: How many contexts a block has.
CONTEXTS = 19

#: Blocks that are encoded at the same time.
LANES = 3

# Of a state, for both decisions: the estimate as bits of the interval, whether the decision is the less probable one
# (as a mask), the state that follows if the interval is shifted, and the estimate as bits of the code.
_LARGE, _LESS, _AFTER, _SMALL, _CHOICES = range(0, 10, 2)

# Bits of the interval below those of the standard, and where the one above the code is when a byte is complete.
_FINE, _COMPLETE = 16, 28

#: The code when three bytes are complete; it is shifted by up to 15 bits more.
CROWDED = 1 << 44

# How many bits more than one byte are complete, by the zeros above all bits of the code.
_ABOVE = 63 - _COMPLETE


def _list_choices() -> Array:
    """Return what the encoder has to know of each state and decision; states are numbered."""
    table = np.zeros((len(STATES), _CHOICES), np.int64)
    for number, word in enumerate(STATES.tolist()):
        estimate, after_more, after_less, more = word >> 40, word >> 8 & 0xFF, word >> 16 & 0xFF, word & 1
        for decision in (0, 1):
            is_less = decision != more
            table[number, _LARGE + decision] = estimate << _FINE
            table[number, _LESS + decision] = -is_less
            table[number, _AFTER + decision] = after_less if is_less else after_more
            table[number, _SMALL + decision] = estimate
    return table.ravel()


_TABLE = _list_choices()

# The numbers of the states before the first symbol.
_FIRST = INITIAL >> 24 & 0xFF


@nb.njit(**OPTIONS)
def list_choices():
    """Return what the encoder has to know of each state and decision; states are known by where they are in it."""
    choices = np.empty(_TABLE.size, np.int64)
    for k in range(_TABLE.size):
        choices[k] = _TABLE[k]
    for state in range(0, _TABLE.size, _CHOICES):
        for after in range(state + _AFTER, state + _AFTER + 2):
            choices[after] = point_to(choices, _TABLE[after] * _CHOICES)
    return choices


@nb.njit(**OPTIONS)
def reset_contexts(choices, contexts):
    """Forget what the contexts of a block have learnt."""
    for context in range(CONTEXTS):
        contexts[context] = point_to(choices, nb.int64(_FIRST[context] * _CHOICES))


@nb.njit(**OPTIONS)
def start_segment(registers, at):
    """Prepare the encoder to write a segment at `at`."""
    registers[INTERVAL] = 0x8000
    registers[CODE] = 0
    registers[FREE] = 12
    registers[BYTE] = 0
    registers[AT] = at - 1
    registers[NEXT] = 0


@nb.njit(forceinline=True, **OPTIONS)
def _take(registers):
    """Return interval and code as they are while symbols are encoded."""
    return registers[INTERVAL] << _FINE, registers[CODE] | nb.int64(1) << (_COMPLETE - registers[FREE])


@nb.njit(forceinline=True, **OPTIONS)
def _put(interval, code, registers):
    """Keep interval and code, in which no byte is complete."""
    top = 63 - count_leading(code)
    registers[INTERVAL], registers[CODE] = interval >> _FINE, code ^ nb.int64(1) << top
    registers[FREE] = _COMPLETE - top


@nb.njit(**OPTIONS)
def encode_symbols(symbols, first, last, choices, contexts, registers, out):
    """Encode the symbols `first` … `last`: twice the context, plus the decision."""
    _encode_exactly(
        address(symbols), first, last, address(choices), address(contexts), address(registers), address(out)
    )


@nb.njit(**OPTIONS)
def _encode_exactly(symbols, first, last, choices, contexts, registers, out):
    """Encode symbols, and write each byte when it is complete."""
    interval, code = _take(registers)
    for k in range(first, last):
        interval, code = _encode(nb.int64(symbols[k]), choices, contexts, nb.int64(0), interval, code)
        if is_rare(code >= 1 << _COMPLETE):
            code, registers[BYTE], registers[AT], _ = _emit(code, registers[BYTE], registers[AT], out)
    _put(interval, code, registers)


@nb.njit(**OPTIONS)
def encode_together(symbols, count, choices, contexts, kept, registers, out, limit):
    """Encode some symbols of several blocks at the same time, each with a row of every array.

    A symbol depends on the one before, so that the processor is idle most of the time; other blocks fill the gaps.
    `kept` holds the contexts as they were when bytes were written last, which is now. `limit` is `CROWDED`.
    """
    lane, lane2, lane3 = (
        (address(symbols[0]), address(kept[0]), address(registers[0]), address(out[0])),
        (address(symbols[1]), address(kept[1]), address(registers[1]), address(out[1])),
        (address(symbols[2]), address(kept[2]), address(registers[2]), address(out[2])),
    )
    choices, contexts = address(choices), address(contexts)
    symbols = skip(lane[0], registers[0, NEXT])
    symbols2, symbols3 = skip(lane2[0], registers[1, NEXT]), skip(lane3[0], registers[2, NEXT])
    (a, c), (a2, c2), (a3, c3) = _take(lane[2]), _take(lane2[2]), _take(lane3[2])
    base, base2, base3 = nb.int64(0), nb.int64(CONTEXTS), nb.int64(2 * CONTEXTS)
    done, done2, done3 = nb.int64(0), nb.int64(0), nb.int64(0)
    for k in range(count):
        a, c = _encode(nb.int64(symbols[k]), choices, contexts, base, a, c)
        if is_rare(c >= limit):
            c = _flush(a, c, k + 1 - done, choices, skip(contexts, base), lane)
            done = k + 1
        a2, c2 = _encode(nb.int64(symbols2[k]), choices, contexts, base2, a2, c2)
        if is_rare(c2 >= limit):
            c2 = _flush(a2, c2, k + 1 - done2, choices, skip(contexts, base2), lane2)
            done2 = k + 1
        a3, c3 = _encode(nb.int64(symbols3[k]), choices, contexts, base3, a3, c3)
        if is_rare(c3 >= limit):
            c3 = _flush(a3, c3, k + 1 - done3, choices, skip(contexts, base3), lane3)
            done3 = k + 1
    _flush_exactly(a, c, count - done, choices, skip(contexts, base), lane)
    _flush_exactly(a2, c2, count - done2, choices, skip(contexts, base2), lane2)
    _flush_exactly(a3, c3, count - done3, choices, skip(contexts, base3), lane3)


@nb.njit(forceinline=True, **OPTIONS)
def _encode(symbol, choices, contexts, base, interval, code):
    """Encode a symbol without a branch: it would be as good as random, and other blocks would wait for it, too."""
    state, decision = contexts[base + (symbol >> 1)], symbol & 1
    estimate = look_up(choices, state, _LARGE + decision)
    rest = interval - estimate
    # the more probable symbol always gets the larger part
    is_lower = (rest - estimate) ^ look_up(choices, state, _LESS + decision) < 0
    interval = choose(is_lower, estimate, rest)
    code += choose(is_lower, nb.int64(0), look_up(choices, state, _SMALL + decision))
    shift = count_shift(interval)
    is_whole = nb.int32(interval) < 0
    contexts[base + (symbol >> 1)] = choose(is_whole, state, look_up(choices, state, _AFTER + decision))
    return interval << shift, code << shift


@nb.njit(forceinline=True, **OPTIONS)
def _emit_byte(code, free, byte, at, out):
    """Move a byte from the register to the buffer; the register may have been shifted too far, by `-free` bits."""
    over = -free
    if byte != 0xFF:
        byte += code >> (27 + over)
        code &= (1 << (27 + over)) - 1
    out[at] = byte
    # behind 0xFF comes a byte with room for a carry, so that no marker can appear
    size = 7 if byte == 0xFF else 8
    keep_bits = 27 - size + over
    return code & ((1 << keep_bits) - 1), free + size, code >> keep_bits, at + 1


@nb.njit(forceinline=True, **OPTIONS)
def _emit(code, byte, at, out):
    """Move the bytes that are complete to the buffer, and tell whether none of those left behind may be wrong."""
    top = 63 - count_leading(code)
    code, free = code ^ nb.int64(1) << top, _COMPLETE - top
    is_sure = True
    while free <= 0:
        code, free, byte, at = _emit_byte(code, free, byte, at, out)
        is_sure &= byte != 0
    return code | nb.int64(1) << (_COMPLETE - free), byte, at, is_sure


@nb.njit(forceinline=True, **OPTIONS)
def _flush(interval, code, count, choices, contexts, lane):
    """Write the bytes that are complete after so many more symbols, and return what is left of the code."""
    _, kept, registers, out = lane
    at, over = registers[AT], _ABOVE - count_leading(code)
    rest = nb.int64(1) << (over + 3)
    # the byte that may receive a carry, and the three that are complete
    word = (registers[BYTE] << 24) + ((code ^ rest << 25) >> (over + 3))
    if is_rare(over >= 24 or _has_odd_byte(word)):
        return _flush_exactly(interval, code, count, choices, contexts, lane)
    out[at], out[at + 1], out[at + 2] = word >> 24, word >> 16 & 0xFF, word >> 8 & 0xFF
    code &= rest - 1
    registers[INTERVAL], registers[CODE], registers[FREE] = interval >> _FINE, code, 24 - over
    registers[BYTE], registers[AT] = word & 0xFF, at + 3
    registers[NEXT] += count
    for context in range(CONTEXTS):
        kept[context] = contexts[context]
    return code | rest << 1


@nb.njit(forceinline=True, **OPTIONS)
def _has_odd_byte(word):
    """Tell whether one of four bytes is 0 or 0xFF."""
    zeros = (word - 0x01010101) & ~word
    return (zeros | (~word - 0x01010101) & word) & 0x80808080 != 0


@nb.njit(**OPTIONS)
def _flush_exactly(interval, code, count, choices, contexts, lane):
    """Do the same for all numbers of bytes, whatever they are."""
    symbols, kept, registers, out = lane
    following = registers[NEXT] + count
    left, byte, at, is_sure = _emit(code, registers[BYTE], registers[AT], out)
    if is_sure:
        registers[BYTE], registers[AT] = byte, at
        _put(interval, left, registers)
    else:
        _encode_exactly(symbols, registers[NEXT], following, choices, kept, registers, out)
        _, left = _take(registers)
    registers[NEXT] = following
    for context in range(CONTEXTS):
        kept[context] = contexts[context]
    return left


@nb.njit(**OPTIONS)
def finish_segment(registers, out, is_predictable):
    """Write what is left in the registers and return where the segment ends."""
    out = address(out)
    code, free = registers[CODE], registers[FREE]
    byte, at = registers[BYTE], registers[AT]
    if is_predictable:
        left = 12 - free
        while left > 0:
            code, free, byte, at = _emit_byte(code << free, nb.int64(0), byte, at, out)
            left -= free
    else:
        limit = code + registers[INTERVAL]
        code |= 0xFFFF
        if code >= limit:
            code -= 0x8000
        code, free, byte, at = _emit_byte(code << free, nb.int64(0), byte, at, out)
        code, free, byte, at = _emit_byte(code << free, nb.int64(0), byte, at, out)
    if byte != 0xFF:
        out[at] = byte
        at += 1
    return at
