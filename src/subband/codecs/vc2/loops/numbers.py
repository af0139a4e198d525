"""Arithmetic in the kind of numbers that is given: Numba would widen it, and vectors of wide numbers are slow."""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

__all__ = [
    "count_code_bits",
    "count_leading_zeros",
    "load_word",
    "prefetch",
    "quantise",
    "restore",
    "store_bits",
]


def _quantise(context, builder, value, kind, inverse):
    """Emit the quantiser: the number of steps with its sign, rounded towards zero."""
    word, real = context.get_value_type(nb.types.int32), context.get_value_type(nb.types.float32)
    narrow = context.cast(builder, value, kind, nb.types.int32)
    return builder.fptosi(builder.fmul(builder.sitofp(narrow, real), inverse), word)


@intrinsic
def quantise(typingctx, value, inverse):
    """Return a coefficient in quantiser steps, rounded towards zero; its magnitude is less than 2²⁴."""

    def codegen(context, builder, signature, args):
        return _quantise(context, builder, args[0], signature.args[0], args[1])

    return nb.types.int32(value, nb.types.float32), codegen


@intrinsic
def count_code_bits(typingctx, total, value, inverse):
    """Return `total` and the bits of the code of a quantised coefficient, less one; rarely a few more."""

    def codegen(context, builder, signature, args):
        word, real = context.get_value_type(nb.types.int32), context.get_value_type(nb.types.float32)
        value = context.cast(builder, args[1], signature.args[1], nb.types.int32)
        is_negative = builder.icmp_signed("<", value, word(0))
        size = builder.select(is_negative, builder.neg(value), value)
        steps = builder.fmul(builder.sitofp(size, real), args[2])
        # the exponent of a float is the whole part of the logarithm; what is cut off in quantising never changes it
        number = builder.bitcast(builder.fadd(steps, real(1.0)), word)
        digits = builder.sub(builder.lshr(number, word(23)), word(127))
        sign = builder.select(builder.icmp_signed(">", digits, word(0)), word(1), word(0))
        return builder.add(args[0], builder.add(builder.shl(digits, word(1)), sign))

    return nb.types.int32(nb.types.int32, value, nb.types.float32), codegen


@intrinsic
def count_leading_zeros(typingctx, value):
    """Return how many bits are zero above the first one that is not; all of them if none is."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.IntType(1)(0))

    return nb.types.uint64(nb.types.uint64), codegen


@intrinsic
def load_word(typingctx, address):
    """Return the eight bytes at an address, the first one highest."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        return builder.bswap(builder.load(_point_to(builder, args[0], word), align=1, typ=word))

    return nb.types.uint64(address), codegen


@intrinsic
def store_bits(typingctx, address, window, count):
    """Write the lowest `count` bits of a word, 1 to 64, to the bytes at an address, and zeros behind: eight bytes."""

    def codegen(context, builder, signature, args):
        word = ir.IntType(64)
        count = builder.sub(word(64), args[2])
        value = builder.bswap(builder.shl(args[1], count))
        builder.store(value, _point_to(builder, args[0], word), align=1)
        return context.get_dummy_value()

    return nb.types.none(address, nb.types.uint64, nb.types.int64), codegen


@intrinsic
def prefetch(typingctx, address):
    """Ask for the line of the cache at an address, which is written or read soon."""

    def codegen(context, builder, signature, args):
        byte, word = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        # for writing, to be kept, as data
        builder.call(function, [builder.bitcast(args[0], byte), word(1), word(3), word(1)])
        return context.get_dummy_value()

    return nb.types.none(address), codegen


def _point_to(builder, address, kind):
    """Emit an address of bytes as one of another kind."""
    return builder.bitcast(address, ir.PointerType(kind))


@intrinsic
def restore(typingctx, steps, factor, offset):
    """Return the coefficient that a decoder makes of quantiser steps: the middle of its interval; zero stays zero."""

    def codegen(context, builder, signature, args):
        kind = signature.return_type
        steps, factor, offset = (
            context.cast(builder, arg, own, kind) for arg, own in zip(args, signature.args, strict=True)
        )
        zero, two = context.get_constant(kind, 0), context.get_constant(kind, 2)
        is_negative = builder.icmp_signed("<", steps, zero)
        size = builder.select(is_negative, builder.neg(steps), steps)
        middle = builder.ashr(builder.add(builder.add(builder.mul(size, factor), offset), two), two)
        size = builder.select(builder.icmp_signed("==", steps, zero), zero, middle)
        return builder.select(is_negative, builder.neg(size), size)

    return steps(steps, factor, offset), codegen
