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
from subband.tracking import AGREE, BLOCK, DOUBT, GROWTH, LINE, MARGIN, PHASES, STRAIGHT, SURE, TAPS
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
    cells = np.empty((2, 2 * motion.shape[1], 2), np.int64)
    half = ((block[0] + 1) // 2, (block[1] + 1) // 2)
    for row in range(first, last):
        r = row * block[0]
        height = min(block[0], rows - r)
        blend_motion(motion, row, block, cells)
        end = 0
        while end < cells.shape[1]:
            column, end = end, end + 1
            y, x, lower_y, lower_x = cells[0, column, 0], cells[0, column, 1], cells[1, column, 0], cells[1, column, 1]
            c = column // 2 * block[1] + column % 2 * half[1]
            # cells that move alike are a large one
            while (
                end < min(cells.shape[1], column + 2 * _RUN)
                and cells[0, end, 0] == y
                and cells[0, end, 1] == x
                and cells[1, end, 0] == lower_y
                and cells[1, end, 1] == lower_x
                and c + min(x, lower_x) // PHASES >= TAPS - MARGIN
                and end // 2 * block[1] + (end % 2 + 1) * half[1] + max(x, lower_x) // PHASES <= columns + MARGIN - TAPS
            ):
                end += 1
            width = min(end // 2 * block[1] + end % 2 * half[1], columns) - c
            is_inside = TAPS - MARGIN <= r + y // PHASES <= rows + MARGIN - TAPS - 2 * half[0]
            is_tall = y == lower_y and x == lower_x and is_inside
            for part in range(1 if is_tall else 2):
                top, deep = r + part * half[0], height if is_tall else min(half[0], height - part * half[0])
                y, x = (lower_y, lower_x) if part else (y, x)
                if deep <= 0 or width <= 0:
                    continue
                # what comes from beyond the margins was not seen
                above = MARGIN + min(max(top + y // PHASES, TAPS - MARGIN), rows + MARGIN - TAPS - half[0])
                left = MARGIN + min(max(c + x // PHASES, TAPS - MARGIN), columns + MARGIN - TAPS - half[1])
                for k in range(deep):
                    copy(
                        shift(data(predicted_ratios), (top + k) * columns + c),
                        shift(data(ratios), (above + k) * stride + left),
                        width,
                    )
                for plane in range(len(new)):
                    begin = shift(data(state), (plane * state.shape[1] + above) * stride + left)
                    goal = shift(data(predicted), (plane * rows + top) * columns + c)
                    interpolate(begin, stride, taps, y, x, data(room), goal, columns, deep, width)
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
    keep(cells)


def _blend_motion(motion: Array, row: int, block: tuple[int, int], cells: Array) -> None:
    """Write where each quarter of the blocks of a row was before, in `PHASES` of a sample.

    A quarter lies between the middles of four blocks, of which those count that move nearly like its own.
    """
    rows, columns = motion.shape[:2]
    for column in range(columns):
        for part in range(4):
            above = min(max(row + (1 if part // 2 else -1), 0), rows - 1)
            beside = min(max(column + (1 if part % 2 else -1), 0), columns - 1)
            own_y, own_x = motion[row, column, 0], motion[row, column, 1]
            y = x = np.float32(0.0)
            for number in range(3):
                near, weight = (
                    motion[above if number else row, beside if number != 1 else column],
                    1 if number == 2 else 3,
                )
                by_y, by_x = near[0] - own_y, near[1] - own_x
                if max(abs(by_y), abs(by_x)) <= AGREE:
                    y += np.float32(weight) * by_y
                    x += np.float32(weight) * by_x
            y, x = own_y + np.float32(1 / 16) * y, own_x + np.float32(1 / 16) * x
            cells[part // 2, 2 * column + part % 2, 0] = floor(y * (block[0] * PHASES / BLOCK) + 0.5)
            cells[part // 2, 2 * column + part % 2, 1] = floor(x * (block[1] * PHASES / BLOCK) + 0.5)


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
blend_motion = stored(**OPTIONS)(_blend_motion)
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
