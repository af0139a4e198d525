"""Statistics of planes: mean square, histogram of magnitudes, and the sums behind the risk of thresholds.

Every task sums up by itself, and the sums are added in the order of the tasks: so results do not depend on threads.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba.extending import intrinsic

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, data, keep, keep_apart, shift
from subband.engines.filters.constants import MAGNITUDE_SHIFT, MAGNITUDES
from subband.engines.filters.loops.calls import stand_alone

__all__ = ["collect_magnitudes", "count_magnitudes", "count_risk", "read_bits", "sum_squares"]

#: Samples whose bins are found in one go.
_BLOCK = 1024


@intrinsic
def read_bits(typingctx, value):
    """Return the bits of a float32; those of larger positive numbers are larger."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(nb.types.int32))

    return nb.types.int32(value), codegen


@nb.njit(error_model="numpy", nogil=True)
def _divide(a, b):
    """Divide as IEEE says, not by way of a reciprocal, so that a number stays on its side of an edge."""
    return a / b


@pointed(**OPTIONS)
def sum_squares(out, x, _y, _numbers, sizes, task):
    """Sum the squares of a part of a plane. Sizes: samples of a plane."""
    total = 0.0
    values = shift(x, task[0] * sizes[0])
    for k in range(task[3], task[4]):
        value = np.float64(values[k])
        total += value * value
    out[task[5]] = total


@nb.njit(**OPTIONS)
def _find_bins(y, x, n):
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = read_bits(np.float32(abs(x[k]))) >> MAGNITUDE_SHIFT


@pointed(**OPTIONS)
def count_magnitudes(out, x, mask, _numbers, sizes, task):
    """Count magnitudes by bins. Sizes: samples of a plane, and whether there is a mask."""
    counts, values = shift(out, task[5] * MAGNITUDES), shift(x, task[0] * sizes[0])
    end, masked = task[4], sizes[1] != 0
    room = np.empty(_BLOCK, np.int32)
    bins = data(room)
    for k in range(MAGNITUDES):
        counts[k] = 0
    for begin in range(task[3], end, _BLOCK):
        n = min(_BLOCK, end - begin)
        _find_bins(bins, shift(values, begin), n)
        if masked:
            for k in range(n):
                counts[bins[k]] += mask[begin + k] != 0
        else:
            for k in range(n):
                counts[bins[k]] += 1
    keep(room)


@pointed(**OPTIONS)
def collect_magnitudes(out, x, mask, numbers, sizes, task):
    """Write the magnitudes of some bins.

    Sizes: samples of a plane, and whether there is a mask. Numbers of a task: the first bin, the last, and where to
    write.
    """
    own = shift(numbers, 3 * task[5])
    first, span, index = np.int32(own[0]), np.uint32(own[1] - own[0]), np.int64(own[2])
    values, end, masked = shift(x, task[0] * sizes[0]), task[4], sizes[1] != 0
    room = np.empty(_BLOCK, np.int32)
    bins = data(room)
    for begin in range(task[3], end, _BLOCK):
        n = min(_BLOCK, end - begin)
        _find_bins(bins, shift(values, begin), n)
        for k in range(n):
            # one comparison, rarely true: either end by itself would be a toss of a coin, which no processor foretells
            if np.uint32(bins[k] - first) <= span and (not masked or mask[begin + k] != 0):
                out[index] = abs(values[begin + k])
                index += 1
    keep(room)


@pointed(**OPTIONS)
def count_risk(out, x, _y, numbers, sizes, task):
    """Count magnitudes over the noise, and sum their squares, between the candidates for a threshold.

    Sizes: samples of a plane, and candidates. Numbers: the distance of candidates, then the noise of each plane.
    """
    bins = sizes[1]
    counts, squares = shift(out, 2 * bins * task[5]), shift(out, 2 * bins * task[5] + bins)
    for k in range(2 * bins):
        counts[k] = 0
    step, noise = numbers[0], numbers[1 + task[0]]
    if noise == 0:
        return
    values = shift(x, task[0] * sizes[0])
    for k in range(task[3], task[4]):
        ratio = _divide(np.float64(abs(values[k])), noise)
        scaled = ratio / step
        # what is not a number is not below the last candidate either
        index = np.int64(scaled) if scaled < bins - 1 else bins - 1
        # the division may round a number to the wrong side of a candidate
        if ratio < index * step:
            index -= 1
        elif index < bins - 1 and ratio >= (index + 1) * step:
            index += 1
        counts[index] += 1
        squares[index] += ratio * ratio
