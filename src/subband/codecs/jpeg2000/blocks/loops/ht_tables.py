"""The codewords of high-throughput blocks as tables to look up (ISO/IEC 15444-15, annexes C and F).

A *quad* is two by two samples. Its codeword tells which of them are significant, and for some of them the highest bit
of the exponent; another tells by how much the exponent exceeds what its neighbours predict.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from subband.typing import Array

__all__ = [
    "BOTH_FIRST",
    "BOTH_LARGE",
    "MEL_EXPONENTS",
    "MOST_OFFSETS",
    "OFFSET_CODES",
    "PAIR_CODES",
    "QUAD_CODES",
    "QUAD_WORDS",
    "READ_OFFSETS",
]

#: How long runs of the adaptive run-length coder are in each of its states, as exponents of two.
MEL_EXPONENTS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5], np.int64)

#: One more than the largest offset of a quad.
MOST_OFFSETS = 33

#: Kinds of pairs of quads in the first row that both have an offset: one of them at most 2, or both larger.
BOTH_FIRST, BOTH_LARGE = 4, 5


def _read_codes() -> list[tuple[int, int, int, int, int, int, int, int]]:
    """Return table, context, significance, offset, known bits, ones, codeword and its length of all codewords."""
    rows = []
    text = files(__package__).joinpath("quad_codes.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        table, context, significant, *codes = line.split()
        for code in codes:
            known, bits = code.split(":")
            offset, mask, ones = (int(digit, 16) for digit in known)
            word = int(bits[::-1], 2)
            rows.append((int(table), int(context), int(significant, 16), offset, mask, ones, word, len(bits)))
    return rows


def _make_words() -> tuple[Array, Array]:
    """Return the tables to read and to write codewords with.

    The first is addressed by table, context and the next seven bits, and holds length (3 bits), offset (1),
    significance, ones and known bits (4 each). The second is addressed by table, context, significance and which
    samples have the highest exponent, and holds codeword (8 bits), length (4) and known bits (4).
    """
    words = np.zeros(2 << 10, np.uint16)
    codes = np.zeros(2 << 11, np.uint16)
    best = np.full(2 << 11, -1)
    for table, context, significant, offset, mask, ones, word, length in _read_codes():
        for rest in range(1 << (7 - length)):
            at = table << 10 | context << 7 | rest << length | word
            words[at] = length | offset << 3 | significant << 4 | ones << 8 | mask << 12
        for highest in range(16):
            # without an offset no sample stands out; with one, the code that says most about exponents is shortest
            if (highest > 0) == offset and highest & ~significant == 0 and highest & mask == ones:
                at = table << 11 | context << 8 | significant << 4 | highest
                if mask.bit_count() > best[at]:
                    best[at] = mask.bit_count()
                    codes[at] = word | length << 8 | mask << 12
    return words, codes


#: Prefixes of offsets: bits in the order of writing (lowest first), their number, bits of the suffix, least offset.
_PREFIXES = ((0b1, 1, 0, 1), (0b10, 2, 0, 2), (0b100, 3, 1, 3), (0b000, 3, 5, 5))


def _find_prefix(bits: int) -> tuple[int, int, int]:
    """Return length, bits of the suffix, and least offset of the prefix that some bits begin with."""
    return next((n, suffix, least) for word, n, suffix, least in _PREFIXES if bits & ((1 << n) - 1) == word)


def _make_offsets() -> Array:
    """Return what six bits say about the offsets of two quads.

    Addressed by the kind of the pair and the bits: which quads have an offset, as one or two bits, `BOTH_FIRST` or
    `BOTH_LARGE`. Holds the bits of both prefixes (4), of both suffixes (4), of the first suffix (4), and the least
    offsets (4 each).
    """
    table = np.zeros(6 << 6, np.int64)
    for kind in range(6):
        for bits in range(64):
            length = suffix = first = least = other = 0
            if kind not in (0, 2):
                length, first, least = _find_prefix(bits)
                suffix = first
            if kind == BOTH_FIRST and least > 2:
                other = 1 + (bits >> length & 1)
                length += 1
            elif kind >= 2:
                n, more, other = _find_prefix(bits >> length)
                length, suffix = length + n, suffix + more
            if kind == BOTH_LARGE:
                least, other = least + 2, other + 2
            table[kind << 6 | bits] = length | suffix << 4 | first << 8 | least << 12 | other << 16
    return table


def _make_offset_codes() -> Array:
    """Return what is written for an offset: prefix (3 bits), its length (2), suffix (5) and its length (3)."""
    codes = np.zeros(MOST_OFFSETS, np.int64)
    for offset in range(1, MOST_OFFSETS):
        word, n, suffix, least = next(row for row in reversed(_PREFIXES) if offset >= row[3])
        codes[offset] = word | n << 3 | (offset - least) << 5 | suffix << 10
    return codes


def _make_pair_codes(codes: Array) -> Array:
    """Return what is written for the offsets of two quads, in all rows and then in the first.

    Addressed by both offsets; holds bits (16) and their number.
    """
    table = np.zeros(2 * MOST_OFFSETS**2, np.int64)
    for at in range(len(table)):
        is_first, first, second = at >= MOST_OFFSETS**2, *divmod(at % MOST_OFFSETS**2, MOST_OFFSETS)
        is_large = is_first and min(first, second) > 2
        # in the first row an event tells that both are above 2; else one that is leaves a bit for the other
        one, other = (int(codes[offset - 2 * is_large]) for offset in (first, second))
        prefix = (other & 7, other >> 3 & 3)
        if is_first and first > 2 and 1 <= second <= 2:
            prefix, other = (second - 1, 1), 0
        bits, length = 0, 0
        suffixes = ((one >> 5 & 31, one >> 10), (other >> 5 & 31, other >> 10))
        for number, count in ((one & 7, one >> 3 & 3), prefix, *suffixes):
            bits |= number << length
            length += count
        table[at] = bits | length << 16
    return table


QUAD_WORDS, QUAD_CODES = _make_words()
READ_OFFSETS = _make_offsets()
OFFSET_CODES = _make_offset_codes()
PAIR_CODES = _make_pair_codes(OFFSET_CODES)
