"""The hot loops: plain passes over contiguous numbers, which LLVM vectorises.

A loop is given addresses. What it writes overlaps nothing else it is given, and `keep_apart` tells LLVM so: otherwise
it would compare all addresses before each pass, which costs more than the pass itself on short rows. A Numba slice
instead of an address would cost an atomic count of references.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import binding, ir
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from subband.engines.cpu.program import MARGIN, WHOLE

__all__ = [
    "OPTIONS",
    "blend",
    "clear",
    "copy",
    "copy_few",
    "copy_scaled",
    "count_in_line",
    "data",
    "distance",
    "keep",
    "keep_apart",
    "lift",
    "lift_both",
    "make_room",
    "misalignment",
    "one_by_one",
    "room_for",
    "round_up",
    "scale",
    "shift",
    "split",
    "weave",
    "weave_sums",
]

#: Bytes of a line of the cache.
LINE = 64

# Loops that weave take so many pairs at a time, a multiple of what LLVM vectorises by: for a rest, done singly, it
# would keep all weights in registers a second time.
PAIRS = 32

# an instruction is written as it is, here and there
binding.initialize_native_asmparser()

# Sums may be reordered and fused, but NaN and infinity keep their meaning.
OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "nogil": True}


@intrinsic
def data(typingctx, array):
    """Return the address of an array's first number; the array must be kept alive by the caller."""

    def codegen(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return nb.types.CPointer(array.dtype)(array), codegen


@intrinsic
def shift(typingctx, address, count):
    """Return the address `count` numbers behind another."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]], source_etype=context.get_data_type(signature.args[0].dtype))

    return address(address, count), codegen


@intrinsic
def distance(typingctx, address, other):
    """Return how many numbers one address lies behind another, both of them whole numbers apart."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        first, second = (builder.ptrtoint(arg, word) for arg in args)
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        return builder.sdiv(builder.sub(first, second), word(size))

    return nb.types.int64(address, other), codegen


@intrinsic
def keep_apart(typingctx):
    """Promise that what the calling function writes to overlaps none of the other addresses it was given."""

    def codegen(context, builder, signature, args):
        for argument in context.call_conv.get_arguments(builder.function):
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return nb.types.none(), codegen


@intrinsic
def one_by_one(typingctx):
    """Leave a loop over a few numbers as it is: LLVM would gather them into vectors, or call the C library."""

    def codegen(context, builder, signature, args):
        builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
        return context.get_dummy_value()

    return nb.types.none(), codegen


@intrinsic
def keep(typingctx, array):
    """Do nothing with an array, whose address is in use: without a later use of its own it would be gone by now."""

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return nb.types.none(array), codegen


def make_room(address, count):
    """Return an array with any contents for `count` numbers of the kind that is at an address."""


@overload(make_room)
def _overload_make_room(address, count):
    dtype = as_dtype(address.dtype)
    return lambda address, count: np.empty(count, dtype)


@nb.njit(**OPTIONS)
def clear(y, n):
    """Write zeros."""
    for k in range(n):
        y[k] = 0


@nb.njit(**OPTIONS)
def copy(y, x, n):
    """Write the numbers of `x`."""
    keep_apart()
    for k in range(n):
        y[k] = x[k]


@intrinsic
def _copy_whole(typingctx, y, x):
    """Write a few vectors of numbers."""

    def codegen(context, builder, signature, args):
        number = context.get_data_type(signature.args[0].dtype)
        kind, size = ir.VectorType(number, WHOLE), context.get_abi_sizeof(number)
        goal, source = (builder.bitcast(arg, kind.as_pointer()) for arg in args)
        builder.store(builder.load(source, align=size, typ=kind), goal, align=size)
        return context.get_dummy_value()

    return nb.types.none(y, x), codegen


@nb.njit(**OPTIONS)
def copy_few(y, x, n):
    """Write the numbers of `x`, which are few: to call the C library for them takes longer."""
    if n < WHOLE:
        for k in range(n):
            one_by_one()
            y[k] = x[k]
        return
    for k in range(0, n - WHOLE, WHOLE):
        one_by_one()
        _copy_whole(shift(y, k), shift(x, k))
    _copy_whole(shift(y, n - WHOLE), shift(x, n - WHOLE))


@intrinsic
def count_in_line(typingctx, address):
    """Return how many numbers a line of the cache holds."""

    def codegen(context, builder, signature, args):
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        return ir.Constant(ir.IntType(64), LINE // size)

    return nb.types.int64(address), codegen


@nb.njit(**OPTIONS)
def copy_scaled(y, x, factor, n):
    """Write `x` times a factor."""
    keep_apart()
    for k in range(n):
        y[k] = factor * x[k]


@nb.njit(**OPTIONS)
def scale(y, factor, n):
    """Multiply by a factor."""
    for k in range(n):
        y[k] *= factor


@nb.njit(**OPTIONS)
def split(even, odd, x, n):
    """Write even and odd numbers of `x` apart."""
    keep_apart()
    for k in range(n):
        even[k] = x[2 * k]
        odd[k] = x[2 * k + 1]


@nb.njit(**OPTIONS)
def weave(y, p, q, n):
    """Write numbers of `p` and `q` in turn."""
    keep_apart()
    for k in range(n):
        y[2 * k] = p[k]
        y[2 * k + 1] = q[k]


@nb.njit(**OPTIONS)
def _lift_one(t, a, ca, n):
    keep_apart()
    for k in range(n):
        t[k] += ca * a[k]


@nb.njit(**OPTIONS)
def _lift_two(t, a, b, ca, cb, n):
    keep_apart()
    for k in range(n):
        t[k] += ca * a[k] + cb * b[k]


@nb.njit(**OPTIONS)
def _lift_rounded(t, a, b, ca, cb, offset, bits, sign, n):
    keep_apart()
    for k in range(n):
        t[k] += sign * ((ca * a[k] + cb * b[k] + offset) >> bits)


def _make_lift_both(two_sources, two_taps, shared):
    """Make the loop that runs two steps at once: the second one reads what the first has just computed.

    The first step may have one source or two; the second one tap, on the fresh value, or two; and what it changes
    may be the first step's source, `shared`.
    """

    @nb.njit(**OPTIONS)
    def lift_both(t, a, b, s, c, ca, cb, cc, cf, n):
        keep_apart()
        for k in range(n):
            u = a[k]
            fresh = t[k] + ca * u
            if two_sources:
                fresh += cb * b[k]
            t[k] = fresh
            value = u if shared else s[k]
            value += cf * fresh
            if two_taps:
                value += cc * c[k]
            if shared:
                a[k] = value
            else:
                s[k] = value

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
def lift_both(x, t, a, b, s, c, ca, cb, cc, cf, two_sources, two_taps, n):
    """Run two steps at once: `t` takes from `a` and `b`, then `s` from `c` and the fresh `t`; offsets in `x`."""
    if two_sources and s == b:
        a, b, ca, cb = b, a, cb, ca
    shared = s == a
    pt, pa, pb, ps, pc = shift(x, t), shift(x, a), shift(x, b), shift(x, s), shift(x, c)
    if two_sources:
        if two_taps:
            if shared:
                _lift_both_111(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
            else:
                _lift_both_110(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
        elif shared:
            _lift_both_101(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
        else:
            _lift_both_100(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
    elif two_taps:
        if shared:
            _lift_both_011(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
        else:
            _lift_both_010(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
    elif shared:
        _lift_both_001(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)
    else:
        _lift_both_000(pt, pa, pb, ps, pc, ca, cb, cc, cf, n)


@nb.njit(**OPTIONS)
def _blend_two(p, q, x, at, k, t, w, width, add, n):
    keep_apart()
    x0, x1 = at[k], at[k + 1]
    a0, a1, b0, b1 = t[w], t[w + 1], t[w + width], t[w + width + 1]
    if add:
        for m in range(n):
            u0, u1 = x[x0 + m], x[x1 + m]
            p[m] += a0 * u0 + a1 * u1
            q[m] += b0 * u0 + b1 * u1
    else:
        for m in range(n):
            u0, u1 = x[x0 + m], x[x1 + m]
            p[m] = a0 * u0 + a1 * u1
            q[m] = b0 * u0 + b1 * u1


@nb.njit(**OPTIONS)
def _blend_four(p, q, x, at, k, t, w, width, add, n):
    keep_apart()
    x0, x1, x2, x3 = at[k], at[k + 1], at[k + 2], at[k + 3]
    a0, a1, a2, a3 = t[w], t[w + 1], t[w + 2], t[w + 3]
    w += width
    b0, b1, b2, b3 = t[w], t[w + 1], t[w + 2], t[w + 3]
    if add:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            p[m] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
            q[m] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3
    else:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            p[m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
            q[m] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3


@nb.njit(**OPTIONS)
def _blend_eight(p, q, x, at, k, t, w, width, add, n):
    keep_apart()
    x0, x1, x2, x3, x4, x5, x6, x7 = at[k], at[k + 1], at[k + 2], at[k + 3], at[k + 4], at[k + 5], at[k + 6], at[k + 7]
    a0, a1, a2, a3, a4, a5, a6, a7 = t[w], t[w + 1], t[w + 2], t[w + 3], t[w + 4], t[w + 5], t[w + 6], t[w + 7]
    w += width
    b0, b1, b2, b3, b4, b5, b6, b7 = t[w], t[w + 1], t[w + 2], t[w + 3], t[w + 4], t[w + 5], t[w + 6], t[w + 7]
    if add:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            u4, u5, u6, u7 = x[x4 + m], x[x5 + m], x[x6 + m], x[x7 + m]
            p[m] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3 + a4 * u4 + a5 * u5 + a6 * u6 + a7 * u7
            q[m] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3 + b4 * u4 + b5 * u5 + b6 * u6 + b7 * u7
    else:
        for m in range(n):
            u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
            u4, u5, u6, u7 = x[x4 + m], x[x5 + m], x[x6 + m], x[x7 + m]
            p[m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3 + a4 * u4 + a5 * u5 + a6 * u6 + a7 * u7
            q[m] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3 + b4 * u4 + b5 * u5 + b6 * u6 + b7 * u7


@nb.njit(**OPTIONS)
def _weave_two(y, x, at, t, n):
    keep_apart()
    x0, x1 = at[0], at[1]
    a0, a1 = t[0], t[1]
    b0, b1 = t[2], t[3]
    for m in range(n & -PAIRS):
        u0, u1 = x[x0 + m], x[x1 + m]
        y[2 * m] = a0 * u0 + a1 * u1
        y[2 * m + 1] = b0 * u0 + b1 * u1


@nb.njit(**OPTIONS)
def _weave_four(y, x, at, t, n):
    keep_apart()
    x0, x1, x2, x3 = at[0], at[1], at[2], at[3]
    a0, a1, a2, a3 = t[0], t[1], t[2], t[3]
    b0, b1, b2, b3 = t[4], t[5], t[6], t[7]
    for m in range(n & -PAIRS):
        u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
        y[2 * m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3
        y[2 * m + 1] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3


@nb.njit(**OPTIONS)
def _weave_eight(y, x, at, t, n):
    keep_apart()
    x0, x1, x2, x3, x4, x5, x6, x7 = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]
    a0, a1, a2, a3, a4, a5, a6, a7 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]
    b0, b1, b2, b3, b4, b5, b6, b7 = t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15]
    for m in range(n & -PAIRS):
        u0, u1, u2, u3 = x[x0 + m], x[x1 + m], x[x2 + m], x[x3 + m]
        u4, u5, u6, u7 = x[x4 + m], x[x5 + m], x[x6 + m], x[x7 + m]
        y[2 * m] = a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3 + a4 * u4 + a5 * u5 + a6 * u6 + a7 * u7
        y[2 * m + 1] = b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3 + b4 * u4 + b5 * u5 + b6 * u6 + b7 * u7


@nb.njit(**OPTIONS)
def _weave_few(y, x, at, t, width, n):
    for m in range(n):
        even, odd = t[0] * x[at[0] + m], t[width] * x[at[0] + m]
        for k in range(1, width):
            even += t[k] * x[at[k] + m]
            odd += t[width + k] * x[at[k] + m]
        y[2 * m], y[2 * m + 1] = even, odd


@nb.njit(**OPTIONS)
def weave_sums(y, x, at, weights, width, n):
    """Write two weighted sums of `width` runs of numbers in turn, at the offsets `at` in `x`: two, four or eight."""
    if n < PAIRS:
        _weave_few(y, x, at, weights, width, n)
        return
    start, count = 0, n
    while count >= PAIRS:
        if width == 2:
            _weave_two(shift(y, 2 * start), shift(x, start), at, weights, count)
        elif width == 4:
            _weave_four(shift(y, 2 * start), shift(x, start), at, weights, count)
        else:
            _weave_eight(shift(y, 2 * start), shift(x, start), at, weights, count)
        # the rest together with the last of those that are done already
        count = PAIRS if start == 0 and n % PAIRS > 0 else 0
        start = n - PAIRS


@nb.njit(**OPTIONS)
def round_up(n):
    """Return the next multiple of what a vectorised loop takes at a time: the rest, done singly, would cost more."""
    return (n + 31) // 32 * 32


@nb.njit(**OPTIONS)
def room_for(n):
    """Return the room for `n` members that loops of rounded length stay within, whole cache lines."""
    return round_up(n) + MARGIN


@nb.njit(**OPTIONS)
def misalignment(array):
    """Return how many numbers lie before the first whole cache line: loads across two lines cost twice."""
    return -array.ctypes.data % 64 // array.itemsize


def lift(x, weights, w, t, a, b, taps, n):
    """Add one or two weighted runs of numbers to another, all at offsets in `x`, rounding if they are integers."""


@overload(lift)
def _overload_lift(x, weights, w, t, a, b, taps, n):
    if isinstance(x.dtype, nb.types.Integer):

        def lift_integers(x, weights, w, t, a, b, taps, n):
            ca, cb, offset, bits, sign = weights[w], weights[w + 1], weights[w + 2], weights[w + 3], weights[w + 4]
            _lift_rounded(shift(x, t), shift(x, a), shift(x, b), ca, cb, offset, bits, sign, n)

        return lift_integers

    def lift_numbers(x, weights, w, t, a, b, taps, n):
        if taps == 1:
            _lift_one(shift(x, t), shift(x, a), weights[w], n)
        else:
            _lift_two(shift(x, t), shift(x, a), shift(x, b), weights[w], weights[w + 1], n)

    return lift_numbers


@nb.njit(**OPTIONS)
def blend(p, q, x, at, weights, w, width, n):
    """Write two weighted sums of `width` runs of numbers, at the offsets `at` in `x`; `width` is even."""
    k = 0
    while width - k >= 8:
        _blend_eight(p, q, x, at, k, weights, w + k, width, k > 0, n)
        k += 8
    if width - k >= 4:
        _blend_four(p, q, x, at, k, weights, w + k, width, k > 0, n)
        k += 4
    if width - k >= 2:
        _blend_two(p, q, x, at, k, weights, w + k, width, k > 0, n)
