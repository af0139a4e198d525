"""Eight bytes at once, at any address, and how many bits a number has."""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

from subband.codecs.jpeg2000.blocks.loops.bits import CHECKS, OPTIONS

__all__ = ["count_bits", "keep_bits", "load_word", "reverse_bytes", "store_word"]

if CHECKS:

    @nb.njit(**OPTIONS)
    def load_word(array, at):
        """Return the eight bytes from an index on, the first one lowest; each index is checked."""
        word = nb.int64(0)
        for k in range(8):
            word |= nb.int64(array[at + k]) << (8 * k)
        return word

    @nb.njit(**OPTIONS)
    def store_word(array, at, word):
        """Write a number as eight bytes, the lowest one first; each index is checked."""
        for k in range(8):
            array[at + k] = (word >> (8 * k)) & 255

else:

    @intrinsic
    def load_word(typingctx, pointer, at):
        """Return the eight bytes from an index on, the first one lowest."""

        def codegen(context, builder, signature, args):
            pointed = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(64).as_pointer())
            return builder.load(pointed, align=1)

        return nb.types.int64(pointer, nb.types.int64), codegen

    @intrinsic
    def store_word(typingctx, pointer, at, word):
        """Write a number as eight bytes, the lowest one first."""

        def codegen(context, builder, signature, args):
            pointed = builder.bitcast(builder.gep(args[0], [args[1]]), ir.IntType(64).as_pointer())
            builder.store(args[2], pointed, align=1)
            return context.get_dummy_value()

        return nb.types.void(pointer, nb.types.int64, nb.types.int64), codegen


@intrinsic
def reverse_bytes(typingctx, word):
    """Return eight bytes in the opposite order."""

    def codegen(context, builder, signature, args):
        return builder.bswap(args[0])

    return nb.types.int64(nb.types.int64), codegen


@intrinsic
def count_bits(typingctx, number):
    """Return how many bits a number has, none for zero; 31 or 32 for one below zero.

    Few processors count them in vectors, but all of them make vectors of floating-point numbers, whose exponent it is.
    """

    def codegen(context, builder, signature, args):
        (number,) = args
        # without the second highest bit nothing is rounded up to the next power of two
        lower = builder.not_(builder.lshr(number, ir.Constant(number.type, 1)))
        real = builder.bitcast(builder.sitofp(builder.and_(number, lower), ir.FloatType()), number.type)
        biased = builder.and_(builder.lshr(real, ir.Constant(number.type, 23)), ir.Constant(number.type, 0xFF))
        count = builder.sub(biased, ir.Constant(number.type, 126))
        zero = ir.Constant(number.type, 0)
        return builder.select(builder.icmp_signed(">", count, zero), count, zero)

    return nb.types.int32(nb.types.int32), codegen


@intrinsic
def keep_bits(typingctx, number, count):
    """Return the lowest bits of 32, up to 31 of them."""

    def codegen(context, builder, signature, args):
        number, count = args
        ones = builder.sub(builder.shl(ir.Constant(number.type, 1), count), ir.Constant(number.type, 1))
        return builder.and_(number, ones)

    return nb.types.int32(nb.types.int32, nb.types.int32), codegen
