"""Compiled loops over single pixels or coefficients: colour conversion, thresholds and gains.

The sweeps call them for rows that lie in the cache anyway, by their addresses, which stand in the table of a frame: so
that a sweep is not compiled with loops that it may never need, nor once for each kind of pixels.
`subband.engines.filters` calls them for whole planes.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from subband.compiled.compiling import pointed
from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.cpu.program import ADDRESS, BYTES, PIXELS, WIDTH

__all__ = [
    "join_one",
    "join_three",
    "keep_large",
    "pass_pixels",
    "shrink_by_garrote",
    "shrink_firmly",
    "shrink_row",
    "shrink_softly",
    "split_one",
    "split_three",
]


@intrinsic
def _call_pixels(typingctx, loop, planes, pitch, pixels, weights, n):
    """Call a loop over pixels by its address; that of the pixels is a number too, for it may be of any kind."""

    def codegen(context, builder, signature, args):
        loop, planes, pitch, pixels, weights, n = args
        pointer = builder.inttoptr(pixels, ir.IntType(8).as_pointer())
        return _call(builder, loop, [planes, pitch, pointer, weights, n], context)

    return nb.types.none(loop, planes, pitch, pixels, weights, n), codegen


@intrinsic
def _call_shrink(typingctx, loop, x, values, n):
    """Call a loop over coefficients by its address."""

    def codegen(context, builder, signature, args):
        return _call(builder, args[0], args[1:], context)

    return nb.types.none(loop, x, values, n), codegen


def _call(builder, address, args, context):
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in args])
    builder.call(builder.inttoptr(address, kind.as_pointer()), args)
    return context.get_dummy_value()


@nb.njit(**OPTIONS)
def pass_pixels(planes, pitch, f, weights, line, column, n):
    """Read or write `n` pixels of a frame, from a line and column on, and their planes, `pitch` numbers apart."""
    pixels = f[ADDRESS] + (line * f[WIDTH] + column) * f[BYTES]
    _call_pixels(f[PIXELS], planes, pitch, pixels, weights, n)


@nb.njit(**OPTIONS)
def shrink_row(loop, x, values, n):
    """Shrink `n` coefficients by the values of their band, unless these change nothing."""
    if values[0] != 0 or values[3] != 1:
        _call_shrink(loop, x, values, n)


# --- The loops over pixels: planes, how far they lie apart, pixels, a matrix, and a count. ---


@pointed(**OPTIONS)
def split_one(planes, pitch, pixels, t, n):
    """Write the pixels of one channel as a plane."""
    keep_apart()
    for k in range(n):
        planes[k] = pixels[k]


@pointed(**OPTIONS)
def split_three(planes, pitch, pixels, t, n):
    """Write pixels of three channels as planes, their colours changed."""
    _split_rows(planes, shift(planes, pitch), shift(planes, 2 * pitch), pixels, t, n)


@nb.njit(**OPTIONS)
def _split_rows(p, q, r, x, t, n):
    keep_apart()
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    for k in range(n):
        u, v, w = np.float32(x[3 * k]), np.float32(x[3 * k + 1]), np.float32(x[3 * k + 2])
        p[k] = a0 * u + a1 * v + a2 * w
        q[k] = b0 * u + b1 * v + b2 * w
        r[k] = c0 * u + c1 * v + c2 * w


@pointed(**OPTIONS)
def join_one(planes, pitch, pixels, t, n):
    """Write a plane as pixels of one channel, rounded and clipped."""
    keep_apart()
    top = _largest(pixels)
    for k in range(n):
        pixels[k] = _round(planes[k], top)


@pointed(**OPTIONS)
def join_three(planes, pitch, pixels, t, n):
    """Write three planes as pixels, their colours changed back."""
    _join_rows(planes, shift(planes, pitch), shift(planes, 2 * pitch), pixels, t, n)


@nb.njit(**OPTIONS)
def _join_rows(p, q, r, x, t, n):
    keep_apart()
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    top = _largest(x)
    for k in range(n):
        u, v, w = p[k], q[k], r[k]
        x[3 * k] = _round(a0 * u + a1 * v + a2 * w, top)
        x[3 * k + 1] = _round(b0 * u + b1 * v + b2 * w, top)
        x[3 * k + 2] = _round(c0 * u + c1 * v + c2 * w, top)


@nb.njit(**OPTIONS)
def _round(value, top):
    """Return the nearest whole number between 0 and `top`; by way of int32, which a vector unit converts to."""
    return np.int32(min(max(value, np.float32(0)), top) + np.float32(0.5))


@intrinsic
def _largest(typingctx, pixels):
    """Return the largest sample that pixels can hold."""

    def codegen(context, builder, signature, args):
        return context.get_constant(signature.return_type, signature.args[0].dtype.maxval)

    return nb.types.float32(pixels), codegen


# --- The loops over coefficients: these, both thresholds, steepness and gain, and a count. ---


@pointed(**OPTIONS)
def shrink_softly(x, values, n):
    """Shrink coefficients by a threshold, then multiply."""
    low, gain = values[0], values[3]
    for k in range(n):
        x[k] = gain * _take_off(x[k], low)


@pointed(**OPTIONS)
def keep_large(x, values, n):
    """Keep coefficients above a threshold, then multiply."""
    low, gain, zero = values[0], values[3], _zero(x)
    for k in range(n):
        value = x[k]
        x[k] = value * (zero if abs(value) < low else gain)


@pointed(**OPTIONS)
def shrink_by_garrote(x, values, n):
    """Shrink coefficients by the garrote, then multiply."""
    low, gain, zero = values[0], values[3], _zero(x)
    for k in range(n):
        value, magnitude = x[k], abs(x[k])
        ratio = low / magnitude
        x[k] = value * (gain - gain * ratio * ratio if magnitude > low else zero)


@pointed(**OPTIONS)
def shrink_firmly(x, values, n):
    """Shrink coefficients between two thresholds, then multiply."""
    low, high, steepness, gain = values[0], values[1], values[2], values[3]
    for k in range(n):
        value = x[k]
        x[k] = gain * (value if abs(value) > high else steepness * _take_off(value, low))


@nb.njit(**OPTIONS)
def _take_off(value, low):
    """Return a number whose magnitude is smaller by `low`, or zero."""
    return value - min(max(value, -low), low)


@intrinsic
def _zero(typingctx, x):
    """Return zero of the kind of numbers at an address; a literal would turn single precision into double."""

    def codegen(context, builder, signature, args):
        return context.get_constant(signature.return_type, 0)

    return x.dtype(x), codegen
