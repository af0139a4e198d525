"""The compiled sweeps: one over the samples, one back.

A level of an image is one sweep. Rows come in two at a time; each is split into even and odd samples and filtered
along the row while it is in the cache; a ring of the last few pairs of rows is filtered down the columns; finished
coefficients go straight to their bands. The inverse is the same sweep in a mirror: bands are loaded into the ring,
filtered down the columns, then along the row, and woven into samples. An axis that is not transformed has an
identity program, so the same two kernels serve rows, columns and images.

Everything that is hot is a plain loop over contiguous numbers, so that LLVM vectorises it. Loops address memory by
pointer and offset: a Numba slice would cost an atomic count of references, as much as the loop itself on short rows.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba.extending import intrinsic, overload

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
    MARGIN,
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

__all__ = ["OPTIONS", "blend", "data", "forward", "inverse"]

# Sums may be reordered and fused, but NaN and infinity keep their meaning.
OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "nogil": True}


@intrinsic
def data(typingctx, array):
    """Return the address of an array's first number; the array must be kept alive by who calls."""

    def codegen(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return nb.types.CPointer(array.dtype)(array), codegen


# --- Hot loops: `x, i` stands for the numbers that begin `i` places behind the address `x`. ---


@nb.njit(**OPTIONS)
def _scale(y, i, x, j, scale, n):
    for k in range(n):
        y[i + k] = scale * x[j + k]


@nb.njit(**OPTIONS)
def _split(e, i, o, j, x, k, n):
    for m in range(n):
        e[i + m] = x[k + 2 * m]
        o[j + m] = x[k + 2 * m + 1]


@nb.njit(**OPTIONS)
def _weave(y, i, p, j, q, k, n):
    for m in range(n):
        y[i + 2 * m] = p[j + m]
        y[i + 2 * m + 1] = q[k + m]


@nb.njit(**OPTIONS)
def _lift_one(x, t, a, ca, n):
    for j in range(n):
        x[t + j] += ca * x[a + j]


@nb.njit(**OPTIONS)
def _lift_two(x, t, a, b, ca, cb, n):
    for j in range(n):
        x[t + j] += ca * x[a + j] + cb * x[b + j]


@nb.njit(**OPTIONS)
def _lift_rounded(x, t, a, b, ca, cb, offset, shift, sign, n):
    for j in range(n):
        x[t + j] += sign * ((ca * x[a + j] + cb * x[b + j] + offset) >> shift)


def _make_lift_both(two_sources, two_taps, shared):
    """Make the loop that runs two steps at once: the second one reads what the first has just computed.

    The first step may have one source or two; the second one tap, on the fresh value, or two; and what it changes
    may be the first step's source, `shared`, which LLVM must be told to prove that the runs do not overlap.
    """

    @nb.njit(**OPTIONS)
    def lift_both(x, t, a, b, s, c, ca, cb, cc, cf, n):
        for j in range(n):
            u = x[a + j]
            fresh = x[t + j] + ca * u
            if two_sources:
                fresh += cb * x[b + j]
            x[t + j] = fresh
            value = u if shared else x[s + j]
            value += cf * fresh
            if two_taps:
                value += cc * x[c + j]
            if shared:
                x[a + j] = value
            else:
                x[s + j] = value

    return lift_both


_lift_both_111 = _make_lift_both(True, True, True)
_lift_both_110 = _make_lift_both(True, True, False)
_lift_both_101 = _make_lift_both(True, False, True)
_lift_both_100 = _make_lift_both(True, False, False)
_lift_both_011 = _make_lift_both(False, True, True)
_lift_both_010 = _make_lift_both(False, True, False)
_lift_both_001 = _make_lift_both(False, False, True)
_lift_both_000 = _make_lift_both(False, False, False)


@nb.njit(**OPTIONS)
def _lift_both(x, t, a, b, s, c, ca, cb, cc, cf, two_sources, two_taps, n):
    if two_sources and s == b:
        a, b, ca, cb = b, a, cb, ca
    shared = s == a
    if two_sources:
        if two_taps:
            if shared:
                _lift_both_111(x, t, a, b, s, c, ca, cb, cc, cf, n)
            else:
                _lift_both_110(x, t, a, b, s, c, ca, cb, cc, cf, n)
        elif shared:
            _lift_both_101(x, t, a, b, s, c, ca, cb, cc, cf, n)
        else:
            _lift_both_100(x, t, a, b, s, c, ca, cb, cc, cf, n)
    elif two_taps:
        if shared:
            _lift_both_011(x, t, a, b, s, c, ca, cb, cc, cf, n)
        else:
            _lift_both_010(x, t, a, b, s, c, ca, cb, cc, cf, n)
    elif shared:
        _lift_both_001(x, t, a, b, s, c, ca, cb, cc, cf, n)
    else:
        _lift_both_000(x, t, a, b, s, c, ca, cb, cc, cf, n)


@nb.njit(**OPTIONS)
def _blend_two(p, i, q, j, x, at, k, t, w, width, add, n):
    x0, x1 = at[k], at[k + 1]
    a0, a1, b0, b1 = t[w], t[w + 1], t[w + width], t[w + width + 1]
    if add:
        for m in range(n):
            u0, u1 = x[x0 + m], x[x1 + m]
            p[i + m] += a0 * u0 + a1 * u1
            q[j + m] += b0 * u0 + b1 * u1
    else:
        for m in range(n):
            u0, u1 = x[x0 + m], x[x1 + m]
            p[i + m] = a0 * u0 + a1 * u1
            q[j + m] = b0 * u0 + b1 * u1


@nb.njit(**OPTIONS)
def _blend_four(p, i, q, j, x, at, k, t, w, width, add, n):
    x0, x1, x2, x3 = at[k], at[k + 1], at[k + 2], at[k + 3]
    a0, a1, a2, a3 = t[w], t[w + 1], t[w + 2], t[w + 3]
    w += width
    b0, b1, b2, b3 = t[w], t[w + 1], t[w + 2], t[w + 3]
    if add:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            p[i + m] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
            q[j + m] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
    else:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            p[i + m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
            q[j + m] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3


@nb.njit(**OPTIONS)
def _blend_eight(p, i, q, j, x, at, k, t, w, width, add, n):
    x0, x1, x2, x3, x4, x5, x6, x7 = at[k], at[k + 1], at[k + 2], at[k + 3], at[k + 4], at[k + 5], at[k + 6], at[k + 7]
    a0, a1, a2, a3, a4, a5, a6, a7 = t[w], t[w + 1], t[w + 2], t[w + 3], t[w + 4], t[w + 5], t[w + 6], t[w + 7]
    w += width
    b0, b1, b2, b3, b4, b5, b6, b7 = t[w], t[w + 1], t[w + 2], t[w + 3], t[w + 4], t[w + 5], t[w + 6], t[w + 7]
    if add:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            u4, u5, u6, u7 = x[x4 + m], x[x5 + m], x[x6 + m], x[x7 + m]
            p[i + m] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3 + a4 * u4 + a5 * u5 + a6 * u6 + a7 * u7
            q[j + m] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3 + b4 * u4 + b5 * u5 + b6 * u6 + b7 * u7
    else:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            u4, u5, u6, u7 = x[x4 + m], x[x5 + m], x[x6 + m], x[x7 + m]
            p[i + m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3 + a4 * u4 + a5 * u5 + a6 * u6 + a7 * u7
            q[j + m] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3 + b4 * u4 + b5 * u5 + b6 * u6 + b7 * u7


@nb.njit(**OPTIONS)
def _round_up(n):
    """Return the next multiple of what a vectorised loop takes at a time: the rest, done singly, would cost more."""
    return (n + 31) // 32 * 32


@nb.njit(**OPTIONS)
def _pad(n):
    """Return the room for `n` members that loops of rounded length stay within, whole cache lines."""
    return _round_up(n) + MARGIN


@nb.njit(**OPTIONS)
def _misalignment(array):
    """Return how many numbers lie before the first whole cache line: loads across two lines cost twice."""
    return -array.ctypes.data % 64 // array.itemsize


# --- Steps and filters of a program, on a row or on the ring of rows. ---


def _lift(x, weights, w, t, a, b, taps, n):
    """Add one or two weighted runs of numbers to another, rounding if they are integers."""


@overload(_lift)
def _overload_lift(x, weights, w, t, a, b, taps, n):
    if isinstance(x.dtype, nb.types.Integer):

        def lift_integers(x, weights, w, t, a, b, taps, n):
            offset, shift, sign = weights[w + 2], weights[w + 3], weights[w + 4]
            _lift_rounded(x, t, a, b, weights[w], weights[w + 1], offset, shift, sign, n)

        return lift_integers

    def lift_numbers(x, weights, w, t, a, b, taps, n):
        if taps == 1:
            _lift_one(x, t, a, weights[w], n)
        else:
            _lift_two(x, t, a, b, weights[w], weights[w + 1], n)

    return lift_numbers


@nb.njit(**OPTIONS)
def blend(p, i, q, j, x, at, weights, w, width, n):
    """Write two weighted sums of `width` runs of numbers, which stand at the places `at`; `width` is even."""
    k = 0
    while width - k >= 8:
        _blend_eight(p, i, q, j, x, at, k, weights, w + k, width, k > 0, n)
        k += 8
    if width - k >= 4:
        _blend_four(p, i, q, j, x, at, k, weights, w + k, width, k > 0, n)
        k += 4
    if width - k >= 2:
        _blend_two(p, i, q, j, x, at, k, weights, w + k, width, k > 0, n)


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
            _lift(x, numbers, NUMBERS + WEIGHTS * k, t, a, a + taps - 1, taps, _round_up(end - begin))


@nb.njit(**OPTIONS)
def _blend_row(p, i, q, j, x, e, pitch, ints, numbers, at, count):
    """Filter a row whose even members stand at `e` and its odd ones `pitch` behind them."""
    for k in range(ints[COUNT]):
        r = HEADER + ROW * k
        at[k] = e + ints[r] * pitch + ints[r + 1] - ints[FIRST]
    blend(p, i, q, j, x, at, numbers, NUMBERS, ints[COUNT], count)


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
            _lift_both(x, t, a, b, s, c, numbers[w], numbers[w + 1], cc, cf, taps == 2, two_taps, size)
            k += 1
        else:
            _lift(x, numbers, w, t, a, b, taps, size)
        k += 1


@nb.njit(**OPTIONS)
def _emit_pair(p, i, q, j, x, ring, size, column, pair, ints, numbers, scale, at, n):
    """Write the pair of output rows that the ring has ready, `n` numbers from `column` on."""
    depth = ints[DEPTH]
    if ints[KIND] == CONVOLUTION:
        for k in range(ints[COUNT]):
            r = HEADER + ROW * k
            at[k] = ring + ((pair + ints[r + 1]) % depth * 2 + ints[r]) * size + column
        blend(p, i, q, j, x, at, numbers, NUMBERS, ints[COUNT], n)
    else:
        slot = (pair + ints[P_SHIFT]) % depth * 2 + ints[P_MEMBER]
        _scale(p, i, x, ring + slot * size + column, scale * numbers[SCALE_P], n)
        slot = (pair + ints[Q_SHIFT]) % depth * 2 + ints[Q_MEMBER]
        _scale(q, j, x, ring + slot * size + column, scale * numbers[SCALE_Q], n)


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
    place = e + begin - start
    _split(y, place, y, place + pitch, x, i + 2 * begin + ints[EVEN], end - begin)
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
def _load_border(y, i, low, j, high, k, ints, numbers, position, scale):
    """Load the one coefficient at `position`, which may lie outside."""
    found = _find_coefficient(ints, numbers, position)
    if found < 0:
        y[i] = 0
    elif found % 2 == 0:
        y[i] = scale * low[j + found // 2]
    else:
        y[i] = scale * high[k + found // 2]


@nb.njit(**OPTIONS)
def _load_coefficients(y, e, pitch, low, i, high, j, ints, numbers, start, scale, n):
    """Load `n` pairs of coefficients, from pair `start` on, to even members at `e` and odd ones `pitch` behind."""
    even, odd = scale * numbers[SCALE_EVEN], scale * numbers[SCALE_ODD]
    begin, end = _inner_pairs(ints, start, start + n)
    for k in range(start, begin):
        _load_border(y, e + k - start, low, i, high, j, ints, numbers, 2 * k + ints[EVEN], even)
        _load_border(y, e + pitch + k - start, low, i, high, j, ints, numbers, 2 * k + ints[ODD], odd)
    for k in range(end, start + n):
        _load_border(y, e + k - start, low, i, high, j, ints, numbers, 2 * k + ints[EVEN], even)
        _load_border(y, e + pitch + k - start, low, i, high, j, ints, numbers, 2 * k + ints[ODD], odd)
    place = e + begin - start
    _scale(y, place, low, i + begin + ints[EVEN] // 2, even, end - begin)
    _scale(y, place + pitch, high, j + begin + ints[ODD] // 2, odd, end - begin)
    for k in range(n, pitch):
        y[e + k] = 0
        y[e + pitch + k] = 0


# --- The sweeps. ---


@nb.njit(cache=True, **OPTIONS)
def forward(x, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, b0, b1, r0, r1, c0, c1):
    """Transform the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1`.

    An axis with the identity program counts single rows or columns instead of pairs.
    """
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    vertical, horizontal = v[KIND], h[KIND]
    members = 2 * _pad(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (1 + 2 * v[DEPTH]), x.dtype)
    line = _misalignment(scratch)  # a row that is filtered from there into the ring
    ring = line + members
    mixture = np.empty(x.shape[2] if vertical != IDENTITY else 0, x.dtype)
    unwanted = np.empty(members, x.dtype)
    places = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, mix, spare, at = data(scratch), data(mixture), data(unwanted), data(places)
    px, paa, pad, pda, pdd = data(x), data(aa), data(ad), data(da), data(dd)
    height, width = x.shape[1], x.shape[2]
    low_width, high_width = aa.shape[2], ad.shape[2]
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
        image = b * height * width
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = _pad(n)
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
                        _scale(buf, place, source, row + left, hn[SCALE_P], columns)
                    elif horizontal == LIFTING:
                        _load_samples(buf, place, pitch, source, row, h, hn, left + h[FIRST], n)
                        _lift_row(buf, place, n, pitch, h, hn)
                    else:
                        _load_samples(buf, line, pitch, source, row, h, hn, left + h[FIRST], n)
                        _blend_row(buf, place, buf, place + pitch, buf, line, pitch, h, hn, at, _round_up(columns))
                if vertical == LIFTING:
                    _lift_ring(buf, ring, size, newest, v, vn)
                pair = newest - v[LAST]
                if pair < r0:
                    continue
                out = (b * rows + pair) * low_width + left
                out_high = (b * rows + pair) * high_width + left
                if vertical == IDENTITY:
                    _scale(paa, out, buf, ring + low, hn[SCALE_P], columns)
                    _scale(pad, out_high, buf, ring + high, hn[SCALE_Q], highs)
                    continue
                below, below_high, q, qh = pda, pdd, (b * rows_below + pair) * low_width + left, (b * rows_below + pair) * high_width + left
                if pair >= rows_below:
                    below, below_high, q, qh = spare, spare, 0, 0
                _emit_pair(paa, out, below, q, buf, ring, size, low, pair, v, vn, hn[SCALE_P], at, columns)
                if highs > 0:
                    _emit_pair(pad, out_high, below_high, qh, buf, ring, size, high, pair, v, vn, hn[SCALE_Q], at, highs)
    # the last use of what the addresses above belong to
    return scratch.size + mixture.size + unwanted.size + places.size


@nb.njit(cache=True, **OPTIONS)
def inverse(y, aa, ad, da, dd, v_ints, v_numbers, h_ints, h_numbers, tile, b0, b1, r0, r1, c0, c1):
    """Undo `forward` for the images `b0` … `b1`: pairs of rows `r0` … `r1`, pairs of columns `c0` … `c1` of samples."""
    v, vn, h, hn = data(v_ints), data(v_numbers), data(h_ints), data(h_numbers)
    vertical, horizontal = v[KIND], h[KIND]
    members = 2 * _pad(min(tile, c1 - c0) + h[LAST] - h[FIRST])
    scratch = np.zeros(64 + members * (4 + 2 * v[DEPTH]), y.dtype)
    lines = _misalignment(scratch)  # two rows out of the ring, and two that are filtered from them
    ring = lines + 4 * members
    places = np.empty(max(v[COUNT], h[COUNT]), np.int64)
    buf, at = data(scratch), data(places)
    py, paa, pad, pda, pdd = data(y), data(aa), data(ad), data(da), data(dd)
    height, width = y.shape[1], y.shape[2]
    low_width, high_width = aa.shape[2], ad.shape[2]
    rows, rows_below = aa.shape[1], da.shape[1]
    for b in range(b0, b1):
        for left in range(c0, c1, tile):
            columns = min(tile, c1 - left)
            n = columns + h[LAST] - h[FIRST]
            pitch = _pad(n)
            size = pitch if horizontal == IDENTITY else 2 * pitch
            for newest in range(r0 + v[FIRST], r1 + v[LAST]):
                for member in range(1 if vertical == IDENTITY else 2):
                    place, found = lines, 2 * newest
                    scale = vn[SCALE_EVEN + member]
                    if vertical != IDENTITY:
                        place = ring + (newest % v[DEPTH] * 2 + member) * size
                        found = _find_coefficient(v, vn, 2 * newest + v[EVEN + member])
                        if found < 0:
                            for k in range(size):
                                buf[place + k] = 0
                            continue
                    low, high = paa, pad
                    row, row_high = (b * rows + found // 2) * low_width, (b * rows + found // 2) * high_width
                    if found % 2 == 1:
                        low, high = pda, pdd
                        row = (b * rows_below + found // 2) * low_width
                        row_high = (b * rows_below + found // 2) * high_width
                    if horizontal == IDENTITY:
                        _scale(buf, place, low, row + left, scale, columns)
                    else:
                        _load_coefficients(buf, place, pitch, low, row, high, row_high, h, hn, left + h[FIRST], scale, n)
                if vertical == LIFTING:
                    _lift_ring(buf, ring, size, newest, v, vn)
                pair = newest - v[LAST]
                if pair < r0:
                    continue
                if vertical != IDENTITY:
                    _emit_pair(buf, lines, buf, lines + size, buf, ring, size, 0, pair, v, vn, vn[SCALE_P], at, size)
                for member in range(1 if vertical == IDENTITY else 2):
                    line = pair if vertical == IDENTITY else 2 * pair + member
                    if line >= height:
                        continue
                    out = (b * height + line) * width
                    place = lines + member * size
                    if horizontal == IDENTITY:
                        _scale(py, out + left, buf, place, hn[SCALE_P], columns)
                        continue
                    p, q = lines + 2 * members, lines + 3 * members
                    if horizontal == LIFTING:
                        _lift_row(buf, place, n, pitch, h, hn)
                        p = place + h[P_MEMBER] * pitch + h[P_SHIFT] - h[FIRST]
                        q = place + h[Q_MEMBER] * pitch + h[Q_SHIFT] - h[FIRST]
                    else:
                        _blend_row(buf, p, buf, q, buf, place, pitch, h, hn, at, _round_up(columns))
                    odd = min(columns, width // 2 - left)
                    _weave(py, out + 2 * left, buf, p, buf, q, odd)
                    if odd < columns:
                        py[out + 2 * (left + odd)] = buf[p + odd]
    return scratch.size + places.size
