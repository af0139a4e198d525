"""Reading slices: coefficients of interleaved exponential Golomb codes; see `subband.codecs.vc2.loops.writing`.

A block of codes that ends early goes on with ones: those are zeros.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.vc2.loops.numbers import count_leading_zeros, load_word, prefetch, restore
from subband.codecs.vc2.loops.writing import BEGIN, MATRIX, STRIDE, count_coefficients
from subband.compiled.compiling import stored
from subband.engines.cpu.loops import count_in_line, data, keep, keep_apart, shift

__all__ = ["decode_blocks", "locate_blocks", "read_slowly"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}

#: Bits that are looked up at once, how many numbers an entry of the table has room for, and looks at one word.
WINDOW, ENTRY, _LOOKS = 12, 8, 4

# Bytes of a word, which is read at once, and of the room for the end of a block.
_WORD, _TAIL = 8, 32

_LANES = 8


@stored(**_OPTIONS)
def locate_blocks(stream, begin, end, prefix, scaler, starts, found):
    """Write where each of some slices begins, and to `found` how many are whole and where the last of these ends."""
    found[0], found[1] = 0, begin
    for number in range(starts.shape[0]):
        starts[number] = found[1]
        at = found[1] + prefix + 1
        for _ in range(3):
            if at >= end:
                return
            at += 1 + stream[at] * scaler
        if at > end:
            return
        found[0], found[1] = number + 1, at


@nb.njit(**_OPTIONS)
def _read_codes(out, k, n, stream, position, limit, end, values, entries):
    """Read numbers from a bit on, until there are `n` or the next one begins at the bit `limit`.

    A word is read from wherever a number begins, so that there must be one at `limit` too. Return how many numbers
    there are, the next bit, and the largest magnitude that was too long for the table.
    """
    keep_apart()
    largest = np.int64(0)
    while k < n and position < limit:
        window = load_word(shift(stream, position >> 3)) << np.uint64(position & 7)
        if entries[np.int64(window >> np.uint64(64 - WINDOW))] == 0:
            value, position = _read_long(stream, window, position, end)
            largest = max(largest, abs(value))
            out[k] = value
            k += 1
            continue
        for _ in range(_LOOKS):
            at = np.int64(window >> np.uint64(64 - WINDOW))
            entry = np.int64(entries[at])
            for j in range(ENTRY):
                out[k + j] = values[ENTRY * at + j]
            k += entry >> 8
            window <<= np.uint64(entry & 255)
            position += entry & 255
    return k, position, largest


@nb.njit(**_OPTIONS)
def _read_long(stream, window, position, end):
    """Return the number at a bit, and the bit behind it; `window` holds at least 57 bits from there on."""
    digits = np.int64(count_leading_zeros(window & np.uint64(0xAAAAAAAAAAAAAAAA)) >> 1)
    if digits > 27 or digits == 0:
        return read_slowly(stream, position, end)
    # every second bit, from both ends of ever longer runs
    bits = window >> np.uint64(64 - 2 * digits)
    bits = (bits | bits >> np.uint64(1)) & np.uint64(0x3333333333333333)
    bits = (bits | bits >> np.uint64(2)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = (bits | bits >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
    bits = (bits | bits >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    bits = (bits | bits >> np.uint64(16)) & np.uint64(0x00000000FFFFFFFF)
    size = (np.int64(1) << digits | np.int64(bits)) - 1
    is_negative = window >> np.uint64(62 - 2 * digits) & np.uint64(1)
    return (-size if is_negative else size), position + 2 * digits + 2


@nb.njit(**_OPTIONS)
def read_slowly(stream, position, end):
    """Return the number at a bit, and the bit behind it; bits from `end` on are ones."""
    number = np.int64(1)
    while position < end and not stream[position >> 3] >> (7 - (position & 7)) & 1:
        position += 1
        digit = 1
        if position < end:
            digit = stream[position >> 3] >> (7 - (position & 7)) & 1
        position += 1
        number = min(number << 1 | digit, np.int64(1) << 30)
    position += 1
    size = number - 1
    if size == 0:
        return size, position
    is_negative = position >= end or stream[position >> 3] >> (7 - (position & 7)) & 1
    return (-size if is_negative else size), position + 1


@nb.njit(**_OPTIONS)
def _read_block(out, n, stream, begin, end, tail, values, entries):
    """Read `n` numbers of the bytes from `begin` to `end`; return the largest magnitude that was too long."""
    k, position, largest = _read_codes(out, 0, n, stream, 8 * begin, 8 * (end - _WORD), 8 * end, values, entries)
    if k < n and position < 8 * end:
        # the last bytes apart, and ones behind them
        first = position >> 3
        for j in range(_TAIL):
            tail[j] = stream[first + j] if first + j < end else 255
        left = 8 * (end - first)
        k, _, rest = _read_codes(out, k, n, tail, position & 7, left, left, values, entries)
        largest = max(largest, rest)
    for j in range(k, n):
        out[j] = 0
    return largest


@nb.njit(**_OPTIONS)
def _restore_block(y, stride, x, rows, columns, factor, offset):
    """Write the coefficients that numbers behind each other stand for to some rows; the numbers are lost."""
    keep_apart()
    factor, offset = np.int32(factor), np.int32(offset)
    # rows are short, and all of them together are not
    for k in range(rows * columns):
        x[k] = restore(x[k], factor, offset)
    whole = columns // _LANES * _LANES
    for row in range(rows):
        goal, line = shift(y, row * stride), shift(x, row * columns)
        for k in range(0, whole, _LANES):
            for j in range(_LANES):
                goal[k + j] = line[k + j]
        for k in range(whole, columns):
            goal[k] = line[k]


@nb.njit(**_OPTIONS)
def _restore_wide(y, stride, x, rows, columns, factor, offset, most):
    """Do the same without numbers that are too large."""
    keep_apart()
    for row in range(rows):
        for k in range(columns):
            value = restore(np.int64(x[row * columns + k]), factor, offset)
            y[row * stride + k] = min(max(value, -most), most)


@nb.njit(**_OPTIONS)
def _fetch_component(x, bands, row_edges, column_edges, component, top, left):
    """Ask for the coefficients of a component of a slice, whose short rows no prefetcher foresees."""
    count = bands.shape[0] // 3
    for band in range(component * count, (component + 1) * count):
        x0, x1 = column_edges[left, band], column_edges[left + 1, band]
        for row in range(row_edges[top, band], row_edges[top + 1, band]):
            line = shift(x, bands[band, BEGIN] + row * bands[band, STRIDE])
            for k in range(x0, x1, count_in_line(x)):
                prefetch(shift(line, k))


@stored(**_OPTIONS)
def decode_blocks(
    stream, starts, prefix, scaler, numbers, first, last, bands, row_edges, column_edges, room, factors, offsets, most,
    values, entries, coefficients,
):  # fmt: skip
    """Write the coefficients of slices, those that `numbers` has from `first` to `last`; all lie inside the stream."""
    across, count = column_edges.shape[0] - 1, bands.shape[0] // 3
    line = np.empty(room + _LOOKS * ENTRY, np.int32)
    tail = np.empty(_TAIL, np.uint8)
    read, out, steps, table, counts = data(stream), data(coefficients), data(line), data(values), data(entries)
    for index in range(first, last):
        top, left = numbers[index] // across, numbers[index] % across
        position = starts[index] + prefix
        quantiser = np.int64(stream[position])
        position += 1
        for component in range(3):
            end = position + 1 + stream[position] * scaler
            n = count_coefficients(bands, row_edges, column_edges, component, top, left)
            _fetch_component(out, bands, row_edges, column_edges, component, top, left)
            largest = _read_block(steps, n, read, position + 1, end, data(tail), table, counts)
            largest = max(largest, np.int64(1) << WINDOW)
            k = 0
            for band in range(component * count, (component + 1) * count):
                x0, width = column_edges[left, band], column_edges[left + 1, band] - column_edges[left, band]
                step = max(quantiser - bands[band, MATRIX], 0)
                factor, offset = factors[step], offsets[step]
                y0, height = row_edges[top, band], row_edges[top + 1, band] - row_edges[top, band]
                stride = bands[band, STRIDE]
                goal = shift(out, bands[band, BEGIN] + y0 * stride + x0)
                if factor < 1 << 20 and largest * factor < 1 << 29:
                    _restore_block(goal, stride, shift(steps, k), height, width, factor, offset)
                else:
                    _restore_wide(goal, stride, shift(steps, k), height, width, factor, offset, most)
                k += height * width
            position = end
    keep(line)
    keep(tail)
