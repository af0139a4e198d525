"""The compiled passes of undecimated levels: down the rows of images, and along rows."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.loops import OPTIONS, blend, data, keep_apart, shift

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


@stored(**OPTIONS)
def split_rows(x, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write columns `c0` … `c1` of the low and high rows `r0` … `r1`."""
    length, count = x.shape[2], shifts.size
    # shifts fall with the taps
    first, reach = shifts[-1], shifts[0] - shifts[-1]
    window = np.empty(_TILE + reach, x.dtype)
    offsets = shifts - first
    px, p, q, w = data(x), data(low), data(high), data(window)
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(w, px, row * length, length, left + first, columns + reach)
            offset = row * length + left
            blend(shift(p, offset), shift(q, offset), w, data(offsets), data(weights), 0, count, columns)
    return window.size + offsets.size


@stored(**OPTIONS)
def merge_rows(y, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write columns `c0` … `c1` of the rows `r0` … `r1` that low and high rows stand for."""
    length, count = y.shape[2], shifts.size
    first, reach = shifts[-1], shifts[0] - shifts[-1]
    window = np.empty(2 * (_TILE + reach), y.dtype)
    lows, highs = data(window), data(window[_TILE + reach :])
    p, pl, ph = data(y), data(low), data(high)
    for row in range(r0, r1):
        for left in range(c0, c1, _TILE):
            columns = min(_TILE, c1 - left)
            _unroll(lows, pl, row * length, length, left + first, columns + reach)
            _unroll(highs, ph, row * length, length, left + first, columns + reach)
            for k in range(count):
                at = shifts[k] - first
                a, d = weights[k], weights[count + k]
                _add_pair(shift(p, row * length + left), shift(lows, at), shift(highs, at), a, d, k > 0, columns)
    return window.size


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


@stored(**OPTIONS)
def split_images(x, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the low and high images."""
    height, width = x.shape[1], x.shape[2]
    offsets = np.empty(shifts.size, np.int64)
    px, p, q, at = data(x), data(low), data(high), data(offsets)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            for k in range(shifts.size):
                at[k] = image + (row + shifts[k]) % height * width + c0
            offset = image + row * width + c0
            blend(shift(p, offset), shift(q, offset), px, at, data(weights), 0, shifts.size, c1 - c0)
    return offsets.size


@stored(**OPTIONS)
def merge_images(y, low, high, shifts, weights, b0, b1, r0, r1, c0, c1):
    """Write rows `r0` … `r1`, columns `c0` … `c1` of the image that low and high images stand for."""
    height, width = y.shape[1], y.shape[2]
    count = shifts.size
    p, pl, ph = data(y), data(low), data(high)
    for b in range(b0, b1):
        image = b * height * width
        for row in range(r0, r1):
            offset = image + row * width + c0
            for k in range(count):
                at = image + (row + shifts[k]) % height * width + c0
                a, d = weights[k], weights[count + k]
                _add_pair(shift(p, offset), shift(pl, at), shift(ph, at), a, d, k > 0, c1 - c0)
