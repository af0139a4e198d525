"""Lifting steps in whole numbers along rows and columns, each of which repeats its own outermost sources at the ends.

A level lies in one plane: each row holds its low coefficients, then its high ones; rows that are low and high down the
columns alternate. So nothing is moved once a row is transformed, and a band is a part of a plane with a stride of its
own. `steps` are rows of target, start, taps, offset, shift, lag and the weights, in the kind of numbers of the plane
and in the order in which they run. Steps of two and four taps are symmetric.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.lifting import HEAD, LAG, MOST_TAPS, REACH
from subband.engines.cpu.loops import copy, data, keep, keep_apart, make_room, shift
from subband.engines.cpu.whole_numbers import add_product, halve, lower, raise_clipped

__all__ = ["forward_columns", "forward_rows", "inverse_columns", "inverse_level", "inverse_rows"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@nb.njit(**_OPTIONS)
def _lift_one(t, a, weights, offset, bits, sign, n):
    keep_apart()
    p = weights[0]
    for k in range(n):
        t[k] = add_product(t[k], sign, halve(add_product(offset, p, a[k]), bits))


@nb.njit(**_OPTIONS)
def _lift_two(t, a, b, weights, offset, bits, sign, n):
    keep_apart()
    p = weights[0]
    for k in range(n):
        total = add_product(offset, p, add_product(a[k], 1, b[k]))
        t[k] = add_product(t[k], sign, halve(total, bits))


@nb.njit(**_OPTIONS)
def _lift_four(t, a, b, c, d, weights, offset, bits, sign, n):
    keep_apart()
    p, q = weights[0], weights[1]
    for k in range(n):
        total = add_product(add_product(offset, p, add_product(a[k], 1, d[k])), q, add_product(b[k], 1, c[k]))
        t[k] = add_product(t[k], sign, halve(total, bits))


@nb.njit(**_OPTIONS)
def _lift_eight(t, a, b, c, d, e, f, g, h, weights, offset, bits, sign, n):
    keep_apart()
    for k in range(n):
        total = add_product(add_product(offset, weights[0], a[k]), weights[1], b[k])
        total = add_product(add_product(total, weights[2], c[k]), weights[3], d[k])
        total = add_product(add_product(total, weights[4], e[k]), weights[5], f[k])
        total = add_product(add_product(total, weights[6], g[k]), weights[7], h[k])
        t[k] = add_product(t[k], sign, halve(total, bits))


@nb.njit(**_OPTIONS)
def _lift(x, t, at, step, sign, n):
    """Add what a step computes of the runs at the offsets `at` of `x` to the run at `t`, or take it away."""
    taps, offset, bits = step[2], step[3], step[4]
    weights, target = shift(step, HEAD), shift(x, t)
    a, b = shift(x, at[0]), shift(x, at[1])
    if taps == 1:
        _lift_one(target, a, weights, offset, bits, sign, n)
    elif taps == 2:
        _lift_two(target, a, b, weights, offset, bits, sign, n)
    elif taps == 4:
        _lift_four(target, a, b, shift(x, at[2]), shift(x, at[3]), weights, offset, bits, sign, n)
    else:
        c, d, e, f = shift(x, at[2]), shift(x, at[3]), shift(x, at[4]), shift(x, at[5])
        _lift_eight(target, a, b, c, d, e, f, shift(x, at[6]), shift(x, at[7]), weights, offset, bits, sign, n)


@nb.njit(**_OPTIONS)
def _lift_row(x, room, at, steps, count, sign, n):
    """Run all steps on even members at ``x[REACH]`` and odd ones `room` behind them."""
    for number in range(count):
        step = shift(steps, number * (HEAD + MOST_TAPS))
        target = REACH + step[0] * room
        source = REACH + (1 - step[0]) * room
        for k in range(1, REACH + 1):
            x[source - k] = x[source]
            x[source + n - 1 + k] = x[source + n - 1]
        for j in range(8):
            at[j] = source + step[1] + min(j, step[2] - 1)
        _lift(x, target, at, step, sign, n)


@nb.njit(**_OPTIONS)
def _lift_columns(x, stride, rows, at, steps, count, sign, n):
    """Run all steps on the rows of a part of a plane, `n` columns from the address `x` on.

    Each step follows the one before as closely as its sources allow, so that the rows between them stay in the cache.
    """
    pairs, behind = rows // 2, 0
    for number in range(count):
        behind = max(behind, shift(steps, number * (HEAD + MOST_TAPS))[LAG])
    for newest in range(pairs + behind):
        for number in range(count):
            step = shift(steps, number * (HEAD + MOST_TAPS))
            pair = newest - step[LAG]
            if 0 <= pair < pairs:
                for j in range(8):
                    source = min(max(pair + step[1] + min(j, step[2] - 1), 0), pairs - 1)
                    at[j] = (2 * source + 1 - step[0]) * stride
                _lift(x, (2 * pair + step[0]) * stride, at, step, sign, n)


@stored(**_OPTIONS)
def forward_rows(source, begin, source_stride, rows, columns, middle, bits, plane, offset, width, steps, first, last):
    """Transform rows `first` to `last` of some samples, `middle` taken away and shifted up, into rows of a plane.

    `columns` and `rows` are those of the samples; the last ones are repeated to fill the plane, whose rows are `width`.
    """
    half = width // 2
    room = half + 2 * REACH
    line = make_room(data(plane), 2 * room)
    offsets = np.zeros(8, np.int64)
    x, y, out, at, table = data(line), data(source), data(plane), data(offsets), data(steps)
    pairs = columns // 2
    for row in range(first, last):
        start = begin + min(row, rows - 1) * source_stride
        for k in range(pairs):
            x[REACH + k] = lower(x[0], y[start + 2 * k], middle, bits)
            x[REACH + room + k] = lower(x[0], y[start + 2 * k + 1], middle, bits)
        for k in range(pairs, half):
            x[REACH + k] = lower(x[0], y[start + min(2 * k, columns - 1)], middle, bits)
            x[REACH + room + k] = lower(x[0], y[start + columns - 1], middle, bits)
        _lift_row(x, room, at, table, steps.shape[0], 1, half)
        goal = offset + row * width
        for k in range(half):
            out[goal + k] = x[REACH + k]
        for k in range(half):
            out[goal + half + k] = x[REACH + room + k]
    keep(line)
    keep(offsets)


@stored(**_OPTIONS)
def forward_columns(plane, offset, width, rows, steps, first, last):
    """Transform columns `first` to `last` of a plane in position."""
    offsets = np.zeros(8, np.int64)
    _lift_columns(shift(data(plane), offset + first), width, rows, data(offsets), data(steps), steps.shape[0], 1,
                  last - first)  # fmt: skip
    keep(offsets)


@stored(**_OPTIONS)
def inverse_columns(plane, offset, width, rows, steps, first, last):
    """Undo `forward_columns`."""
    offsets = np.zeros(8, np.int64)
    _lift_columns(shift(data(plane), offset + first), width, rows, data(offsets), data(steps), steps.shape[0], -1,
                  last - first)  # fmt: skip
    keep(offsets)


@nb.njit(**_OPTIONS)
def _inverse_row(y, x, room, half, at, table, count, out, columns, bits, low, high, middle):
    """Make samples of the low and high coefficients of a row, by the room `x` for them."""
    for k in range(half):
        x[REACH + k] = y[k]
    for k in range(half):
        x[REACH + room + k] = y[half + k]
    _lift_row(x, room, at, table, count, -1, half)
    for k in range(columns // 2):
        out[2 * k] = raise_clipped(x[REACH + k], bits, low, high, middle)
        out[2 * k + 1] = raise_clipped(x[REACH + room + k], bits, low, high, middle)
    if columns % 2:
        out[columns - 1] = raise_clipped(x[REACH + columns // 2], bits, low, high, middle)


@stored(**_OPTIONS)
def inverse_rows(plane, offset, width, steps, target, begin, target_stride, columns, bits, low, high, middle, first,
                 last):  # fmt: skip
    """Undo `forward_rows`: numbers are rounded down by `bits`, clipped to `low` and `high`, and `middle` is added."""
    half = width // 2
    room = half + 2 * REACH
    line = make_room(data(plane), 2 * room)
    offsets = np.zeros(8, np.int64)
    x, y, out, at, table = data(line), data(plane), data(target), data(offsets), data(steps)
    for row in range(first, last):
        goal = shift(out, begin + row * target_stride)
        _inverse_row(shift(y, offset + row * width), x, room, half, at, table, steps.shape[0], goal, columns, bits, low,
                     high, middle)  # fmt: skip
    keep(line)
    keep(offsets)


@stored(**_OPTIONS)
def inverse_level(plane, offset, width, rows, down, before, behind, depth, along, target, begin, target_stride,
                  target_rows, columns, bits, low, high, middle, first, last):  # fmt: skip
    """Do the work of `inverse_columns` and `inverse_rows` for the pairs of rows `first` to `last`, in one pass.

    The plane stays as it is: a few pairs, `depth` of them, are on their way at a time, in memory of their own. Outputs
    need `before` pairs in front and `behind` pairs after them. `target_rows` are those that there are of the target.
    """
    half, pairs = width // 2, rows // 2
    room = half + 2 * REACH
    line, ring = make_room(data(plane), 2 * room), make_room(data(plane), 2 * depth * width)
    offsets = np.zeros(8, np.int64)
    x, z, y, out, at = data(line), data(ring), data(plane), data(target), data(offsets)
    steps, table, count = data(down), data(along), along.shape[0]
    begin_pair = max(first - before, 0)
    for newest in range(begin_pair, last + behind):
        if newest < pairs:
            copy(shift(z, 2 * (newest % depth) * width), shift(y, offset + 2 * newest * width), 2 * width)
        for number in range(down.shape[0]):
            step = shift(steps, number * (HEAD + MOST_TAPS))
            pair = newest - step[LAG]
            if begin_pair <= pair < pairs:
                for j in range(8):
                    source = min(max(pair + step[1] + min(j, step[2] - 1), begin_pair), pairs - 1)
                    at[j] = (2 * (source % depth) + 1 - step[0]) * width
                _lift(z, (2 * (pair % depth) + step[0]) * width, at, step, -1, width)
        pair = newest - behind
        if pair >= first:
            for row in range(2 * pair, min(2 * pair + 2, target_rows)):
                start = shift(z, (2 * (pair % depth) + row % 2) * width)
                goal = shift(out, begin + row * target_stride)
                _inverse_row(start, x, room, half, at, table, count, goal, columns, bits, low, high, middle)
    keep(line)
    keep(ring)
    keep(offsets)
