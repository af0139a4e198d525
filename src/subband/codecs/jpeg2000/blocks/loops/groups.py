"""Groups of columns, whose coefficients have a bit each in a number, in the order in which they are coded.

Which coefficients the significance propagation pass codes depends on what it finds. The number of its candidates gets
more of them on the way; so the next one is found without a branch.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, count_ones
from subband.codecs.jpeg2000.blocks.loops.columns import (
    OWN,
    STRIP,
    count_strips,
    find_around,
    find_candidates,
    gather,
    locate,
)
from subband.codecs.jpeg2000.blocks.loops.contexts import FROM_SELF_TO_REFINED, SELVES, VISITED

__all__ = [
    "FIELDS",
    "FIRST",
    "GROUP",
    "READY",
    "SECOND",
    "THIRD",
    "close_group",
    "count_groups",
    "find_later",
    "list_refined",
    "open_group",
]

#: The most columns of a group.
GROUP = 16

#: What is listed of a group: which coefficients are refined, those of them that belong to the second of the
#: three contexts and those of the third, and where the magnitude of the first is.
READY, SECOND, THIRD, FIRST, FIELDS = range(5)

# Which of the coefficients that are coded later are neighbours of one in each row: bit 1 is the next one.
_ROWS = np.array([0b110010, 0b111010, 0b111010, 0b011000], np.uint64)

# The same for all coefficients of a group.
_LATER = (np.tile(_ROWS, GROUP) << np.arange(4 * GROUP, dtype=np.uint64)).view(np.int64)


@nb.njit(**OPTIONS)
def count_groups(width, stripes):
    """Return the number of groups of a block."""
    return stripes * ((width + GROUP - 1) // GROUP)


@nb.njit(**OPTIONS)
def open_group(columns, words, shape, is_causal, group):
    """Return the number behind that of the first group from some on that has candidates.

    And where its columns, words and magnitudes are, its candidates, and all coefficients that may become some.
    """
    _, width, stripes = shape
    groups = STRIP // GROUP
    at, column, first, now, free = nb.int64(0), nb.int64(0), nb.int64(0), nb.int64(0), nb.int64(0)
    while group < groups * count_strips(width, stripes) and now == 0:
        _, at, first, across = locate(group // groups, width)
        column = group % groups * GROUP
        if column == 0:
            gather(columns, at, width + 2, across, is_causal, words)
        free = nb.int64(0)
        for k in range(min(across - column, GROUP)):
            word = nb.int64(words[column + k])
            now |= _pack(find_candidates(word)) << (4 * k)
            free |= _pack(~(word >> 4 | word >> 20)) << (4 * k)
        group += 1
    return group, at + column, column, first + 4 * column, now, free


@nb.njit(**OPTIONS)
def close_group(columns, words, at, column, seen):
    """Keep what was found in a group, and which of its coefficients were coded."""
    for k in range(GROUP):
        coded = _spread(seen >> (4 * k) & 15)
        if coded != 0:
            columns[at + k] = words[column + k] & OWN | coded * VISITED


@nb.njit(forceinline=True, **OPTIONS)
def find_later(at, free):
    """Return the neighbours of a coefficient that are coded after it, and may become candidates."""
    return address(_LATER)[at] & free


@nb.njit(**OPTIONS)
def list_refined(columns, words, shape, is_causal, groups):
    """List the groups in which a pass refines something; return how many coefficients these are.

    It is known beforehand, so that nothing but the arithmetic decoder is left to wait for.
    """
    _, width, stripes = shape
    total, group = nb.int64(0), nb.int64(0)
    for strip in range(count_strips(width, stripes)):
        _, at, first, across = locate(strip, width)
        gather(columns, at, width + 2, across, is_causal, words)
        for begin in range(0, across, GROUP):
            ready, around, refined = nb.int64(0), nb.int64(0), nb.int64(0)
            for k in range(min(across - begin, GROUP)):
                word = nb.int64(words[begin + k])
                selves = word & ~(word >> 16) & SELVES
                columns[at + begin + k] |= selves << FROM_SELF_TO_REFINED
                ready |= _pack(selves >> 4) << (4 * k)
                around |= _pack(find_around(word)) << (4 * k)
                refined |= _pack(word >> 21) << (4 * k)
            groups[group + READY] = ready
            groups[group + SECOND] = around & ~refined
            groups[group + THIRD] = refined
            groups[group + FIRST] = first + 4 * begin
            group += FIELDS if ready != 0 else 0
            total += count_ones(ready)
    return total


@nb.njit(forceinline=True, **OPTIONS)
def _pack(word):
    """Return the bits 0, 3, 6 and 9 side by side."""
    word &= 0x249
    pairs = (word | word >> 2) & 0xC3
    return (pairs | pairs >> 4) & 0xF


@nb.njit(forceinline=True, **OPTIONS)
def _spread(bits):
    """Return four bits where those of the rows are: 0, 3, 6 and 9."""
    return bits & 1 | (bits & 2) << 2 | (bits & 4) << 4 | (bits & 8) << 6
