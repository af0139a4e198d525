"""Segments that bypass the arithmetic coder: the decisions of symbols as they are.

References
----------
ISO/IEC 15444-1, annex D.6.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address
from subband.codecs.jpeg2000.blocks.loops.cuts import strip_ones
from subband.codecs.jpeg2000.blocks.loops.mq import AT, BYTE, FREE

__all__ = ["finish_raw", "start_raw", "write_raw"]


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
