"""Arithmetic in the kind of numbers that is given: Numba would widen it, and vectors of wide numbers are slow."""

from __future__ import annotations

import numba as nb
from numba.extending import intrinsic

__all__ = ["add_product", "count_code_bits", "halve", "quantise", "restore"]


@intrinsic
def add_product(typingctx, total, weight, value):
    """Return ``total + weight * value`` in the kind of numbers of the value."""

    def codegen(context, builder, signature, args):
        kinds = zip(args, signature.args, strict=True)
        total, weight, value = (context.cast(builder, arg, kind, signature.return_type) for arg, kind in kinds)
        return builder.add(total, builder.mul(weight, value))

    return value(total, weight, value), codegen


@intrinsic
def halve(typingctx, value, bits):
    """Return a number divided by a power of two, rounded down."""

    def codegen(context, builder, signature, args):
        count = context.cast(builder, args[1], signature.args[1], signature.return_type)
        return builder.ashr(args[0], count)

    return value(value, bits), codegen


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
    """Return `total` and the bits of the code of a quantised coefficient, less one."""

    def codegen(context, builder, signature, args):
        word, real = context.get_value_type(nb.types.int32), context.get_value_type(nb.types.float32)
        steps = _quantise(context, builder, args[1], signature.args[1], args[2])
        is_negative = builder.icmp_signed("<", steps, word(0))
        size = builder.select(is_negative, builder.neg(steps), steps)
        # the exponent of a float is the whole part of the logarithm
        number = builder.bitcast(builder.sitofp(builder.add(size, word(1)), real), word)
        digits = builder.sub(builder.lshr(number, word(23)), word(127))
        sign = builder.zext(builder.icmp_signed("!=", steps, word(0)), word)
        bits = builder.add(builder.shl(digits, word(1)), sign)
        return builder.add(args[0], bits)

    return nb.types.int32(nb.types.int32, value, nb.types.float32), codegen


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
