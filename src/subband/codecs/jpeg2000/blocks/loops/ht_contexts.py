"""What the codeword of a quad of a high-throughput block depends on: which of its neighbours are significant."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS

__all__ = ["find_context", "find_pitch"]


@nb.njit(**OPTIONS)
def find_context(row, corner, above, next_above, before):
    """Return the context of a quad, from those above to the left, above, above to the right, and to the left.

    The significance of each is in bits 4 to 7: upper and lower left, upper and lower right sample.
    """
    if row == 0:
        return (before >> 4 | before >> 5) & 1 | before >> 5 & 6
    return (corner >> 7 | above >> 5) & 1 | (before >> 5 | before >> 6) & 2 | (above >> 5 | next_above >> 3) & 4


@nb.njit(**OPTIONS)
def find_pitch(width):
    """Return the samples of a row in the arrays of the coders: those of whole pairs of quads."""
    return (width + 3) >> 2 << 2
