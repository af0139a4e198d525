"""Compiled sweeps in ticks: pairs of rows go through the loops of `subband.engines.cpu.ladder_loops` one by one.

Inside the image, these read the arrays themselves. At the borders they read lines that hold the row as it goes on
outside. They write to the arrays themselves.
"""

from __future__ import annotations

import numba as nb

from subband.engines.cpu.frame_loops import pass_pixels, shrink_row
from subband.engines.cpu.ladder_loops import call_tick
from subband.engines.cpu.line_loops import PLANS, extend_bands, extend_row, plan_coefficients, plan_samples
from subband.engines.cpu.loops import (
    OPTIONS,
    clear,
    copy,
    data,
    keep,
    make_room,
    misalignment,
    shift,
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
)

__all__ = ["tick_forward", "tick_inverse"]

#: Room for the pairs before and behind its own that a tick may read.
_BEFORE, _BEHIND = 32, 80

#: Columns from which on reading them as they are is worth two lines, one for each end of a row, instead of one.
_WORTH = 64


@nb.njit(**OPTIONS)
def _round_up(n):
    """Return the room for `n` columns, whole vectors."""
    return -(-n // WHOLE) * WHOLE


@nb.njit(**OPTIONS)
def _cut_strip(ints, columns, before, behind):
    """Return which columns of a strip a tick can read as they are: with so many pairs before and behind the first.

    The first of them may lie before the strip, for a tick begins to read there.
    """
    oldest = max(ints[AGE_EVEN], ints[AGE_ODD])
    begin = -((before - oldest) // WHOLE) * WHOLE
    end = min(columns, behind) // WHOLE * WHOLE
    if end - max(0, begin) < _WORTH:
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
    # down the columns first, a strip keeps rows of the columns beside it too
    beside = v[BESIDE] if has_rows else 0
    pitch = _round_up(min(tile, c1 - c0) + 2 * beside)
    span = 2 * (pitch + _BEFORE + _BEHIND)  # of a line
    kept = 2 * v[KEPT] * pitch  # of the state of an image
    room = 64 + 4 * pitch + 2 * span + channels * kept
    scratch = make_room(px, room)
    mixture = make_room(px, (8 * channels if has_pixels else 2) * width if has_columns else 0)
    ends = make_room(px, h[MIXTURE_ROOM])
    numbers = make_room(px, 4)
    spare = shift(data(scratch), misalignment(scratch))
    lines, states = shift(spare, 4 * pitch), shift(spare, 4 * pitch + 2 * span)
    planned = make_room(v, PLANS)
    mix, mixed, factors, plans = data(mixture), data(ends), data(numbers), data(planned)
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
                reach = h[LAST] - h[FIRST]
                start, goal = left + h[FIRST], min(h[ODD] - h[EVEN], 0) - 2 * reach
                plan_samples(plans, 0, goal, h, start, inner + reach)
                behind = columns - outer
                plan_samples(plans, 1, goal + 2 * outer, h, start + outer, behind + reach if behind > 0 else 0)
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
                    above, below = image * rows + pair - base, image * rows_below + pair - base
                    aa, ad = shift(p_aa, above * low_width + left), shift(p_ad, above * high_width + left)
                    da, dd = shift(p_da, below * low_width + left), shift(p_dd, below * high_width + left)
                    to_aa, to_ad, to_da, to_dd = aa, ad, da, dd
                    if not (is_wanted and is_direct):
                        to_aa, to_ad = spare, shift(spare, pitch)
                    if not (is_wanted and is_direct and is_below):
                        to_da, to_dd = shift(spare, 2 * pitch), shift(spare, 3 * pitch)
                    line = shift(lines, 2 * _BEFORE)
                    extend_row(line, y, first, h, hn, left, columns, inner, outer, plans, mixed)
                    if has_columns:
                        extend_row(shift(line, span), z, first, h, hn, left, columns, inner, outer, plans, mixed)
                    call_tick(
                        tick,
                        to_aa,
                        to_ad,
                        to_da,
                        to_dd,
                        shift(y, first),
                        shift(z, first),
                        line,
                        span,
                        inner,
                        outer,
                        shift(states, channel * kept + 2 * v[KEPT] * beside),
                        vn,
                        hn,
                        factors,
                        columns,
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
    keep(planned)


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
    pitch = _round_up(min(tile, c1 - c0))
    each = 2 if has_rows else 1  # samples of a column
    extent = each * pitch  # of a row of samples
    span = _round_up(pitch + h[LAST] - h[FIRST] + _BEFORE + _BEHIND)  # of a line
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
    planned = make_room(v, PLANS)
    mix, mixed, factors, plans = data(mixture), data(ends), data(numbers), data(planned)
    clear(data(scratch), room)
    _multiply_scales(factors, vn, hn, SCALE_EVEN)
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
                reach = h[LAST] - h[FIRST]
                start = left + h[FIRST]
                plan_coefficients(plans, 0, -reach, h, start, inner + reach)
                behind = columns - outer
                plan_coefficients(plans, 1, outer - reach, h, start + outer, behind + reach if behind > 0 else 0)
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
                    fringe = shift(lines, _BEFORE + h[LAST] - h[FIRST])
                    extend_bands(fringe, span, low, high, is_zero, h, hn, left, columns, inner, outer, plans, mixed)
                    a, b_ = shift(low, low_left), shift(high, high_left)
                    if is_zero:
                        a = b_ = shift(zeros, _BEFORE)
                    c, d = shift(low_z, low_left), shift(high_z, high_left)
                    if has_columns:
                        fringe_z = shift(fringe, 2 * span)
                        extend_bands(
                            fringe_z, span, low_z, high_z, is_zero_z, h, hn, left, columns, inner, outer, plans, mixed
                        )
                    if is_zero_z:
                        c = d = shift(zeros, _BEFORE)
                    call_tick(
                        tick,
                        a,
                        b_,
                        c,
                        d,
                        to_y,
                        to_z,
                        fringe,
                        span,
                        inner,
                        outer,
                        shift(states, channel * kept),
                        vn,
                        hn,
                        factors,
                        columns,
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
    keep(planned)
