"""The passes of the decoder that bypass the arithmetic coder."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.codecs.jpeg2000.blocks.loops.columns import OWN, SIGNED, count_strips, find_candidates, gather, locate
from subband.codecs.jpeg2000.blocks.loops.contexts import AROUND, REFINED, SELF, SELVES, VISITED
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import CODE, WAITING, read_raw

__all__ = ["read_refinement", "read_significance"]


@nb.njit(**OPTIONS)
def read_significance(arrays, shape, value, is_causal, data):
    """Read the significance propagation pass of a bit plane from raw bits."""
    columns, words, magnitudes, _, _, registers = arrays
    _, width, stripes = shape
    code, waiting = nb.int64(registers[CODE]), nb.int64(registers[WAITING])
    for strip in range(count_strips(width, stripes)):
        _, at, first, across = locate(strip, width)
        gather(columns, at, width + 2, across, is_causal, words)
        for column in range(across):
            word = words[column] | (columns[at + column - 1] & SIGNED) >> 1
            if find_candidates(word) == 0:
                continue
            for row in range(4):
                here = word >> (3 * row)
                if here & AROUND != 0 and here & (SELF | VISITED) == 0:
                    bit, code, waiting = read_raw(code, waiting, registers, data)
                    if bit:
                        sign, code, waiting = read_raw(code, waiting, registers, data)
                        magnitudes[first + 4 * column + row] = value
                        word |= (SELF | nb.int64(SELF) << 32 & -sign) << (3 * row)
                    word |= VISITED << (3 * row)
            columns[at + column] = word & OWN
    registers[CODE], registers[WAITING] = code, waiting


@nb.njit(**OPTIONS)
def read_refinement(arrays, shape, half, data):
    """Read the magnitude refinement pass of a bit plane from raw bits."""
    columns, _, magnitudes, _, _, registers = arrays
    _, width, stripes = shape
    code, waiting = nb.int64(registers[CODE]), nb.int64(registers[WAITING])
    for strip in range(count_strips(width, stripes)):
        _, at, first, across = locate(strip, width)
        for column in range(across):
            word = nb.int64(columns[at + column])
            if word & ~(word >> 16) & SELVES == 0:
                continue
            for row in range(4):
                here = word >> (3 * row)
                if here & (SELF | VISITED) == SELF:
                    bit, code, waiting = read_raw(code, waiting, registers, data)
                    k = first + 4 * column + row
                    magnitudes[k] = nb.int64(magnitudes[k]) + (half if bit else -half)
                    word |= REFINED << (3 * row)
            columns[at + column] = word
    registers[CODE], registers[WAITING] = code, waiting
