"""Energies of cells, the small blocks of a band among which noise looks for smooth ones, and counts of them."""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, clear, data, keep, keep_apart, shift
from subband.engines.filters.cells import BINS, EMPTY, FIRST, LEFT_OUT
from subband.engines.filters.loops.calls import stand_alone
from subband.engines.filters.loops.statistics import read_bits

__all__ = ["count_cells", "set_back", "sum_cells"]


@nb.njit(**OPTIONS)
def _add_squares(y, x, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        # squares of large or small single numbers are no single numbers
        value = np.float64(x[k])
        y[k] += value * value


@nb.njit(**OPTIONS)
def _add_squares_apart(y, x, step, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        value = np.float64(x[step * k])
        y[k] += value * value


@nb.njit(**OPTIONS)
def _add_fours(y, x, weight, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += weight * ((x[4 * k] + x[4 * k + 1]) + (x[4 * k + 2] + x[4 * k + 3]))


@nb.njit(**OPTIONS)
def _add_pairs(y, x, weight, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += weight * (x[2 * k] + x[2 * k + 1])


@nb.njit(**OPTIONS)
def _add_single(y, x, weight, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += weight * x[k]


@pointed(**OPTIONS)
def sum_cells(out, x, _y, numbers, sizes, task):
    """Sum the squares of each cell, times a weight.

    Sizes: three of a plane; three cells along each axis; three sides of a cell, the last of them 1, 2 or 4; the first
    coefficient along each axis; and the distance of the coefficients that are looked at. Numbers: the weight. Rows and
    columns of a task are those of cells, and its images the slices of all planes.
    """
    height, width = sizes[1], sizes[2]
    slices, rows, columns = sizes[3], sizes[4], sizes[5]
    deep, high, wide, step = sizes[6], sizes[7], sizes[8], sizes[12]
    plane, z = task[0] // slices, sizes[9] + task[0] % slices * deep * step
    first = sizes[11] + task[3] * wide * step
    cells = task[4] - task[3]
    n = cells * wide
    room = np.empty(n, np.float64)
    sums = data(room)
    for row in range(task[1], task[2]):
        clear(sums, n)
        for k in range(deep * high):
            line = plane * sizes[0] + z + k // high * step
            source = shift(x, (line * height + sizes[10] + (row * high + k % high) * step) * width + first)
            if step == 1:
                _add_squares(sums, source, n)
            else:
                _add_squares_apart(sums, source, step, n)
        goal = shift(out, (task[0] * rows + row) * columns + task[3])
        clear(goal, cells)
        if wide == 4:
            _add_fours(goal, sums, numbers[0], cells)
        elif wide == 2:
            _add_pairs(goal, sums, numbers[0], cells)
        else:
            _add_single(goal, sums, numbers[0], cells)
    keep(room)


@nb.njit(**OPTIONS)
def _begin_extremes(sums, lows, highs, x, n):
    stand_alone()
    for k in range(n):
        value = np.float64(x[k])
        sums[k], lows[k], highs[k] = value, value, value


@nb.njit(**OPTIONS)
def _add_extremes(sums, lows, highs, x, n):
    stand_alone()
    for k in range(n):
        value = np.float64(x[k])
        sums[k] += value
        lows[k] = min(lows[k], value)
        highs[k] = max(highs[k], value)


@nb.njit(error_model="numpy", nogil=True)
def _clamp(index, length):
    return min(max(index, 0), length - 1)


@pointed(**OPTIONS)
def set_back(out, x, own, numbers, sizes, task):
    """Multiply the energies of cells whose samples were clipped; see `Cells.set_back`.

    Sizes: three of a plane of samples; three cells along each axis; three numbers of samples of a cell; the first
    sample along each axis; and how many planes of samples there are. Numbers: how many times the energy the square of
    the distance has; the least part of it in the diagonal band; what it is multiplied by; and one over the samples of a
    cell. Tasks are those of `sum_cells`.
    """
    depth, height, width = sizes[0], sizes[1], sizes[2]
    slices, rows, columns = sizes[3], sizes[4], sizes[5]
    deep, high, wide = sizes[6], sizes[7], sizes[8]
    plane, z = task[0] // slices % sizes[12], sizes[9] + task[0] % slices * deep
    first, cells = sizes[11] + task[3] * wide, task[4] - task[3]
    n = cells * wide
    room = np.empty((3, n), np.float64)
    line = np.empty(n, np.float64)
    sums, ends = data(room), data(line)
    lows, highs = shift(sums, n), shift(sums, 2 * n)
    is_inside = first >= 0 and first + n <= width
    for row in range(task[1], task[2]):
        for k in range(deep * high):
            y = _clamp(sizes[10] + row * high + k % high, height)
            source = shift(x, ((plane * depth + _clamp(z + k // high, depth)) * height + y) * width)
            if not is_inside:
                for j in range(n):
                    ends[j] = source[_clamp(first + j, width)]
                if k == 0:
                    _begin_extremes(sums, lows, highs, ends, n)
                else:
                    _add_extremes(sums, lows, highs, ends, n)
            elif k == 0:
                _begin_extremes(sums, lows, highs, shift(source, first), n)
            else:
                _add_extremes(sums, lows, highs, shift(source, first), n)
        start = (task[0] * rows + row) * columns + task[3]
        for cell in range(cells):
            begin = cell * wide
            total, low, top = sums[begin], lows[begin], highs[begin]
            for j in range(begin + 1, begin + wide):
                total += sums[j]
                low = min(low, lows[j])
                top = max(top, highs[j])
            mean, energy = total * numbers[3], out[start + cell]
            nearest = min(mean - low, top - mean)
            if nearest * nearest < numbers[0] * energy and own[start + cell] > numbers[1] * energy:
                out[start + cell] = energy * numbers[2]
    keep(room)
    keep(line)


@pointed(**OPTIONS)
def count_cells(out, others, own, numbers, sizes, task):
    """Count cells by bins of their energy in other bands, and sum both energies; see `cells.tally_cells`.

    Sizes: cells of a plane. Numbers: the largest energy of each plane in other bands.
    """
    counts = shift(out, 3 * BINS * task[5])
    for k in range(3 * BINS):
        counts[k] = 0
    start, largest = task[0] * sizes[0], numbers[task[0]]
    for k in range(start + task[3], start + task[4]):
        energy = others[k]
        # where all have nothing, none is empty
        part = np.float32(energy / largest) if largest > 0 else np.float32(1)
        if EMPTY <= part < 2:
            index = (read_bits(part) >> LEFT_OUT) - FIRST
            counts[index] += 1
            counts[BINS + index] += energy
            counts[2 * BINS + index] += own[k]
