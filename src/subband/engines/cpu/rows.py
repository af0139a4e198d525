"""Compiled loading, lifting and filtering of one row, or of the ring of rows that a sweep carries down."""

from __future__ import annotations

import numba as nb

from subband.engines.cpu.frame_loops import pass_pixels
from subband.engines.cpu.loops import (
    OPTIONS,
    blend,
    copy,
    copy_scaled,
    distance,
    keep_apart,
    lift,
    lift_both,
    round_up,
    scale,
    shift,
    split,
    weave_sums,
)
from subband.engines.cpu.mixtures import find_entry, mix_ends, mix_rows
from subband.engines.cpu.program import (
    BEGIN,
    CHANNELS,
    CONVOLUTION,
    COUNT,
    DEPTH,
    END,
    EVEN,
    FIRST,
    FUSED,
    HEADER,
    KIND,
    LAG,
    LEFT,
    LENGTH,
    MIXED,
    MIXING,
    MIXTURE,
    NUMBERS,
    ODD,
    OUTSIDE,
    P_MEMBER,
    P_SHIFT,
    Q_MEMBER,
    Q_SHIFT,
    RIGHT,
    ROW,
    SCALE_P,
    SCALE_Q,
    START,
    TAPS,
    TARGET,
    WEIGHTS,
    WIDTH,
)

__all__ = [
    "blend_row",
    "can_weave",
    "emit_pair",
    "fetch_pixels",
    "fetch_row",
    "find_coefficient",
    "find_columns",
    "find_row",
    "lift_ring",
    "lift_row",
    "load_coefficients",
    "load_line",
    "load_samples",
    "weave_row",
]

# --- Steps and filters of a program, on a row or on the ring of rows. ---


@nb.njit(**OPTIONS)
def lift_row(x, e, n, pitch, ints, numbers):
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
def blend_row(p, q, x, e, pitch, ints, numbers, at, count):
    """Filter a row whose even members stand at `e` and its odd ones `pitch` behind them."""
    for k in range(ints[COUNT]):
        r = HEADER + ROW * k
        at[k] = e + ints[r] * pitch + ints[r + 1] - ints[FIRST]
    blend(p, q, x, at, numbers, NUMBERS, ints[COUNT], count)


@nb.njit(**OPTIONS)
def can_weave(ints, start, n):
    """Tell whether `weave_row` takes the filters of a row, and `n` pairs from `start` on: all lie inside."""
    if ints[KIND] != CONVOLUTION or (ints[COUNT] != 2 and ints[COUNT] != 4 and ints[COUNT] != 8):
        return False
    begin, end = _inner_pairs(ints, start, start + n)
    return begin == start and end == start + n


@nb.njit(**OPTIONS)
def weave_row(y, low, i, high, j, ints, numbers, at, start, n):
    """Filter rows of coefficients at `low, i` and `high, j` straight into `n` pairs of samples, from a pair on."""
    between = distance(high, low) + j + ints[ODD] // 2
    for k in range(ints[COUNT]):
        r = HEADER + ROW * k
        at[k] = start + ints[r + 1] + (between if ints[r] == 1 else i + ints[EVEN] // 2)
    weave_sums(y, low, at, shift(numbers, NUMBERS), ints[COUNT], n)


@nb.njit(**OPTIONS)
def lift_ring(x, ring, size, newest, ints, numbers):
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
def emit_pair(p, q, x, ring, size, column, pair, ints, numbers, factor, at, n):
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
def _inner_pairs(ints, start, stop):
    """Return the part of the pairs `start` … `stop` whose members are both read as they are."""
    low, high = min(ints[EVEN], ints[ODD]), max(ints[EVEN], ints[ODD])
    begin = min(max(start, (ints[BEGIN] + 1 - low) // 2), stop)
    end = max(min(stop, (ints[END] - 1 - high) // 2 + 1), begin)
    return begin, end


@nb.njit(**OPTIONS)
def find_columns(ints, start, n, width):
    """Return which samples of a row `n` pairs, from pair `start` on, are made of: all unless each is read as it is."""
    begin = 2 * start + min(ints[EVEN], ints[ODD])
    end = 2 * (start + n - 1) + max(ints[EVEN], ints[ODD]) + 1
    if begin < ints[BEGIN] or end > min(ints[END], width):
        return 0, width
    return begin, end


@nb.njit(**OPTIONS)
def _mix(value, head, tail, weight, first, last):
    """Return ``weight * value + first * head + last * tail``, whose weights sum to 1, without cancellation."""
    if last == 0:
        return head + weight * (value - head)
    return tail + weight * (value - tail) + first * (head - tail)


@nb.njit(**OPTIONS)
def _sample(x, i, ints, numbers, position, mixed):
    """Return the row at `x, i` extended to any position."""
    if ints[BEGIN] <= position < ints[END]:
        return x[i + position]
    k = find_entry(ints, position)
    if ints[MIXTURE]:
        return mixed[k]
    m = ints[MIXING] + 3 * k
    value = x[i + ints[ints[OUTSIDE] + k]]
    if ints[MIXED]:
        return _mix(value, x[i], x[i + ints[LENGTH] - 1], numbers[m], numbers[m + 1], numbers[m + 2])
    return numbers[m] * value


@nb.njit(**OPTIONS)
def _load_outside(y, x, ints, numbers, position, mixed, n):
    """Write `n` samples of the extended row at `x` from a position on, all of them before the row or behind it."""
    k = find_entry(ints, position)
    if ints[MIXTURE]:
        copy(y, shift(mixed, k), n)
        return
    index, weights = shift(ints, ints[OUTSIDE] + k), shift(numbers, ints[MIXING] + 3 * k)
    if ints[MIXED]:
        head, tail = x[0], x[ints[LENGTH] - 1]
        for j in range(n):
            y[j] = _mix(x[index[j]], head, tail, weights[3 * j], weights[3 * j + 1], weights[3 * j + 2])
    else:
        _weigh(y, x, index, weights, n)


@nb.njit(**OPTIONS)
def _weigh(y, x, index, weights, n):
    """Write numbers of `x`, each by the first of three weights."""
    keep_apart()
    for j in range(n):
        y[j] = weights[3 * j] * x[index[j]]


@nb.njit(**OPTIONS)
def load_samples(y, e, pitch, x, i, ints, numbers, start, mixed, n):
    """Split `n` pairs of the row at `x, i`, from pair `start` on, into even members at `e` and odd ones at `pitch`."""
    begin, end = _inner_pairs(ints, start, start + n)
    inner = shift(y, e + begin - start)
    split(inner, shift(inner, pitch), shift(x, i + 2 * begin + ints[EVEN]), end - begin)
    if ints[MIXTURE]:  # when both ends of the row are in the cache
        mix_ends(mixed, shift(x, i), shift(x, i), False, ints, numbers, start, n)
    for k in range(start, begin):
        y[e + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[EVEN], mixed)
        y[e + pitch + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[ODD], mixed)
    for k in range(end, start + n):
        y[e + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[EVEN], mixed)
        y[e + pitch + k - start] = _sample(x, i, ints, numbers, 2 * k + ints[ODD], mixed)
    for k in range(n, pitch):
        y[e + k] = 0
        y[e + pitch + k] = 0


@nb.njit(**OPTIONS)
def load_line(y, x, ints, numbers, start, mixed, n):
    """Write `n` pairs of the extended row at `x`, from pair `start` on, as they follow each other."""
    first = 2 * start + min(ints[EVEN], ints[ODD])
    stop = 2 * (start + n - 1) + max(ints[EVEN], ints[ODD]) + 1
    begin = min(max(ints[BEGIN], first), stop)
    end = max(min(ints[END], stop), begin)
    copy(shift(y, begin - first), shift(x, begin), end - begin)
    if ints[MIXTURE]:  # when both ends of the row are in the cache
        mix_ends(mixed, x, x, False, ints, numbers, start, n)
    if begin > first:
        _load_outside(y, x, ints, numbers, first, mixed, begin - first)
    if stop > end:
        _load_outside(shift(y, end - first), x, ints, numbers, end, mixed, stop - end)


@nb.njit(**OPTIONS)
def fetch_row(y, x, width, ints, numbers, position, begin, end):
    """Return the address of a row of the extended image at `x`; one that it lacks is first written to `y`.

    Of such a row, the columns `begin` … `end` at least are written.
    """
    found = find_row(ints, numbers, position)
    if found >= 0:
        return shift(x, found * width)
    if ints[MIXTURE]:
        origin = shift(x, begin)
        mix_rows(shift(y, begin), origin, origin, False, width, ints, numbers, position, end - begin)
    else:
        last = shift(x, (ints[LENGTH] - 1) * width)
        _mix_row(y, shift(x, find_nearest(ints, position) * width), x, last, ints, numbers, position, width)
    return y


@nb.njit(**OPTIONS)
def _mix_row(y, x, head, tail, ints, numbers, position, n):
    """Write to `y` a row outside the image that none of its rows equals, from the nearest, first and last of them."""
    m = ints[MIXING] + 3 * find_entry(ints, position)
    weight, first, last = numbers[m], numbers[m + 1], numbers[m + 2]
    if ints[MIXED]:
        for j in range(n):
            y[j] = _mix(x[j], head[j], tail[j], weight, first, last)
    else:
        for j in range(n):
            y[j] = weight * x[j]


@nb.njit(**OPTIONS)
def find_nearest(ints, position):
    """Return the row of the image that a row outside it is made of, perhaps with the first or last."""
    return ints[ints[OUTSIDE] + find_entry(ints, position)]


@nb.njit(**OPTIONS)
def find_row(ints, numbers, position):
    """Return which row the extended image has at `position`, or -1 if it is a mixture."""
    if ints[BEGIN] <= position < ints[END]:
        return position
    if ints[MIXTURE]:
        return -1
    k = find_entry(ints, position)
    m = ints[MIXING] + 3 * k
    if numbers[m] == 1 and numbers[m + 1] == 0 and numbers[m + 2] == 0:
        return ints[ints[OUTSIDE] + k]
    return -1


@nb.njit(**OPTIONS)
def fetch_pixels(y, f, fn, ints, numbers, position, column, n):
    """Write the planes of a row of the extended frame to `y`, at least `n` pixels from a column on."""
    width, size = f[WIDTH], f[WIDTH] * f[CHANNELS]
    found = find_row(ints, numbers, position)
    if found >= 0:
        pass_pixels(shift(y, column), width, f, fn, found, column, n)
        return
    source, head, tail = shift(y, size), shift(y, 2 * size), shift(y, 3 * size)
    pass_pixels(source, width, f, fn, find_nearest(ints, position), 0, width)
    pass_pixels(head, width, f, fn, 0, 0, width)
    pass_pixels(tail, width, f, fn, ints[LENGTH] - 1, 0, width)
    _mix_row(y, source, head, tail, ints, numbers, position, size)


@nb.njit(**OPTIONS)
def find_coefficient(ints, numbers, position):
    """Return which coefficient the extended sequence has at `position`, or -1 if it is zero there."""
    if ints[BEGIN] <= position < ints[END]:
        return position
    k = find_entry(ints, position)
    if numbers[ints[MIXING] + 3 * k] == 0:
        return -1
    return ints[ints[OUTSIDE] + k]


@nb.njit(**OPTIONS)
def load_coefficients(y, e, pitch, low, i, high, j, ints, numbers, start, factor_even, factor_odd, mixed, n):
    """Load `n` pairs of coefficients, from pair `start` on, to even members at `e` and odd ones `pitch` behind."""
    low, high = shift(low, i), shift(high, j)
    even, odd = 2 * start + ints[EVEN], 2 * start + ints[ODD]
    _load_member(shift(y, e), low, low, high, ints, numbers, even, factor_even, n)
    _load_member(shift(y, e + pitch), high, low, high, ints, numbers, odd, factor_odd, n)
    if ints[MIXTURE]:  # when both ends of the row are in the cache
        mix_ends(mixed, low, high, True, ints, numbers, start, n)
        _load_mixtures(shift(y, e), mixed, ints, even, factor_even, n)
        _load_mixtures(shift(y, e + pitch), mixed, ints, odd, factor_odd, n)


@nb.njit(**OPTIONS)
def _load_member(y, own, low, high, ints, numbers, first, factor, n):
    """Load `n` coefficients, from position `first` on: every second one, and inside all from the row `own`."""
    begin = min(max((1 - first) // 2, 0), n)
    end = min(max((ints[LENGTH] - first + 1) // 2, begin), n)
    copy_scaled(shift(y, begin), shift(own, first // 2 + begin), factor, end - begin)
    if ints[MIXTURE]:
        return
    if begin > 0:
        _load_outer(y, low, high, ints, numbers, first, factor, begin)
    if n > end:
        _load_outer(shift(y, end), low, high, ints, numbers, first + 2 * end, factor, n - end)


@nb.njit(**OPTIONS)
def _load_outer(y, low, high, ints, numbers, position, factor, n):
    """Load every second coefficient from a position on, all of them before the sequence or behind it."""
    keep_apart()
    k = find_entry(ints, position)
    index, weights = shift(ints, ints[OUTSIDE] + k), shift(numbers, ints[MIXING] + 3 * k)
    for j in range(n):
        found = index[2 * j]
        value = low[found // 2] if found % 2 == 0 else high[found // 2]
        y[j] = factor * value if weights[6 * j] != 0 else factor * 0


@nb.njit(**OPTIONS)
def _load_mixtures(y, mixed, ints, first, factor, n):
    """Overwrite those of `n` coefficients, from position `first` on, that are mixtures."""
    begin = min(max((ints[BEGIN] - first + 1) // 2, 0), n)
    end = min(max((ints[END] - first + 1) // 2, begin), n)
    _copy_every_second(y, shift(mixed, first + ints[LEFT]), factor, begin)
    _copy_every_second(shift(y, end), shift(mixed, first + 2 * end - ints[END] + ints[RIGHT]), factor, n - end)


@nb.njit(**OPTIONS)
def _copy_every_second(y, x, factor, n):
    """Write every second of some numbers times a factor."""
    keep_apart()
    for k in range(n):
        y[k] = factor * x[2 * k]
