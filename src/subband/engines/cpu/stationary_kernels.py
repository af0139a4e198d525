"""The compiled passes of undecimated levels: down the rows of images, and along rows.

They are kernels of a job (see `subband.engines.cpu.program`): of its five arrays they take samples, low and high
coefficients, and of its tables the shift and the two weights of each tap.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, blend, data, keep, keep_apart, make_room, shift
from subband.engines.cpu.program import COLUMNS, ROWS, TAP_COUNT

__all__ = ["merge_images", "merge_rows", "split_images", "split_rows"]

#: Columns that are filtered at a time, so that what is read stays in the cache.
_TILE = 1024


@nb.njit(**OPTIONS)
def _unroll(y, x, i, length, start, n):
    """Write `n` numbers of the periodic row at `x, i` from position `start` on."""
    done = 0
    while done < n:
        position = (start + done) % length
        count = min(n - done, length - position)
        for j in range(count):
            y[done + j] = x[i + position + j]
        done += count


@pointed(**OPTIONS)
def split_rows(x, low, high, _a, _b, shifts, weights, _c, _d, sizes, box):
    """Write the low and high coefficients of rows of samples."""
    r0, r1, c0, c1 = box[2], box[3], box[4], box[5]
    length, count = sizes[COLUMNS], sizes[TAP_COUNT]
    # shifts fall with the taps
    first, reach = shifts[count - 1], shifts[0] - shifts[count - 1]
    window = make_room(x, min(_TILE, c1 - c0) + reach)
    offsets = np.empty(count, np.int64)
    w, at = data(window), data(offsets)
    for k in range(count):
        at[k] = shifts[k] - first
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(w, x, row * length, length, left + first, columns + reach)
            offset = row * length + left
            blend(shift(low, offset), shift(high, offset), w, at, weights, 0, count, columns)
    keep(window)
    keep(offsets)


@pointed(**OPTIONS)
def merge_rows(y, low, high, _a, _b, shifts, weights, _c, _d, sizes, box):
    """Write the rows of samples that low and high coefficients stand for."""
    r0, r1, c0, c1 = box[2], box[3], box[4], box[5]
    length, count = sizes[COLUMNS], sizes[TAP_COUNT]
    first, reach = shifts[count - 1], shifts[0] - shifts[count - 1]
    room = min(_TILE, c1 - c0) + reach
    window = make_room(y, 2 * room)
    lows = data(window)
    highs = shift(lows, room)
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(lows, low, row * length, length, left + first, columns + reach)
            _unroll(highs, high, row * length, length, left + first, columns + reach)
            for k in range(count):
                at = shifts[k] - first
                a, d = weights[k], weights[count + k]
                _add_pair(shift(y, row * length + left), shift(lows, at), shift(highs, at), a, d, k > 0, columns)
    keep(window)


@nb.njit(**OPTIONS)
def _add_pair(y, low, high, a, d, add, n):
    """Write, or add, ``a * low + d * high``."""
    keep_apart()
    if add:
        for k in range(n):
            y[k] += a * low[k] + d * high[k]
    else:
        for k in range(n):
            y[k] = a * low[k] + d * high[k]


@pointed(**OPTIONS)
def split_images(x, low, high, _a, _b, shifts, weights, _c, _d, sizes, box):
    """Write the low and high coefficients down the columns of images."""
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    height, width, count = sizes[ROWS], sizes[COLUMNS], sizes[TAP_COUNT]
    offsets = np.empty(count, np.int64)
    at = data(offsets)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            for k in range(count):
                at[k] = image + (row + shifts[k]) % height * width + c0
            offset = image + row * width + c0
            blend(shift(low, offset), shift(high, offset), x, at, weights, 0, count, c1 - c0)
    keep(offsets)


@pointed(**OPTIONS)
def merge_images(y, low, high, _a, _b, shifts, weights, _c, _d, sizes, box):
    """Write the images that low and high coefficients down their columns stand for."""
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    height, width, count = sizes[ROWS], sizes[COLUMNS], sizes[TAP_COUNT]
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            offset = image + row * width + c0
            for k in range(count):
                at = image + (row + shifts[k]) % height * width + c0
                a, d = weights[k], weights[count + k]
                _add_pair(shift(y, offset), shift(low, at), shift(high, at), a, d, k > 0, c1 - c0)
