"""The compiled sweeps: one over the samples, one back.

A level of an image is one sweep. Rows come in two at a time; each is split into even and odd samples and filtered
along the row while it is in the cache; a ring of the last few pairs of rows is filtered down the columns; finished
coefficients go straight to their bands. The inverse is the same sweep in a mirror: bands are loaded into the ring,
filtered down the columns, then along the row, and woven into samples. An axis that is not transformed has an
identity program, so the same two kernels serve rows, columns and images.

Both are kernels of a job (see `subband.engines.cpu.program`), called by their address, so that each is compiled once
for each kind of number, whoever calls it. What is done to a row is in `subband.engines.cpu.rows`, and the loops
themselves are in `subband.engines.cpu.loops`.
"""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import pointed
from subband.engines.cpu.frame_loops import pass_pixels, shrink_row
from subband.engines.cpu.fused import tick_forward, tick_inverse
from subband.engines.cpu.loops import (
    OPTIONS,
    clear,
    copy_scaled,
    data,
    keep,
    make_room,
    misalignment,
    room_for,
    round_up,
    shift,
    weave,
)
from subband.engines.cpu.mixtures import mix_rows
from subband.engines.cpu.program import (
    BASE,
    BEGIN,
    CHANNELS,
    COLUMNS,
    CONVOLUTION,
    COUNT,
    DEPTH,
    END,
    EVEN,
    FIRST,
    FRAME,
    HEIGHT,
    HIGH_COLUMNS,
    HIGH_ROWS,
    IDENTITY,
    KIND,
    LAST,
    LIFTING,
    LOW_COLUMNS,
    LOW_ROWS,
    MIXTURE,
    MIXTURE_ROOM,
    P_MEMBER,
    P_SHIFT,
    PIXELS,
    Q_MEMBER,
    Q_SHIFT,
    ROWS,
    SCALE_EVEN,
    SCALE_ODD,
    SCALE_P,
    SCALE_Q,
    SHRINK,
    STRIP,
    THRESHOLDS,
    TICK,
    TONES,
    VALUES,
    WIDTH,
)
from subband.engines.cpu.rows import (
    blend_row,
    can_weave,
    emit_pair,
    fetch_pixels,
    fetch_row,
    find_coefficient,
    find_columns,
    lift_ring,
    lift_row,
    load_coefficients,
    load_samples,
    weave_row,
)

__all__ = ["forward", "inverse"]

#: Pairs of columns from which on a loop need not be of rounded length.
LONG = 128


@pointed(**OPTIONS)
def forward(px, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box):
    """Transform a box of images: pairs of rows, pairs of columns.

    An axis with the identity program counts single rows or columns instead of pairs. The bands given may be a part of
    the whole: their first row is the pair `BASE` of `sizes`. If the tables of the rows hold those of a frame,
    coefficients shrink before they leave the cache, and its pixels may be read instead of samples: all its channels are
    then one image.
    """
    if sizes[TICK]:
        tick_forward(px, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box)
        return
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    tile, base = sizes[STRIP], sizes[BASE]
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    vertical, horizontal = v[KIND], h[KIND]
    height, width = sizes[ROWS], sizes[COLUMNS]
    has_frame = v[FRAME] > 0
    has_pixels = has_frame and f[PIXELS] > 0
    channels = 1  # images that are swept together
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    room = 64 + members * (1 + 2 * v[DEPTH] * channels)
    scratch = make_room(px, room)
    line = misalignment(scratch)  # a row that is filtered from there into the ring
    mixture = make_room(px, (4 * channels if has_pixels else 1) * width if vertical != IDENTITY else 0)
    unwanted = make_room(px, members)
    ends = make_room(px, h[MIXTURE_ROOM])
    offsets = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, mix, spare, mixed, at = data(scratch), data(mixture), data(unwanted), data(ends), data(offsets)
    clear(buf, room)
    low_width, high_width = sizes[LOW_COLUMNS], sizes[HIGH_COLUMNS]
    rows, rows_below = sizes[LOW_ROWS], sizes[HIGH_ROWS]
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
            # rows that are long enough for loops of any length go straight to the bands
            is_direct = vertical == IDENTITY and horizontal == CONVOLUTION and columns >= LONG and highs == columns
            if horizontal == LIFTING:
                low = h[P_MEMBER] * pitch + h[P_SHIFT] - h[FIRST]
                high = h[Q_MEMBER] * pitch + h[Q_SHIFT] - h[FIRST]
            begin, end = left, left + columns
            if horizontal != IDENTITY:
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
                            source, row = fetch_row(mix, shift(px, image), width, v, vn, position, begin, end), 0
                        if horizontal == IDENTITY:
                            copy_scaled(shift(buf, offset), shift(source, row + left), hn[SCALE_P], columns)
                        elif horizontal == LIFTING:
                            load_samples(buf, offset, pitch, source, row, h, hn, left + h[FIRST], mixed, n)
                            lift_row(buf, offset, n, pitch, h, hn)
                        else:
                            load_samples(buf, line, pitch, source, row, h, hn, left + h[FIRST], mixed, n)
                            goal = shift(buf, offset)
                            goal_high, count = shift(goal, pitch), round_up(columns)
                            if is_direct:
                                goal = shift(p_aa, (b * rows + newest - base) * low_width + left)
                                goal_high = shift(p_ad, (b * rows + newest - base) * high_width + left)
                                count = columns
                            blend_row(goal, goal_high, buf, line, pitch, h, hn, at, count)
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
                    if is_direct:
                        continue
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
    keep(scratch)
    keep(mixture)
    keep(unwanted)
    keep(ends)
    keep(offsets)


@pointed(**OPTIONS)
def inverse(py, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box):
    """Undo `forward` for a box of images: pairs of rows, pairs of columns of samples.

    The samples given may be a part of the whole: their first row is the first of the pair `BASE` of `sizes`. If the
    tables of the rows hold those of a frame, its pixels are written instead of samples: all its channels are then one
    image.
    """
    if sizes[TICK]:
        tick_inverse(py, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box)
        return
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    tile, base = sizes[STRIP], sizes[BASE]
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    vertical, horizontal = v[KIND], h[KIND]
    height, width = sizes[ROWS], sizes[COLUMNS]
    has_pixels = v[FRAME] > 0
    channels, span = 1, 0  # images that are swept together, and the room for a row of each
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
        span = 2 * min(tile, c1 - c0)
    members = 2 * room_for(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    room = 64 + members * (4 + 2 * v[DEPTH] * channels)
    is_row = vertical == IDENTITY and not has_pixels and 2 * c1 <= width
    if is_row and can_weave(h, c0 + h[FIRST], c1 - c0 + h[LAST] - h[FIRST]):
        tile, room = c1 - c0, 0  # all columns go straight from the bands to the samples
    scratch = make_room(py, room)
    lines = misalignment(scratch)  # two rows out of the ring, and two that are filtered from them
    low_width, high_width = sizes[LOW_COLUMNS], sizes[HIGH_COLUMNS]
    rows, rows_below = sizes[LOW_ROWS], sizes[HIGH_ROWS]
    planes = make_room(py, 2 * channels * span)
    ends = make_room(py, h[MIXTURE_ROOM])
    offsets = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    mixture = make_room(py, low_width + high_width if v[MIXTURE] else 0)
    buf, canvas, mix, mixed, at = data(scratch), data(planes), data(mixture), data(ends), data(offsets)
    clear(buf, room)
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = room_for(n)
            size = pitch if horizontal == IDENTITY else 2 * pitch
            is_even = 2 * (left + columns) <= width  # or else the last pair is half a pair
            if vertical == IDENTITY and is_even and not has_pixels and can_weave(h, left + h[FIRST], n):
                for row in range(r0, r1):
                    line, out = b * rows + row, shift(py, (b * height + row) * width + 2 * left)
                    weave_row(out, p_aa, line * low_width, p_ad, line * high_width, h, hn, at, left, columns)
                continue
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
                            f_low, f_high, start = factor * hn[SCALE_EVEN], factor * hn[SCALE_ODD], left + h[FIRST]
                            load_coefficients(
                                buf, offset, pitch, low, row, high, row_high, h, hn, start, f_low, f_high, mixed, n
                            )
                            clear(shift(buf, offset + n), pitch - n)
                            clear(shift(buf, offset + pitch + n), pitch - n)
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
    keep(scratch)
    keep(planes)
    keep(mixture)
    keep(ends)
    keep(offsets)
