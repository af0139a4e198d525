"""The compiled loops that look at each pixel or coefficient by itself: colour, thresholds and gains.

The sweeps call them for rows that lie in the cache anyway, by their addresses, which stand in the table of a frame: so
that a sweep is not compiled with loops that it may never need, nor once for each kind of pixels.
`subband.engines.filters` calls them for whole planes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from subband.engines.compiling import stored_pointer
from subband.engines.cpu.loops import OPTIONS, keep_apart, shift
from subband.engines.cpu.program import ADDRESS, BYTES, PIXELS, WIDTH
from subband.typing import Array

__all__ = ["find_pixel_loop", "find_shrink_loop", "pass_pixels", "shrink_row", "tabulate_thresholds"]


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


def _split_one(planes, pitch, pixels, t, n):
    keep_apart()
    for k in range(n):
        planes[k] = pixels[k]


def _split_three(planes, pitch, pixels, t, n):
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


def _join_one(planes, pitch, pixels, t, n):
    keep_apart()
    top = _largest(pixels)
    for k in range(n):
        pixels[k] = _round(planes[k], top)


def _join_three(planes, pitch, pixels, t, n):
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


def _shrink_softly(x, values, n):
    low, gain = values[0], values[3]
    for k in range(n):
        x[k] = gain * _take_off(x[k], low)


def _keep_large(x, values, n):
    low, gain, zero = values[0], values[3], _zero(x)
    for k in range(n):
        value = x[k]
        x[k] = value * (zero if abs(value) < low else gain)


def _shrink_by_garrote(x, values, n):
    low, gain, zero = values[0], values[3], _zero(x)
    for k in range(n):
        value, magnitude = x[k], abs(x[k])
        ratio = low / magnitude
        x[k] = value * (gain - gain * ratio * ratio if magnitude > low else zero)


def _shrink_firmly(x, values, n):
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


# --- Their addresses, and the numbers that they are given. ---

_PIXEL_LOOPS = {("split", 1): _split_one, ("split", 3): _split_three, ("join", 1): _join_one, ("join", 3): _join_three}
_SHRINK_LOOPS = {
    "soft": _shrink_softly,
    "hard": _keep_large,
    "garrote": _shrink_by_garrote,
    "firm": _shrink_firmly,
}

#: What addresses have been given of, and must not go.
_compiled: list[Any] = []


@cache
def find_pixel_loop(task: str, channels: int, storage: str) -> int:
    """Return the address of the loop that splits pixels into planes, or joins planes, compiling it if need be."""
    pixel, number = nb.types.CPointer(getattr(nb.types, storage)), nb.types.CPointer(nb.types.float32)
    signature = nb.types.void(number, nb.types.int64, pixel, number, nb.types.int64)
    return _compile(_PIXEL_LOOPS[task, channels], signature)


@cache
def find_shrink_loop(mode: str, dtype: str) -> int:
    """Return the address of the loop that shrinks coefficients, compiling it if need be."""
    number = nb.types.CPointer(getattr(nb.types, dtype))
    return _compile(_SHRINK_LOOPS[mode], nb.types.void(number, number, nb.types.int64))


def _compile(function: Any, signature: Any) -> int:
    compiled = stored_pointer(signature, **OPTIONS)(function)
    _compiled.append(compiled)
    return int(compiled.address)


def tabulate_thresholds(low: Array, high: Array, gain: Array) -> Array:
    """Return what a loop over coefficients takes as values: both thresholds, steepness and gain, along a new last axis.

    Examples
    --------
    >>> tabulate_thresholds(np.array(1.0), np.array(3.0), np.array(2.0)).tolist()
    [1.0, 3.0, 1.5, 2.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steepness = np.where(np.isinf(high), 1, high / (high - low))
    # where both thresholds are the same, nothing lies between them
    steepness = np.where(high == low, 0, steepness)
    return np.stack([low, high, steepness, gain], axis=-1)
