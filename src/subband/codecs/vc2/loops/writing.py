"""Writing slices: sizes and bytes of quantised coefficients as interleaved exponential Golomb codes.

`bands` has a row for each band of each component, in the order of a stream: component, where it begins among the
coefficients, how much further its next row is, rows, columns and entry of the quantisation matrix. The slice at `top`
and `left` takes the rows from ``row_edges[top]`` to ``row_edges[top + 1]`` of each band, and columns likewise.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.vc2.loops.numbers import count_code_bits, quantise, store_bits
from subband.compiled.compiling import stored
from subband.engines.cpu.loops import clear, copy, data, keep, keep_apart, shift

__all__ = ["BEGIN", "MATRIX", "STRIDE", "count_bytes", "count_coefficients", "encode_blocks"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}

#: Columns of the table of bands.
BEGIN, STRIDE, MATRIX = 1, 2, 5

# Room of a coefficient among the bytes of a slice.
_MOST_BYTES = 8

# Coefficients that are quantised at once; what lies behind a row is read as well, and not used.
_LANES = 8


@nb.njit(**_OPTIONS)
def _count_row(coarse, fine, x, n, inverse, finer):
    """Add the bits of the codes in a row, less one each, for two quantisers."""
    keep_apart()
    for k in range(n):
        coarse[k] = count_code_bits(coarse[k], x[k], inverse)
        fine[k] = count_code_bits(fine[k], x[k], finer)


@nb.njit(**_OPTIONS)
def _sum_row(x, first, last):
    """Return the sum of some numbers."""
    total = np.int64(0)
    for k in range(first, last):
        total += x[k]
    return total


@nb.njit(**_OPTIONS)
def _count_zeros(x, bands, row_edges, column_edges, component, top, left, quantiser, inverses):
    """Return how many coefficients at the end of a component of a slice become zero."""
    count, zeros = bands.shape[0] // 3, 0
    for band in range((component + 1) * count - 1, component * count - 1, -1):
        x0, x1 = column_edges[left, band], column_edges[left + 1, band]
        inverse = inverses[max(quantiser - bands[band, MATRIX], 0)]
        for row in range(row_edges[top + 1, band] - 1, row_edges[top, band] - 1, -1):
            start = bands[band, BEGIN] + row * bands[band, STRIDE]
            for column in range(x1 - 1, x0 - 1, -1):
                if quantise(x[start + column], inverse) != 0:
                    return zeros
                zeros += 1
    return zeros


@stored(**_OPTIONS)
def count_bytes(coefficients, bands, row_edges, column_edges, quantiser, inverses, is_compact, first, last, lengths):
    """Write the bytes of each component of slices in rows `first` to `last`; compact ones end without zeros.

    ``lengths[0]`` are those for a quantiser and ``lengths[1]`` those for the next finer one. The bits are summed down
    the columns of all slices in a row, and only then slice by slice: rows of one slice are too short for vectors.
    """
    across, count = column_edges.shape[0] - 1, bands.shape[0] // 3
    room = 0
    for band in range(bands.shape[0]):
        room = max(room, column_edges[across, band])
    sums = np.empty(2 * room, np.int32)
    x, coarse, fine = data(coefficients), data(sums), shift(data(sums), room)
    for top in range(first, last):
        for component in range(3):
            for left in range(across):
                lengths[0, top * across + left, component] = lengths[1, top * across + left, component] = 0
            for band in range(component * count, (component + 1) * count):
                y0, y1 = row_edges[top, band], row_edges[top + 1, band]
                step = quantiser - bands[band, MATRIX]
                inverse, finer = inverses[max(step, 0)], inverses[max(step - 1, 0)]
                clear(coarse, 2 * room)
                columns = column_edges[across, band]
                for row in range(y0, y1):
                    line = shift(x, bands[band, BEGIN] + row * bands[band, STRIDE])
                    _count_row(coarse, fine, line, columns, inverse, finer)
                for left in range(across):
                    x0, x1 = column_edges[left, band], column_edges[left + 1, band]
                    size = (y1 - y0) * (x1 - x0)
                    lengths[0, top * across + left, component] += size + _sum_row(coarse, x0, x1)
                    lengths[1, top * across + left, component] += size + _sum_row(fine, x0, x1)
            for left in range(across):
                for which in range(2):
                    bits = lengths[which, top * across + left, component]
                    if is_compact:
                        own = max(quantiser - which, 0)
                        bits -= _count_zeros(x, bands, row_edges, column_edges, component, top, left, own, inverses)
                    lengths[which, top * across + left, component] = (bits + 7) // 8
    keep(sums)


@nb.njit(**_OPTIONS)
def _quantise_block(y, x, stride, rows, columns, inverse):
    """Write the quantised coefficients of some rows behind each other."""
    keep_apart()
    for row in range(rows):
        line, goal = shift(x, row * stride), shift(y, row * columns)
        for k in range(0, columns, _LANES):
            for j in range(_LANES):
                goal[k + j] = quantise(line[k + j], inverse)


@nb.njit(**_OPTIONS)
def count_coefficients(bands, row_edges, column_edges, component, top, left):
    """Return how many coefficients of a component a slice has."""
    count, total = bands.shape[0] // 3, 0
    for band in range(component * count, (component + 1) * count):
        height = row_edges[top + 1, band] - row_edges[top, band]
        total += height * (column_edges[left + 1, band] - column_edges[left, band])
    return total


@nb.njit(**_OPTIONS)
def _write_codes(out, steps, n, codes, reach):
    """Write the codes of quantised coefficients, filled up with ones; return the bytes, or a few more.

    Two codes of the table and what is left of a byte fit a word, which is written whatever it holds: without a branch.
    """
    keep_apart()
    window, filled, position = np.uint64(0), np.int64(0), 0
    for k in range(0, n, 2):
        first, second = np.int64(steps[k]), np.int64(steps[k + 1])
        if k + 1 < n and -reach <= min(first, second) and max(first, second) < reach:
            code, other = codes[first + reach], codes[second + reach]
            window = (window << np.uint64(code >> np.uint32(24))) | np.uint64(code & np.uint32(0xFFFFFF))
            window = (window << np.uint64(other >> np.uint32(24))) | np.uint64(other & np.uint32(0xFFFFFF))
            filled += np.int64(code >> np.uint32(24)) + np.int64(other >> np.uint32(24))
            store_bits(shift(out, position), window, filled)
            position += filled >> 3
            filled &= 7
        else:
            for j in range(k, min(k + 2, n)):
                code, bits = _make_code(np.int64(steps[j]))
                # in two parts, so that the window holds them
                half = bits // 2
                window = (window << np.uint64(bits - half)) | (code >> np.uint64(half))
                filled += bits - half
                store_bits(shift(out, position), window, filled)
                position += filled >> 3
                filled = (filled & 7) + half
                window = (window << np.uint64(half)) | (code & ((np.uint64(1) << np.uint64(half)) - np.uint64(1)))
                store_bits(shift(out, position), window, max(filled, np.int64(1)))
                position += filled >> 3
                filled &= 7
    store_bits(shift(out, position), (window << np.uint64(8)) | np.uint64(255), filled + 8)
    return position + 2


@nb.njit(**_OPTIONS)
def _make_code(value):
    """Return the code of a number, and its bits: at most 50."""
    number = abs(value) + 1
    if number == 1:
        return np.uint64(1), np.int64(1)
    top = 0
    while number >> (top + 1):
        top += 1
    code = np.uint64(0)
    for k in range(top - 1, -1, -1):
        code = (code << np.uint64(2)) | np.uint64(number >> k & 1)
    return (code << np.uint64(2)) | np.uint64(3 if value < 0 else 2), np.int64(2 * top + 2)


@stored(**_OPTIONS)
def encode_blocks(
    coefficients, bands, row_edges, column_edges, room, quantisers, inverses, codes, prefix, scaler, lengths, starts,
    first, last, out,
):  # fmt: skip
    """Write slices `first` to `last`, each from its position in `starts` on; `lengths` are those of `count_bytes`.

    `room` is what a component of a slice has at most.
    """
    steps, line = np.empty(room + _LANES, np.int32), np.empty(_MOST_BYTES * room + 16, np.uint8)
    x, values, written, table = data(coefficients), data(steps), data(line), data(codes)
    reach, across, count = codes.shape[0] // 2, column_edges.shape[0] - 1, bands.shape[0] // 3
    for number in range(first, last):
        top, left = number // across, number % across
        position = starts[number]
        for k in range(prefix):
            out[position + k] = 0
        position += prefix
        out[position] = quantisers[number]
        position += 1
        for component in range(3):
            n = 0
            for band in range(component * count, (component + 1) * count):
                x0, width = column_edges[left, band], column_edges[left + 1, band] - column_edges[left, band]
                inverse = inverses[max(quantisers[number] - bands[band, MATRIX], 0)]
                y0, height = row_edges[top, band], row_edges[top + 1, band] - row_edges[top, band]
                stride = bands[band, STRIDE]
                start = bands[band, BEGIN] + y0 * stride + x0
                _quantise_block(shift(values, n), shift(x, start), stride, height, width, inverse)
                n += height * width
            done = _write_codes(written, values, n, table, reach)
            units = (lengths[number, component] + scaler - 1) // scaler
            out[position] = units
            position += 1
            size = min(units * scaler, done)
            copy(shift(data(out), position), written, size)
            for k in range(size, units * scaler):
                out[position + k] = 255
            position += units * scaler
    keep(steps)
    keep(line)
