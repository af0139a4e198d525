"""The tables of the block coder: what the arithmetic coder learns, and which of its contexts a coefficient belongs to.

A word of 64 bits stands for a column of four coefficients, the part of a stripe that is coded together. It holds all
that the contexts of the four depend on, so that one load is enough::

    bits  0 … 17   significance of rows -1 … 4, three columns each: bit 3 * (row + 1) + (column + 1)
    bits 20, 23, 26, 29   row 0, 1, 2, 3 has been visited in this bit plane, or lies below the block
    bits 21, 24, 27, 30   row 0, 1, 2, 3 has been refined before
    bits 32 … 49   signs, in the order of the significance

Shifted right by three times the row, the word shows each coefficient at the same bits: its own significance at `SELF`,
its neighbours in `AROUND`.

References
----------
ISO/IEC 15444-1, annexes C (arithmetic coder) and D (contexts).
"""

from __future__ import annotations

import numpy as np

from subband.typing import Array

__all__ = [
    "AROUND",
    "FROM_SELF_TO_REFINED",
    "INITIAL",
    "REFINED",
    "RUN",
    "SELF",
    "SELVES",
    "SIGNIFICANCE",
    "SIGN_CONTEXTS",
    "STATES",
    "UNIFORM",
    "VISITED",
    "VISITS",
    "ZERO_CONTEXTS",
]

#: The bits of a word, for the row that it is shifted to.
SELF, AROUND, VISITED, REFINED = 1 << 4, 0x1EF, 1 << 20, 1 << 21

#: From the bit that says that a coefficient is significant to the one that says that it was refined.
FROM_SELF_TO_REFINED = 17

#: The bits of a word, for all four rows.
SIGNIFICANCE = 0x3FFFF
SELVES = sum(SELF << 3 * row for row in range(4))
VISITS = sum(VISITED << 3 * row for row in range(4))

#: Contexts: 0 … 8 for zero coding, 9 … 13 for signs, 14 … 16 for refinement, and these two.
RUN, UNIFORM = 17, 18

# Probability estimate, next state after the more and after the less probable symbol, and whether the two change roles.
_ESTIMATES = (
    (0x5601, 1, 1, 1), (0x3401, 2, 6, 0), (0x1801, 3, 9, 0), (0x0AC1, 4, 12, 0), (0x0521, 5, 29, 0),
    (0x0221, 38, 33, 0), (0x5601, 7, 6, 1), (0x5401, 8, 14, 0), (0x4801, 9, 14, 0), (0x3801, 10, 14, 0),
    (0x3001, 11, 17, 0), (0x2401, 12, 18, 0), (0x1C01, 13, 20, 0), (0x1601, 29, 21, 0), (0x5601, 15, 14, 1),
    (0x5401, 16, 14, 0), (0x5101, 17, 15, 0), (0x4801, 18, 16, 0), (0x3801, 19, 17, 0), (0x3401, 20, 18, 0),
    (0x3001, 21, 19, 0), (0x2801, 22, 19, 0), (0x2401, 23, 20, 0), (0x2201, 24, 21, 0), (0x1C01, 25, 22, 0),
    (0x1801, 26, 23, 0), (0x1601, 27, 24, 0), (0x1401, 28, 25, 0), (0x1201, 29, 26, 0), (0x1101, 30, 27, 0),
    (0x0AC1, 31, 28, 0), (0x09C1, 32, 29, 0), (0x08A1, 33, 30, 0), (0x0521, 34, 31, 0), (0x0441, 35, 32, 0),
    (0x02A1, 36, 33, 0), (0x0221, 37, 34, 0), (0x0141, 38, 35, 0), (0x0111, 39, 36, 0), (0x0085, 40, 37, 0),
    (0x0049, 41, 38, 0), (0x0025, 42, 39, 0), (0x0015, 43, 40, 0), (0x0009, 44, 41, 0), (0x0005, 45, 42, 0),
    (0x0001, 45, 43, 0), (0x5601, 46, 46, 0),
)  # fmt: skip


def _list_states() -> Array:
    """Return a word for each state and more probable symbol: the estimate from bit 40, what follows, the symbol."""
    words = np.zeros(2 * len(_ESTIMATES), np.int64)
    for number, (estimate, more, less, changes) in enumerate(_ESTIMATES):
        for symbol in (0, 1):
            after_more, after_less = 2 * more + symbol, 2 * less + (symbol ^ changes)
            words[2 * number + symbol] = (
                estimate << 40 | (2 * number + symbol) << 24 | after_less << 16 | after_more << 8 | symbol
            )
    return words


def _list_initial(states: Array) -> Array:
    """Return the states of the 19 contexts before the first symbol."""
    words = np.full(19, states[0])
    words[0], words[RUN], words[UNIFORM] = states[2 * 4], states[2 * 3], states[2 * 46]
    return words


def _list_zero_contexts() -> Array:
    """Return the context of each neighbourhood, for the three orientations one after the other."""
    table = np.zeros((3, 512), np.uint8)
    for around in range(512):
        nw, n, ne, w, _, e, sw, s, se = (around >> bit & 1 for bit in range(9))
        across, down, diagonal = w + e, n + s, nw + ne + sw + se
        table[0, around] = _choose_zero_context(across, down, diagonal)
        table[1, around] = _choose_zero_context(down, across, diagonal)
        table[2, around] = _choose_diagonal_context(across + down, diagonal)
    return table.ravel()


def _choose_zero_context(across: int, down: int, diagonal: int) -> int:
    if across == 2:
        return 8
    if across == 1:
        return 7 if down else 6 if diagonal else 5
    return 2 + down if down else min(diagonal, 2)


def _choose_diagonal_context(straight: int, diagonal: int) -> int:
    if diagonal >= 3:
        return 8
    if diagonal == 2:
        return 7 if straight else 6
    return 3 * diagonal + min(straight, 2)


def _list_sign_contexts() -> Array:
    """Return twice the context, plus whether the sign is inverted, for the neighbours north, west, east and south.

    Each of them has two bits: its sign, and above it its significance.
    """
    table = np.zeros(256, np.uint8)
    for index in range(256):
        n, w, e, s = ((index >> bit + 1 & 1) * (1 - 2 * (index >> bit & 1)) for bit in (0, 2, 4, 6))
        across, down = (min(max(total, -1), 1) for total in (w + e, n + s))
        inverted = across < 0 or (across == 0 and down < 0)
        if inverted:
            across, down = -across, -down
        table[index] = 2 * (12 + down if across else 9 + down) + inverted
    return table


#: The states of the arithmetic coder as words that hold all that is needed to go on.
STATES = _list_states()

#: The states of all contexts before the first symbol.
INITIAL = _list_initial(STATES)

#: The context of a coefficient that is still zero, by 512 times the orientation plus its neighbourhood.
ZERO_CONTEXTS = _list_zero_contexts()

#: Twice the context of a sign, plus the bit that it is combined with.
SIGN_CONTEXTS = _list_sign_contexts()
