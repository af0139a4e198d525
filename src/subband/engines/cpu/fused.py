"""Compiled sweeps in ticks: pairs of rows go through the loops of `subband.engines.cpu.ladder_loops` one by one.

Inside the image, these read the arrays themselves. At the borders they read lines that hold the row as it goes on
outside. They write to the arrays themselves.
"""

from __future__ import annotations

import numba as nb

from subband.engines.cpu.frame_loops import pass_pixels, shrink_row
from subband.engines.cpu.ladder_loops import call_tick
from subband.engines.cpu.loops import (
    OPTIONS,
    clear,
    copy,
    data,
    keep,
    make_room,
    misalignment,
    shift,
    stagger,
)
from subband.engines.cpu.mixtures import mix_rows
from subband.engines.cpu.program import (
    AGE_EVEN,
    AGE_ODD,
    BASE,
    BEGIN,
    BESIDE,
    CHANNELS,
    COLUMNS,
    END,
    EVEN,
    FIRST,
    FRAME,
    HEIGHT,
    HIGH_COLUMNS,
    HIGH_ROWS,
    IDENTITY,
    KEPT,
    KIND,
    LAST,
    LOW_COLUMNS,
    LOW_ROWS,
    MIXTURE,
    MIXTURE_ROOM,
    ODD,
    PIXELS,
    ROWS,
    SCALE_EVEN,
    SCALE_P,
    SHRINK,
    STAGES,
    STRIP,
    THRESHOLDS,
    TICK,
    TONES,
    VALUES,
    WHOLE,
    WIDTH,
)
from subband.engines.cpu.rows import (
    fetch_pixels,
    fetch_row,
    find_coefficient,
    find_columns,
    load_coefficients,
    load_line,
)

__all__ = ["tick_forward", "tick_inverse"]

#: Room for the pairs before and behind its own that a tick may read.
_BEFORE, _BEHIND = 32, 80

#: Columns from which on a tick by itself, without the borders, is worth calling.
_WORTH = 512


@nb.njit(**OPTIONS)
def _cut_strip(ints, columns, before, behind):
    """Return which columns of a strip a tick can read as they are: with so many pairs before and behind the first.

    It reads a vector and the oldest pair of a step before, and as many vectors behind as it has stages.
    """
    oldest = max(ints[AGE_EVEN], ints[AGE_ODD])
    begin = max(0, (2 * WHOLE + oldest - before) // WHOLE * WHOLE)
    end = begin + (min(columns, behind - ints[STAGES] * WHOLE) - begin) // WHOLE * WHOLE
    if end - begin < _WORTH:
        return columns, columns
    return begin, end


@nb.njit(**OPTIONS)
def _multiply_scales(factors, down, along, index):
    """Write what the four bands are multiplied by: two of the scales of both programs, from an index on."""
    for k in range(4):
        factors[k] = down[index + k // 2] * along[index + k % 2]


@nb.njit(**OPTIONS)
def tick_forward(px, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box):
    """Transform a box of images, as `subband.engines.cpu.kernels.forward` does."""
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    tile, base, tick = sizes[STRIP], sizes[BASE], sizes[TICK]
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    has_columns, has_rows = v[KIND] != IDENTITY, h[KIND] != IDENTITY
    height, width = sizes[ROWS], sizes[COLUMNS]
    has_frame = v[FRAME] > 0
    has_pixels = has_frame and f[PIXELS] > 0
    channels = 1  # images that are swept together
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
    low_width, high_width = sizes[LOW_COLUMNS], sizes[HIGH_COLUMNS]
    rows, rows_below = sizes[LOW_ROWS], sizes[HIGH_ROWS]
    # down the columns first, each part of a strip keeps rows of the columns beside it too
    beside = v[BESIDE] if has_rows else 0
    pieces = 3 if beside else 1
    pitch = stagger(px, min(tile, c1 - c0) + 2 * beside)
    span = 2 * (pitch + _BEFORE + _BEHIND)  # of a line
    kept = 2 * v[KEPT] * pitch  # of the state of an image
    room = 64 + 4 * pitch + 2 * span + channels * pieces * kept
    scratch = make_room(px, room)
    mixture = make_room(px, (8 * channels if has_pixels else 2) * width if has_columns else 0)
    ends = make_room(px, h[MIXTURE_ROOM])
    numbers = make_room(px, 4)
    spare = shift(data(scratch), misalignment(scratch))
    lines, states = shift(spare, 4 * pitch), shift(spare, 4 * pitch + 2 * span)
    mix, mixed, factors = data(mixture), data(ends), data(numbers)
    clear(data(scratch), room)
    _multiply_scales(factors, vn, hn, SCALE_P)
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            highs = min(left + columns, high_width) - left
            is_direct = highs == columns or not has_rows
            first = left  # of what a tick takes
            begin, end = left, left + columns
            inner, outer = 0, columns // WHOLE * WHOLE  # from where, and to where, it can be read as it is
            if has_rows:
                first = 2 * (left + h[LAST]) + h[EVEN]
                begin, end = find_columns(h, left + h[FIRST], columns + h[LAST] - h[FIRST], width)
                inner, outer = _cut_strip(h, columns, (first - h[BEGIN]) // 2, (min(h[END], width) - first) // 2)
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                pair = newest - v[LAST]
                is_wanted, is_below = pair >= r0, pair - base < rows_below
                for channel in range(channels):
                    image = b * channels + channel
                    y = z = shift(px, (image * height + newest) * width)
                    if has_columns:
                        for member in range(2):
                            # what is older than the first pair is never used
                            row = 2 * max(newest - v[AGE_EVEN + member], r0 + v[FIRST]) + v[EVEN + member]
                            if has_pixels:
                                z = shift(mix, 4 * member * channels * width)
                                if channel == 0:
                                    fetch_pixels(z, f, fn, v, vn, row, begin, end - begin)
                                z = shift(z, channel * width)
                            else:
                                origin = shift(px, image * height * width)
                                z = fetch_row(shift(mix, member * width), origin, width, v, vn, row, begin, end)
                            if member == 0:
                                y = z
                    line, line_below = image * rows + pair - base, image * rows_below + pair - base
                    aa, ad = shift(p_aa, line * low_width + left), shift(p_ad, line * high_width + left)
                    da, dd = shift(p_da, line_below * low_width + left), shift(p_dd, line_below * high_width + left)
                    to_aa, to_ad, to_da, to_dd = aa, ad, da, dd
                    if not (is_wanted and is_direct):
                        to_aa, to_ad = spare, shift(spare, pitch)
                    if not (is_wanted and is_direct and is_below):
                        to_da, to_dd = shift(spare, 2 * pitch), shift(spare, 3 * pitch)
                    for part in range(3):
                        start, stop = 0, inner
                        if part == 1:
                            start, stop = inner, outer
                        elif part == 2:
                            start, stop = outer, columns
                        if start == stop:
                            continue
                        from_y, from_z = shift(y, first + 2 * start), shift(z, first + 2 * start)
                        if not has_rows:
                            from_y, from_z = shift(y, first + start), shift(z, first + start)
                        if part != 1:
                            goal, goal_z = shift(lines, 2 * _BEFORE), shift(lines, span + 2 * _BEFORE)
                            if has_rows:
                                pairs, n = left + start + h[FIRST], stop - start + h[LAST] - h[FIRST]
                                lead = 2 * (h[FIRST] - h[LAST]) + min(h[ODD] - h[EVEN], 0)
                                load_line(shift(goal, lead), y, h, hn, pairs, mixed, n)
                                if has_columns:
                                    load_line(shift(goal_z, lead), z, h, hn, pairs, mixed, n)
                            else:
                                copy(goal, from_y, stop - start)
                                copy(goal_z, from_z, stop - start)
                            from_y, from_z = goal, goal_z
                        call_tick(
                            tick,
                            shift(to_aa, start),
                            shift(to_ad, start),
                            shift(to_da, start),
                            shift(to_dd, start),
                            from_y,
                            from_z,
                            shift(states, (channel * pieces + (part if beside else 0)) * kept + beside + start),
                            pitch,
                            vn,
                            hn,
                            factors,
                            stop - start,
                        )
                    if not is_wanted:
                        continue
                    if has_frame:
                        own, step = shift(fn, VALUES + THRESHOLDS * image), THRESHOLDS * f[CHANNELS]
                        shrink_row(f[SHRINK], to_ad, own, highs)
                        shrink_row(f[SHRINK], to_da, shift(own, step), columns)
                        shrink_row(f[SHRINK], to_dd, shift(own, 2 * step), highs)
                    if not is_direct:
                        copy(aa, to_aa, columns)
                        if has_rows:
                            copy(ad, to_ad, highs)
                        if has_columns and is_below:
                            copy(da, to_da, columns)
                            if has_rows:
                                copy(dd, to_dd, highs)
    keep(scratch)
    keep(mixture)
    keep(ends)
    keep(numbers)


@nb.njit(**OPTIONS)
def tick_inverse(py, p_aa, p_ad, p_da, p_dd, v, vn, h, hn, sizes, box):
    """Undo `tick_forward`, as `subband.engines.cpu.kernels.inverse` does."""
    b0, b1, r0, r1, c0, c1 = box[0], box[1], box[2], box[3], box[4], box[5]
    tile, base, tick = sizes[STRIP], sizes[BASE], sizes[TICK]
    f, fn = shift(v, v[FRAME]), shift(vn, v[TONES])
    has_columns, has_rows = v[KIND] != IDENTITY, h[KIND] != IDENTITY
    height, width = sizes[ROWS], sizes[COLUMNS]
    has_pixels = v[FRAME] > 0
    channels = 1  # images that are swept together
    if has_pixels:
        channels, height, width = f[CHANNELS], f[HEIGHT], f[WIDTH]
    low_width, high_width = sizes[LOW_COLUMNS], sizes[HIGH_COLUMNS]
    rows, rows_below = sizes[LOW_ROWS], sizes[HIGH_ROWS]
    pitch = stagger(py, min(tile, c1 - c0))
    each = 2 if has_rows else 1  # samples of a column
    extent = each * pitch  # of a row of samples
    span = stagger(py, pitch + h[LAST] - h[FIRST] + _BEFORE + _BEHIND)  # of a line
    kept = 2 * v[KEPT] * pitch  # of the state of an image
    room = 64 + 2 * channels * extent + 5 * span + channels * kept
    scratch = make_room(py, room)
    mixture = make_room(py, 2 * (low_width + high_width) if v[MIXTURE] else 0)
    ends = make_room(py, h[MIXTURE_ROOM])
    numbers = make_room(py, 4)
    canvas = shift(
        data(scratch), misalignment(scratch)
    )  # of samples on their way to pixels, or of rows that end within a pair
    lines = shift(canvas, 2 * channels * extent)
    zeros = shift(lines, 4 * span)
    states = shift(zeros, span)
    mix, mixed, factors = data(mixture), data(ends), data(numbers)
    clear(data(scratch), room)
    _multiply_scales(factors, vn, hn, SCALE_EVEN)
    one = hn[SCALE_P]  # nothing is scaled when it is stored
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            samples = min(each * columns, width - each * left)
            is_direct = not has_pixels and samples == each * columns
            low_left = high_left = left  # of what a tick takes first
            begin, end = left, left + columns
            inner, outer = 0, columns // WHOLE * WHOLE  # from where, and to where, it can be read as it is
            if has_rows:
                low_left, high_left = left + h[LAST] + h[EVEN] // 2, left + h[LAST] + h[ODD] // 2
                begin, end = find_columns(h, left + h[FIRST], columns + h[LAST] - h[FIRST], low_width + high_width)
                begin, end = max(begin // 2 - _BEFORE, 0), (end + 1) // 2 + _BEHIND
                before, behind = min(low_left, high_left) - (h[BEGIN] + 1) // 2, h[END] // 2 - max(low_left, high_left)
                inner, outer = _cut_strip(h, columns, before, behind)
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                pair = newest - v[LAST]
                is_wanted = pair >= r0
                line = 2 * (pair - base) if has_columns else newest
                is_below = has_columns and line + 1 < height
                for channel in range(channels):
                    image = b * channels + channel
                    low = low_z = shift(p_aa, (image * rows + newest) * low_width)
                    high = high_z = shift(p_ad, (image * rows + newest) * high_width)
                    is_zero = is_zero_z = False
                    if has_columns:
                        for member in range(2):
                            # what is older than the first pair is never used
                            row = 2 * max(newest - v[AGE_EVEN + member], r0 + v[FIRST]) + v[EVEN + member]
                            above, below = image * rows, image * rows_below
                            is_mixed = v[MIXTURE] > 0 and not v[BEGIN] <= row < v[END]
                            found = 0 if is_mixed else find_coefficient(v, vn, row)
                            is_zero_z = found < 0
                            if is_mixed:
                                low_z = shift(mix, member * (low_width + high_width))
                                high_z = shift(low_z, low_width)
                                lows = shift(p_aa, above * low_width + begin)
                                highs = shift(p_da, below * low_width + begin)
                                count = min(end, low_width) - begin
                                mix_rows(shift(low_z, begin), lows, highs, True, low_width, v, vn, row, count)
                                if has_rows:
                                    lows = shift(p_ad, above * high_width + begin)
                                    highs = shift(p_dd, below * high_width + begin)
                                    count = min(end, high_width) - begin
                                    mix_rows(shift(high_z, begin), lows, highs, True, high_width, v, vn, row, count)
                            elif found % 2 == 0:
                                low_z = shift(p_aa, (above + found // 2) * low_width)
                                high_z = shift(p_ad, (above + found // 2) * high_width)
                            else:
                                low_z = shift(p_da, (below + found // 2) * low_width)
                                high_z = shift(p_dd, (below + found // 2) * high_width)
                            if member == 0:
                                low, high, is_zero = low_z, high_z, is_zero_z
                    own = shift(py, (image * height + line) * width + each * left)
                    below_own = shift(own, width)
                    y, z = shift(canvas, channel * extent), shift(canvas, (channels + channel) * extent)
                    to_y = own if is_wanted and is_direct else y
                    to_z = below_own if is_wanted and is_direct and is_below else z
                    for part in range(3):
                        start, stop = 0, inner
                        if part == 1:
                            start, stop = inner, outer
                        elif part == 2:
                            start, stop = outer, columns
                        if start == stop:
                            continue
                        a, b_ = shift(low, low_left + start), shift(high, high_left + start)
                        c, d = shift(low_z, low_left + start), shift(high_z, high_left + start)
                        if part != 1:
                            a, c = shift(lines, _BEFORE), shift(lines, 2 * span + _BEFORE)
                            if has_rows:
                                pairs, n = left + start + h[FIRST], stop - start + h[LAST] - h[FIRST]
                                if not is_zero:
                                    load_coefficients(a, 0, span, low, 0, high, 0, h, hn, pairs, one, one, mixed, n)
                                if has_columns and not is_zero_z:
                                    load_coefficients(c, 0, span, low_z, 0, high_z, 0, h, hn, pairs, one, one, mixed, n)
                                a, c = shift(a, h[LAST] - h[FIRST]), shift(c, h[LAST] - h[FIRST])
                            else:
                                copy(a, shift(low, left + start), stop - start)
                                copy(c, shift(low_z, left + start), stop - start)
                            b_, d = shift(a, span), shift(c, span)
                        if is_zero:
                            a = b_ = shift(zeros, _BEFORE)
                        if is_zero_z:
                            c = d = shift(zeros, _BEFORE)
                        call_tick(
                            tick,
                            a,
                            b_,
                            c,
                            d,
                            shift(to_y, each * start),
                            shift(to_z, each * start),
                            shift(states, channel * kept + start),
                            pitch,
                            vn,
                            hn,
                            factors,
                            stop - start,
                        )
                    if is_wanted and not is_direct and not has_pixels:
                        copy(own, y, samples)
                        if is_below:
                            copy(below_own, z, samples)
                if has_pixels and is_wanted:
                    for member in range(min(2, height - 2 * pair)):
                        ready = shift(canvas, member * channels * extent)
                        pass_pixels(ready, extent, f, fn, 2 * pair + member, 2 * left, samples)
    keep(scratch)
    keep(mixture)
    keep(ends)
    keep(numbers)
