"""Where a segment of the arithmetic coder may be cut: how few of its bytes suffice.

References
----------
ISO/IEC 15444-1, annex D.4.2.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.codecs.jpeg2000.blocks.loops.mq import AT, BYTE, CODE, FREE, INTERVAL

__all__ = ["measure_length", "strip_ones"]


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
