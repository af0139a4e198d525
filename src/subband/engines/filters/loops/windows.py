"""Shrinking by the energy of a neighbourhood: sums over windows that slide down a strip of rows.

A ring holds the squares of the last few rows. Their sum down the columns, then along the row, is the energy of the
window. Every window is summed anew: a running sum would save additions, but carry the rounding of a bright edge into
the dark beside it.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, data, keep, keep_apart, make_room, round_up, shift
from subband.engines.filters.loops.calls import add_run, cast_like, copy_run, mirror, stand_alone

__all__ = ["count_neighbours", "scale_neighbours", "shrink_bivariate"]


# --- Sums of runs of numbers. ---


@nb.njit(**OPTIONS)
def _add_seven(y, a, b, c, d, e, f, g, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = ((a[k] + b[k]) + (c[k] + d[k])) + ((e[k] + f[k]) + g[k])


# --- The ring of rows. ---


@nb.njit(**OPTIONS)
def _square(y, x, factor, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        u = x[k] * factor
        y[k] = u * u


@nb.njit(**OPTIONS)
def _load_row(scratch, pitch, x, factor, sizes, z, row, c0, n, window):
    """Load the row that enters the windows around `row` into the ring.

    A window has as many rows and slices as there are axes of space for.
    """
    depth, height, width, axes = sizes[0], sizes[1], sizes[2], sizes[3]
    tall, deep = window if axes > 1 else 1, window // 2 if axes > 2 else 0
    newest, first, wide = row + tall // 2, c0 - window // 2, n + window - 1
    goal, spare = shift(scratch, newest % tall * pitch), shift(scratch, tall * pitch)
    begin, end = max(0, -first), min(wide, width - first)
    for step in range(-deep, deep + 1):
        line = (mirror(z + step, depth) * height + mirror(newest, height)) * width + first + begin
        if step == -deep:
            _square(shift(goal, begin), shift(x, line), factor, end - begin)
        else:
            _square(spare, shift(x, line), factor, end - begin)
            add_run(shift(goal, begin), spare, end - begin)
    # the ends of the row have just been written
    for k in range(begin):
        goal[k] = goal[mirror(first + k, width) - first]
    for k in range(end, wide):
        goal[k] = goal[mirror(first + k, width) - first]


@nb.njit(**OPTIONS)
def _add_rows(scratch, pitch, tall, n):
    """Write the sums down the columns of the ring behind it, in an order that depends on the row alone."""
    goal = shift(scratch, tall * pitch)
    if tall == 7:
        a, b, c, d = scratch, shift(scratch, pitch), shift(scratch, 2 * pitch), shift(scratch, 3 * pitch)
        e, f, g = shift(scratch, 4 * pitch), shift(scratch, 5 * pitch), shift(scratch, 6 * pitch)
        _add_seven(goal, a, b, c, d, e, f, g, n)
        return
    copy_run(goal, scratch, n)
    for k in range(1, tall):
        add_run(goal, shift(scratch, k * pitch), n)


@nb.njit(**OPTIONS)
def _add_columns(scratch, pitch, tall, window, n):
    """Write the sums along the row of sums of columns behind it, and return where."""
    column, goal = shift(scratch, tall * pitch), shift(scratch, (tall + 1) * pitch)
    copy_run(goal, column, n)
    for k in range(1, window):
        add_run(goal, shift(column, k), n)
    return goal


# --- Bivariate shrinkage. ---


@nb.njit(**OPTIONS)
def _repeat_twice(y, x, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[2 * k] = x[k]
        y[2 * k + 1] = x[k]


@nb.njit(**OPTIONS)
def _hold(index, length):
    return min(max(index, 0), length - 1)


@nb.njit(**OPTIONS)
def _load_parents(y, line, parent, ratio, width, c0, n, offset, scale):
    """Write the squares of the parents of `n` coefficients, and return where they begin."""
    stand_alone()
    first = (c0 + offset) // scale
    count = (c0 + n - 1 + offset) // scale - first + 1
    low, high = _hold(first, width), _hold(first + count - 1, width)
    begin = _hold(low - first, count)
    end = begin + high - low + 1
    _square(shift(line, begin), shift(parent, low), ratio, end - begin)
    for k in range(begin):
        line[k] = line[begin]
    for k in range(end, count):
        line[k] = line[end - 1]
    if scale == 1:
        copy_run(y, line, n)
    elif scale == 2:
        _repeat_twice(y, line, count)
        return (c0 + offset) - 2 * first
    else:
        for k in range(n):
            y[k] = line[(c0 + k + offset) // scale - first]
    return 0


@nb.njit(**OPTIONS)
def _shrink(v, energy, above, inverse, mean, bound, root, least, most, one):
    u = v * inverse
    signal = max(bound, energy * mean - one)
    # below the least everything goes, above the most everything stays; infinity times zero, which is neither, counts as
    # the least, because a comparison with it fails
    product = min(most, max(least, signal * (u * u + above)))
    return v * max(one - root / np.sqrt(product), one - one)


@nb.njit(**OPTIONS)
def _shrink_row(y, v, energy, above, inverse, mean, bound, root, least, most, one, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = _shrink(v[k], energy[k], above[k], inverse, mean, bound, root, least, most, one)


@nb.njit(**OPTIONS)
def _shrink_by_seven(y, v, c, above, inverse, mean, bound, root, least, most, one, n):
    """Shrink a row and sum seven columns for each coefficient, so that loading and computing go on at the same time."""
    stand_alone()
    keep_apart()
    for k in range(n):
        energy = ((c[k] + c[k + 1]) + (c[k + 2] + c[k + 3])) + ((c[k + 4] + c[k + 5]) + c[k + 6])
        y[k] = _shrink(v[k], energy, above[k], inverse, mean, bound, root, least, most, one)


@pointed(**OPTIONS)
def shrink_bivariate(out, x, parent, numbers, sizes, task):
    """Shrink coefficients beside their parents and the energy of their neighbourhood.

    Sizes: three of the band, axes of space, three of the parent or zeros, window, shift and scale. Numbers: one over
    the samples of a window, and the root of the formula; then, of each plane, one over the noise, the same for parents,
    and the least energy of a signal. Where there is no noise, one over it is infinity.
    """
    depth, height, width, axes = sizes[0], sizes[1], sizes[2], sizes[3]
    window, offset, scale = sizes[7], sizes[8], sizes[9]
    plane, z = task[0] // depth, task[0] % depth
    r0, r1, c0, n = task[1], task[2], task[3], task[4] - task[3]
    band = shift(x, plane * depth * height * width)
    goal = shift(out, task[0] * height * width + c0)
    own = shift(numbers, 2 + 3 * plane)
    if np.isinf(own[0]):
        for row in range(r0, r1):
            copy_run(shift(goal, row * width), shift(band, (z * height + row) * width + c0), n)
        return
    inverse, ratio, bound = cast_like(x, own[0]), cast_like(x, own[1]), cast_like(x, own[2])
    one, least, most = cast_like(x, 1.0), cast_like(x, 1e-6), cast_like(x, 1e37)
    mean, root = cast_like(x, numbers[0]), cast_like(x, numbers[1])
    tall, pitch = window if axes > 1 else 1, (n + 2 * window + 79) // 16 * 16
    room = make_room(x, (tall + 6) * pitch)
    scratch = data(room)
    line, pairs = shift(scratch, (tall + 2) * pitch), shift(scratch, (tall + 3) * pitch)
    for k in range(n):
        pairs[k] = one - one
    begin, before = 0, -1
    for row in range(r0 - tall + 1, r1):
        _load_row(scratch, pitch, band, inverse, sizes, z, row, c0, n, window)
        if row < r0:
            continue
        _add_rows(scratch, pitch, tall, round_up(n + window - 1))
        if sizes[6]:
            slices = _hold((z + offset) // scale, sizes[4]) if axes > 2 else 0
            lines = _hold((row + offset) // scale, sizes[5]) if axes > 1 else 0
            start = ((plane * sizes[4] + slices) * sizes[5] + lines) * sizes[6]
            if start != before:
                begin = _load_parents(pairs, line, shift(parent, start), ratio, sizes[6], c0, n, offset, scale)
                before = start
        v, y, above = shift(band, (z * height + row) * width + c0), shift(goal, row * width), shift(pairs, begin)
        if window == 7:
            columns = shift(scratch, tall * pitch)
            _shrink_by_seven(y, v, columns, above, inverse, mean, bound, root, least, most, one, n)
        else:
            energy = _add_columns(scratch, pitch, tall, window, round_up(n))
            _shrink_row(y, v, energy, above, inverse, mean, bound, root, least, most, one, n)
    keep(room)


# --- Shrinkage by the energy of neighbours alone. ---


@pointed(**OPTIONS)
def count_neighbours(out, x, _y, numbers, sizes, task):
    """Sum what Stein's estimate needs, for each bin of the mean square m over a window of w = v / n.

    Sizes: three of the band, axes of space, window, bins, the step of rows that count and one of these. Numbers: the
    width of a bin, one over the samples of a window, then one over the noise of each plane. Of each task: the sums of
    w² - 2, of w² / m² and of 1 / m.
    """
    depth, height, width, axes = sizes[0], sizes[1], sizes[2], sizes[3]
    window, bins, step, first = sizes[4], sizes[5], sizes[6], sizes[7]
    plane, z = task[0] // depth, task[0] % depth
    r0, r1, c0, n = task[1], task[2], task[3], task[4] - task[3]
    band = shift(x, plane * depth * height * width)
    sums = shift(out, 3 * bins * task[5])
    for k in range(3 * bins):
        sums[k] = 0
    inverse, edge, mean = cast_like(x, numbers[2 + plane]), numbers[0], numbers[1]
    tall, pitch = window if axes > 1 else 1, (n + 2 * window + 79) // 16 * 16
    room = make_room(x, (tall + 2) * pitch)
    scratch = data(room)
    for row in range(r0 - tall + 1, r1):
        # rows that no window sees, because those around them do not count
        if (first - row) % step >= tall:
            continue
        _load_row(scratch, pitch, band, inverse, sizes, z, row, c0, n, window)
        if row < r0 or (row - first) % step:
            continue
        _add_rows(scratch, pitch, tall, round_up(n + window - 1))
        energy = _add_columns(scratch, pitch, tall, window, round_up(n))
        v = shift(band, (z * height + row) * width + c0)
        for k in range(n):
            w = np.float64(v[k] * inverse)
            m = energy[k] * mean + 1e-9
            scaled = m / edge
            # what is not a number is not below the last edge either
            index = np.int64(scaled) if scaled < bins - 1 else bins - 1
            # the division may round a number to the wrong side of an edge
            if m < index * edge:
                index -= 1
            elif index < bins - 1 and m >= (index + 1) * edge:
                index += 1
            square, shrinkage = w * w, 1 / m
            sums[index] += square - 2
            sums[bins + index] += square * shrinkage * shrinkage
            sums[2 * bins + index] += shrinkage
    keep(room)


@nb.njit(**OPTIONS)
def _scale_row(y, v, energy, mean, tiny, factor, one, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = v[k] * max(one - factor / (energy[k] * mean + tiny), one - one)


@pointed(**OPTIONS)
def scale_neighbours(out, x, _y, numbers, sizes, task):
    """Multiply coefficients by ``max(1 - k / m, 0)``.

    Sizes: three of the band and axes of space. Numbers of a plane: one over the noise, k, the window and one over its
    samples; k = 0 leaves all.
    """
    depth, height, width, axes = sizes[0], sizes[1], sizes[2], sizes[3]
    plane, z = task[0] // depth, task[0] % depth
    r0, r1, c0, n = task[1], task[2], task[3], task[4] - task[3]
    band = shift(x, plane * depth * height * width)
    goal = shift(out, task[0] * height * width + c0)
    own = shift(numbers, 4 * plane)
    if own[1] == 0:
        for row in range(r0, r1):
            copy_run(shift(goal, row * width), shift(band, (z * height + row) * width + c0), n)
        return
    window = np.int64(own[2])
    inverse, factor = cast_like(x, own[0]), cast_like(x, own[1])
    mean, tiny, one = cast_like(x, own[3]), cast_like(x, 1e-9), cast_like(x, 1.0)
    tall, pitch = window if axes > 1 else 1, (n + 2 * window + 79) // 16 * 16
    room = make_room(x, (tall + 2) * pitch)
    scratch = data(room)
    for row in range(r0 - tall + 1, r1):
        _load_row(scratch, pitch, band, inverse, sizes, z, row, c0, n, window)
        if row >= r0:
            _add_rows(scratch, pitch, tall, round_up(n + window - 1))
            energy = _add_columns(scratch, pitch, tall, window, round_up(n))
            v = shift(band, (z * height + row) * width + c0)
            _scale_row(shift(goal, row * width), v, energy, mean, tiny, factor, one, n)
    keep(room)
