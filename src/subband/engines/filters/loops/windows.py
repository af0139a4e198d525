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
from subband.engines.filters.loops.calls import add_run, cast_like, copy_run, mirror, scale_run, stand_alone

__all__ = ["count_neighbours", "scale_neighbours", "shrink_bivariate"]


# --- Sums of runs of numbers. ---


@nb.njit(**OPTIONS)
def _add_seven(y, a, b, c, d, e, f, g, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = ((a[k] + b[k]) + (c[k] + d[k])) + ((e[k] + f[k]) + g[k])


@nb.njit(**OPTIONS)
def _add_three(y, a, b, c, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = (a[k] + b[k]) + c[k]


@nb.njit(**OPTIONS)
def _add_three_squares(y, a, b, c, factor, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        u, v, w = a[k] * factor, b[k] * factor, c[k] * factor
        y[k] = (u * u + v * v) + w * w


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
def _add_near(goal, scratch, pitch, row, tall, small, n):
    """Write the sums down the middle rows of the ring around `row`."""
    first = row - small // 2
    a, b = shift(scratch, first % tall * pitch), shift(scratch, (first + 1) % tall * pitch)
    if small == 3:
        _add_three(goal, a, b, shift(scratch, (first + 2) % tall * pitch), n)
        return
    copy_run(goal, a, n)
    for k in range(1, small):
        add_run(goal, shift(scratch, (first + k) % tall * pitch), n)


@nb.njit(**OPTIONS)
def _add_columns(scratch, pitch, tall, window, n):
    """Write the sums along the row of sums of columns behind it, and return where."""
    column, goal = shift(scratch, tall * pitch), shift(scratch, (tall + 1) * pitch)
    _add_middle(goal, column, window, n)
    return goal


@nb.njit(**OPTIONS)
def _add_middle(goal, column, window, n):
    """Write the sums of so many sums of columns."""
    copy_run(goal, column, n)
    for k in range(1, window):
        add_run(goal, shift(column, k), n)


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
def _spread_parents(y, line, begin, end, first, count, c0, n, offset, scale):
    """Write what parents have for each of `n` coefficients, and return where that begins; held at the ends."""
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
def _load_parents(own, around, scratch, pitch, parent, ratio, sizes, z, row, c0, n):
    """Write the squares of the parents of `n` coefficients, and the sums around them; return where they begin."""
    stand_alone()
    depth, height, width, axes = sizes[4], sizes[5], sizes[6], sizes[3]
    offset, scale, near = sizes[8], sizes[9], sizes[10]
    first = (c0 + offset) // scale
    count = (c0 + n - 1 + offset) // scale - first + 1
    low, high = _hold(first, width), _hold(first + count - 1, width)
    begin = _hold(low - first, count)
    held = high - low + 1
    squares, spare, sums = scratch, shift(scratch, pitch), shift(scratch, 2 * pitch)
    reach, wide, start = near // 2, held + near - 1, low - near // 2
    inner, outer = max(0, -start), min(wide, width - start)
    tall, deep = reach if axes > 1 else 0, reach if axes > 2 else 0
    line = shift(parent, start + inner)
    if near == 3 and axes == 2:
        a, b, c = mirror(row - 1, height) * width, row * width, mirror(row + 1, height) * width
        _add_three_squares(shift(squares, inner), shift(line, a), shift(line, b), shift(line, c), ratio, outer - inner)
    else:
        for step in range(-deep, deep + 1):
            for away in range(-tall, tall + 1):
                other = shift(line, (mirror(z + step, depth) * height + mirror(row + away, height)) * width)
                if step == -deep and away == -tall:
                    _square(shift(squares, inner), other, ratio, outer - inner)
                else:
                    _square(spare, other, ratio, outer - inner)
                    add_run(shift(squares, inner), spare, outer - inner)
    for k in range(inner):
        squares[k] = squares[mirror(start + k, width) - start]
    for k in range(outer, wide):
        squares[k] = squares[mirror(start + k, width) - start]
    goal = shift(sums, begin)
    if near == 3:
        _add_three(goal, squares, shift(squares, 1), shift(squares, 2), held)
    else:
        copy_run(goal, squares, held)
        for k in range(1, near):
            add_run(goal, shift(squares, k), held)
    at = _spread_parents(around, sums, begin, begin + held, first, count, c0, n, offset, scale)
    _square(shift(sums, begin), shift(parent, (z * height + row) * width + low), ratio, held)
    _spread_parents(own, sums, begin, begin + held, first, count, c0, n, offset, scale)
    return at


@nb.njit(**OPTIONS)
def _find_factor(energy, near, own, parent, above, p):
    zero, most = p[11], p[10]
    # what is not a number counts as nothing, because a comparison with it fails
    signal = min(most, max(zero, energy * p[0] + above * p[1] - p[5]))
    over = min(most, parent)
    below = (signal + p[6]) * (over + p[9])
    x = min(most, near * p[3]) * p[4] * np.sqrt((min(most, own) + p[7]) * signal * ((over + p[8]) * below))
    # both are small, because a compiler may multiply a coefficient by x before it divides
    return x / (x + below * p[12])


@nb.njit(**OPTIONS)
def _find_factors(y, energy, near, own, parent, above, p, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = _find_factor(energy[k], near[k], own[k], parent[k], above[k], p)


@nb.njit(**OPTIONS)
def _shrink_by_seven(y, v, c, d, inverse, parent, above, p, n):
    """Sum columns for each coefficient, so that loading and computing go on at the same time."""
    stand_alone()
    keep_apart()
    for k in range(n):
        energy = ((c[k] + c[k + 1]) + (c[k + 2] + c[k + 3])) + ((c[k + 4] + c[k + 5]) + c[k + 6])
        near = (d[k + 2] + d[k + 3]) + d[k + 4]
        u = v[k] * inverse
        y[k] = v[k] * _find_factor(energy, near, u * u, parent[k], above[k], p)


@nb.njit(**OPTIONS)
def _find_factors_by_seven(y, c, d, own, parent, above, p, first, n):
    """Find the last factors of a row, which are fewer than a vector has lanes for."""
    stand_alone()
    keep_apart()
    for k in range(first, n):
        energy = ((c[k] + c[k + 1]) + (c[k + 2] + c[k + 3])) + ((c[k + 4] + c[k + 5]) + c[k + 6])
        near = (d[k + 2] + d[k + 3]) + d[k + 4]
        y[k] = _find_factor(energy, near, own[k], parent[k], above[k], p)


@nb.njit(**OPTIONS)
def _multiply(y, v, factors, first, n):
    stand_alone()
    keep_apart()
    for k in range(first, n):
        y[k] = v[k] * factors[k]


@pointed(**OPTIONS)
def shrink_bivariate(out, x, parent, numbers, sizes, task):
    """Shrink coefficients by their energy, by that of their neighbourhood and by that around their parents.

    Sizes: three of the band, axes of space, three of the parent or zeros, window, shift, scale and the smaller window.
    Numbers: what sums over the window and around parents are multiplied by, for the signal; one over the samples of the
    window and of the smaller one; slope, floor, half, own, least, far and most of the formula. Then, of each
    plane, one over the noise and the same for parents. Where there is no noise, one over it is infinity.
    """
    depth, height, width, axes = sizes[0], sizes[1], sizes[2], sizes[3]
    window, offset, scale, small = sizes[7], sizes[8], sizes[9], sizes[10]
    plane, z = task[0] // depth, task[0] % depth
    r0, r1, c0, n = task[1], task[2], task[3], task[4] - task[3]
    band = shift(x, plane * depth * height * width)
    goal = shift(out, task[0] * height * width + c0)
    noise = shift(numbers, 11 + 2 * plane)
    if np.isinf(noise[0]):
        for row in range(r0, r1):
            copy_run(shift(goal, row * width), shift(band, (z * height + row) * width + c0), n)
        return
    inverse, ratio = cast_like(x, noise[0]), cast_like(x, noise[1])
    zero = cast_like(x, 0.0)
    tall, pitch = window if axes > 1 else 1, (n + 2 * window + 79) // 16 * 16
    room = make_room(x, (tall + 14) * pitch)
    scratch = data(room)
    fixed = shift(scratch, (tall + 13) * pitch)
    for k in range(11):
        fixed[k] = cast_like(x, numbers[k])
    fixed[11] = zero
    fixed[12] = cast_like(x, 1e-16)
    fixed[4] *= fixed[12]
    sums = shift(scratch, (tall + 3) * pitch)
    pairs, rest = shift(scratch, (tall + 4) * pitch), shift(scratch, (tall + 6) * pitch)
    spare, squares = shift(scratch, (tall + 8) * pitch), shift(scratch, (tall + 11) * pitch)
    factors = shift(scratch, (tall + 12) * pitch)
    for k in range(round_up(n)):
        rest[k] = zero
    begin, before = 0, -1
    for row in range(r0 - tall + 1, r1):
        _load_row(scratch, pitch, band, inverse, sizes, z, row, c0, n, window)
        if row < r0:
            continue
        _add_rows(scratch, pitch, tall, round_up(n + window - 1))
        columns = shift(scratch, tall * pitch)
        nearest = columns
        if small < window and axes > 1:
            nearest = shift(scratch, (tall + 2) * pitch)
            _add_near(nearest, scratch, pitch, row, tall, small, round_up(n + window - 1))
        if sizes[6]:
            slices = _hold((z + offset) // scale, sizes[4]) if axes > 2 else 0
            lines = _hold((row + offset) // scale, sizes[5]) if axes > 1 else 0
            number = slices * sizes[5] + lines
            if number != before:
                above = shift(parent, plane * sizes[4] * sizes[5] * sizes[6])
                begin = _load_parents(pairs, rest, spare, pitch, above, ratio, sizes, slices, lines, c0, n)
                before = number
        v = shift(band, (z * height + row) * width + c0)
        own = shift(scratch, row % tall * pitch + window // 2)
        if axes > 2:
            own = squares
            _square(own, v, inverse, n)
        y, done, wide = shift(goal, row * width), 0, round_up(n)
        parents, above = shift(pairs, begin), shift(rest, begin)
        if window == 7 and small == 3 and sizes[6]:
            done = n // 16 * 16
            _shrink_by_seven(y, v, columns, nearest, inverse, parents, above, fixed, done)
            if done < n:
                _find_factors_by_seven(factors, columns, nearest, own, parents, above, fixed, done, wide)
        else:
            # runs in the scratch memory may be longer than is needed, so that no end is computed number by number
            energy = _add_columns(scratch, pitch, tall, window, wide)
            _add_middle(sums, shift(nearest, (window - small) // 2), small, wide)
            if not sizes[6]:
                scale_run(pairs, energy, fixed[2], wide)
            _find_factors(factors, energy, sums, own, parents, above, fixed, wide)
        if done < n:
            _multiply(y, v, factors, done, n)
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
