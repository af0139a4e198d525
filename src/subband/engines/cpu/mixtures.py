"""The mixtures that an adjoint reads near the ends of rows and columns; see `subband.schedule.adjoint`.

Mixtures come in blocks of neighbours, which are made of the same few numbers: a block is a small matrix times a vector.
"""

from __future__ import annotations

import numba as nb

from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.cpu.program import (
    BEGIN,
    BLOCK,
    BLOCK_COUNT,
    BLOCK_INDEX,
    BLOCK_ROW,
    BLOCK_WEIGHTS,
    END,
    EVEN,
    LEFT,
    MIXTURE,
    MIXTURE_ROOM,
    ODD,
    RIGHT,
)

__all__ = ["find_entry", "mix_ends", "mix_rows"]


@nb.njit(**OPTIONS)
def find_entry(ints, position):
    """Return which entry of the extension, or which mixture, belongs to a position that is not read as it is."""
    if position < ints[BEGIN]:
        return position + ints[LEFT]
    return position - ints[END] + ints[RIGHT]


@nb.njit(**OPTIONS)
def mix_ends(mixed, low, high, is_coded, ints, numbers, start, n):
    """Write the mixtures among `n` pairs of a row, from pair `start` on, to `mixed`: whole blocks.

    The numbers of the row are at `low`, or in turn at `low` and `high` if they are coefficients.
    """
    first = max(2 * start + min(ints[EVEN], ints[ODD]), -ints[LEFT])
    last = 2 * (start + n - 1) + max(ints[EVEN], ints[ODD])
    if first < ints[BEGIN]:
        end = find_entry(ints, min(last, ints[BEGIN] - 1)) // BLOCK + 1
        for block in range(find_entry(ints, first) // BLOCK, end):
            _mix_block(shift(mixed, BLOCK * block), low, high, is_coded, ints, numbers, block)
    if last >= ints[END]:
        end = min(find_entry(ints, last) // BLOCK + 1, ints[MIXTURE_ROOM] // BLOCK)
        for block in range(find_entry(ints, max(first, ints[END])) // BLOCK, end):
            _mix_block(shift(mixed, BLOCK * block), low, high, is_coded, ints, numbers, block)


@nb.njit(**OPTIONS)
def _mix_block(y, low, high, is_coded, ints, numbers, block):
    r = ints[MIXTURE] + BLOCK_ROW * block
    index, w = ints[r + BLOCK_INDEX], ints[r + BLOCK_WEIGHTS]
    for k in range(0, ints[r + BLOCK_COUNT], 8):
        at = shift(ints, index + k)
        a = _find_source(low, high, is_coded, 1, at[0])[0]
        b = _find_source(low, high, is_coded, 1, at[1])[0]
        c = _find_source(low, high, is_coded, 1, at[2])[0]
        d = _find_source(low, high, is_coded, 1, at[3])[0]
        e = _find_source(low, high, is_coded, 1, at[4])[0]
        f = _find_source(low, high, is_coded, 1, at[5])[0]
        g = _find_source(low, high, is_coded, 1, at[6])[0]
        h = _find_source(low, high, is_coded, 1, at[7])[0]
        _blend_eight(y, shift(numbers, w + BLOCK * k), a, b, c, d, e, f, g, h, k > 0)


@nb.njit(**OPTIONS)
def _blend_eight(y, x, a, b, c, d, e, f, g, h, add):
    """Write, or add, the sum of eight rows of a block times a number each."""
    keep_apart()
    for m in range(BLOCK):
        first = a * x[m] + b * x[BLOCK + m] + c * x[2 * BLOCK + m] + d * x[3 * BLOCK + m]
        second = e * x[4 * BLOCK + m] + f * x[5 * BLOCK + m] + g * x[6 * BLOCK + m] + h * x[7 * BLOCK + m]
        y[m] = first + second + y[m] if add else first + second


@nb.njit(**OPTIONS)
def mix_rows(y, low, high, is_coded, pitch, ints, numbers, position, n):
    """Write `n` numbers of the row at `position`, a mixture of rows `pitch` apart, or of low and high ones in turn."""
    entry = find_entry(ints, position)
    r = ints[MIXTURE] + BLOCK_ROW * (entry // BLOCK)
    index, w = ints[r + BLOCK_INDEX], ints[r + BLOCK_WEIGHTS] + entry % BLOCK
    for k in range(0, ints[r + BLOCK_COUNT], 4):
        a = _find_source(low, high, is_coded, pitch, ints[index + k])
        b = _find_source(low, high, is_coded, pitch, ints[index + k + 1])
        c = _find_source(low, high, is_coded, pitch, ints[index + k + 2])
        d = _find_source(low, high, is_coded, pitch, ints[index + k + 3])
        t = shift(numbers, w + BLOCK * k)
        ca, cb, cc, cd = t[0], t[BLOCK], t[2 * BLOCK], t[3 * BLOCK]
        if k == 0 or ca != 0 or cb != 0 or cc != 0 or cd != 0:
            _blend_rows(y, a, b, c, d, ca, cb, cc, cd, k > 0, n)


@nb.njit(**OPTIONS)
def _find_source(low, high, is_coded, pitch, index):
    """Return the address of a row, or of one of the low and high rows in turn."""
    if not is_coded:
        return shift(low, index * pitch)
    row = high if index & 1 else low
    return shift(row, (index >> 1) * pitch)


@nb.njit(**OPTIONS)
def _blend_rows(y, a, b, c, d, ca, cb, cc, cd, add, n):
    """Write, or add, the sum of four rows times a number each."""
    keep_apart()
    if add:
        for k in range(n):
            y[k] += ca * a[k] + cb * b[k] + cc * c[k] + cd * d[k]
    else:
        for k in range(n):
            y[k] = ca * a[k] + cb * b[k] + cc * c[k] + cd * d[k]
