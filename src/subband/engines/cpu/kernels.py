"""The compiled sweeps: one over the samples, one back.

A level of an image is one sweep. Rows come in two at a time; each is split into even and odd samples and filtered
along the row while it is in the cache; a ring of the last few pairs of rows is filtered down the columns; finished
coefficients go straight to their bands. The inverse is the same sweep in a mirror: bands are loaded into the ring,
filtered down the columns, then along the row, and woven into samples. An axis that is not transformed has an
identity program, so the same two kernels serve rows, columns and images.

What is done to a row is in `subband.engines.cpu.rows`, and the loops themselves are in `subband.engines.cpu.loops`.
"""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import stored
from subband.engines.cpu.frame_loops import pass_pixels, shrink_row
from subband.engines.cpu.loops import OPTIONS, copy_scaled, data, misalignment, room_for, round_up, shift, weave
from subband.engines.cpu.program import (
    BEGIN,
    CHANNELS,
    COUNT,
    DEPTH,
    END,
    EVEN,
    FIRST,
    FRAME,
    HEIGHT,
    IDENTITY,
    KIND,
    LAST,
    LENGTH,
    LIFTING,
    MIXTURE,
    MIXTURE_ROOM,
    P_MEMBER,
    P_SHIFT,
    PIXELS,
    Q_MEMBER,
    Q_SHIFT,
    SCALE_EVEN,
    SCALE_P,
    SCALE_Q,
    SHRINK,
    THRESHOLDS,
    TONES,
    VALUES,
    WIDTH,
)
from subband.engines.cpu.rows import (
    blend_row,
    emit_pair,
    fetch_pixels,
    find_coefficient,
    find_columns,
    find_nearest,
    find_row,
    lift_ring,
    lift_row,
    load_coefficients,
    load_samples,
    mix_row,
    mix_rows,
)
from subband.engines.cpu.turn_loops import finish_task, take_task

__all__ = ["forward", "forward_tasks", "inverse", "inverse_tasks"]


@stored(**OPTIONS)
def forward(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1):
    """Transform the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1`.

    An axis with the identity program counts single rows or columns instead of pairs. The bands given may be a part of
    the whole: their first row is the pair `base`. If the tables of the rows hold those of a frame, coefficients shrink
    before they leave the cache, and its pixels may be read instead of `x`: all its channels are then one image.
    """
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    vertical, horizontal = v[KIND], h[KIND]
    height, width = x.shape[1], x.shape[2]
    has_frame = v[FRAME] > 0
    has_pixels = has_frame and f[PIXELS] > 0
    channels = 1  # images that are swept together
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (1 + 2 * v[DEPTH] * channels), x.dtype)
    line = misalignment(scratch)  # a row that is filtered from there into the ring
    mixture = np.empty((4 * channels if has_pixels else 1) * width if vertical != IDENTITY else 0, x.dtype)
    unwanted = np.empty(members, x.dtype)
    ends = np.empty(h[MIXTURE_ROOM], x.dtype)
    offsets = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, mix, spare, mixed, at = data(scratch), data(mixture), data(unwanted), data(ends), data(offsets)
    px, p_aa, p_ad, p_da, p_dd = data(x), data(aa), data(ad), data(da), data(dd)
    low_width, high_width = aa.shape[2], ad.shape[2]
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
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
            begin, end = find_columns(h, left + h[FIRST], n, width)
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                for member in range(1 if vertical == IDENTITY else 2):
                    position = 2 * newest + v[EVEN + member]
                    if has_pixels:
                        fetch_pixels(mix, f, fn, v, vn, position, begin, end - begin)
                    for channel in range(channels):
                        image = (b * channels + channel) * height * width
                        source, row = px, image + newest * width
                        offset = line + members
                        if vertical != IDENTITY:
                            offset += ((channel * v[DEPTH] + newest % v[DEPTH]) * 2 + member) * size
                        if has_pixels:
                            source, row = mix, channel * width
                        elif vertical != IDENTITY:
                            found = find_row(v, vn, position)
                            row = image + found * width
                            if found < 0 and v[MIXTURE]:
                                source, row, start, stop = mix, 0, begin, end
                                if horizontal == IDENTITY:
                                    start, stop = left, left + columns
                                goal, origin = shift(mix, start), shift(px, image + start)
                                mix_rows(goal, origin, origin, False, width, v, vn, position, stop - start)
                            elif found < 0:
                                nearest = shift(px, image + find_nearest(v, position) * width)
                                first, last = shift(px, image), shift(px, image + (v[LENGTH] - 1) * width)
                                mix_row(mix, nearest, first, last, v, vn, position, width)
                                source, row = mix, 0
                        if horizontal == IDENTITY:
                            copy_scaled(shift(buf, offset), shift(source, row + left), hn[SCALE_P], columns)
                        elif horizontal == LIFTING:
                            load_samples(buf, offset, pitch, source, row, h, hn, left + h[FIRST], mixed, n)
                            lift_row(buf, offset, n, pitch, h, hn)
                        else:
                            load_samples(buf, line, pitch, source, row, h, hn, left + h[FIRST], mixed, n)
                            goal = shift(buf, offset)
                            blend_row(goal, shift(goal, pitch), buf, line, pitch, h, hn, at, round_up(columns))
                for channel in range(channels):
                    ring = line + members + channel * v[DEPTH] * 2 * size
                    if vertical == LIFTING:
                        lift_ring(buf, ring, size, newest, v, vn)
                    pair = newest - v[LAST]
                    if pair < r0:
                        continue
                    image = b * channels + channel
                    out = (image * rows + pair - base) * low_width + left
                    out_high = (image * rows + pair - base) * high_width + left
                    if vertical == IDENTITY:
                        copy_scaled(shift(p_aa, out), shift(buf, ring + low), hn[SCALE_P], columns)
                        copy_scaled(shift(p_ad, out_high), shift(buf, ring + high), hn[SCALE_Q], highs)
                        continue
                    below, below_high = p_da, p_dd
                    under = (image * rows_below + pair - base) * low_width + left
                    under_high = (image * rows_below + pair - base) * high_width + left
                    if pair - base >= rows_below:  # half a pair: its lower row is not wanted
                        below, below_high, under, under_high = spare, spare, 0, 0
                    to_ad, to_da, to_dd = shift(p_ad, out_high), shift(below, under), shift(below_high, under_high)
                    emit_pair(shift(p_aa, out), to_da, buf, ring, size, low, pair, v, vn, hn[SCALE_P], at, columns)
                    if highs > 0:
                        emit_pair(to_ad, to_dd, buf, ring, size, high, pair, v, vn, hn[SCALE_Q], at, highs)
                    if has_frame:
                        own, step = shift(fn, VALUES + THRESHOLDS * image), THRESHOLDS * f[CHANNELS]
                        shrink_row(f[SHRINK], to_ad, own, highs)
                        shrink_row(f[SHRINK], to_da, shift(own, step), columns)
                        shrink_row(f[SHRINK], to_dd, shift(own, 2 * step), highs)
    # the last use of what the addresses above belong to
    return scratch.size + mixture.size + unwanted.size + ends.size + offsets.size


@stored(**OPTIONS)
def inverse(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1):
    """Undo `forward` for the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1` of samples.

    The samples given may be a part of the whole: their first row is the first of the pair `base`. If the tables of the
    rows hold those of a frame, its pixels are written instead of `y`: all its channels are then one image.
    """
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    vertical, horizontal = v[KIND], h[KIND]
    height, width = y.shape[1], y.shape[2]
    has_pixels = v[FRAME] > 0
    channels, span = 1, 0  # images that are swept together, and the room for a row of each
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
        span = 2 * min(tile, c1 - c0)
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (4 + 2 * v[DEPTH] * channels), y.dtype)
    lines = misalignment(scratch)  # two rows out of the ring, and two that are filtered from them
    planes = np.empty(2 * channels * span, y.dtype)
    ends = np.empty(h[MIXTURE_ROOM], y.dtype)
    offsets = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    py, p_aa, p_ad, p_da, p_dd = data(y), data(aa), data(ad), data(da), data(dd)
    low_width, high_width = aa.shape[2], ad.shape[2]
    mixture = np.empty(low_width + high_width if v[MIXTURE] else 0, y.dtype)
    buf, canvas, mix, mixed, at = data(scratch), data(planes), data(mixture), data(ends), data(offsets)
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = room_for(n)
            size = pitch if horizontal == IDENTITY else 2 * pitch
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                pair = newest - v[LAST]
                for channel in range(channels):
                    image = b * channels + channel
                    ring = lines + 4 * members + channel * v[DEPTH] * 2 * size
                    for member in range(1 if vertical == IDENTITY else 2):
                        offset, found = lines, 2 * newest
                        factor = vn[SCALE_EVEN + member]
                        position = 2 * newest + v[EVEN + member]
                        is_mixed = v[MIXTURE] > 0 and not v[BEGIN] <= position < v[END]
                        if vertical != IDENTITY:
                            offset = ring + (newest % v[DEPTH] * 2 + member) * size
                            found = 0 if is_mixed else find_coefficient(v, vn, position)
                            if found < 0:
                                for k in range(size):
                                    buf[offset + k] = 0
                                continue
                        low, high = p_aa, p_ad
                        line = image * rows + found // 2
                        if found % 2 == 1:
                            low, high = p_da, p_dd
                            line = image * rows_below + found // 2
                        row, row_high = line * low_width, line * high_width
                        if is_mixed:
                            low, high, row, row_high = mix, mix, 0, low_width
                            start, end = 2 * left, 2 * (left + columns)
                            if horizontal != IDENTITY:
                                start, end = find_columns(h, left + h[FIRST], n, low_width + high_width)
                            start, end = start // 2, (end + 1) // 2
                            above, below = image * rows, image * rows_below
                            lows = shift(p_aa, above * low_width + start)
                            highs = shift(p_da, below * low_width + start)
                            goal, count = shift(mix, start), min(end, low_width) - start
                            mix_rows(goal, lows, highs, True, low_width, v, vn, position, count)
                            if horizontal != IDENTITY:
                                lows = shift(p_ad, above * high_width + start)
                                highs = shift(p_dd, below * high_width + start)
                                goal, count = shift(mix, low_width + start), min(end, high_width) - start
                                mix_rows(goal, lows, highs, True, high_width, v, vn, position, count)
                        if horizontal == IDENTITY:
                            copy_scaled(shift(buf, offset), shift(low, row + left), factor, columns)
                        else:
                            load_coefficients(
                                buf, offset, pitch, low, row, high, row_high, h, hn, left + h[FIRST], factor, mixed, n
                            )
                    if vertical == LIFTING:
                        lift_ring(buf, ring, size, newest, v, vn)
                    if pair < r0:
                        continue
                    if vertical != IDENTITY:
                        out = shift(buf, lines)
                        emit_pair(out, shift(out, size), buf, ring, size, 0, pair, v, vn, hn[SCALE_P], at, size)
                    for member in range(1 if vertical == IDENTITY else 2):
                        line = pair if vertical == IDENTITY else 2 * (pair - base) + member
                        if line >= height:
                            continue
                        offset = lines + member * size
                        start = (image * height + line) * width
                        if horizontal == IDENTITY:
                            copy_scaled(shift(py, start + left), shift(buf, offset), hn[SCALE_P], columns)
                            continue
                        p, q = lines + 2 * members, lines + 3 * members
                        if horizontal == LIFTING:
                            lift_row(buf, offset, n, pitch, h, hn)
                            p = offset + h[P_MEMBER] * pitch + h[P_SHIFT] - h[FIRST]
                            q = offset + h[Q_MEMBER] * pitch + h[Q_SHIFT] - h[FIRST]
                        else:
                            blend_row(shift(buf, p), shift(buf, q), buf, offset, pitch, h, hn, at, round_up(columns))
                        odd = min(columns, width // 2 - left)
                        out = shift(py, start + 2 * left)
                        if has_pixels:
                            out = shift(canvas, (member * channels + channel) * span)
                        weave(out, shift(buf, p), shift(buf, q), odd)
                        if odd < columns:
                            out[2 * odd] = buf[p + odd]
                if has_pixels and pair >= r0:
                    for member in range(min(2, height - 2 * pair)):
                        count = min(2 * columns, width - 2 * left)
                        ready = shift(canvas, member * channels * span)
                        pass_pixels(ready, span, f, fn, 2 * pair + member, 2 * left, count)
    return scratch.size + planes.size + mixture.size + ends.size + offsets.size


# --- The same for several threads: each takes tasks, without Python in between. ---


@stored(**OPTIONS)
def forward_tasks(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, tasks, turns):
    """Run `forward` for rows of `tasks` until all are taken: first and last image, pair of rows and pair of columns."""
    while True:
        k = take_task(turns)
        if k >= tasks.shape[0]:
            return
        b0, b1, r0, r1, c0, c1 = tasks[k, 0], tasks[k, 1], tasks[k, 2], tasks[k, 3], tasks[k, 4], tasks[k, 5]
        forward(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1)
        finish_task(turns)


@stored(**OPTIONS)
def inverse_tasks(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, tasks, turns):
    """Run `inverse` for rows of `tasks` until all are taken."""
    while True:
        k = take_task(turns)
        if k >= tasks.shape[0]:
            return
        b0, b1, r0, r1, c0, c1 = tasks[k, 0], tasks[k, 1], tasks[k, 2], tasks[k, 3], tasks[k, 4], tasks[k, 5]
        inverse(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, base, b0, b1, r0, r1, c0, c1)
        finish_task(turns)
