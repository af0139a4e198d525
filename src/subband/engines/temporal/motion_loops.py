"""The loops that find motion, compiled.

Arrays of samples have margins, so that nothing asks whether it is inside. `first` and `last` count rows, of blocks or
of samples, so that threads can share a frame: no block depends on another one of the same call, and results do not
depend on the number of threads. Innermost loops go over addresses, where Numba does not ask whether an index is
negative.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.loops import OPTIONS, copy, data, keep, keep_apart, shift
from subband.tracking import (
    ALIKE,
    BLOCK,
    CLOSE,
    ENOUGH,
    HOLD,
    MARGIN,
    OWN_WORTH,
    PHASES,
    SAME,
    TAPS,
    WINDOW,
    WORTH,
)
from subband.typing import Array

__all__ = ["balance", "halve", "interpolate", "prefer_common", "track"]


def _halve(x: Array, y: Array, first: int, last: int) -> None:
    """Write half as many rows and columns of smoothed samples; weights are 1, 5, 10, 10, 5 and 1 along each axis."""
    columns, stride = y.shape[1] - 2 * MARGIN, x.shape[1]
    room = np.empty(2 * columns + 4, np.float32)
    line, five, ten = data(room), np.float32(5.0), np.float32(10.0)
    for r in range(first, last):
        x0 = shift(data(x), (MARGIN + 2 * r - 2) * stride + MARGIN - 2)
        x1, x2, x3 = shift(x0, stride), shift(x0, 2 * stride), shift(x0, 3 * stride)
        x4, x5 = shift(x0, 4 * stride), shift(x0, 5 * stride)
        for c in range(2 * columns + 4):
            line[c] = (x0[c] + x5[c]) + five * (x1[c] + x4[c]) + ten * (x2[c] + x3[c])
        out = shift(data(y), (MARGIN + r) * y.shape[1] + MARGIN)
        for c in range(columns):
            k = 2 * c
            total = (line[k] + line[k + 5]) + five * (line[k + 1] + line[k + 4]) + ten * (line[k + 2] + line[k + 3])
            out[c] = total * np.float32(1 / 1024)
    keep(room)


def _locate_window(new: Array, row: int, column: int) -> tuple[int, int]:
    """Return where the window of a block begins; it stays inside, as what is repeated at the border does not move."""
    around = (WINDOW - BLOCK) // 2
    r = min(max(row * BLOCK - around, 0), new.shape[0] - 2 * MARGIN - WINDOW)
    c = min(max(column * BLOCK - around, 0), new.shape[1] - 2 * MARGIN - WINDOW)
    return MARGIN + r, MARGIN + c


def _is_inside(old: Array, r: int, c: int, down: float, right: float) -> bool:
    """Tell whether a displaced window, and what interpolation and slopes need around it, are within the margins."""
    top, left = r + down, c + right
    bottom, end = top + WINDOW + TAPS, left + WINDOW + TAPS
    return top >= TAPS and left >= TAPS and bottom < old.shape[0] and end < old.shape[1]


def _compare(new: Array, old: Array, r: int, c: int, down: float, right: float, share: float) -> Any:
    """Return the sum of squared differences of two windows, less what noise of the old frame adds to it.

    Their means do not count: light changes, and what moves does not.

    `share` is the variance of that noise. Interpolation makes it weaker, which must not look like a better match.
    """
    stride = new.shape[1]
    i, j = floor(down), floor(right)
    a, b, one = np.float32(down - i), np.float32(right - j), np.float32(1.0)
    w00, w01, w10, w11 = (one - a) * (one - b), (one - a) * b, a * (one - b), a * b
    x, y = shift(data(new), r * stride + c), shift(data(old), (r + i) * stride + c + j)
    total = shade = np.float32(0.0)
    if w00 == one:
        for _ in range(WINDOW):
            for m in range(WINDOW):
                d = x[m] - y[m]
                shade += d
                total += d * d
            x, y = shift(x, stride), shift(y, stride)
    else:
        for _ in range(WINDOW):
            z = shift(y, stride)
            for m in range(WINDOW):
                d = x[m] - ((w00 * y[m] + w01 * y[m + 1]) + (w10 * z[m] + w11 * z[m + 1]))
                shade += d
                total += d * d
            x, y = shift(x, stride), z
    return (
        total
        - shade * shade * np.float32(1 / WINDOW**2)
        - WINDOW * WINDOW * share * (w00 * w00 + w01 * w01 + w10 * w10 + w11 * w11)
    )


def _step(
    new: Array, old: Array, r: int, c: int, down: float, right: float, share: float, hold: float
) -> tuple[float, float, float, float]:
    """Return what `compare` does, the step from there towards a better match, and the energy of the image's slopes.

    The step goes along these slopes, and `hold` keeps it short.
    """
    stride = new.shape[1]
    i, j = floor(down), floor(right)
    a, b, one, half = np.float32(down - i), np.float32(right - j), np.float32(1.0), np.float32(0.5)
    w00, w01, w10, w11 = (one - a) * (one - b), (one - a) * b, a * (one - b), a * b
    x, y = shift(data(new), r * stride + c), shift(data(old), (r + i) * stride + c + j)
    yy = yx = xx = yd = xd = dd = y1 = x1 = d1 = np.float32(0.0)
    for _ in range(WINDOW):
        before, z, behind = shift(y, -stride), shift(y, stride), shift(y, 2 * stride)
        for m in range(WINDOW):
            d = x[m] - ((w00 * y[m] + w01 * y[m + 1]) + (w10 * z[m] + w11 * z[m + 1]))
            dy = half * (
                (w00 * (z[m] - before[m]) + w01 * (z[m + 1] - before[m + 1]))
                + (w10 * (behind[m] - y[m]) + w11 * (behind[m + 1] - y[m + 1]))
            )
            dx = half * (
                (w00 * (y[m + 1] - y[m - 1]) + w01 * (y[m + 2] - y[m]))
                + (w10 * (z[m + 1] - z[m - 1]) + w11 * (z[m + 2] - z[m]))
            )
            yy += dy * dy
            yx += dy * dx
            xx += dx * dx
            yd += dy * d
            xd += dx * d
            dd += d * d
            y1 += dy
            x1 += dx
            d1 += d
        x, y = shift(x, stride), z
    part = np.float32(1 / WINDOW**2)
    yy, yx, xx = yy - part * y1 * y1, yx - part * y1 * x1, xx - part * x1 * x1
    yd, xd, dd = yd - part * y1 * d1, xd - part * x1 * d1, dd - part * d1 * d1
    noise = WINDOW * WINDOW * share * (w00 * w00 + w01 * w01 + w10 * w10 + w11 * w11)
    # slopes of noise are no slopes of the image
    down_energy, right_energy = max(float(yy - half * noise), 0.0), max(float(xx - half * noise), 0.0)
    down_slope, right_slope = down_energy + hold, right_energy + hold
    determinant = down_slope * right_slope - yx * yx
    by_y = by_x = 0.0
    if determinant > 1e-3 * down_slope * right_slope:
        by_y = min(max(float((right_slope * yd - yx * xd) / determinant), -1.0), 1.0)
        by_x = min(max(float((down_slope * xd - yx * yd) / determinant), -1.0), 1.0)
    return float(dd - noise), by_y, by_x, down_energy + right_energy


def _refine(
    new: Array, old: Array, r: int, c: int, down: float, right: float, noise: float, share: float
) -> tuple[float, float, float, float]:
    """Return half a sum of squares over the noise and its displacement, a step on if that is better; and slopes."""
    scale = 0.5 / (noise * ALIKE)
    total, by_y, by_x, slopes = step(new, old, r, c, down, right, share, noise * ALIKE * HOLD)
    best = scale * total
    if is_inside(old, r, c, down + by_y, right + by_x):
        cost = scale * compare(new, old, r, c, down + by_y, right + by_x, share)
        cost += 0.5 * HOLD * (by_y * by_y + by_x * by_x)
        if cost < best:
            return cost, down + by_y, right + by_x, slopes
    return best, down, right, slopes


def _track(
    new: Array, old: Array, coarse: Array, motion: Array, costs: Array, radius: int, steps: int,
    noise: float, share: float, first: int, last: int,
) -> None:  # fmt: skip
    """Find the motion of all blocks of some rows.

    Parameters
    ----------
    new, old : ndarray
        Both frames at the same scale.
    coarse : ndarray of shape (blocks, blocks, 2)
        Motion at the next coarser scale, in samples of that.
    motion, costs : ndarray
        Where motion goes, and half the sum of squares over the noise that it has.
    radius, steps : int
        Samples around the best candidate that are all looked at, and steps to the best neighbour of four from there.
    noise, share : float
        Variance of a difference of both frames, and of the noise of the old one.
    first, last : int
        Rows of blocks.
    """
    scale = 0.5 / (noise * ALIKE)
    enough = scale * WINDOW * WINDOW * (noise * ENOUGH - share)
    for row in range(first, last):
        for column in range(motion.shape[1]):
            r, c = locate_window(new, row, column)
            above, beside = min(row // 2, coarse.shape[0] - 1), min(column // 2, coarse.shape[1] - 1)
            down, right = 2.0 * coarse[above, beside, 0], 2.0 * coarse[above, beside, 1]
            if not is_inside(old, r, c, down, right):
                down, right = 0.0, 0.0
            best, down, right, slopes = refine(new, old, r, c, down, right, noise, share)
            if best > enough + scale * CLOSE * CLOSE * slopes:
                # the three blocks nearest at the coarser scale, and none at all
                found, y0, x0 = best, down, right
                near_row = min(max(above + (1 if row % 2 else -1), 0), coarse.shape[0] - 1)
                near_column = min(max(beside + (1 if column % 2 else -1), 0), coarse.shape[1] - 1)
                for number in range(4):
                    i, j = (above if number == 1 else near_row), (beside if number == 0 else near_column)
                    y, x = 2.0 * coarse[i, j, 0], 2.0 * coarse[i, j, 1]
                    if number == 3:
                        y, x = 0.0, 0.0
                    if abs(y - y0) + abs(x - x0) < SAME or not is_inside(old, r, c, y, x):
                        continue
                    cost = scale * compare(new, old, r, c, y, x, share)
                    if cost < found:
                        found, y0, x0 = cost, y, x
                middle_y, middle_x = floor(y0 + 0.5), floor(x0 + 0.5)
                for dy in range(-radius, radius + 1):
                    for dx in range(-radius, radius + 1):
                        y, x = middle_y + dy, middle_x + dx
                        if (y == y0 and x == x0) or not is_inside(old, r, c, y, x):
                            continue
                        cost = scale * compare(new, old, r, c, y, x, share)
                        if cost < found:
                            found, y0, x0 = cost, y, x
                for _ in range(steps):
                    middle_y, middle_x = y0, x0
                    for number in range(4):
                        y = middle_y + (number - 1 if number % 2 == 0 else 0)
                        x = middle_x + (number - 2 if number % 2 else 0)
                        if not is_inside(old, r, c, y, x):
                            continue
                        cost = scale * compare(new, old, r, c, y, x, share)
                        if cost < found:
                            found, y0, x0 = cost, y, x
                    if y0 == middle_y and x0 == middle_x:
                        break
                if found < best:
                    found, y0, x0, _ = refine(new, old, r, c, y0, x0, noise, share)
                    if found + WORTH < best:
                        best, down, right = found, y0, x0
            motion[row, column, 0] = down
            motion[row, column, 1] = right
            costs[row, column] = best


def _prefer_common(
    new: Array,
    old: Array,
    motion: Array,
    costs: Array,
    common: Array,
    noise: float,
    share: float,
    first: int,
    last: int,
) -> None:
    """Give blocks of some rows the common motion, where their own is hardly better."""
    scale = 0.5 / (noise * ALIKE)
    for row in range(first, last):
        for column in range(motion.shape[1]):
            r, c = locate_window(new, row, column)
            down, right = common[row, column, 0], common[row, column, 1]
            if is_inside(old, r, c, down, right):
                cost = scale * compare(new, old, r, c, down, right, share)
                if cost < costs[row, column] + OWN_WORTH:
                    motion[row, column, 0] = down
                    motion[row, column, 1] = right


def _pick_taps(taps: Array, phase: int) -> tuple[float, float, float, float, float, float, float, float]:
    """Return the filter for a fraction of a sample; numbers stay in registers."""
    t = taps[phase % PHASES]
    return t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]


def _filter_across(y: Any, a: Any, w: Any, n: int) -> None:
    """Write samples between others of a row; `a` is the first that has a weight."""
    keep_apart()
    w0, w1, w2, w3, w4, w5, w6, w7 = w
    for m in range(n):
        y[m] = ((w0 * a[m] + w1 * a[m + 1]) + (w2 * a[m + 2] + w3 * a[m + 3])) + (
            (w4 * a[m + 4] + w5 * a[m + 5]) + (w6 * a[m + 6] + w7 * a[m + 7])
        )


def _filter_down(y: Any, a: Any, stride: int, w: Any, n: int) -> None:
    """Write samples between rows; `a` is the first that has a weight."""
    keep_apart()
    w0, w1, w2, w3, w4, w5, w6, w7 = w
    b, c, d = shift(a, stride), shift(a, 2 * stride), shift(a, 3 * stride)
    e, f, g, h = shift(a, 4 * stride), shift(a, 5 * stride), shift(a, 6 * stride), shift(a, 7 * stride)
    for m in range(n):
        y[m] = ((w0 * a[m] + w1 * b[m]) + (w2 * c[m] + w3 * d[m])) + ((w4 * e[m] + w5 * f[m]) + (w6 * g[m] + w7 * h[m]))


def _interpolate(
    x: Any, stride: int, taps: Array, down: int, right: int, lines: Any, out: Any, out_stride: int,
    height: int, width: int,
) -> None:  # fmt: skip
    """Write a block of samples between others, from the address of the one above and left of the first.

    `down` and `right` count `PHASES` of a sample, of which the whole ones are in the address already.
    """
    before = TAPS // 2 - 1
    vertical, horizontal = pick_taps(taps, down), pick_taps(taps, right)
    if down % PHASES == 0:
        for k in range(height):
            if right % PHASES == 0:
                copy(shift(out, k * out_stride), shift(x, k * stride), width)
            else:
                filter_across(shift(out, k * out_stride), shift(x, k * stride - before), horizontal, width)
        return
    if right % PHASES == 0:
        for k in range(height):
            filter_down(shift(out, k * out_stride), shift(x, (k - before) * stride), stride, vertical, width)
        return
    for k in range(height + TAPS - 1):
        filter_across(shift(lines, k * width), shift(x, (k - before) * stride - before), horizontal, width)
    for k in range(height):
        filter_down(shift(out, k * out_stride), shift(lines, k * width), width, vertical, width)


def _balance(
    new: Array, old: Array, motion: Array, common: Array, taps: Array, reach: float, sums: Array, first: int, last: int
) -> None:
    """Sum up the equations for a step from a common motion, for blocks of some rows that move nearly so.

    The common motion of each block counts `PHASES` of a sample. Other than in `track`, samples between others are exact
    here. Sums of a block are those of the products of slopes, down twice, down and right, and right twice; of both with
    differences; of squared differences; and of samples.
    """
    side, stride, half = BLOCK + 2, old.shape[1], np.float32(0.5)
    line_room, patch_room = np.empty((side + TAPS) * side, np.float32), np.empty(side * side, np.float32)
    for row in range(first, last):
        for column in range(motion.shape[1]):
            r, c = MARGIN + row * BLOCK, MARGIN + column * BLOCK
            y, x = common[0, row, column], common[1, row, column]
            if abs(motion[row, column, 0] - y / PHASES) > reach or abs(motion[row, column, 1] - x / PHASES) > reach:
                continue
            if r + BLOCK > new.shape[0] - MARGIN or c + BLOCK > new.shape[1] - MARGIN:
                continue
            if not is_inside(old, r, c, y / PHASES, x / PHASES):
                continue
            begin = shift(data(old), (r + y // PHASES - 1) * stride + c + x // PHASES - 1)
            interpolate(begin, stride, taps, y, x, data(line_room), data(patch_room), side, side, side)
            yy = yx = xx = yd = xd = dd = np.float32(0.0)
            for k in range(BLOCK):
                before = shift(data(patch_room), k * side)
                here, behind = shift(before, side), shift(before, 2 * side)
                z = shift(data(new), (r + k) * stride + c)
                for m in range(BLOCK):
                    dy, dx = half * (behind[m + 1] - before[m + 1]), half * (here[m + 2] - here[m])
                    d = z[m] - here[m + 1]
                    yy += dy * dy
                    yx += dy * dx
                    xx += dx * dx
                    yd += dy * d
                    xd += dx * d
                    dd += d * d
            sums[0, row, column] = yy
            sums[1, row, column] = yx
            sums[2, row, column] = xx
            sums[3, row, column] = yd
            sums[4, row, column] = xd
            sums[5, row, column] = dd
            sums[6, row, column] = BLOCK * BLOCK
    keep(line_room)
    keep(patch_room)


halve = stored(**OPTIONS)(_halve)
locate_window = stored(**OPTIONS)(_locate_window)
is_inside = stored(**OPTIONS)(_is_inside)
compare = stored(**OPTIONS)(_compare)
step = stored(**OPTIONS)(_step)
refine = stored(**OPTIONS)(_refine)
track = stored(**OPTIONS)(_track)
prefer_common = stored(**OPTIONS)(_prefer_common)
pick_taps = stored(**OPTIONS)(_pick_taps)
filter_across = stored(**OPTIONS)(_filter_across)
filter_down = stored(**OPTIONS)(_filter_down)
interpolate = stored(**OPTIONS)(_interpolate)
balance = stored(**OPTIONS)(_balance)
