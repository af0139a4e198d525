"""The arithmetic coder: symbols in, bytes out, and how few of the bytes suffice.

The encoder gets the symbols of a pass as a list, so that its registers stay registers.

A segment starts with the byte in front of its first, which never receives anything: the standard's way to start.
Therefore the buffer has at least one byte in front of every segment.

References
----------
ISO/IEC 15444-1, annex C.2; D.4.2 and D.6 for the ends of segments.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, choose, count_leading, is_rare
from subband.codecs.jpeg2000.blocks.loops.contexts import STATES

__all__ = [
    "AT",
    "BYTE",
    "CODE",
    "CONTEXTS",
    "FREE",
    "INTERVAL",
    "REGISTERS",
    "encode_symbols",
    "encode_two",
    "finish_raw",
    "finish_segment",
    "measure_length",
    "start_raw",
    "start_segment",
    "write_raw",
]

#: Registers of the encoder: size of the interval, its lower end, bits until a byte is complete, the byte that may still
#: receive a carry, and where this byte goes.
INTERVAL, CODE, FREE, BYTE, AT, REGISTERS = range(6)

#: Where the contexts of a second block begin.
CONTEXTS = 19


@nb.njit(**OPTIONS)
def start_segment(registers, at):
    """Prepare the encoder to write a segment at `at`."""
    registers[INTERVAL] = 0x8000
    registers[CODE] = 0
    registers[FREE] = 12
    registers[BYTE] = 0
    registers[AT] = at - 1


@nb.njit(**OPTIONS)
def encode_symbols(symbols, first, last, contexts, registers, out):
    """Encode the symbols `first` … `last`: twice the context, plus the decision."""
    symbols, contexts, registers, out = address(symbols), address(contexts), address(registers), address(out)
    a, c, f, b, at = registers[0], registers[1], registers[2], registers[3], registers[4]
    for k in range(first, last):
        a, c, f, b, at = _encode(nb.int64(symbols[k]), contexts, nb.int64(0), a, c, f, b, at, out)
    registers[0], registers[1], registers[2], registers[3], registers[4] = a, c, f, b, at


@nb.njit(**OPTIONS)
def encode_two(symbols, start, other_symbols, other_start, count, contexts, registers, out, other_out):
    """Encode some symbols of two blocks at the same time.

    A symbol depends on the one before, so that the processor is idle most of the time; a second block fills the gaps.
    The registers and contexts of the other block lie behind those of the first.
    """
    symbols, other_symbols, contexts = address(symbols), address(other_symbols), address(contexts)
    registers, out, other_out = address(registers), address(out), address(other_out)
    a, c, f, b, at = registers[0], registers[1], registers[2], registers[3], registers[4]
    a2, c2, f2, b2, at2 = registers[5], registers[6], registers[7], registers[8], registers[9]
    for k in range(count):
        a, c, f, b, at = _encode(nb.int64(symbols[start + k]), contexts, nb.int64(0), a, c, f, b, at, out)
        symbol = nb.int64(other_symbols[other_start + k])
        a2, c2, f2, b2, at2 = _encode(symbol, contexts, nb.int64(CONTEXTS), a2, c2, f2, b2, at2, other_out)
    registers[0], registers[1], registers[2], registers[3], registers[4] = a, c, f, b, at
    registers[5], registers[6], registers[7], registers[8], registers[9] = a2, c2, f2, b2, at2


@nb.njit(forceinline=True, **OPTIONS)
def _encode(symbol, contexts, base, interval, code, free, byte, at, out):
    """Encode a symbol without a branch, except for the one that emits a byte.

    Branches would be as good as random; without them two blocks do not wait for each other.
    """
    word = contexts[base + (symbol >> 1)]
    estimate = word >> 40
    is_less = (word ^ symbol) & 1
    rest = interval - estimate
    # the more probable symbol always gets the larger part
    is_lower = (is_less != 0) != (rest < estimate)
    interval = choose(is_lower, estimate, rest)
    code = choose(is_lower, code, code + estimate)
    shift = count_leading(interval) - 48
    after = address(STATES)[(word >> (8 + 8 * is_less)) & 127]
    contexts[base + (symbol >> 1)] = choose(shift == 0, word, after)
    free -= shift
    interval <<= shift
    code <<= shift
    while is_rare(free <= 0):
        code, free, byte, at = _emit(code, free, byte, at, out)
    return interval, code, free, byte, at


@nb.njit(forceinline=True, **OPTIONS)
def _emit(code, free, byte, at, out):
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


@nb.njit(**OPTIONS)
def finish_segment(registers, out, is_predictable):
    """Write what is left in the registers and return where the segment ends."""
    out = address(out)
    code, free = registers[CODE], registers[FREE]
    byte, at = registers[BYTE], registers[AT]
    if is_predictable:
        left = 12 - free
        while left > 0:
            code, free, byte, at = _emit(code << free, nb.int64(0), byte, at, out)
            left -= free
    else:
        limit = code + registers[INTERVAL]
        code |= 0xFFFF
        if code >= limit:
            code -= 0x8000
        code, free, byte, at = _emit(code << free, nb.int64(0), byte, at, out)
        code, free, byte, at = _emit(code << free, nb.int64(0), byte, at, out)
    if byte != 0xFF:
        out[at] = byte
        at += 1
    return at


@nb.njit(**OPTIONS)
def measure_length(registers, out, start, end):
    """Return where a segment may be cut so that all that was encoded up to a state of the registers is decoded.

    A decoder that runs out of bytes reads ones. So the bytes that are kept, followed by ones, must stay below the upper
    end of the interval; they cannot be below the lower end, since ones are the most that may follow.
    """
    free, byte, at = registers[FREE], registers[BYTE], registers[AT]
    top = registers[CODE] + registers[INTERVAL] - 1
    cut = -1
    is_ones = True
    before = 0
    if at > start:
        before = nb.int64(out[at - 1])
    for _ in range(6):
        top = (top << free) | ((1 << free) - 1)
        if byte != 0xFF:
            byte += top >> 27
            top &= (1 << 27) - 1
        here = byte
        free = 7 if here == 0xFF else 8
        byte = top >> (27 - free)
        top &= (1 << (27 - free)) - 1
        if at >= start:
            if cut < 0:
                if at >= end:
                    break
                if nb.int64(out[at]) != here:
                    cut = at
            if cut >= 0 and here != (0x7F if before == 0xFF else 0xFF):
                is_ones = False
            before = here
        at += 1
    if cut < 0:
        cut = min(at, end)
    elif not is_ones:
        cut += 1
    return strip_ones(out, start, cut)


@nb.njit(**OPTIONS)
def strip_ones(out, start, end):
    """Return the end without bytes that a decoder puts there by itself."""
    while True:
        if end > start and out[end - 1] == 0xFF:
            end -= 1
        elif end > start + 1 and out[end - 1] == 0x7F and out[end - 2] == 0xFF:
            end -= 2
        else:
            return end


@nb.njit(**OPTIONS)
def start_raw(registers, at):
    """Prepare the registers to write bits as they are at `at`."""
    registers[FREE] = 8
    registers[BYTE] = 0
    registers[AT] = at


@nb.njit(**OPTIONS)
def write_raw(symbols, first, last, registers, out):
    """Write the decisions of symbols as they are; behind 0xFF comes a zero."""
    symbols, registers, out = address(symbols), address(registers), address(out)
    free, byte, at = registers[FREE], registers[BYTE], registers[AT]
    for k in range(first, last):
        free -= 1
        byte |= (nb.int64(symbols[k]) & 1) << free
        if free == 0:
            out[at] = byte
            at += 1
            free = 7 if byte == 0xFF else 8
            byte = 0
    registers[FREE], registers[BYTE], registers[AT] = free, byte, at


@nb.njit(**OPTIONS)
def finish_raw(registers, out, start, is_predictable):
    """Write the last bits, filled up with 0, 1, 0, 1 …, and return where the segment ends."""
    free, byte, at = registers[FREE], registers[BYTE], registers[AT]
    is_stuffed = at > start and out[at - 1] == 0xFF
    if free < 7 or (free == 7 and (is_predictable or not is_stuffed)):
        out[at] = byte | (0x55 & ((1 << free) - 1) if free & 1 == 0 else 0x2A & ((1 << free) - 1))
        at += 1
    if not is_predictable:
        at = strip_ones(out, start, at)
    return at
