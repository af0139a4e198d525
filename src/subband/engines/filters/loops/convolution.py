"""Weighted sums of neighbours: filters along an axis, and the Laplacian."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, data, keep, keep_apart, make_room, round_up, shift
from subband.engines.filters.loops.calls import add_run, cast_like, mirror, stand_alone

__all__ = ["convolve_columns", "convolve_rows", "subtract_laplacian"]


@nb.njit(**OPTIONS)
def _weigh_one(y, a, u, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = u * a[k]


@nb.njit(**OPTIONS)
def _add_two(y, a, b, u, v, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += u * a[k] + v * b[k]


@nb.njit(**OPTIONS)
def _add_four(y, a, b, c, d, u, v, w, z, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += (u * a[k] + v * b[k]) + (w * c[k] + z * d[k])


@nb.njit(**OPTIONS)
def _weigh(y, x, at, taps, count, n):
    """Write the weighted sum of an odd number of runs, at the offsets `at` in `x`."""
    _weigh_one(y, shift(x, at[0]), taps[0], n)
    k = 1
    while count - k >= 4:
        a, b, c, d = shift(x, at[k]), shift(x, at[k + 1]), shift(x, at[k + 2]), shift(x, at[k + 3])
        _add_four(y, a, b, c, d, taps[k], taps[k + 1], taps[k + 2], taps[k + 3], n)
        k += 4
    if count - k >= 2:
        _add_two(y, shift(x, at[k]), shift(x, at[k + 1]), taps[k], taps[k + 1], n)


@nb.njit(**OPTIONS)
def _load_mirrored(y, x, first, n, length):
    """Write `n` numbers of a row from the index `first` on, mirrored outside the row."""
    stand_alone()
    keep_apart()
    begin = min(max(0, -first), n)
    end = max(min(n, length - first), begin)
    for k in range(begin, end):
        y[k] = x[first + k]
    for k in range(begin):
        y[k] = x[mirror(first + k, length)]
    for k in range(end, n):
        y[k] = x[mirror(first + k, length)]


@pointed(**OPTIONS)
def convolve_rows(out, x, taps, _numbers, sizes, task):
    """Filter along rows. Sizes: the length of a row, and taps, which are in the order of the samples."""
    length, count = sizes[0], sizes[1]
    c0, n = task[3], task[4] - task[3]
    room, offsets = make_room(x, n + count), np.arange(count)
    line = data(room)
    for row in range(task[1], task[2]):
        _load_mirrored(line, shift(x, row * length), c0 - count // 2, n + count - 1, length)
        _weigh(shift(out, row * length + c0), line, data(offsets), taps, count, n)
    keep(room)
    keep(offsets)


@pointed(**OPTIONS)
def convolve_columns(out, x, taps, _numbers, sizes, task):
    """Filter down the columns of images. Sizes: height and width of an image, and taps."""
    height, width, count = sizes[0], sizes[1], sizes[2]
    offsets = np.empty(count, np.int64)
    for row in range(task[1], task[2]):
        for k in range(count):
            offsets[k] = (task[0] * height + mirror(row + k - count // 2, height)) * width + task[3]
        goal = shift(out, (task[0] * height + row) * width + task[3])
        _weigh(goal, x, data(offsets), taps, count, task[4] - task[3])
    keep(offsets)


@nb.njit(**OPTIONS)
def _subtract(y, v, s, centre, beside, above, across, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        sides, corners = v[k] + v[k + 2], s[k] + s[k + 2]
        y[k] = (centre * v[k + 1] + beside * sides) + (above * s[k + 1] + across * corners)


@pointed(**OPTIONS)
def subtract_laplacian(out, x, _y, numbers, sizes, task):
    """Sum the weighted neighbours of every sample.

    Sizes: height and width of an image. Numbers: the weights of the sample, of those left and right, of those above and
    below, and of those across.
    """
    height, width = sizes[0], sizes[1]
    c0, n = task[3], task[4] - task[3]
    pitch = round_up(n + 2)
    room = make_room(x, 3 * pitch)
    line, rows, spare = data(room), data(room[pitch:]), data(room[2 * pitch :])
    centre, beside = cast_like(x, numbers[0]), cast_like(x, numbers[1])
    above, across = cast_like(x, numbers[2]), cast_like(x, numbers[3])
    image = shift(x, task[0] * height * width)
    for row in range(task[1], task[2]):
        _load_mirrored(rows, shift(image, mirror(row - 1, height) * width), c0 - 1, n + 2, width)
        _load_mirrored(spare, shift(image, mirror(row + 1, height) * width), c0 - 1, n + 2, width)
        _load_mirrored(line, shift(image, row * width), c0 - 1, n + 2, width)
        add_run(rows, spare, n + 2)
        goal = shift(out, (task[0] * height + row) * width + c0)
        _subtract(goal, line, rows, centre, beside, above, across, n)
    keep(room)
