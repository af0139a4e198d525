"""The arithmetic decoder: bytes in, symbols out.

The registers hold the size of the interval and the code relative to its lower end. Both have 40 bits below the 16 of
the standard, so that several bytes are read at a time. Where no branch depends on symbols, the interval has 16 of them,
so that one instruction tells how far it is to be shifted.

There are two ways to decode a symbol. Where most of them are no surprise, a margin is taken from both registers: as
long as it is not used up, the more probable symbol has come and nothing else is to be done. Where symbols are as good
as random, so would be branches, and none depends on them.

References
----------
ISO/IEC 15444-1, annex C.3; D. S. Taubman and M. W. Marcellin, *JPEG2000*, section 17.1, for the margin.
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
)
from subband.codecs.jpeg2000.blocks.loops.contexts import INITIAL, STATES
from subband.typing import Array

__all__ = [
    "AT",
    "CODE",
    "END",
    "INTERVAL",
    "INVENTED",
    "REGISTERS",
    "WAITING",
    "decode_evenly",
    "decode_symbol",
    "has_predictable_end",
    "has_predictable_raw_end",
    "list_states",
    "put",
    "put_margin",
    "read_raw",
    "reset_contexts",
    "start_decoder",
    "start_raw_decoder",
    "take",
    "take_margin",
]

#: Registers of the decoder: the interval and the code; how many bits wait below the code; where the next byte is and
#: where the segment ends; how many bytes had to be invented because it ended too early.
INTERVAL, CODE, WAITING, AT, END, INVENTED, REGISTERS = range(7)

# The bits of the interval and of the code below those of the standard, and those of an interval that is kept small.
_FINE, _COARSE = 40, 16
_HALF = 1 << (15 + _FINE)

# Of a state: the estimate as bits of the code, and of a small interval; then for the more and the less probable symbol,
# the state that follows if the interval is shifted, and the symbol as a mask.
_LARGE, _SMALL, _AFTER, _SYMBOL, _FIELDS = 0, 1, 2, 4, 6


def _tabulate_states() -> Array:
    """Return what the decoder has to know of each state; states are numbered."""
    table = np.zeros((len(STATES), _FIELDS), np.int64)
    for number, word in enumerate(STATES.tolist()):
        estimate, after_more, after_less, more = word >> 40, word >> 8 & 0xFF, word >> 16 & 0xFF, word & 1
        table[number] = estimate << _FINE, estimate << _COARSE, after_more, after_less, -more, more - 1
    return table.ravel()


_TABLE = _tabulate_states()

# The numbers of the states before the first symbol.
_FIRST = INITIAL >> 24 & 0xFF


@nb.njit(**OPTIONS)
def list_states():
    """Return what the decoder has to know of each state; states are known by where they are in it."""
    states = np.empty(_TABLE.size, np.int64)
    for k in range(_TABLE.size):
        states[k] = _TABLE[k]
    for state in range(0, _TABLE.size, _FIELDS):
        for after in range(state + _AFTER, state + _AFTER + 2):
            states[after] = point_to(states, _TABLE[after] * _FIELDS)
    return states


@nb.njit(**OPTIONS)
def reset_contexts(states, contexts):
    """Forget what the contexts have learnt."""
    for context in range(_FIRST.size):
        contexts[context] = point_to(states, _FIRST[context] * _FIELDS)


@nb.njit(**OPTIONS)
def start_decoder(registers, data, at, end):
    """Prepare the decoder to read a segment."""
    first = 0xFF
    registers[AT], registers[END], registers[INVENTED] = at, end, 1
    if at < end:
        first = nb.int64(data[at])
        registers[AT], registers[INVENTED] = at + 1, 0
    code, waiting = _fill(first << 47, nb.int64(-7), address(registers), address(data))
    registers[INTERVAL], registers[CODE], registers[WAITING] = _HALF, code, waiting


@nb.njit(forceinline=True, **OPTIONS)
def take(registers):
    """Return the registers that a pass keeps in variables, a small interval first."""
    return nb.int64(registers[INTERVAL]) >> (_FINE - _COARSE), nb.int64(registers[CODE]), nb.int64(registers[WAITING])


@nb.njit(forceinline=True, **OPTIONS)
def put(registers, interval, code, waiting):
    """Keep the registers until the next pass, given a small interval."""
    registers[INTERVAL], registers[CODE], registers[WAITING] = interval << (_FINE - _COARSE), code, waiting


@nb.njit(forceinline=True, **OPTIONS)
def take_margin(registers):
    """Return the registers that a pass keeps in variables, less the margin, and the margin."""
    interval, code = nb.int64(registers[INTERVAL]), nb.int64(registers[CODE])
    margin = min(interval - _HALF, code)
    return interval - margin, code - margin, margin, nb.int64(registers[WAITING])


@nb.njit(forceinline=True, **OPTIONS)
def put_margin(registers, interval, code, margin, waiting):
    """Keep the registers until the next pass, given a margin."""
    registers[INTERVAL], registers[CODE], registers[WAITING] = interval + margin, code + margin, waiting


@nb.njit(**OPTIONS)
def _fill(code, waiting, registers, data):
    """Put bytes below the code, ones if there are no more."""
    at, end = registers[AT], registers[END]
    while waiting <= 32:
        size, byte = 8, 0xFF
        if at < end:
            following = nb.int64(data[at])
            if data[at - 1] != 0xFF:
                byte = following
                at += 1
            elif following <= 0x8F:
                byte = following
                size = 7
                at += 1
            else:
                registers[INVENTED] += 1
        else:
            registers[INVENTED] += 1
        waiting += size
        # a carry in the upper bit of a byte behind 0xFF has to be added
        code += byte << (40 - waiting)
    registers[AT] = at
    return code, waiting


@nb.njit(forceinline=True, **OPTIONS)
def decode_symbol(context, states, contexts, interval, code, margin, waiting, registers, data):
    """Return the next symbol as a mask, and the registers that are kept in variables, less the margin."""
    state = contexts[context]
    estimate = look_up(states, state, _LARGE)
    symbol = look_up(states, state, _SYMBOL)
    margin -= estimate
    if margin < 0:
        interval += margin
        code += margin
        is_lower = code < 0
        is_less = nb.int64(is_lower != (interval < estimate))
        code += estimate if is_lower else 0
        interval = estimate if is_lower else interval
        symbol ^= -is_less
        contexts[context] = look_up(states, state, _AFTER + is_less)
        shift = count_leading(interval) - 8
        if waiting < shift:
            code, waiting = _fill(code, waiting, registers, data)
        interval <<= shift
        code <<= shift
        waiting -= shift
        margin = min(interval - _HALF, code)
        interval -= margin
        code -= margin
    return symbol, interval, code, margin, waiting


@nb.njit(forceinline=True, **OPTIONS)
def decode_evenly(context, gate, states, contexts, interval, code, waiting, registers, data):
    """Return the next symbol as a mask, and the registers with a small interval, in the same time whatever it is.

    A gate of -1 is open; if it is 0, nothing is decoded, and the symbol means nothing. No branch depends on symbols, so
    that two blocks that are decoded together do not wait for each other.
    """
    state = contexts[context]
    estimate = look_up(states, state, _SMALL) & gate
    interval -= estimate
    rest = code - (look_up(states, state, _LARGE) & gate)
    # whatever the bytes are, a closed gate changes nothing
    is_less = nb.int64(nb.uint64((rest & gate) ^ (interval - estimate)) >> nb.uint64(63))
    is_lower = rest & gate < 0
    code = choose(is_lower, code, rest)
    interval = choose(is_lower, estimate, interval)
    shift = count_shift(interval)
    contexts[context] = choose(nb.int32(interval) < 0, state, look_up(states, state, _AFTER + is_less))
    left = waiting - shift
    if is_rare(left < 0):
        code, waiting = _fill(code, waiting, registers, data)
        left = waiting - shift
    return look_up(states, state, _SYMBOL + is_less), interval << shift, code << shift, left


@nb.njit(**OPTIONS)
def has_predictable_end(registers, data, start):
    """Tell whether a segment ends where an encoder with predictable ends stops after the symbols that were decoded.

    It writes bytes until they hold as many bits as it has shifted its registers, but no 0xFF at the end.
    """
    at, end = registers[AT], registers[END]
    if at < end and registers[INVENTED] > 0:
        return False
    # 15 bits are in the registers before the first shift
    shifted = _count_bits(data, start, at) + 8 * registers[INVENTED] - registers[WAITING] - 15
    return _count_bits(data, start, end - 1) < shifted <= _count_bits(data, start, end) + 8


@nb.njit(**OPTIONS)
def _count_bits(data, start, end):
    """Return how many bits some bytes hold, without those that only keep markers away."""
    total = 8 * (end - start)
    for k in range(start, end - 1):
        if data[k] == 0xFF:
            total -= 1
    return total


@nb.njit(**OPTIONS)
def has_predictable_raw_end(registers, data):
    """Tell whether raw bits are followed by 0, 1, 0, 1 … up to the end of their byte, and by nothing else."""
    code, waiting, at, end = registers[CODE], registers[WAITING], registers[AT], registers[END]
    if registers[INVENTED] > 0:
        return False
    if waiting == 0 and code == 0xFF:
        return at + 1 == end and data[at] == 0x2A
    pattern = 0x55 if waiting % 2 == 0 else 0x2A
    return at == end and (code ^ pattern) & ((1 << waiting) - 1) == 0


@nb.njit(**OPTIONS)
def start_raw_decoder(registers, at, end):
    """Prepare to read raw bits; they wait in the register of the code."""
    registers[CODE], registers[WAITING] = 0, 0
    registers[AT], registers[END], registers[INVENTED] = at, end, 0


@nb.njit(forceinline=True, **OPTIONS)
def read_raw(code, waiting, registers, data):
    """Return the next bit, and the registers that are kept in variables."""
    if waiting == 0:
        waiting = 7 if code == 0xFF else 8
        at = registers[AT]
        if at < registers[END]:
            code = nb.int64(data[at])
            registers[AT] = at + 1
        else:
            code, waiting = 0xFF, 8
            registers[INVENTED] += 1
    waiting -= 1
    return (code >> waiting) & 1, code, waiting
