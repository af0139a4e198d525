"""Non-local groups: patches that look alike become linear combinations of each other.

An image is a volume whose middle axis has one sample, so that tasks are strips along the first axis of both. Each task
sums weighted patches into a strip of its own, which also holds what reaches beyond it; whoever adds the strips up does
so in their order, and sums do not depend on the number of threads.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, clear, data, keep, keep_apart, make_room, shift
from subband.engines.filters.loops.calls import cast_like, copy_run, stand_alone

__all__ = ["filter_groups"]

#: Numbers that a vectorised loop takes at a time: rows are padded with zeros to multiples of it.
_LANES = 8

#: Sums are added up as they are written: in chains beside each other, where one for all would wait for itself.
_IN_ORDER = OPTIONS | {"fastmath": {"contract", "nsz"}}


@nb.njit(**OPTIONS)
def _pad(n):
    return (n + _LANES - 1) // _LANES * _LANES


@nb.njit(**OPTIONS)
def _position(index, step, last):
    """Return where a reference patch begins: the last ones end with the axis."""
    return min(index * step, last)


# --- Which patches look alike. ---


@nb.njit(**OPTIONS)
def _add_distances(y, row, patch, length, n):
    """Add to each of `n` numbers the squared differences of a row of a patch and of the row that begins there."""
    stand_alone()
    keep_apart()
    t = 0
    while length - t >= 4:
        a, b, c, d = patch[t], patch[t + 1], patch[t + 2], patch[t + 3]
        for k in range(n):
            p, q, r, s = row[k + t] - a, row[k + t + 1] - b, row[k + t + 2] - c, row[k + t + 3] - d
            y[k] += (p * p + q * q) + (r * r + s * s)
        t += 4
    while t < length:
        a = patch[t]
        for k in range(n):
            p = row[k + t] - a
            y[k] += p * p
        t += 1


@nb.njit(**_IN_ORDER)
def _add_four_distances(y, rows, patch, stride, length, n):
    """Do what `_add_distances` does for four rows of a patch that are `stride` samples apart."""
    stand_alone()
    keep_apart()
    b, c, d = shift(rows, stride), shift(rows, 2 * stride), shift(rows, 3 * stride)
    j, k, m = shift(patch, stride), shift(patch, 2 * stride), shift(patch, 3 * stride)
    t = 0
    while length - t >= 4:
        a0, a1, a2, a3 = patch[t], patch[t + 1], patch[t + 2], patch[t + 3]
        b0, b1, b2, b3 = j[t], j[t + 1], j[t + 2], j[t + 3]
        c0, c1, c2, c3 = k[t], k[t + 1], k[t + 2], k[t + 3]
        d0, d1, d2, d3 = m[t], m[t + 1], m[t + 2], m[t + 3]
        for begin in range(0, n, _LANES):
            for lane in range(_LANES):
                x = begin + lane
                z = x + t
                p0, p1, p2, p3 = rows[z] - a0, rows[z + 1] - a1, rows[z + 2] - a2, rows[z + 3] - a3
                q0, q1, q2, q3 = b[z] - b0, b[z + 1] - b1, b[z + 2] - b2, b[z + 3] - b3
                r0, r1, r2, r3 = c[z] - c0, c[z + 1] - c1, c[z + 2] - c2, c[z + 3] - c3
                s0, s1, s2, s3 = d[z] - d0, d[z + 1] - d1, d[z + 2] - d2, d[z + 3] - d3
                y[x] += ((p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3) + (q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)) + (
                    (r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3) + (s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3)
                )
        t += 4
    while t < length:
        a0, b0, c0, d0 = patch[t], j[t], k[t], m[t]
        for x in range(n):
            p, q, r, s = rows[x + t] - a0, b[x + t] - b0, c[x + t] - c0, d[x + t] - d0
            y[x] += (p * p + q * q) + (r * r + s * s)
        t += 1


@nb.njit(**OPTIONS)
def _count_below(x, limit, n):
    count = 0
    for begin in range(0, n, _LANES):
        for lane in range(_LANES):
            count += x[begin + lane] < limit
    return count


@nb.njit(**OPTIONS)
def _measure_distances(found, other, own, pitch, sizes, n, limit):
    """Write the distances of a patch and of `n` patches that begin beside each other, and return whether one counts.

    Sums only grow: as soon as all are as far as the limit, if there is one, the rest of their rows need not be added.
    """
    high, pz, py, px = sizes[2], sizes[4], sizes[5], sizes[6]
    # an image has its rows along the first axis
    slices, lines, stride = (1, pz, high * pitch) if py == 1 else (pz, py, pitch)
    clear(found, n)
    for i in range(slices):
        theirs, ours = shift(other, i * high * pitch), shift(own, i * high * pitch)
        for j in range(0, lines, 4):
            row, patch = shift(theirs, j * stride), shift(ours, j * stride)
            if lines - j >= 4:
                _add_four_distances(found, row, patch, stride, px, n)
            else:
                for k in range(lines - j):
                    _add_distances(found, shift(row, k * stride), shift(patch, k * stride), px, n)
            if limit >= 0 and _count_below(found, limit, n) == 0:
                return False
    return True


@nb.njit(**OPTIONS)
def _sink(distances, positions, node, distance, position, count):
    """Put an entry at a node of a heap, and let it sink below all that are more distant."""
    while True:
        child = 2 * node + 1
        if child >= count:
            break
        if child + 1 < count and distances[child + 1] > distances[child]:
            child += 1
        if distances[child] <= distance:
            break
        distances[node], positions[node] = distances[child], positions[child]
        node = child
    distances[node], positions[node] = distance, position


@nb.njit(**OPTIONS)
def _collect(distances, positions, found, position, some, count, n):
    """Take the nearest of `n` patches beside each other into a heap, and return how many it has now."""
    k = 0
    while some < count and k < n:
        distances[some], positions[some] = found[k], position + k
        some += 1
        k += 1
        if some == count:
            for node in range(count // 2 - 1, -1, -1):
                _sink(distances, positions, node, distances[node], positions[node], count)
    if k == n:
        return some
    worst = distances[0]
    for m in range(k, n):
        if found[m] < worst:
            _sink(distances, positions, 0, found[m], position + m, count)
            worst = distances[0]
    return some


@nb.njit(**OPTIONS)
def _alternate(index):
    """Return 0, -1, 1, -2, 2 and so on, so that of equally similar patches those in nearer rows count."""
    return index // 2 if index % 2 == 0 else -(index // 2) - 1


@nb.njit(**OPTIONS)
def _match(distances, positions, found, guide, pitch, sizes, first, z, y, x, count):
    """Find the patches most like the one at a position, itself among them, and return how many there are.

    The guide is a strip from slice `first` on, with rows of `pitch` samples.
    """
    stand_alone()
    deep, high, wide = sizes[1], sizes[2], sizes[3]
    pz, py, px = sizes[4], sizes[5], sizes[6]
    rz, ry, rx = sizes[7], sizes[8], sizes[9]
    begin, end = max(0, x - rx), min(wide - px, x + rx) + 1
    own = shift(guide, ((z - first) * high + y) * pitch + x)
    some = 0
    for a in range(2 * rz + 1):
        there = z + _alternate(a)
        if there < 0 or there > deep - pz:
            continue
        for b in range(2 * ry + 1):
            over = y + _alternate(b)
            if over < 0 or over > high - py:
                continue
            other = shift(guide, ((there - first) * high + over) * pitch + begin)
            limit = distances[0] if some == count else cast_like(guide, -1.0)
            if not _measure_distances(found, other, own, pitch, sizes, _pad(end - begin), limit):
                continue
            if a == 0 and b == 0:
                # others may be equal
                found[x - begin] = -1
            line = (there * high + over) * wide + begin
            some = _collect(distances, positions, found, line, some, count, end - begin)
    return some


# --- Small matrices, whose rows are patches or padded to whole lanes. ---


@nb.njit(**OPTIONS)
def _load_group(goal, planes, positions, sizes, count, rows, length):
    """Write patches as rows of a matrix, zeros behind them and below, and return their mean."""
    stand_alone()
    high, wide = sizes[2], sizes[3]
    pz, py, px = sizes[4], sizes[5], sizes[6]
    clear(goal, rows * length)
    for k in range(count):
        row = shift(goal, k * length)
        for i in range(pz):
            for j in range(py):
                line = shift(planes, positions[k] + (i * high + j) * wide)
                m = 0
                while px - m >= 4:
                    row[m], row[m + 1], row[m + 2], row[m + 3] = line[m], line[m + 1], line[m + 2], line[m + 3]
                    m += 4
                while m < px:
                    row[m] = line[m]
                    m += 1
                row = shift(row, px)
    total = cast_like(goal, 0.0)
    for t in range(count * length):
        total += goal[t]
    return total / cast_like(goal, count * pz * py * px)


@nb.njit(**OPTIONS)
def _subtract(goal, mean, count, size, length):
    stand_alone()
    for k in range(count):
        for t in range(k * length, k * length + size):
            goal[t] -= mean


@nb.njit(**OPTIONS)
def _multiply_rows(a, b, c, d, e, length):
    """Return the scalar products of one row with four others."""
    p = q = r = s = cast_like(a, 0.0)
    for t in range(length):
        p += a[t] * b[t]
        q += a[t] * c[t]
        r += a[t] * d[t]
        s += a[t] * e[t]
    return p, q, r, s


@nb.njit(**OPTIONS)
def _multiply_group(goal, group, factor, rows, length):
    """Add scalar products of rows of a group, times a factor, to the lower triangle of a matrix, and what is beside."""
    stand_alone()
    for i in range(rows):
        own, line = shift(group, i * length), shift(goal, i * rows)
        for j in range(0, i + 1, 4):
            b = shift(group, j * length)
            c, d, e = shift(b, length), shift(b, 2 * length), shift(b, 3 * length)
            p, q, r, s = _multiply_rows(own, b, c, d, e, length)
            line[j] += factor * p
            line[j + 1] += factor * q
            line[j + 2] += factor * r
            line[j + 3] += factor * s


@nb.njit(**OPTIONS)
def _sweep(matrix, column, inverse, first, last, pitch):
    """Subtract the products of a column with itself, over its pivot, from some rows of a lower triangle."""
    stand_alone()
    keep_apart()
    for i in range(first, last):
        factor, row = column[i] * inverse, shift(matrix, i * pitch)
        for j in range(_pad(i + 1)):
            row[j] -= factor * column[j]


@nb.njit(**OPTIONS)
def _invert(matrix, column, least, count, pitch):
    """Invert a positive definite matrix by sweeps, in its lower triangle; its negative inverse is left in all of it.

    Pivots are at least so much.
    """
    stand_alone()
    for p in range(count):
        own = shift(matrix, p * pitch)
        for j in range(p):
            column[j] = own[j]
        for i in range(p, count):
            column[i] = matrix[i * pitch + p]
        inverse = cast_like(matrix, 1.0) / max(column[p], least)
        _sweep(matrix, column, inverse, 0, p, pitch)
        _sweep(matrix, column, inverse, p + 1, count, pitch)
        for j in range(p):
            own[j] = column[j] * inverse
        own[p] = -inverse
        for i in range(p + 1, count):
            matrix[i * pitch + p] = column[i] * inverse
    for i in range(count):
        for j in range(i):
            matrix[j * pitch + i] = matrix[i * pitch + j]


@nb.njit(**OPTIONS)
def _combine(y, first, group, weights, rows, length):
    """Write a row plus the weighted sum of all rows of a group, eight at a time."""
    stand_alone()
    keep_apart()
    for t in range(length):
        y[t] = first[t]
    for j in range(0, rows, 8):
        a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        e, f, g, h = weights[j + 4], weights[j + 5], weights[j + 6], weights[j + 7]
        x0 = shift(group, j * length)
        x1, x2, x3 = shift(x0, length), shift(x0, 2 * length), shift(x0, 3 * length)
        x4, x5, x6, x7 = shift(x0, 4 * length), shift(x0, 5 * length), shift(x0, 6 * length), shift(x0, 7 * length)
        for t in range(length):
            y[t] += ((a * x0[t] + b * x1[t]) + (c * x2[t] + d * x3[t])) + (
                (e * x4[t] + f * x5[t]) + (g * x6[t] + h * x7[t])
            )


@nb.njit(**OPTIONS)
def _add_patch(values, weights, estimate, mean, weight, sizes):
    """Add a weighted patch, and its weight, to sums that begin where it does."""
    stand_alone()
    high, wide = sizes[2], sizes[3]
    pz, py, px = sizes[4], sizes[5], sizes[6]
    for i in range(pz):
        for j in range(py):
            line = (i * high + j) * wide
            for m in range(px):
                values[line + m] += weight * (estimate[m] + mean)
                weights[line + m] += weight
            estimate = shift(estimate, px)


@nb.njit(**OPTIONS)
def _estimate(goal, strip, first, scratch, x, y, positions, noise, trust, floor, sizes, count):
    """Add the estimates of a group in one plane to the sums of a strip."""
    stand_alone()
    size = sizes[4] * sizes[5] * sizes[6]
    rows, length = _pad(count), _pad(size)
    truth = scratch
    noisy = shift(truth, rows * length)
    matrix = shift(noisy, rows * length)
    column = shift(matrix, rows * rows)
    estimate = shift(column, rows)
    one = cast_like(x, 1.0)
    mean = _load_group(truth, y, positions, sizes, count, rows, length)
    _load_group(noisy, x, positions, sizes, count, rows, length)
    _subtract(truth, mean, count, size, length)
    _subtract(noisy, mean, count, size, length)
    clear(matrix, rows * rows)
    _multiply_group(matrix, truth, trust, rows, length)
    if trust < one:
        _multiply_group(matrix, noisy, one - trust, rows, length)
    most = noise * noise * cast_like(x, size)
    for i in range(count):
        most = max(most, matrix[i * rows + i] * floor)
    variance = most
    for i in range(count):
        matrix[i * rows + i] += trust * variance
    clear(column, rows)
    _invert(matrix, column, floor * variance, count, rows)
    high, wide = sizes[2], sizes[3]
    for i in range(count):
        row = shift(matrix, i * rows)
        total = one
        for j in range(count):
            row[j] *= variance
            total += row[j] * row[j]
        for j in range(count, rows):
            row[j] = 0
        # the sum of squares of all weights, of which this one has 1 more
        total += row[i] + row[i]
        _combine(estimate, shift(noisy, i * length), noisy, row, rows, length)
        at = shift(goal, positions[i] - first * high * wide)
        weight = one / max(total, cast_like(x, 1e-3))
        if sizes[15] == 0:
            weight = np.sqrt(weight) * np.sqrt(np.sqrt(weight))
        _add_patch(at, shift(at, strip), estimate, mean, weight, sizes)


@pointed(**OPTIONS)
def filter_groups(out, x, y, numbers, sizes, task):
    """Sum weighted estimates of the patches of all groups whose reference patch begins in a strip.

    Sizes: planes, three of a plane, three of a patch, three half windows, three steps between reference patches,
    patches of a group, slices of a strip in `out`, and whether weights are one over a variance, and not the power of
    3/4 of that. Numbers: trust in the guide, the least variance as a part of the energy of a group, then the noise of
    each plane. A task has reference patches along the first axis, by their number. Of each task: for each plane sums
    of values, and then of weights. Similar patches are those of the first plane of the guide.
    """
    planes, deep, high, wide = sizes[0], sizes[1], sizes[2], sizes[3]
    pz, py, px, rz = sizes[4], sizes[5], sizes[6], sizes[7]
    most, slices = sizes[13], sizes[14]
    whole, strip = deep * high * wide, slices * high * wide
    first = max(0, _position(task[1], sizes[10], deep - pz) - rz)
    last = min(deep, _position(task[2] - 1, sizes[10], deep - pz) + rz + pz)
    goal = shift(out, 2 * task[5] * planes * strip)
    clear(goal, 2 * planes * strip)
    # rows of distances are computed a few samples too far
    pitch = _pad(wide + _LANES)
    lines = (last - first) * high
    copy = make_room(x, lines * pitch + px)
    guide = data(copy)
    clear(guide, lines * pitch + px)
    for line in range(lines):
        copy_run(shift(guide, line * pitch), shift(y, (first * high + line) * wide), wide)
    length, order = _pad(pz * py * px), _pad(most)
    reach = _pad(2 * sizes[9] + 1)
    room = make_room(x, order + reach + 2 * order * length + order * (order + 1) + length)
    distances = data(room)
    found = shift(distances, order)
    scratch = shift(found, reach)
    where = np.empty(most, np.int64)
    positions = data(where)
    trust, floor = cast_like(x, numbers[0]), cast_like(x, numbers[1])
    for a in range(task[1], task[2]):
        for b in range((high - py + sizes[11] - 1) // sizes[11] + 1):
            for c in range((wide - px + sizes[12] - 1) // sizes[12] + 1):
                z, line = _position(a, sizes[10], deep - pz), _position(b, sizes[11], high - py)
                column = _position(c, sizes[12], wide - px)
                count = _match(distances, positions, found, guide, pitch, sizes, first, z, line, column, most)
                for plane in range(planes):
                    own, noise = shift(goal, 2 * plane * strip), cast_like(x, numbers[2 + plane])
                    noisy, pilot = shift(x, plane * whole), shift(y, plane * whole)
                    if noise > 0:
                        _estimate(
                            own, strip, first, scratch, noisy, pilot, positions, noise, trust, floor, sizes, count
                        )
    keep(copy)
    keep(room)
    keep(where)
