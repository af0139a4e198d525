"""What the encoder says about a bit plane: the symbols of its three passes.

Magnitudes lie in stripes: the four of a column side by side, columns from left to right. Words (see `contexts`) have a
border of one column and one stripe, so that no neighbour needs a test.

A pass that finds coefficients returns how many symbols there are now, and a sum that tells by how much it lowers the
squared error, of twice the sample minus its new value. What refinement adds is the distance from the old value. Samples
and values are doubled, since values lie in the middle of an interval.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address, count_trailing
from subband.codecs.jpeg2000.blocks.loops.contexts import (
    AROUND,
    FROM_SELF_TO_REFINED,
    REFINED,
    RUN,
    SELF,
    SELVES,
    SIGN_CONTEXTS,
    SIGNIFICANCE,
    UNIFORM,
    VISITED,
    VISITS,
    ZERO_CONTEXTS,
)

__all__ = [
    "clear_words",
    "find_candidates",
    "gather_bits",
    "list_cleanup",
    "list_refinement",
    "list_significance",
    "mark_significant",
    "measure_refinement",
]


@nb.njit(**OPTIONS)
def clear_words(words, width, height):
    """Prepare the words of a block, and return the bits that stand for rows below it in the last stripe."""
    stripes = (height + 3) // 4
    pitch = width + 2
    for k in range((stripes + 2) * pitch):
        words[k] = 0
    below = 0
    for row in range(height - 4 * (stripes - 1), 4):
        below |= VISITED << (3 * row)
    for k in range(stripes * pitch + 1, stripes * pitch + 1 + width):
        words[k] = below
    return below


@nb.njit(**OPTIONS)
def gather_bits(magnitudes, plane, count, bits):
    """Write the bits of a plane, those of the four coefficients of a column together."""
    magnitudes, bits = address(magnitudes), address(bits)
    for k in range(count):
        a = (magnitudes[4 * k] >> plane) & 1
        b = (magnitudes[4 * k + 1] >> plane) & 1
        c = (magnitudes[4 * k + 2] >> plane) & 1
        d = (magnitudes[4 * k + 3] >> plane) & 1
        bits[k] = a | b << 1 | c << 2 | d << 3


@nb.njit(forceinline=True, **OPTIONS)
def mark_significant(words, at, pitch, shift, sign, is_causal):
    """Tell the eight neighbours of a coefficient that it is significant, except for those in its own column.

    The row of the coefficient is told by the shift to its bits, three times as much.
    """
    mark = 1 | sign << 32
    words[at - 1] |= mark << (5 + shift)
    words[at + 1] |= mark << (3 + shift)
    if shift == 0 and not is_causal:
        words[at - pitch - 1] |= mark << 17
        words[at - pitch] |= mark << 16
        words[at - pitch + 1] |= mark << 15
    if shift == 9:
        words[at + pitch - 1] |= mark << 2
        words[at + pitch] |= mark << 1
        words[at + pitch + 1] |= mark


@nb.njit(forceinline=True, **OPTIONS)
def _find_sign(word):
    """Return twice the context of the sign of the coefficient a word is shifted to, plus the inverting bit."""
    return nb.int64(SIGN_CONTEXTS[(word & 0xAA) | ((word >> 33) & 0x55)])


@nb.njit(forceinline=True, **OPTIONS)
def find_candidates(word):
    """Return a bit for each of the four coefficients of a column that is not yet coded and has a neighbour."""
    triples = word | word >> 1 | word >> 2
    around = triples | triples >> 6 | word >> 3 | word >> 5
    return around & ~(word >> 4 | word >> 20) & 0x249


@nb.njit(**OPTIONS)
def list_significance(
    words, magnitudes, signs, bits, zeros, width, stripes, plane, half, is_raw, is_causal, symbols, count
):
    """List the symbols of the significance propagation pass."""
    words, magnitudes, signs, bits, symbols = (
        address(words),
        address(magnitudes),
        address(signs),
        address(bits),
        address(symbols),
    )
    pitch = width + 2
    value = 2 if plane == 0 and half == 0 else 3 << plane
    total = 0
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            if find_candidates(word) == 0:
                continue
            k = stripe * width + column
            ones = nb.int64(bits[k])
            for row in range(4):
                here = word >> (3 * row)
                bit = (ones >> row) & 1
                is_coded = nb.int64((here & AROUND != 0) & (here & (SELF | VISITED) == 0))
                symbols[count] = 2 * nb.int64(ZERO_CONTEXTS[zeros + (here & AROUND)]) + bit
                count += is_coded
                word |= is_coded * VISITED << (3 * row)
                if is_coded & bit:
                    sign = (nb.int64(signs[k]) >> row) & 1
                    symbols[count] = sign if is_raw else _find_sign(here) ^ sign
                    count += 1
                    total += 2 * (2 * nb.int64(magnitudes[4 * k + row]) + half) - value
                    word |= (SELF | nb.int64(SELF) << 32 & -sign) << (3 * row)
                    mark_significant(words, at, pitch, 3 * row, sign, is_causal)
            words[at] = word
    return count, total * nb.float64(value)


@nb.njit(**OPTIONS)
def list_refinement(words, bits, width, stripes, symbols, count):
    """List the symbols of the magnitude refinement pass; return how many there are now."""
    words, bits, symbols = address(words), address(bits), address(symbols)
    pitch = width + 2
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            ready = word & ~(word >> 16) & SELVES
            if ready == 0:
                continue
            words[at] = word | ready << FROM_SELF_TO_REFINED
            ones = nb.int64(bits[stripe * width + column])
            for row in range(4):
                here = word >> (3 * row)
                context = max(14 + nb.int64(here & AROUND != 0), 16 * nb.int64(here & REFINED != 0))
                symbols[count] = 2 * context + ((ones >> row) & 1)
                count += (ready >> (3 * row + 4)) & 1
    return count


@nb.njit(**OPTIONS)
def measure_refinement(magnitudes, size, plane, half):
    """Return by how much the refinement pass lowers the squared error, four times.

    It codes what was significant above its plane, which is known without following the passes.
    """
    magnitudes = address(magnitudes)
    middle = nb.int64(2 << plane)
    total, count = nb.int64(0), nb.int64(0)
    for k in range(size):
        magnitude = nb.int64(magnitudes[k])
        is_coded = nb.int64(magnitude >= middle)
        total += abs(((2 * magnitude + half) & (2 * middle - 1)) - middle) * is_coded
        count += is_coded
    if plane == 0 and half == 0:
        return 2.0 * total
    step = nb.float64(1 << plane)
    return step * (2.0 * total - count * step)


@nb.njit(**OPTIONS)
def list_cleanup(words, magnitudes, signs, bits, zeros, width, stripes, below, plane, half, is_causal, symbols, count):
    """List the symbols of the cleanup pass, and forget which coefficients were visited; `below` are not there."""
    words, magnitudes, signs, bits, symbols = (
        address(words),
        address(magnitudes),
        address(signs),
        address(bits),
        address(symbols),
    )
    pitch = width + 2
    value = 2 if plane == 0 and half == 0 else 3 << plane
    total = 0
    for stripe in range(stripes):
        keep = ~nb.int64(VISITS)
        if stripe == stripes - 1:
            keep |= below
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            if (word | word >> 16) & SELVES == SELVES:
                words[at] = word & keep
                continue
            k = stripe * width + column
            ones = nb.int64(bits[k])
            row = 0
            is_unknown = 1
            if word & (SIGNIFICANCE | VISITS) == 0:
                if ones == 0:
                    symbols[count] = 2 * RUN
                    count += 1
                    continue
                row = count_trailing(ones)
                symbols[count] = 2 * RUN + 1
                symbols[count + 1] = 2 * UNIFORM + (row >> 1)
                symbols[count + 2] = 2 * UNIFORM + (row & 1)
                count += 3
                is_unknown = 0
            while row < 4:
                here = word >> (3 * row)
                bit = (ones >> row) & 1
                is_coded = nb.int64(here & (SELF | VISITED) == 0)
                symbols[count] = 2 * nb.int64(ZERO_CONTEXTS[zeros + (here & AROUND)]) + bit
                count += is_coded & is_unknown
                is_unknown = 1
                if is_coded & bit:
                    sign = (nb.int64(signs[k]) >> row) & 1
                    symbols[count] = _find_sign(here) ^ sign
                    count += 1
                    total += 2 * (2 * nb.int64(magnitudes[4 * k + row]) + half) - value
                    word |= (SELF | nb.int64(SELF) << 32 & -sign) << (3 * row)
                    mark_significant(words, at, pitch, 3 * row, sign, is_causal)
                row += 1
            words[at] = word & keep
    return count, total * nb.float64(value)
