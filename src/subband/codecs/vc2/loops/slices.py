"""Coding slices: quantised coefficients as interleaved exponential Golomb codes, slice by slice.

`bands` has a row for each band of each component, in the order of a stream: component, where it begins among the
coefficients, how much further its next row is, rows, columns and entry of the quantisation matrix. Slice number `k` of
`across` × `down` takes the same part of each band. A block of codes that ends early goes on with ones: those are zeros.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.vc2.loops.numbers import count_code_bits, quantise, restore
from subband.compiled.compiling import stored
from subband.engines.cpu.loops import data, keep, keep_apart, shift

__all__ = ["count_bytes", "decode_blocks", "decode_low_delay", "encode_blocks", "locate_blocks", "predict_lowest"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}

# Bits that are looked up at once, and how many numbers an entry of the table has room for.
_WINDOW, _ENTRY = 10, 8

# Room of a coefficient among the bytes of a slice.
_MOST_BYTES = 8

_COMPONENT, _BEGIN, _STRIDE, _ROWS, _COLUMNS, _MATRIX = range(6)


@nb.njit(**_OPTIONS)
def _count_row(x, n, inverse):
    """Return the bits of some coefficients in a row; those of zeros are one each."""
    total = np.int32(n)
    for k in range(n):
        total = count_code_bits(total, x[k], inverse)
    return np.int64(total)


@stored(**_OPTIONS)
def count_bytes(coefficients, bands, across, down, quantisers, inverses, is_compact, first, last, lengths):
    """Write to `lengths` the bytes of each component of slices `first` to `last`; compact without zeros at its end."""
    x = data(coefficients)
    for number in range(first, last):
        top, left = number // across, number % across
        for component in range(3):
            total = filled = 0
            for band in range(bands.shape[0]):
                if bands[band, _COMPONENT] != component:
                    continue
                rows, columns = bands[band, _ROWS], bands[band, _COLUMNS]
                x0, x1 = columns * left // across, columns * (left + 1) // across
                inverse = inverses[max(quantisers[number] - bands[band, _MATRIX], 0)]
                for row in range(rows * top // down, rows * (top + 1) // down):
                    line = shift(x, bands[band, _BEGIN] + row * bands[band, _STRIDE] + x0)
                    bits = _count_row(line, x1 - x0, inverse)
                    total += bits
                    if is_compact and bits > x1 - x0:
                        zeros = 0
                        while quantise(line[x1 - x0 - 1 - zeros], inverse) == 0:
                            zeros += 1
                        filled = total - zeros
            lengths[number, component] = ((filled if is_compact else total) + 7) // 8


@nb.njit(**_OPTIONS)
def _quantise_row(y, x, n, inverse):
    keep_apart()
    for k in range(n):
        y[k] = quantise(x[k], inverse)


@nb.njit(**_OPTIONS)
def _count_coefficients(bands, component, across, down, number):
    """Return how many coefficients of a component a slice has."""
    top, left = number // across, number % across
    total = 0
    for band in range(bands.shape[0]):
        if bands[band, _COMPONENT] == component:
            rows, columns = bands[band, _ROWS], bands[band, _COLUMNS]
            height = rows * (top + 1) // down - rows * top // down
            total += height * (columns * (left + 1) // across - columns * left // across)
    return total


@nb.njit(**_OPTIONS)
def _find_room(bands, across, down, first, last):
    """Return the most coefficients that a component has in one of some slices."""
    most = 0
    for number in range(first, last):
        for component in range(3):
            most = max(most, _count_coefficients(bands, component, across, down, number))
    return most


@nb.njit(**_OPTIONS)
def _write_codes(out, steps, n, codes, reach):
    """Write the codes of quantised coefficients, filled up with ones; return the bytes, or a few more."""
    keep_apart()
    window, filled, position = np.uint64(0), np.int64(0), 0
    for k in range(n):
        value = np.int64(steps[k])
        if -reach <= value < reach:
            entry = codes[value + reach]
            window = (window << np.uint64(entry >> np.uint32(24))) | np.uint64(entry & np.uint32(0xFFFFFF))
            filled += np.int64(entry >> np.uint32(24))
        else:
            code, bits = _make_code(abs(value))
            # a long code in two parts, so that the window holds it
            half = np.int64(bits // 2)
            window = (window << np.uint64(bits - half)) | (code >> np.uint64(half))
            filled += bits - half
            while filled >= 8:
                filled -= 8
                out[position] = np.uint8(window >> np.uint64(filled))
                position += 1
            window = (window << np.uint64(half)) | (code & ((np.uint64(1) << np.uint64(half)) - np.uint64(1)))
            if value < 0:
                window |= np.uint64(1)
            filled += half
        if filled >= 32:
            filled -= 32
            chunk = window >> np.uint64(filled)
            out[position] = np.uint8(chunk >> np.uint64(24))
            out[position + 1] = np.uint8(chunk >> np.uint64(16))
            out[position + 2] = np.uint8(chunk >> np.uint64(8))
            out[position + 3] = np.uint8(chunk)
            position += 4
    window = (window << np.uint64(8)) | np.uint64(255)
    filled += 8
    while filled >= 8:
        filled -= 8
        out[position] = np.uint8(window >> np.uint64(filled))
        position += 1
    return position


@nb.njit(**_OPTIONS)
def _make_code(size):
    """Return the code of a magnitude with a zero for its sign, and its bits: at most 50."""
    number = size + 1
    top = 0
    while number >> (top + 1):
        top += 1
    code = np.uint64(0)
    for k in range(top - 1, -1, -1):
        code = (code << np.uint64(2)) | np.uint64(number >> k & 1)
    return (code << np.uint64(2)) | np.uint64(2), 2 * top + 2


@stored(**_OPTIONS)
def encode_blocks(
    coefficients, bands, across, down, quantisers, inverses, codes, prefix, scaler, lengths, starts, first, last, out
):
    """Write slices `first` to `last`, each from its position in `starts` on; `lengths` are those of `count_bytes`."""
    room = _find_room(bands, across, down, first, last)
    steps, line = np.empty(room, np.int32), np.empty(_MOST_BYTES * room + 16, np.uint8)
    x, values, written, table = data(coefficients), data(steps), data(line), data(codes)
    reach = codes.shape[0] // 2
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
            for band in range(bands.shape[0]):
                if bands[band, _COMPONENT] != component:
                    continue
                rows, columns = bands[band, _ROWS], bands[band, _COLUMNS]
                x0, x1 = columns * left // across, columns * (left + 1) // across
                inverse = inverses[max(quantisers[number] - bands[band, _MATRIX], 0)]
                for row in range(rows * top // down, rows * (top + 1) // down):
                    start = bands[band, _BEGIN] + row * bands[band, _STRIDE] + x0
                    _quantise_row(shift(values, n), shift(x, start), x1 - x0, inverse)
                    n += x1 - x0
            done = _write_codes(written, values, n, table, reach)
            units = (lengths[number, component] + scaler - 1) // scaler
            out[position] = units
            position += 1
            size = min(units * scaler, done)
            for k in range(size):
                out[position + k] = written[k]
            for k in range(size, units * scaler):
                out[position + k] = 255
            position += units * scaler
    keep(steps)
    keep(line)


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
def _read_codes(out, stream, position, end, n, values, entries):
    """Read `n` numbers of a block of bytes; return the largest magnitude that was too long for the table."""
    keep_apart()
    ones = np.uint64(0xFFFFFFFFFFFFFFFF)
    window, filled, largest = np.uint64(0), np.int64(0), np.int64(0)  # bits from the left
    k = 0
    while k < n:
        if filled <= 32 and position + 4 <= end:
            chunk = (np.uint64(stream[position]) << np.uint64(24)) | (np.uint64(stream[position + 1]) << np.uint64(16))
            chunk |= (np.uint64(stream[position + 2]) << np.uint64(8)) | np.uint64(stream[position + 3])
            window |= chunk << np.uint64(32 - filled)
            filled += 32
            position += 4
        while filled <= 56 and position < end:
            window |= np.uint64(stream[position]) << np.uint64(56 - filled)
            filled += 8
            position += 1
        if position >= end and filled < 64:
            window |= ones >> np.uint64(filled)
            filled = 64
            if window == ones:
                break
        at = np.int64(window >> np.uint64(64 - _WINDOW))
        entry = np.int64(entries[at])
        if entry:
            for j in range(_ENTRY):
                out[k + j] = values[_ENTRY * at + j]
            k += entry >> 8
            window <<= np.uint64(entry & 255)
            filled -= entry & 255
        else:
            value, window, filled, position = _read_long(stream, window, filled, position, end)
            largest = max(largest, abs(value))
            out[k] = value
            k += 1
    for j in range(k, n):
        out[j] = 0
    return largest


@nb.njit(**_OPTIONS)
def _read_long(stream, window, filled, position, end):
    """Return a number whose code is longer than the window, and what is left; more than 30 bits are cut off."""
    number, is_open, is_negative = np.int64(1), True, False
    state = 0  # 0: is there another digit; 1: the digit; 2: the sign
    while is_open:
        if filled == 0:
            window, filled = np.uint64(0xFFFFFFFFFFFFFFFF), np.int64(64)
            if position < end:
                window, filled = np.uint64(stream[position]) << np.uint64(56), np.int64(8)
                position += 1
        bit = np.int64(window >> np.uint64(63))
        window <<= np.uint64(1)
        filled -= 1
        if state == 0:
            state = 1 + bit
        elif state == 1:
            number = min(number << 1 | bit, np.int64(1) << 30)
            state = 0
        else:
            is_negative, is_open = bit > 0, False
    size = number - 1
    return (-size if is_negative else size), window, filled, position


@nb.njit(**_OPTIONS)
def _restore_row(y, x, n, factor, offset):
    keep_apart()
    factor, offset = np.int32(factor), np.int32(offset)
    for k in range(n):
        y[k] = restore(x[k], factor, offset)


@nb.njit(**_OPTIONS)
def _restore_wide(y, x, n, factor, offset, most):
    keep_apart()
    for k in range(n):
        y[k] = min(max(restore(np.int64(x[k]), factor, offset), -most), most)


@stored(**_OPTIONS)
def decode_blocks(
    stream, starts, prefix, scaler, numbers, first, last, bands, across, down, factors, offsets, most, values, entries,
    coefficients,
):  # fmt: skip
    """Write the coefficients of slices, those that `numbers` has from `first` to `last`; all lie inside the stream."""
    room = _find_room(bands, across, down, numbers[first], numbers[last - 1] + 1)
    line = np.empty(room + _ENTRY, np.int32)
    read, out, steps, table, counts = data(stream), data(coefficients), data(line), data(values), data(entries)
    for index in range(first, last):
        number = numbers[index]
        top, left = number // across, number % across
        position = starts[index] + prefix
        quantiser = np.int64(stream[position])
        position += 1
        for component in range(3):
            end = position + 1 + stream[position] * scaler
            n = _count_coefficients(bands, component, across, down, number)
            largest = max(_read_codes(steps, read, position + 1, end, n, table, counts), np.int64(1) << _WINDOW)
            k = 0
            for band in range(bands.shape[0]):
                if bands[band, _COMPONENT] != component:
                    continue
                rows, columns = bands[band, _ROWS], bands[band, _COLUMNS]
                x0, x1 = columns * left // across, columns * (left + 1) // across
                step = max(quantiser - bands[band, _MATRIX], 0)
                factor, offset = factors[step], offsets[step]
                for row in range(rows * top // down, rows * (top + 1) // down):
                    goal = shift(out, bands[band, _BEGIN] + row * bands[band, _STRIDE] + x0)
                    if factor < 1 << 20 and largest * factor < 1 << 29:
                        _restore_row(goal, shift(steps, k), x1 - x0, factor, offset)
                    else:
                        _restore_wide(goal, shift(steps, k), x1 - x0, factor, offset, most)
                    k += x1 - x0
            position = end
    keep(line)


@nb.njit(**_OPTIONS)
def _read_slowly(stream, position, end):
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


@stored(**_OPTIONS)
def decode_low_delay(
    stream, begin, numerator, denominator, numbers, first, last, bands, across, down, factors, offsets, most,
    coefficients,
):  # fmt: skip
    """Write the coefficients of low-delay slices, which are as long as their numbers say, from byte `begin` on.

    `begin` is where slice ``numbers[0]`` begins. Both chroma components of a slice take turns in one block.
    """
    origin = begin - numbers[0] * numerator // denominator if last > first else 0
    for index in range(first, last):
        number = numbers[index]
        top, left = number // across, number % across
        position = 8 * (origin + number * numerator // denominator)
        stop = 8 * (origin + (number + 1) * numerator // denominator)
        quantiser = np.int64(stream[position >> 3] >> 1)
        bits = 0
        while 1 << bits < stop - position - 7:
            bits += 1
        position += 7
        length = 0
        for _ in range(bits):
            digit = 0
            if position < stop:
                digit = stream[position >> 3] >> (7 - (position & 7)) & 1
            length = length << 1 | digit
            position += 1
        for block in range(2):
            end = min(position + length, stop) if block == 0 else stop
            for band in range(bands.shape[0]):
                if bands[band, _COMPONENT] != block:
                    continue
                rows, columns = bands[band, _ROWS], bands[band, _COLUMNS]
                x0, x1 = columns * left // across, columns * (left + 1) // across
                step = max(quantiser - bands[band, _MATRIX], 0)
                for row in range(rows * top // down, rows * (top + 1) // down):
                    for column in range(x0, x1):
                        for twin in range(1 + block):
                            # the bands of the second chroma component follow those of the first
                            own = band + twin * (bands.shape[0] // 3)
                            value, position = _read_slowly(stream, position, end)
                            value = restore(value, factors[step], offsets[step])
                            at = bands[own, _BEGIN] + row * bands[own, _STRIDE] + column
                            coefficients[at] = min(max(value, -most), most)
            position = end


@stored(**_OPTIONS)
def predict_lowest(coefficients, begin, stride, rows, columns):
    """Add to each coefficient of the lowest band the mean of its neighbours to the left and above (low delay)."""
    for row in range(rows):
        for column in range(columns):
            at = begin + row * stride + column
            if row and column:
                total = coefficients[at - 1] + coefficients[at - stride - 1] + coefficients[at - stride]
                coefficients[at] += (total + 1) // 3
            elif column:
                coefficients[at] += coefficients[at - 1]
            elif row:
                coefficients[at] += coefficients[at - stride]
