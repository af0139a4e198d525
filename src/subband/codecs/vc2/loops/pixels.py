"""Pixels, whose three components lie side by side, as planes and back, with chroma shared by some of them."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.loops import data, keep_apart, shift
from subband.engines.cpu.whole_numbers import add_product, halve

__all__ = ["join_planes", "split_pixels"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@nb.njit(**_OPTIONS)
def _split_luma(y, x, n, bits, most):
    keep_apart()
    rounding, bits, most = np.int32((1 << bits) >> 1), np.int32(bits), np.int32(most)
    for k in range(n):
        y[k] = min(halve(add_product(rounding, np.int32(1), np.int32(x[3 * k])), bits), most)


@nb.njit(**_OPTIONS)
def _average_row(y, x, below, n, across, bits, most):
    keep_apart()
    one, rounding, bits, most = np.int32(1), np.int32((1 << bits) >> 1), np.int32(bits), np.int32(most)
    for k in range(n):
        # where chroma is not shared these are the same pixels several times
        at, beside = 3 * across * k, 3 * across * k + 3 * (across - 1)
        total = add_product(add_product(np.int32(2), one, np.int32(x[at])), one, np.int32(x[beside]))
        total = add_product(add_product(total, one, np.int32(below[at])), one, np.int32(below[beside]))
        y[k] = min(halve(add_product(rounding, one, halve(total, np.int32(2))), bits), most)


@stored(**_OPTIONS)
def split_pixels(pixels, columns, down, across, bits, most, luma, first_chroma, second_chroma, first, last):
    """Write rows `first` to `last` of all planes: means of the pixels that share chroma, rounded down by `bits`.

    Rows are those of chroma, and one of them is `down` rows of luma.
    """
    x = data(pixels)
    n = columns // across
    for row in range(first, last):
        for k in range(down * row, down * (row + 1)):
            _split_luma(shift(data(luma), k * columns), shift(x, 3 * k * columns), columns, bits, most)
        top = 3 * down * row * columns
        bottom = top + 3 * (down - 1) * columns
        for component in range(1, 3):
            plane = data(first_chroma) if component == 1 else data(second_chroma)
            upper, lower = shift(x, top + component), shift(x, bottom + component)
            # a constant each, for vectors
            if across == 2:
                _average_row(shift(plane, row * n), upper, lower, n, 2, bits, most)
            else:
                _average_row(shift(plane, row * n), upper, lower, n, 1, bits, most)


@nb.njit(**_OPTIONS)
def _join_row(y, luma, first_chroma, second_chroma, n, factor):
    keep_apart()
    for k in range(n):
        y[3 * k] = luma[k] * factor
        y[3 * k + 1] = first_chroma[k] * factor
        y[3 * k + 2] = second_chroma[k] * factor


@nb.njit(**_OPTIONS)
def _join_pairs(y, luma, first_chroma, second_chroma, n, factor):
    keep_apart()
    for k in range(n):
        p, q = first_chroma[k] * factor, second_chroma[k] * factor
        y[6 * k] = luma[2 * k] * factor
        y[6 * k + 1] = p
        y[6 * k + 2] = q
        y[6 * k + 3] = luma[2 * k + 1] * factor
        y[6 * k + 4] = p
        y[6 * k + 5] = q


@stored(**_OPTIONS)
def join_planes(luma, first_chroma, second_chroma, columns, down, across, bits, pixels, first, last):
    """Write rows `first` to `last` of pixels, whose chroma is repeated, shifted up by `bits`."""
    n, factor = columns // across, 1 << bits
    for row in range(first, last):
        y, x = shift(data(pixels), 3 * row * columns), shift(data(luma), row * columns)
        p, q = shift(data(first_chroma), row // down * n), shift(data(second_chroma), row // down * n)
        if across == 2:
            _join_pairs(y, x, p, q, n, factor)
        else:
            _join_row(y, x, p, q, n, factor)
