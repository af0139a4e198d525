"""Samples of two quads of a high-throughput block at once, as vectors of eight.

A processor shifts each number of a vector by its own count, but no compiler finds that in a loop over samples of
different lengths. The eight samples are ordered as they lie in their rows: the upper ones of both quads, then the lower
ones.
"""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

from subband.codecs.jpeg2000.blocks.loops.bits import CHECKS, OPTIONS

__all__ = ["unpack_pair", "unpack_whole_pair"]

#: Which bit of a quad's fields is that of each of the eight samples.
_BITS = (0, 2, 0, 2, 1, 3, 1, 3)

_NUMBER = ir.IntType(32)
_EIGHT, _FOUR, _TWO = (ir.VectorType(_NUMBER, count) for count in (8, 4, 2))
_FOUR_LONG = ir.VectorType(ir.IntType(64), 4)


def _fill(values, kind=_EIGHT):
    """Return a vector of these numbers."""
    return ir.Constant(kind, list(values))


def _pick(builder, vector, lanes, other=None):
    """Return some numbers of a vector, or of two."""
    other = ir.Constant(vector.type, None) if other is None else other
    return builder.shuffle_vector(vector, other, ir.Constant(ir.VectorType(_NUMBER, len(lanes)), list(lanes)))


def _point(builder, pointer, index, kind):
    """Return the address of a vector."""
    return builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer())


def _spread(builder, two):
    """Return a vector of what belongs to two quads."""
    return _pick(builder, two, (0, 0, 1, 1, 0, 0, 1, 1))


def _join(builder, first, second):
    """Return two integers as those of two quads."""
    vector = ir.Constant(_TWO, None)
    for lane, number in enumerate((first, second)):
        vector = builder.insert_element(vector, builder.trunc(number, _NUMBER), ir.Constant(_NUMBER, lane))
    return _spread(builder, vector)


def _take_bits(builder, vector, shifts):
    """Return one bit of each number."""
    return builder.and_(builder.lshr(vector, _fill(shifts)), _fill([1] * 8))


if CHECKS:

    @nb.njit(**OPTIONS)
    def unpack_pair(quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at):
        """Write the samples of two quads, and what the lower ones predict; each index is checked."""
        _unpack(quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at, -1)

    @nb.njit(**OPTIONS)
    def unpack_whole_pair(
        quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at, plane
    ):
        """Write the samples of two quads as integers; each index is checked."""
        _unpack(quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at, plane)

    @nb.njit(**OPTIONS)
    def _unpack(quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at, plane):
        for number in range(2):
            quad, exponent = nb.int64(quads[k + number]), nb.int64(exponents[column + number])
            words = (word_0, word_1) if number == 0 else (word_2, word_3)
            predicted = nb.int64(0)
            for side in range(2):
                word = words[side]
                for row in range(2):
                    bit = 2 * side + row
                    is_there = quad >> (4 + bit) & 1
                    count = (exponent & -is_there) - (quad >> (12 + bit) & 1)
                    value = word & ((1 << count) - 1) | (quad >> (8 + bit) & 1) << count
                    word >>= count
                    sample = (((value | 1) + 2) | value << 31) & -is_there
                    if plane >= 0:
                        sample = ((((value | 1) + 2) & -is_there) << plane) >> 1
                        sample = -sample if value & 1 else sample
                    samples[(lower if row else upper) + 2 * number + side] = nb.int32(sample & 0xFFFFFFFF)
                    if row:
                        predicted |= ((value | 1) & -is_there) << (32 * side)
            tops[at + number] = predicted

else:

    @intrinsic
    def unpack_pair(
        typingctx, quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at
    ):
        """Write the samples of two quads, and what the lower ones predict.

        The first and third word begin with the left samples of a quad, the others with the right ones.
        """

        def codegen(context, builder, signature, args):
            quads, k, exponents, column, *words, samples, upper, lower, tops, at = args
            value, odd, doubled = _unpack(builder, quads, k, exponents, column, words)
            result = builder.or_(doubled, builder.shl(value, _fill([31] * 8)))
            _store_rows(builder, result, samples, upper, lower)
            builder.store(_pick(builder, odd, range(4, 8)), _point(builder, tops, at, _FOUR), align=8)
            return context.get_dummy_value()

        number = nb.types.int64
        kinds = (quads, number, exponents, number, *[number] * 4, samples, number, number, tops, number)
        return nb.types.void(*kinds), codegen

    @intrinsic
    def unpack_whole_pair(
        typingctx, quads, k, exponents, column, word_0, word_1, word_2, word_3, samples, upper, lower, tops, at, plane
    ):
        """Write the samples of two quads as integers in units of plane 0, and what the lower ones predict."""

        def codegen(context, builder, signature, args):
            quads, k, exponents, column, *words, samples, upper, lower, tops, at, plane = args
            value, odd, doubled = _unpack(builder, quads, k, exponents, column, words)
            ones = _fill([1] * 8)
            magnitude = builder.lshr(builder.shl(doubled, _join(builder, plane, plane)), ones)
            sign = builder.sub(_fill([0] * 8), builder.and_(value, ones))
            _store_rows(builder, builder.sub(builder.xor(magnitude, sign), sign), samples, upper, lower)
            builder.store(_pick(builder, odd, range(4, 8)), _point(builder, tops, at, _FOUR), align=8)
            return context.get_dummy_value()

        number = nb.types.int64
        kinds = (quads, number, exponents, number, *[number] * 4, samples, number, number, tops, number, number)
        return nb.types.void(*kinds), codegen

    def _unpack(builder, quads, k, exponents, column, words):
        """Return the bits of the samples of two quads, twice their magnitudes less one, and that with its middle."""
        quad, exponent = (
            _spread(builder, builder.load(_point(builder, pointer, index, _TWO), align=4))
            for pointer, index in ((quads, k), (exponents, column))
        )
        mask = builder.sub(_fill([0] * 8), _take_bits(builder, quad, [4 + bit for bit in _BITS]))
        known = _take_bits(builder, quad, [12 + bit for bit in _BITS])
        count = builder.sub(builder.and_(exponent, mask), known)
        vector = ir.Constant(_FOUR_LONG, None)
        for lane, word in enumerate(words):
            vector = builder.insert_element(vector, word, ir.Constant(_NUMBER, lane))
        # a lower sample lies behind the upper one
        skipped = _pick(builder, count, (8, 8, 8, 8, 0, 1, 2, 3), _fill([0] * 8))
        longs = _pick(builder, vector, (0, 1, 2, 3, 0, 1, 2, 3))
        bits = builder.trunc(builder.lshr(longs, builder.zext(skipped, longs.type)), _EIGHT)
        ones = _fill([1] * 8)
        highest = builder.shl(_take_bits(builder, quad, [8 + bit for bit in _BITS]), count)
        value = builder.or_(builder.and_(bits, builder.sub(builder.shl(ones, count), ones)), highest)
        odd = builder.and_(builder.or_(value, ones), mask)
        return value, odd, builder.add(odd, builder.and_(mask, _fill([2] * 8)))

    def _store_rows(builder, result, samples, upper, lower):
        builder.store(_pick(builder, result, range(4)), _point(builder, samples, upper, _FOUR), align=4)
        builder.store(_pick(builder, result, range(4, 8)), _point(builder, samples, lower, _FOUR), align=4)
