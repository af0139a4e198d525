"""Reading which samples of a high-throughput block are significant, and how long they may be.

Each codeword can be looked up only when the one before it is known, so that a processor mostly waits. Two blocks are
read side by side where they have the same size. What a row knows from the one above it is computed before, many quads
at a time, and few decisions are branches.
"""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address
from subband.codecs.jpeg2000.blocks.loops.ht_contexts import find_context
from subband.codecs.jpeg2000.blocks.loops.ht_stuffing import peek
from subband.codecs.jpeg2000.blocks.loops.ht_tables import (
    BOTH_FIRST,
    BOTH_LARGE,
    MEL_EXPONENTS,
    QUAD_WORDS,
    READ_OFFSETS,
)

__all__ = ["MEL_STATE", "read_quads", "read_two_quads", "start_runs"]

#: Numbers that the reader of runs keeps: the run, its step and whether the last byte was 0xFF, the next byte, the last,
#: the bits that are pending and how many they are.
MEL_STATE = 6

# Where the codewords of all rows but the first begin in their table.
_LATER = 1024


@nb.njit(**OPTIONS)
def start_runs(runs, data, first, last):
    """Begin to read the runs that lie between two bytes."""
    runs[1], runs[2], runs[3], runs[4], runs[5] = 0, first, last, 0, 0
    _read_run(address(runs), address(data))


@nb.njit(**OPTIONS)
def _read_run(runs, data):
    """Read the next run of the adaptive code: twice its zeros, less two, or twice its zeros and one if a one follows.

    The state is a step, and 16 if the last byte was 0xFF, behind which one has seven bits.
    """
    state, at, end, pending, count = runs[1], runs[2], runs[3], runs[4], runs[5]
    while count < 6:
        byte = nb.int64(255)
        if at < end - 1:
            byte = nb.int64(data[at]) | (15 if at == end - 2 else 0)
        wide = nb.int64(7) if state >> 4 else nb.int64(8)
        pending = pending << wide | byte & ((1 << wide) - 1)
        count += wide
        state = state & 15 | (16 if byte == 255 else 0)
        at += 1
    step = state & 15
    exponent = MEL_EXPONENTS[step]
    count -= 1
    if pending >> count & 1:
        run = (1 << (exponent + 1)) - 2
        state += step < 12
    else:
        count -= exponent
        run = (pending >> count & ((1 << exponent) - 1)) << 1 | 1
        state -= step > 0
    runs[0], runs[1], runs[2], runs[4], runs[5] = run, state, at, pending & 0xFFFF, count


@nb.njit(**OPTIONS)
def _take_event(runs, data):
    """Return the next event of the run-length code."""
    run = runs[0] - 2
    runs[0] = run
    if run < 0:
        _read_run(runs, data)
    return run == -1


@nb.njit(**OPTIONS)
def _finish_pair(word, position, kind, first, second, quads, k):
    """Read the offsets of two quads and write both; return where the next bits are."""
    offsets = address(READ_OFFSETS)[kind << 6 | word & 63]
    word >>= offsets & 15
    length = offsets >> 8 & 15
    both = offsets >> 4 & 15
    quads[k] = nb.int32(first | ((offsets >> 12 & 15) + (word & ((1 << length) - 1))) << 16)
    rest = (word >> length) & ((1 << (both - length)) - 1)
    quads[k + 1] = nb.int32(second | ((offsets >> 16 & 15) + rest) << 16)
    return position + (offsets & 15) + both


@nb.njit(**OPTIONS)
def _read_first_row(bits, wide, quads, pitch, runs, data):
    """Read the first row of quads, whose offsets are coded differently; return where the next bits are."""
    words = address(QUAD_WORDS)
    position, before = nb.int64(0), nb.int64(0)
    for column in range(0, wide, 2):
        k = pitch + 1 + column
        word = peek(bits, position)
        context = find_context(0, 0, 0, 0, before)
        first = nb.int64(0)
        if context > 0 or _take_event(runs, data):
            first = nb.int64(words[(context << 7) + (word & 127)])
        word >>= first & 7
        position += first & 7
        second = nb.int64(0)
        if column + 1 < wide:
            context = find_context(0, 0, 0, 0, first)
            if context > 0 or _take_event(runs, data):
                second = nb.int64(words[(context << 7) + (word & 127)])
        word >>= second & 7
        position += second & 7
        before = second
        kind = first >> 3 & 1 | second >> 2 & 2
        if kind == 3:
            kind = nb.int64(BOTH_LARGE) if _take_event(runs, data) else nb.int64(BOTH_FIRST)
        position = _finish_pair(word, position, kind, first, second, quads, k)
    return position


@nb.njit(**OPTIONS)
def _prepare_row(quads, k, pitch, count, contexts):
    """Write where the codewords of each quad begin, as far as the row above tells; for an odd last one, of nothing."""
    for column in range(count):
        corner, above = nb.int64(quads[k - pitch + column - 1]), nb.int64(quads[k - pitch + column])
        after = nb.int64(quads[k - pitch + column + 1])
        context = (corner >> 7 | above >> 5) & 1 | (above >> 5 | after >> 3) & 4
        contexts[column] = nb.int32(_LATER + (context << 7))


@nb.njit(**OPTIONS)
def _read_pair(bits, position, before, contexts, column, quads, k, has_second, runs, data):
    """Read two quads of a row; return where the next bits are, and the second quad."""
    words = address(QUAD_WORDS)
    word = peek(bits, position)
    # of the quad to the left, its right samples
    start = contexts[column] + ((before << 2 | before << 1) & 256)
    first = nb.int64(words[start + (word & 127)])
    if start == _LATER and not _take_event(runs, data):
        first = nb.int64(0)
    word >>= first & 7
    position += first & 7
    start = contexts[column + 1] + ((first << 2 | first << 1) & 256)
    second = nb.int64(words[start + (word & 127)])
    if not has_second or (start == _LATER and not _take_event(runs, data)):
        second = nb.int64(0)
    word >>= second & 7
    position += second & 7
    position = _finish_pair(word, position, first >> 3 & 1 | second >> 2 & 2, first, second, quads, k)
    return position, second


@nb.njit(**OPTIONS)
def _clear_margins(quads, high, wide, pitch):
    """Write the quads without anything: a row above the first, and one before and two behind each row."""
    for k in range(pitch):
        quads[k] = 0
    for row in range(1, high + 1):
        quads[row * pitch] = 0
        quads[row * pitch + wide + 1] = 0
        quads[row * pitch + wide + 2] = 0


@nb.njit(**OPTIONS)
def read_quads(data, bits, high, wide, runs, contexts, quads):
    """Read into each quad the fields of its codeword, and its offset at bit 16; return how many bits were read."""
    data, bits, runs = address(data), address(bits), address(runs)
    contexts, quads = address(contexts), address(quads)
    pitch = wide + 3
    _clear_margins(quads, high, wide, pitch)
    position = _read_first_row(bits, wide, quads, pitch, runs, data)
    for row in range(1, high):
        k = (row + 1) * pitch + 1
        _prepare_row(quads, k, pitch, wide + wide % 2, contexts)
        before = nb.int64(0)
        for column in range(0, wide, 2):
            position, before = _read_pair(
                bits, position, before, contexts, column, quads, k + column, column + 1 < wide, runs, data
            )
    return position


@nb.njit(**OPTIONS)
def read_two_quads(data, bits, other_bits, high, wide, runs, other_runs, contexts, other_contexts, quads, other_quads):
    """Read two blocks of the same size; see `read_quads`."""
    data, bits, runs = address(data), address(bits), address(runs)
    contexts, quads = address(contexts), address(quads)
    other_bits, other_runs = address(other_bits), address(other_runs)
    other_contexts, other_quads = address(other_contexts), address(other_quads)
    pitch = wide + 3
    _clear_margins(quads, high, wide, pitch)
    _clear_margins(other_quads, high, wide, pitch)
    position = _read_first_row(bits, wide, quads, pitch, runs, data)
    other_position = _read_first_row(other_bits, wide, other_quads, pitch, other_runs, data)
    for row in range(1, high):
        k = (row + 1) * pitch + 1
        _prepare_row(quads, k, pitch, wide + wide % 2, contexts)
        _prepare_row(other_quads, k, pitch, wide + wide % 2, other_contexts)
        before, other_before = nb.int64(0), nb.int64(0)
        for column in range(0, wide, 2):
            has_second = column + 1 < wide
            position, before = _read_pair(
                bits, position, before, contexts, column, quads, k + column, has_second, runs, data
            )
            other_position, other_before = _read_pair(
                other_bits, other_position, other_before, other_contexts, column, other_quads, k + column, has_second,
                other_runs, data,
            )  # fmt: skip
    return position, other_position
