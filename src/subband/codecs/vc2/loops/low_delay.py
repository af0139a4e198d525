"""Reading slices of the low-delay profile, which are as long as their numbers say."""

from __future__ import annotations

import numpy as np

from subband.codecs.vc2.loops.numbers import restore
from subband.codecs.vc2.loops.reading import read_slowly
from subband.codecs.vc2.loops.writing import BEGIN, MATRIX, STRIDE
from subband.compiled.compiling import stored

__all__ = ["decode_blocks", "predict_lowest"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@stored(**_OPTIONS)
def decode_blocks(
    stream, begin, numerator, denominator, numbers, first, last, bands, row_edges, column_edges, factors, offsets, most,
    coefficients,
):  # fmt: skip
    """Write the coefficients of slices, those that `numbers` has from `first` to `last`.

    `begin` is the byte at which slice ``numbers[0]`` begins. Both chroma components of a slice take turns in one block.
    """
    across, count = column_edges.shape[0] - 1, bands.shape[0] // 3
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
            for band in range(block * count, (block + 1) * count):
                step = max(quantiser - bands[band, MATRIX], 0)
                for row in range(row_edges[top, band], row_edges[top + 1, band]):
                    for column in range(column_edges[left, band], column_edges[left + 1, band]):
                        for twin in range(1 + block):
                            # the bands of the second chroma component follow those of the first
                            own = band + twin * count
                            value, position = read_slowly(stream, position, end)
                            value = restore(value, factors[step], offsets[step])
                            at = bands[own, BEGIN] + row * bands[own, STRIDE] + column
                            coefficients[at] = min(max(value, -most), most)
            position = end


@stored(**_OPTIONS)
def predict_lowest(coefficients, begin, stride, rows, columns):
    """Add to each coefficient of the lowest band the mean of its neighbours to the left and above."""
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
