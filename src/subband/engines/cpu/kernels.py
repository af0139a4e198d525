"""The compiled sweeps: one over the samples, one back.

A level of an image is one sweep. Rows come in two at a time; each is split into even and odd samples and filtered
along the row while it is in the cache; a ring of the last few pairs of rows is filtered down the columns; finished
coefficients go straight to their bands. The inverse is the same sweep in a mirror: bands are loaded into the ring,
filtered down the columns, then along the row, and woven into samples. An axis that is not transformed has an
identity program, so the same two kernels serve rows, columns and images.

The loops themselves are in `subband.engines.cpu.loops`; here is what they run on.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.engines.cpu.loops import (
    OPTIONS,
    blend,
    copy_scaled,
    data,
    lift,
    lift_both,
    misalignment,
    room_for,
    round_up,
    scale,
    shift,
    split,
    weave,
)
from subband.engines.cpu.program import (
    CONVOLUTION,
    COUNT,
    DEPTH,
    EVEN,
    FIRST,
    FUSED,
    HEADER,
    IDENTITY,
    KIND,
    LAG,
    LAST,
    LEFT,
    LENGTH,
    LIFTING,
    MIXED,
    MIXING,
    NUMBERS,
    ODD,
    OUTSIDE,
    P_MEMBER,
    P_SHIFT,
    Q_MEMBER,
    Q_SHIFT,
    ROW,
    SCALE_EVEN,
    SCALE_ODD,
    SCALE_P,
    SCALE_Q,
    START,
    TAPS,
    TARGET,
    WEIGHTS,
)

__all__ = ["forward", "forward_tasks", "inverse", "inverse_tasks"]

# --- Steps and filters of a program, on a row or on the ring of rows. ---


@nb.njit(**OPTIONS)
def _lift_row(x, e, n, pitch, ints, numbers):
    """Run all steps along a row whose `n` even members stand at `e` and its odd ones `pitch` behind them."""
    for k in range(ints[COUNT]):
        r = HEADER + ROW * k
        target, start, taps = ints[r + TARGET], ints[r + START], ints[r + TAPS]
        begin = max(0, -start)
        end = n - max(0, start + taps - 1)
        if end > begin:
            t = e + target * pitch + begin
            a = e + (1 - target) * pitch + begin + start
            lift(x, numbers, NUMBERS + WEIGHTS * k, t, a, a + taps - 1, taps, round_up(end - begin))


@nb.njit(**OPTIONS)
def _blend_row(p, q, x, e, pitch, ints, numbers, at, count):
    """Filter a row whose even members stand at `e` and its odd ones `pitch` behind them."""
    for k in range(ints[COUNT]):
        r = HEADER + ROW * k
        at[k] = e + ints[r] * pitch + ints[r + 1] - ints[FIRST]
    blend(p, q, x, at, numbers, NUMBERS, ints[COUNT], count)


@nb.njit(**OPTIONS)
def _lift_ring(x, ring, size, newest, ints, numbers):
    """Run each step on the pair of rows that it has come to when the pair `newest` has just been loaded."""
    depth = ints[DEPTH]
    k = 0
    while k < ints[COUNT]:
        r, w = HEADER + ROW * k, NUMBERS + WEIGHTS * k
        target, start, taps = ints[r + TARGET], ints[r + START], ints[r + TAPS]
        pair = newest - ints[r + LAG]
        t = ring + (pair % depth * 2 + target) * size
        a = ring + ((pair + start) % depth * 2 + 1 - target) * size
        b = ring + ((pair + start + taps - 1) % depth * 2 + 1 - target) * size
        if ints[r + FUSED]:
            pair = newest - ints[r + ROW + LAG]
            s = ring + (pair % depth * 2 + 1 - target) * size
            c = ring + ((pair + ints[r + ROW + START]) % depth * 2 + target) * size
            two_taps = ints[r + ROW + TAPS] == 2
            cc, cf = numbers[w + WEIGHTS], numbers[w + WEIGHTS + two_taps]
            lift_both(x, t, a, b, s, c, numbers[w], numbers[w + 1], cc, cf, taps == 2, two_taps, size)
            k += 1
        else:
            lift(x, numbers, w, t, a, b, taps, size)
        k += 1


@nb.njit(**OPTIONS)
def _emit_pair(p, q, x, ring, size, column, pair, ints, numbers, factor, at, n):
    """Write the pair of output rows that the ring has ready, `n` numbers from `column` on."""
    depth = ints[DEPTH]
    if ints[KIND] == CONVOLUTION:
        for k in range(ints[COUNT]):
            r = HEADER + ROW * k
            at[k] = ring + ((pair + ints[r + 1]) % depth * 2 + ints[r]) * size + column
        blend(p, q, x, at, numbers, NUMBERS, ints[COUNT], n)
        if factor != 1:  # of a lifting along the rows
            scale(p, factor, n)
            scale(q, factor, n)
    else:
        slot = (pair + ints[P_SHIFT]) % depth * 2 + ints[P_MEMBER]
        copy_scaled(p, shift(x, ring + slot * size + column), factor * numbers[SCALE_P], n)
        slot = (pair + ints[Q_SHIFT]) % depth * 2 + ints[Q_MEMBER]
        copy_scaled(q, shift(x, ring + slot * size + column), factor * numbers[SCALE_Q], n)


# --- Loading, with the extension outside the sequence. ---


@nb.njit(**OPTIONS)
def _outside(ints, position):
    """Return which entry of the extension belongs to a position outside the sequence."""
    if position < 0:
        return position + ints[LEFT]
    return position - ints[LENGTH] + ints[LEFT]


@nb.njit(**OPTIONS)
def _inner_pairs(ints, start, stop):
    """Return the part of the pairs `start` … `stop` whose members both lie inside the sequence."""
    low, high = min(ints[EVEN], ints[ODD]), max(ints[EVEN], ints[ODD])
    begin = min(max(start, (1 - low) // 2), stop)
    end = max(min(stop, (ints[LENGTH] - 1 - high) // 2 + 1), begin)
    return begin, end


@nb.njit(**OPTIONS)
def _mix(value, head, tail, weight, first, last):
    """Return ``weight * value + first * head + last * tail``, whose weights sum to 1, without cancellation."""
    if last == 0:
        return head + weight * (value - head)
    return tail + weight * (value - tail) + first * (head - tail)


@nb.njit(**OPTIONS)
def _sample(x, i, ints, numbers, position):
    """Return the row at `x, i` extended to any position."""
    if 0 <= position < ints[LENGTH]:
        return x[i + position]
    k = _outside(ints, position)
    m = ints[MIXING] + 3 * k
    value = x[i + ints[ints[OUTSIDE] + k]]
    if ints[MIXED]:
        return _mix(value, x[i], x[i + ints[LENGTH] - 1], numbers[m], numbers[m + 1], numbers[m + 2])
    return numbers[m] * value


@nb.njit(**OPTIONS)
def _load_samples(y, e, pitch, x, i, ints, numbers, start, n):
    """Split `n` pairs of the row at `x, i`, from pair `start` on, into even members at `e` and odd ones at `pitch`."""
    begin, end = _inner_pairs(ints, start, start + n)
    for k in range(start, begin):
        y[e + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[EVEN])
        y[e + pitch + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[ODD])
    for k in range(end, start + n):
        y[e + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[EVEN])
        y[e + pitch + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[ODD])
    place = shift(y, e + begin - start)
    split(place, shift(place, pitch), shift(x, i + 2 * begin + ints[EVEN]), end - begin)
    for k in range(n, pitch):
        y[e + k] = 0
        y[e + pitch + k] = 0


@nb.njit(**OPTIONS)
def _mix_row(y, x, i, stride, ints, numbers, position):
    """Write to `y` the row outside the image at `x, i` that none of its rows equals."""
    k = _outside(ints, position)
    m = ints[MIXING] + 3 * k
    weight, first, last = numbers[m], numbers[m + 1], numbers[m + 2]
    source, head, tail = i + ints[ints[OUTSIDE] + k] * stride, i, i + (ints[LENGTH] - 1) * stride
    if ints[MIXED]:
        for j in range(stride):
            y[j] = _mix(x[source + j], x[head + j], x[tail + j], weight, first, last)
    else:
        for j in range(stride):
            y[j] = weight * x[source + j]


@nb.njit(**OPTIONS)
def _find_row(ints, numbers, position):
    """Return which row the extended image has at `position`, or -1 if it is a mixture."""
    if 0 <= position < ints[LENGTH]:
        return position
    k = _outside(ints, position)
    m = ints[MIXING] + 3 * k
    if numbers[m] == 1 and numbers[m + 1] == 0 and numbers[m + 2] == 0:
        return ints[ints[OUTSIDE] + k]
    return -1


@nb.njit(**OPTIONS)
def _find_coefficient(ints, numbers, position):
    """Return which coefficient the extended sequence has at `position`, or -1 if it is zero there."""
    if 0 <= position < ints[LENGTH]:
        return position
    k = _outside(ints, position)
    if numbers[ints[MIXING] + 3 * k] == 0:
        return -1
    return ints[ints[OUTSIDE] + k]


@nb.njit(**OPTIONS)
def _load_border(y, i, low, j, high, k, ints, numbers, position, factor):
    """Load the one coefficient at `position`, which may lie outside."""
    found = _find_coefficient(ints, numbers, position)
    if found < 0:
        y[i] = 0
    elif found % 2 == 0:
        y[i] = factor * low[j + found // 2]
    else:
        y[i] = factor * high[k + found // 2]


@nb.njit(**OPTIONS)
def _load_coefficients(y, e, pitch, low, i, high, j, ints, numbers, start, factor, n):
    """Load `n` pairs of coefficients, from pair `start` on, to even members at `e` and odd ones `pitch` behind."""
    even, odd = factor * numbers[SCALE_EVEN], factor * numbers[SCALE_ODD]
    begin, end = _inner_pairs(ints, start, start + n)
    for k in range(start, begin):
        _load_border(y, e + k - start, low, i, high, j, ints, numbers, 2 * k + ints[EVEN], even)
        _load_border(y, e + pitch + k - start, low, i, high, j, ints, numbers, 2 * k + ints[ODD], odd)
    for k in range(end, start + n):
        _load_border(y, e + k - start, low, i, high, j, ints, numbers, 2 * k + ints[EVEN], even)
        _load_border(y, e + pitch + k - start, low, i, high, j, ints, numbers, 2 * k + ints[ODD], odd)
    place = shift(y, e + begin - start)
    copy_scaled(place, shift(low, i + begin + ints[EVEN] // 2), even, end - begin)
    copy_scaled(shift(place, pitch), shift(high, j + begin + ints[ODD] // 2), odd, end - begin)
    for k in range(n, pitch):
        y[e + k] = 0
        y[e + pitch + k] = 0


# --- The sweeps. ---


@nb.njit(cache=True, **OPTIONS)
def forward(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1):
    """Transform the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1`.

    An axis with the identity program counts single rows or columns instead of pairs. The bands given may be a part of
    the whole: their first row is the pair `base`.
    """
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    vertical, horizontal = v[KIND], h[KIND]
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (1 + 2 * v[DEPTH]), x.dtype)
    line = misalignment(scratch)  # a row that is filtered from there into the ring
    ring = line + members
    mixture = np.empty(x.shape[2] if vertical != IDENTITY else 0, x.dtype)
    unwanted = np.empty(members, x.dtype)
    places = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, mix, spare, at = data(scratch), data(mixture), data(unwanted), data(places)
    px, p_aa, p_ad, p_da, p_dd = data(x), data(aa), data(ad), data(da), data(dd)
    height, width = x.shape[1], x.shape[2]
    low_width, high_width = aa.shape[2], ad.shape[2]
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
        image = b * height * width
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = room_for(n)
            size, low, high = pitch, 0, pitch
            highs = 0
            if horizontal != IDENTITY:
                size = 2 * pitch
                highs = min(left + columns, high_width) - left
            if horizontal == LIFTING:
                low = h[P_MEMBER] * pitch + h[P_SHIFT] - h[FIRST]
                high = h[Q_MEMBER] * pitch + h[Q_SHIFT] - h[FIRST]
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                for member in range(1 if vertical == IDENTITY else 2):
                    source, row = px, image + newest * width
                    place = ring
                    if vertical != IDENTITY:
                        place += (newest % v[DEPTH] * 2 + member) * size
                        found = _find_row(v, vn, 2 * newest + v[EVEN + member])
                        row = image + found * width
                        if found < 0:
                            _mix_row(mix, px, image, width, v, vn, 2 * newest + v[EVEN + member])
                            source, row = mix, 0
                    if horizontal == IDENTITY:
                        copy_scaled(shift(buf, place), shift(source, row + left), hn[SCALE_P], columns)
                    elif horizontal == LIFTING:
                        _load_samples(buf, place, pitch, source, row, h, hn, left + h[FIRST], n)
                        _lift_row(buf, place, n, pitch, h, hn)
                    else:
                        _load_samples(buf, line, pitch, source, row, h, hn, left + h[FIRST], n)
                        goal = shift(buf, place)
                        _blend_row(goal, shift(goal, pitch), buf, line, pitch, h, hn, at, round_up(columns))
                if vertical == LIFTING:
                    _lift_ring(buf, ring, size, newest, v, vn)
                pair = newest - v[LAST]
                if pair < r0:
                    continue
                out = (b * rows + pair - base) * low_width + left
                out_high = (b * rows + pair - base) * high_width + left
                if vertical == IDENTITY:
                    copy_scaled(shift(p_aa, out), shift(buf, ring + low), hn[SCALE_P], columns)
                    copy_scaled(shift(p_ad, out_high), shift(buf, ring + high), hn[SCALE_Q], highs)
                    continue
                below, below_high = p_da, p_dd
                under = (b * rows_below + pair - base) * low_width + left
                under_high = (b * rows_below + pair - base) * high_width + left
                if pair - base >= rows_below:  # half a pair: its lower row is not wanted
                    below, below_high, under, under_high = spare, spare, 0, 0
                _emit_pair(
                    shift(p_aa, out), shift(below, under), buf, ring, size, low, pair, v, vn, hn[SCALE_P], at, columns
                )
                if highs > 0:
                    _emit_pair(
                        shift(p_ad, out_high),
                        shift(below_high, under_high),
                        buf,
                        ring,
                        size,
                        high,
                        pair,
                        v,
                        vn,
                        hn[SCALE_Q],
                        at,
                        highs,
                    )
    # the last use of what the addresses above belong to
    return scratch.size + mixture.size + unwanted.size + places.size


@nb.njit(cache=True, **OPTIONS)
def inverse(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1):
    """Undo `forward` for the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1` of samples.

    The samples given may be a part of the whole: their first row is the first of the pair `base`.
    """
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    vertical, horizontal = v[KIND], h[KIND]
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (4 + 2 * v[DEPTH]), y.dtype)
    lines = misalignment(scratch)  # two rows out of the ring, and two that are filtered from them
    ring = lines + 4 * members
    places = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, at = data(scratch), data(places)
    py, p_aa, p_ad, p_da, p_dd = data(y), data(aa), data(ad), data(da), data(dd)
    height, width = y.shape[1], y.shape[2]
    low_width, high_width = aa.shape[2], ad.shape[2]
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = room_for(n)
            size = pitch if horizontal == IDENTITY else 2 * pitch
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                for member in range(1 if vertical == IDENTITY else 2):
                    place, found = lines, 2 * newest
                    factor = vn[SCALE_EVEN + member]
                    if vertical != IDENTITY:
                        place = ring + (newest % v[DEPTH] * 2 + member) * size
                        found = _find_coefficient(v, vn, 2 * newest + v[EVEN + member])
                        if found < 0:
                            for k in range(size):
                                buf[place + k] = 0
                            continue
                    low, high = p_aa, p_ad
                    row, row_high = (b * rows + found // 2) * low_width, (b * rows + found // 2) * high_width
                    if found % 2 == 1:
                        low, high = p_da, p_dd
                        row = (b * rows_below + found // 2) * low_width
                        row_high = (b * rows_below + found // 2) * high_width
                    if horizontal == IDENTITY:
                        copy_scaled(shift(buf, place), shift(low, row + left), factor, columns)
                    else:
                        _load_coefficients(
                            buf, place, pitch, low, row, high, row_high, h, hn, left + h[FIRST], factor, n
                        )
                if vertical == LIFTING:
                    _lift_ring(buf, ring, size, newest, v, vn)
                pair = newest - v[LAST]
                if pair < r0:
                    continue
                if vertical != IDENTITY:
                    out = shift(buf, lines)
                    _emit_pair(out, shift(out, size), buf, ring, size, 0, pair, v, vn, hn[SCALE_P], at, size)
                for member in range(1 if vertical == IDENTITY else 2):
                    line = pair if vertical == IDENTITY else 2 * (pair - base) + member
                    if line >= height:
                        continue
                    out = shift(py, (b * height + line) * width + 2 * left)
                    place = lines + member * size
                    if horizontal == IDENTITY:
                        copy_scaled(
                            shift(py, (b * height + line) * width + left), shift(buf, place), hn[SCALE_P], columns
                        )
                        continue
                    p, q = lines + 2 * members, lines + 3 * members
                    if horizontal == LIFTING:
                        _lift_row(buf, place, n, pitch, h, hn)
                        p = place + h[P_MEMBER] * pitch + h[P_SHIFT] - h[FIRST]
                        q = place + h[Q_MEMBER] * pitch + h[Q_SHIFT] - h[FIRST]
                    else:
                        _blend_row(shift(buf, p), shift(buf, q), buf, place, pitch, h, hn, at, round_up(columns))
                    odd = min(columns, width // 2 - left)
                    weave(out, shift(buf, p), shift(buf, q), odd)
                    if odd < columns:
                        out[2 * odd] = buf[p + odd]
    return scratch.size + places.size


# --- The same for several threads, which Numba wakes faster than Python could. ---


@nb.njit(cache=True, parallel=True, **OPTIONS)
def forward_tasks(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, tasks):
    """Run `forward` for each row of `tasks`: the first and last image, pair of rows and pair of columns."""
    for k in nb.prange(tasks.shape[0]):
        b0, b1, r0, r1, c0, c1 = tasks[k, 0], tasks[k, 1], tasks[k, 2], tasks[k, 3], tasks[k, 4], tasks[k, 5]
        forward(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1)


@nb.njit(cache=True, parallel=True, **OPTIONS)
def inverse_tasks(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, tasks):
    """Run `inverse` for each row of `tasks`."""
    for k in nb.prange(tasks.shape[0]):
        b0, b1, r0, r1, c0, c1 = tasks[k, 0], tasks[k, 1], tasks[k, 2], tasks[k, 3], tasks[k, 4], tasks[k, 5]
        inverse(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1)
