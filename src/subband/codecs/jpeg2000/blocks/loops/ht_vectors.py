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

__all__ = ["find_highest", "measure_pair", "pack_pair", "unpack_pair", "unpack_whole_pair"]

#: Which bit of a quad's fields is that of each of the eight samples, and which sample that of each bit of two quads.
_BITS = (0, 2, 0, 2, 1, 3, 1, 3)
_SAMPLES = (0, 4, 1, 5, 2, 6, 3, 7)

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


def _load_magnitudes(builder, values, upper, lower):
    """Return eight samples, their magnitudes, and which are significant, as ones."""
    rows = [builder.load(_point(builder, values, index, _FOUR), align=4) for index in (upper, lower)]
    samples = _pick(builder, rows[0], range(8), rows[1])
    magnitudes = builder.and_(samples, _fill([0x7FFFFFFF] * 8))
    return samples, magnitudes, builder.zext(builder.icmp_unsigned("!=", magnitudes, _fill([0] * 8)), _EIGHT)


def _gather_bits(builder, ones):
    """Return numbers that are 0 or 1 as the bits of two quads."""
    flags = builder.trunc(_pick(builder, ones, _SAMPLES), ir.VectorType(ir.IntType(1), 8))
    return builder.zext(builder.bitcast(flags, ir.IntType(8)), ir.IntType(64))


if CHECKS:

    @nb.njit(**OPTIONS)
    def _load_ones(values, upper, lower, bit):
        """Return a sample of two quads, and twice its magnitude less one."""
        at = (lower if bit & 1 else upper) + 2 * (bit >> 2) + (bit >> 1 & 1)
        sample = nb.int64(values[at])
        return sample, max(2 * (sample & 0x7FFFFFFF) - 1, 0)

    @nb.njit(**OPTIONS)
    def measure_pair(values, upper, lower, tops, at, every, column):
        """Return which samples of two quads are significant; each index is checked."""
        found = nb.int64(0)
        for number in range(2):
            tops[at + number], every[column + number] = 0, 0
        for bit in range(8):
            _, ones = _load_ones(values, upper, lower, bit)
            found |= nb.int64(ones > 0) << bit
            side = ones << (32 * (bit >> 1 & 1))
            every[column + (bit >> 2)] |= side
            if bit & 1:
                tops[at + (bit >> 2)] |= side
        return found

    @nb.njit(**OPTIONS)
    def find_highest(values, upper, lower, first, second):
        """Return a bit of each sample of two quads; each index is checked."""
        found = nb.int64(0)
        for bit in range(8):
            _, ones = _load_ones(values, upper, lower, bit)
            found |= (ones >> (second if bit >> 2 else first) & 1) << bit
        return found

    @nb.njit(**OPTIONS)
    def pack_pair(values, upper, lower, first, second, known, numbers, lengths):
        """Write the bits of the samples of two quads; each index is checked."""
        for bit in range(8):
            sample, ones = _load_ones(values, upper, lower, bit)
            count = ((second if bit >> 2 else first) if ones else 0) - (known >> bit & 1)
            number = (max(ones - 1, 0) | sample >> 31) & ((1 << count) - 1)
            half = bit >> 1
            if bit & 1:
                numbers[half] |= number << lengths[half]
                lengths[half] += count
            else:
                numbers[half], lengths[half] = number, count

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
    def measure_pair(typingctx, values, upper, lower, tops, at, every, column):
        """Return which samples of two quads are significant, as eight bits.

        Writes twice the magnitudes less one: of the lower samples, as two halves of a number for each quad, and what
        any sample on the left and on the right has.
        """

        def codegen(context, builder, signature, args):
            values, upper, lower, tops, at, every, column = args
            _, magnitudes, there = _load_magnitudes(builder, values, upper, lower)
            ones = builder.sub(builder.shl(magnitudes, _fill([1] * 8)), there)
            below = _pick(builder, ones, range(4, 8))
            builder.store(below, _point(builder, tops, at, _FOUR), align=8)
            either = builder.or_(below, _pick(builder, ones, range(4)))
            builder.store(either, _point(builder, every, column, _FOUR), align=8)
            return _gather_bits(builder, there)

        number = nb.types.int64
        return number(values, number, number, tops, number, every, number), codegen

    @intrinsic
    def find_highest(typingctx, values, upper, lower, first, second):
        """Return a bit of twice the magnitude less one of each sample of two quads: which one, of either quad."""

        def codegen(context, builder, signature, args):
            values, upper, lower, first, second = args
            _, magnitudes, there = _load_magnitudes(builder, values, upper, lower)
            ones = builder.sub(builder.shl(magnitudes, _fill([1] * 8)), there)
            return _gather_bits(builder, builder.lshr(ones, _join(builder, first, second)))

        number = nb.types.int64
        return number(values, *[number] * 4), codegen

    @intrinsic
    def pack_pair(typingctx, values, upper, lower, first, second, known, numbers, lengths):
        """Write the bits of the samples of two quads with these exponents, less the known ones.

        There are four numbers with their lengths: the left and the right samples of each quad.
        """

        def codegen(context, builder, signature, args):
            values, upper, lower, first, second, known, numbers, lengths = args
            samples, magnitudes, there = _load_magnitudes(builder, values, upper, lower)
            mask = builder.sub(_fill([0] * 8), there)
            flags = _join(builder, known, known)
            left_out = _take_bits(builder, flags, [_SAMPLES.index(lane) for lane in range(8)])
            counts = builder.sub(builder.and_(_join(builder, first, second), mask), left_out)
            # twice what the magnitude has beyond one, and the sign
            ones = _fill([1] * 8)
            plain = builder.shl(builder.sub(magnitudes, ones), ones)
            plain = builder.or_(plain, builder.lshr(samples, _fill([31] * 8)))
            bits = builder.and_(plain, builder.sub(builder.shl(ones, counts), ones))
            above, below = ([*range(4)], [*range(4, 8)])
            shifts = builder.zext(_pick(builder, counts, above), _FOUR_LONG)
            lower_bits = builder.shl(builder.zext(_pick(builder, bits, below), _FOUR_LONG), shifts)
            joined = builder.or_(builder.zext(_pick(builder, bits, above), _FOUR_LONG), lower_bits)
            none = ir.Constant(ir.IntType(64), 0)
            builder.store(joined, _point(builder, numbers, none, _FOUR_LONG), align=8)
            sums = builder.add(shifts, builder.zext(_pick(builder, counts, below), _FOUR_LONG))
            builder.store(sums, _point(builder, lengths, none, _FOUR_LONG), align=8)
            return context.get_dummy_value()

        number = nb.types.int64
        return nb.types.void(values, *[number] * 5, numbers, lengths), codegen

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
