"""Samples of three components that lie pixel by pixel, taken apart and put together sixteen at a time.

A compiler does either one number at a time, which takes longer than all the arithmetic of colours.
"""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.compiled.compiling import stored
from subband.engines.cpu.loops import data

__all__ = ["are_woven", "unweave_row", "weave_row"]

#: Pixels at a time: as many bytes as any processor shuffles in one instruction.
_PIXELS = 16

_INDEX = ir.IntType(32)


@stored(nogil=True, error_model="numpy")
def are_woven(first, second, third):
    """Tell whether three arrays are those of the components of pixels that lie one behind the other."""
    size = first.itemsize
    start = first.ctypes.data
    is_near = second.ctypes.data == start + size and third.ctypes.data == start + 2 * size
    pitch, step = first.strides[0], first.strides[1]
    is_alike = second.strides[0] == pitch and third.strides[0] == pitch
    is_alike = is_alike and second.strides[1] == step and third.strides[1] == step
    return is_near and is_alike and step == 3 * size


def _shuffle(builder, first, second, lanes):
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INDEX, len(lanes)), list(lanes)))


def _point(builder, pointer, index, count):
    """Return the address of a vector of so many numbers."""
    kind = ir.VectorType(pointer.type.pointee, count)
    return builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer())


@intrinsic
def _unweave(typingctx, pixels, at, first, second, third, k):
    """Take pixels from the index `at` on apart."""

    def codegen(context, builder, signature, args):
        pixels, at, *goals, k = args
        whole = builder.load(_point(builder, pixels, at, 3 * _PIXELS), align=1)
        nothing = ir.Constant(whole.type, ir.Undefined)
        for number, goal in enumerate(goals):
            lanes = range(number, 3 * _PIXELS, 3)
            builder.store(_shuffle(builder, whole, nothing, lanes), _point(builder, goal, k, _PIXELS), align=1)
        return context.get_dummy_value()

    count = nb.types.int64
    return nb.types.void(pixels, count, first, second, third, count), codegen


@intrinsic
def _weave(typingctx, pixels, at, first, second, third, k):
    """Put pixels together from the index `at` on."""

    def codegen(context, builder, signature, args):
        pixels, at, *sources, k = args
        one, two, three = (builder.load(_point(builder, each, k, _PIXELS), align=1) for each in sources)
        pair = _shuffle(builder, one, two, range(2 * _PIXELS))
        rest = _shuffle(builder, three, three, range(2 * _PIXELS))
        lanes = [number // 3 + _PIXELS * (number % 3) for number in range(3 * _PIXELS)]
        builder.store(_shuffle(builder, pair, rest, lanes), _point(builder, pixels, at, 3 * _PIXELS), align=1)
        return context.get_dummy_value()

    count = nb.types.int64
    return nb.types.void(pixels, count, first, second, third, count), codegen


@nb.njit(**OPTIONS)
def unweave_row(red, green, blue, y, is_woven, lines):
    """Write a row of three components to the lines, from pixels if they are woven."""
    width = red.shape[1]
    done = 0
    if is_woven:
        pixels, first, second, third = data(red[y]), data(lines[0]), data(lines[1]), data(lines[2])
        done = width // _PIXELS * _PIXELS
        for x in range(0, done, _PIXELS):
            _unweave(pixels, 3 * x, first, second, third, x)
    for x in range(done, width):
        lines[0, x], lines[1, x], lines[2, x] = red[y, x], green[y, x], blue[y, x]


@nb.njit(**OPTIONS)
def weave_row(lines, out, y, is_woven):
    """Write the lines as a row of pixels, which lie one behind the other if they are woven."""
    width = out.shape[1]
    done = 0
    if is_woven:
        pixels, first, second, third = data(out[y]), data(lines[0]), data(lines[1]), data(lines[2])
        done = width // _PIXELS * _PIXELS
        for x in range(0, done, _PIXELS):
            _weave(pixels, 3 * x, first, second, third, x)
    for x in range(done, width):
        out[y, x, 0], out[y, x, 1], out[y, x, 2] = lines[0, x], lines[1, x], lines[2, x]
