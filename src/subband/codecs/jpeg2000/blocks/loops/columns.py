"""The columns of a block, four coefficients each, and what their neighbours add to them.

Each column has a word (see `contexts`) in which only its own bits are kept; those of its neighbours are gathered when a
pass gets there. The words have a border of one column and one stripe, so that no neighbour needs a test. A pass takes
strips, up to 64 columns of a stripe, so that one number tells which of them it has to look at.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, skip
from subband.codecs.jpeg2000.blocks.loops.contexts import (
    REFINED,
    SELF,
    SELVES,
    SIGN_CONTEXTS,
    VISITED,
    VISITS,
    ZERO_CONTEXTS,
)

__all__ = [
    "OWN",
    "SIGNED",
    "STRIP",
    "WORDS",
    "clear_columns",
    "count_strips",
    "describe_block",
    "find_around",
    "find_candidates",
    "find_sign",
    "gather",
    "locate",
    "open_strip",
]

#: The most columns of a strip, and room for the words of one, with what they are made from.
STRIP, WORDS = 64, 131

#: The bits of a column's own coefficients: those that its neighbours see, and all.
SIGNED = SELVES | SELVES << 32
OWN = SIGNED | VISITS | sum(REFINED << 3 * row for row in range(4))

# The upper and the lower row of a column.
_UPPER = SELF | SELF << 32
_LOWER = _UPPER << 9


@nb.njit(**OPTIONS)
def clear_columns(columns, width, height):
    """Prepare the columns of a block, and return the bits that stand for rows below it in the last stripe."""
    stripes = (height + 3) // 4
    pitch = width + 2
    for k in range((stripes + 2) * pitch):
        columns[k] = 0
    below = 0
    for row in range(height - 4 * (stripes - 1), 4):
        below |= VISITED << (3 * row)
    for k in range(stripes * pitch + 1, stripes * pitch + 1 + width):
        columns[k] = below
    return below


@nb.njit(**OPTIONS)
def describe_block(table, block):
    """Return the contexts of a block's coefficients that are still zero, its width, and how many stripes it has."""
    zeros = address(ZERO_CONTEXTS[512 * table[block, 4] :])
    return zeros, table[block, 3], (table[block, 2] + 3) // 4


@nb.njit(**OPTIONS)
def count_strips(width, stripes):
    """Return the number of strips of a block."""
    return stripes * ((width + STRIP - 1) // STRIP)


@nb.njit(**OPTIONS)
def locate(strip, width):
    """Return the stripe of a strip, where its columns and its magnitudes begin, and how many columns it has."""
    parts = (width + STRIP - 1) // STRIP
    stripe = strip // parts
    first = (strip - stripe * parts) * STRIP
    return stripe, (stripe + 1) * (width + 2) + first + 1, 4 * (stripe * width + first), min(width - first, STRIP)


@nb.njit(**OPTIONS)
def gather(columns, at, pitch, count, is_causal, words):
    """Write the words of some columns with all that their neighbours add."""
    upper = nb.int64(0) if is_causal else nb.int64(_UPPER)
    # what a column and those above and below it add to the words of all three beside each other
    middle = skip(words, STRIP + 1)
    for k in range(count + 2):
        here = at + k - 1
        word = columns[here] & SIGNED | (columns[here - pitch] & _LOWER) >> 12
        middle[k] = word | (columns[here + pitch] & upper) << 12
    for k in range(count):
        words[k] = columns[at + k] | middle[k] >> 1 | middle[k + 1] | middle[k + 2] << 1


@nb.njit(forceinline=True, **OPTIONS)
def open_strip(columns, words, shape, strip, below, is_causal):
    """Gather the words of a strip for the cleanup pass, and forget which coefficients were visited.

    Returns where its columns and its magnitudes begin, the bits of a column that are kept, and which columns have
    something left.
    """
    _, width, stripes = shape
    stripe, at, first, across = locate(strip, width)
    keep = ~nb.int64(VISITS)
    if stripe == stripes - 1:
        keep |= below
    gather(columns, at, width + 2, across, is_causal, words)
    left = nb.int64(0)
    for column in range(across):
        word = nb.int64(words[column])
        left |= nb.int64((word | word >> 16) & SELVES != SELVES) << column
        columns[at + column] &= keep
    return at, first, keep, left


@nb.njit(forceinline=True, **OPTIONS)
def find_sign(word):
    """Return twice the context of the sign of the coefficient a word is shifted to, plus the inverting bit."""
    return nb.int64(address(SIGN_CONTEXTS)[(word & 0xAA) | ((word >> 33) & 0x55)])


@nb.njit(forceinline=True, **OPTIONS)
def find_around(word):
    """Return a bit for each of the four coefficients of a column that has a neighbour, among others."""
    triples = word | word >> 1 | word >> 2
    return triples | triples >> 6 | word >> 3 | word >> 5


@nb.njit(forceinline=True, **OPTIONS)
def find_candidates(word):
    """Return a bit for each of the four coefficients of a column that is not yet coded and has a neighbour."""
    return find_around(word) & ~(word >> 4 | word >> 20) & 0x249
