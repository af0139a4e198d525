"""Arithmetic in the kind of numbers that is given: Numba would widen it, and vectors of wide numbers are slow."""

from __future__ import annotations

from numba.extending import intrinsic

__all__ = ["add_product", "halve", "lower", "raise_clipped"]


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


@intrinsic
def lower(typingctx, like, value, middle, bits):
    """Return ``(value - middle) << bits`` in the kind of numbers of `like`."""

    def codegen(context, builder, signature, args):
        kinds = zip(args[1:], signature.args[1:], strict=True)
        value, middle, bits = (context.cast(builder, arg, kind, signature.return_type) for arg, kind in kinds)
        return builder.shl(builder.sub(value, middle), bits)

    return like(like, value, middle, bits), codegen


@intrinsic
def raise_clipped(typingctx, value, bits, low, high, middle):
    """Undo `lower`: divide by a power of two, rounded to the nearest, clip, and add `middle`."""

    def codegen(context, builder, signature, args):
        kind = signature.return_type
        kinds = zip(args, signature.args, strict=True)
        value, bits, low, high, middle = (context.cast(builder, arg, own, kind) for arg, own in kinds)
        one = context.get_constant(kind, 1)
        value = builder.ashr(builder.add(value, builder.lshr(builder.shl(one, bits), one)), bits)
        value = builder.select(builder.icmp_signed("<", value, low), low, value)
        value = builder.select(builder.icmp_signed(">", value, high), high, value)
        return builder.add(value, middle)

    return value(value, bits, low, high, middle), codegen
