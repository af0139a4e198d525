"""The loops of temporal denoising, compiled: prediction along the motion, update by the new frame, maps of the noise.

Arrays of what is known have margins; see `subband.engines.temporal.motion_loops`, also for `first` and `last`.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.loops import OPTIONS, clear, copy, data, keep, keep_apart, shift
from subband.engines.temporal.motion_loops import interpolate
from subband.tracking import BLOCK, DOUBT, GROWTH, LINE, MARGIN, PHASES, STRAIGHT, SURE, TAPS
from subband.typing import Array

__all__ = ["average", "draw", "predict", "relight", "update"]

# Blocks beside each other that are moved at a time, at most: what their interpolation needs stays in the nearest cache.
_RUN = 8


def _predict(
    new: Array, state: Array, ratios: Array, motion: Array, block: tuple[int, int], taps: Array, weights: Array,
    predicted: Array, predicted_ratios: Array, residuals: Array, sums: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Predict blocks of some rows along their motion, and tell how far the new frame is from that.

    Parameters
    ----------
    new, state : ndarray of shape (planes, rows, columns)
        Planes of the new frame; what is known of them from the frames before, with margins.
    ratios : ndarray of shape (rows, columns)
        Variance of the noise of `state` over that of a frame, with margins.
    motion : ndarray of shape (blocks, blocks, 2)
        From `subband.engines.temporal.motion.find_motion`.
    block : tuple of int
        Samples of a block of these planes.
    taps : ndarray of shape (PHASES, TAPS)
        What interpolates at each fraction of a sample.
    weights : ndarray of shape (planes,)
        One over the variance of the noise of a frame, over the number of planes.
    predicted, predicted_ratios, residuals : ndarray
        Where the prediction goes, the variance of its noise, and differences over their standard deviation: the squares
        of those of all planes have a sum of 1, on average.
    sums : ndarray of shape (2, planes, blocks, blocks)
        Zeros, to which the samples of each block are added: those of the new frame, and those of the prediction.
    first, last : int
        Rows of blocks.
    """
    rows, columns = new.shape[1], new.shape[2]
    stride = state.shape[2]
    room = np.empty((block[0] + TAPS) * block[1] * _RUN, np.float32)
    for row in range(first, last):
        r = row * block[0]
        height = min(block[0], rows - r)
        end = 0
        while end < motion.shape[1]:
            column, end = end, end + 1
            c = column * block[1]
            y = floor(motion[row, column, 0] * (block[0] * PHASES / BLOCK) + 0.5)
            x = floor(motion[row, column, 1] * (block[1] * PHASES / BLOCK) + 0.5)
            # what comes from beyond the margins was not seen
            down = min(max(y // PHASES, -MARGIN + TAPS - r), rows + MARGIN - TAPS - block[0] - r)
            right = min(max(x // PHASES, -MARGIN + TAPS - c), columns + MARGIN - TAPS - block[1] - c)
            # blocks that move alike are one wide block
            while (
                end < min(motion.shape[1], column + _RUN)
                and motion[row, end, 0] == motion[row, column, 0]
                and motion[row, end, 1] == motion[row, column, 1]
                and right == x // PHASES
                and right <= columns + MARGIN - TAPS - (end + 1) * block[1]
            ):
                end += 1
            width = min(end * block[1], columns) - c
            top, left = MARGIN + r + down, MARGIN + c + right
            for k in range(height):
                copy(
                    shift(data(predicted_ratios), (r + k) * columns + c),
                    shift(data(ratios), (top + k) * stride + left),
                    width,
                )
            for plane in range(len(new)):
                begin = shift(data(state), (plane * state.shape[1] + top) * stride + left)
                goal = shift(data(predicted), (plane * rows + r) * columns + c)
                interpolate(begin, stride, taps, y, x, data(room), goal, columns, height, width)
        for k in range(r, r + height):
            for plane in range(len(new)):
                offset = (plane * rows + k) * columns
                compare_rows(
                    shift(data(residuals), offset),
                    shift(data(new), offset),
                    shift(data(predicted), offset),
                    shift(data(predicted_ratios), k * columns),
                    weights[plane],
                    columns,
                )
                number = (plane * motion.shape[0] + row) * motion.shape[1]
                others = number + len(new) * motion.shape[0] * motion.shape[1]
                add_blocks(shift(data(sums), number), shift(data(new), offset), block[1], columns)
                add_blocks(shift(data(sums), others), shift(data(predicted), offset), block[1], columns)
    keep(room)


def _add_blocks(y: Any, x: Any, width: int, n: int) -> None:
    """Add the samples of a row to the sums of the blocks that it crosses."""
    for number in range((n + width - 1) // width):
        total = np.float32(0.0)
        for c in range(number * width, min((number + 1) * width, n)):
            total += x[c]
        y[number] += total


def _compare_rows(y: Any, sample: Any, guess: Any, ratio: Any, weight: float, n: int) -> None:
    """Write differences over their standard deviation."""
    keep_apart()
    one = np.float32(1.0)
    for k in range(n):
        y[k] = (sample[k] - guess[k]) * np.sqrt(weight / (one + ratio[k]))


def _relight(
    new: Array, light: Array, weights: Array, predicted: Array, predicted_ratios: Array, residuals: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """Apply a gain and an offset to the prediction of each plane, in some rows; arguments as in `predict`."""
    columns = new.shape[2]
    square = np.float32(0.0)
    for plane in range(len(new)):
        square += light[plane, 0] * light[plane, 0] / np.float32(len(new))
    for r in range(first, last):
        ratio = shift(data(predicted_ratios), r * columns)
        amplify(ratio, square, np.float32(0.0), columns)
        for plane in range(len(new)):
            offset = (plane * new.shape[1] + r) * columns
            guess = shift(data(predicted), offset)
            amplify(guess, light[plane, 0], light[plane, 1], columns)
            sample = shift(data(new), offset)
            compare_rows(shift(data(residuals), offset), sample, guess, ratio, weights[plane], columns)


def _amplify(x: Any, gain: float, offset: float, n: int) -> None:
    for k in range(n):
        x[k] = gain * x[k] + offset


def _update(
    new: Array, predicted: Array, predicted_ratios: Array, residuals: Array, slacks: tuple[float, float, float, float],
    least: float, drift: Array, block: tuple[int, int], state: Array, ratios: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Average new samples and their prediction by how far each is to be trusted, in some rows.

    The energy around a sample tells whether the prediction is off by more than noise, and so does a line of residuals
    of the same sign: what there is beyond that is
    variance that the prediction has besides its noise, and moves the average towards the new frame.

    Parameters
    ----------
    new, predicted, predicted_ratios, residuals
        As in `predict`.
    slacks : tuple of float
        Mean energy of 5 × 5 samples, of 3 × 3 and of a single one that may come about by noise, and that of the sum of
        a line.
    least : float
        Weight that a new sample has at least.
    drift : ndarray of shape (blocks, blocks)
        Excess that the samples of a block have at least.
    block : tuple of int
        Samples of a block of these planes.
    state, ratios : ndarray
        Where the averages and the variance of their noise go, with margins.
    first, last : int
        Rows of samples.
    """
    rows, columns = residuals.shape[1:]
    stride, lowest = state.shape[2], np.float32(least)
    # excess of three rows, with a sample at each end, and the sums that it comes from
    lines, sums = np.empty(3 * (columns + 2), np.float32), np.empty(6 * (columns + 4), np.float32)
    gains, floors = np.empty(columns, np.float32), np.empty(columns, np.float32)
    for r in range(first - 1, first + 1):
        measure_excess(residuals, r, slacks, data(sums), shift(data(lines), r % 3 * (columns + 2)))
    for r in range(first, last):
        if r == first or r % block[0] == 0:
            for c in range(columns):
                floors[c] = drift[r // block[0], c // block[1]]
        measure_excess(residuals, r + 1, slacks, data(sums), shift(data(lines), (r + 1) % 3 * (columns + 2)))
        weigh_new(
            data(gains),
            shift(data(lines), r % 3 * (columns + 2)),
            shift(data(lines), (r - 1) % 3 * (columns + 2)),
            shift(data(lines), (r + 1) % 3 * (columns + 2)),
            shift(data(predicted_ratios), r * columns),
            data(floors),
            lowest,
            columns,
        )
        copy(shift(data(ratios), (MARGIN + r) * stride + MARGIN), data(gains), columns)
        for plane in range(len(new)):
            offset = (plane * rows + r) * columns
            out = shift(data(state), (plane * state.shape[1] + MARGIN + r) * stride + MARGIN)
            mix(out, shift(data(new), offset), shift(data(predicted), offset), data(gains), columns)
    keep(lines)
    keep(sums)
    keep(gains)
    keep(floors)


def _measure_excess(
    residuals: Array, r: int, slacks: tuple[float, float, float, float], sums: Any, out: Any
) -> None:  # fmt: skip
    """Write by how much the energy around each sample of a row is more than noise explains; nothing beyond borders."""
    planes, rows, columns = residuals.shape
    if r < 0 or r >= rows:
        clear(out, columns + 2)
        return
    pitch = columns + 4
    wide, narrow, line = sums, shift(sums, pitch), shift(sums, 2 * pitch)
    own, down, across = shift(sums, 3 * pitch), shift(sums, 4 * pitch), shift(sums, 5 * pitch)
    clear(sums, 6 * pitch)
    for plane in range(planes):
        first = shift(data(residuals), plane * rows * columns)
        here = shift(first, r * columns)
        above, below = shift(first, max(r - 1, 0) * columns), shift(first, min(r + 1, rows - 1) * columns)
        top, bottom = shift(first, max(r - 2, 0) * columns), shift(first, min(r + 2, rows - 1) * columns)
        add_squares(shift(wide, 2), shift(narrow, 2), own, down, top, above, here, below, bottom, columns)
        copy(shift(line, 2), here, columns)
        repeat_twice(line, columns)
        add_across(across, line, columns)
    narrow[1], narrow[columns + 2] = narrow[2], narrow[columns + 1]
    repeat_twice(wide, columns)
    find_excess(shift(out, 1), wide, narrow, own, down, across, slacks, columns)
    out[0], out[columns + 1] = np.float32(0.0), np.float32(0.0)


def _repeat_twice(x: Any, n: int) -> None:
    """Repeat the first and the last of some numbers, of which the first is the third at this address."""
    x[0], x[1], x[n + 2], x[n + 3] = x[2], x[2], x[n + 1], x[n + 1]


def _add_squares(
    wide: Any, narrow: Any, own: Any, down: Any, top: Any, above: Any, here: Any, below: Any, bottom: Any, n: int
) -> None:  # fmt: skip
    """Add the squares of five samples below each other, of three and of one, and the square of the sum of five."""
    keep_apart()
    for c in range(n):
        single = here[c] * here[c]
        total = above[c] * above[c] + single + below[c] * below[c]
        own[c] += single
        narrow[c] += total
        wide[c] += total + (top[c] * top[c] + bottom[c] * bottom[c])
        signed = (top[c] + above[c]) + (below[c] + bottom[c]) + here[c]
        down[c] += signed * signed


def _add_across(y: Any, x: Any, n: int) -> None:
    """Add the squares of the sums of five samples beside each other."""
    keep_apart()
    for c in range(n):
        signed = ((x[c] + x[c + 1]) + (x[c + 3] + x[c + 4])) + x[c + 2]
        y[c] += signed * signed


def _find_excess(
    y: Any, wide: Any, narrow: Any, own: Any, down: Any, across: Any, slacks: tuple[float, float, float, float], n: int
) -> None:  # fmt: skip
    """Write the largest excess of the energy of a square, of the sample itself and of the lines through it."""
    keep_apart()
    wide_slack, narrow_slack, own_slack = np.float32(slacks[0]), np.float32(slacks[1]), np.float32(slacks[2])
    line_slack, straight, share = np.float32(slacks[3]), np.float32(STRAIGHT / LINE), np.float32(1 / LINE)
    for c in range(n):
        five = ((wide[c] + wide[c + 1]) + (wide[c + 3] + wide[c + 4]) + wide[c + 2]) * np.float32(1 / 25)
        three = (narrow[c + 1] + narrow[c + 2] + narrow[c + 3]) * np.float32(1 / 9)
        line = straight * (share * max(down[c], across[c]) - line_slack)
        y[c] = max(five - wide_slack, three - narrow_slack, own[c] - own_slack, line, np.float32(0.0))


def _weigh_new(
    gains: Any, here: Any, above: Any, below: Any, ratio: Any, floor: Any, lowest: float, n: int
) -> None:  # fmt: skip
    """Write the weights of the new samples of a row, from the excess of that row and of those beside it, or `floor`."""
    keep_apart()
    zero, one = np.float32(0.0), np.float32(1.0)
    doubt, sure, growth = np.float32(DOUBT), np.float32(SURE), np.float32(GROWTH)
    for c in range(n):
        # a moving edge is found where it is strong, and goes on where noise hides it
        beside = max(above[c], above[c + 1], above[c + 2], below[c], below[c + 1], below[c + 2], here[c], here[c + 2])
        excess = max(here[c + 1], beside - sure, floor[c])
        doubtful = doubt * excess * (one + growth * max(excess - sure, zero))
        variance = ratio[c] + doubtful * (one + ratio[c])
        gains[c] = max(variance / (one + variance), lowest)


def _mix(y: Any, sample: Any, guess: Any, gain: Any, n: int) -> None:
    """Write a row of averages."""
    keep_apart()
    for c in range(n):
        y[c] = guess[c] + gain[c] * (sample[c] - guess[c])


def _average(x: Array, means: Array, first: int, last: int) -> None:
    """Write means of 2 × 2 samples, in some rows; samples at an odd end are repeated."""
    rows, columns = x.shape
    for r in range(first, last):
        above = shift(data(x), 2 * r * columns)
        below = shift(data(x), min(2 * r + 1, rows - 1) * columns)
        y = shift(data(means), r * means.shape[1])
        average_rows(y, above, below, columns // 2)
        if columns % 2:
            y[columns // 2] = np.float32(0.5) * (above[columns - 1] + below[columns - 1])


def _average_rows(y: Any, above: Any, below: Any, n: int) -> None:
    keep_apart()
    for c in range(n):
        y[c] = np.float32(0.25) * ((above[2 * c] + below[2 * c]) + (above[2 * c + 1] + below[2 * c + 1]))


def _draw(deviations: Array, out: Array, step: int, level: int, down: int, right: int, first: int, last: int) -> None:
    """Write standard deviations at coefficients that are `step` samples apart, in some rows.

    `deviations` has one number for 2**level samples along each axis; the first coefficient stands at `down`, `right`.
    """
    rows, columns = deviations.shape
    for r in range(first, last):
        source = shift(data(deviations), min(max((r * step + down) >> level, 0), rows - 1) * columns)
        goal = shift(data(out), r * out.shape[1])
        if step == 1 << level:
            repeat_ends(goal, source, right >> level, columns, out.shape[1])
        else:
            draw_row(goal, source, step, level, right, columns - 1, out.shape[1])


def _repeat_ends(y: Any, x: Any, begin: int, length: int, n: int) -> None:
    """Copy a row from some sample on; beyond its ends, the outermost samples are repeated."""
    before = min(max(-begin, 0), n)
    inside = max(min(n, length - begin), before)
    for c in range(before):
        y[c] = x[0]
    copy(shift(y, before), shift(x, begin + before), inside - before)
    for c in range(inside, n):
        y[c] = x[length - 1]


def _draw_row(y: Any, x: Any, step: int, level: int, right: int, last: int, n: int) -> None:
    keep_apart()
    for c in range(n):
        y[c] = x[min(max((c * step + right) >> level, 0), last)]


add_blocks = stored(**OPTIONS)(_add_blocks)
add_across = stored(**OPTIONS)(_add_across)
add_squares = stored(**OPTIONS)(_add_squares)
amplify = stored(**OPTIONS)(_amplify)
average = stored(**OPTIONS)(_average)
average_rows = stored(**OPTIONS)(_average_rows)
compare_rows = stored(**OPTIONS)(_compare_rows)
draw = stored(**OPTIONS)(_draw)
draw_row = stored(**OPTIONS)(_draw_row)
find_excess = stored(**OPTIONS)(_find_excess)
measure_excess = stored(**OPTIONS)(_measure_excess)
mix = stored(**OPTIONS)(_mix)
predict = stored(**OPTIONS)(_predict)
relight = stored(**OPTIONS)(_relight)
repeat_ends = stored(**OPTIONS)(_repeat_ends)
repeat_twice = stored(**OPTIONS)(_repeat_twice)
update = stored(**OPTIONS)(_update)
weigh_new = stored(**OPTIONS)(_weigh_new)
