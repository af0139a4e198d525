"""The compiled decoder of code-blocks.

Words, magnitudes and their order are those of the encoder. Magnitudes are doubled, so that the middle of an interval is
a whole number.

Two blocks are decoded at the same time. A symbol depends on the one before, so that the processor is idle most of the
time; a second block fills the gaps.

Whatever the bytes are, the decoder makes a bounded number of decisions; it writes to its own arrays and to the
positions in the table, which its caller has checked.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, hold, skip
from subband.codecs.jpeg2000.blocks.loops.cleanup import decode_cleanup, decode_mark
from subband.codecs.jpeg2000.blocks.loops.columns import WORDS, describe_block
from subband.codecs.jpeg2000.blocks.loops.cursors import (
    BAD,
    BELOW,
    CURSOR,
    LAG,
    MOST,
    PLANES,
    RAW,
    begin_block,
    begin_pass,
    end_pass,
)
from subband.codecs.jpeg2000.blocks.loops.groups import FIELDS, count_groups, list_refined
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import REGISTERS, list_states
from subband.codecs.jpeg2000.blocks.loops.propagation import decode_significance
from subband.codecs.jpeg2000.blocks.loops.raw_passes import read_refinement, read_significance
from subband.codecs.jpeg2000.blocks.loops.refinement import decode_refinement
from subband.codecs.jpeg2000.blocks.styles import CAUSAL, SYMBOLS
from subband.compiled.compiling import stored

__all__ = ["decode_range"]


@stored(**STORED)
def decode_range(
    data, table, first, last, planes, passes, segments, starts, style, roi_shift, form, integers, floats, damaged
):
    """Decode the blocks `first` … `last` to their positions, and tell which are damaged.

    What is written has the form 0, integers, 1, floats that are integers, or 2, floats in the middle of an interval.
    """
    area, around, most = 1, 1, 1
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        stripes = (height + 3) // 4
        area = max(area, 4 * stripes * width)
        around = max(around, (stripes + 2) * (width + 2))
        most = max(most, count_groups(width, stripes))
    columns, words = np.empty((2, around), np.int64), np.empty((2, WORDS), np.int64)
    magnitudes = np.empty((2, area), np.uint32)
    states, contexts = list_states(), np.empty((2, 19), np.int64)
    registers = np.zeros((2, REGISTERS), np.int64)
    groups = np.zeros((2, FIELDS * (most + 1)), np.int64)
    cursors = np.zeros((2, CURSOR), np.int64)
    arrays = (
        (
            address(columns[0]), address(words[0]), address(magnitudes[0]), address(states), address(contexts[0]),
            address(registers[0]),
        ),
        (
            address(columns[1]), address(words[1]), address(magnitudes[1]), address(states), address(contexts[1]),
            address(registers[1]),
        ),
    )  # fmt: skip
    lists = (address(groups[0]), address(groups[1]))
    for block in range(first, last, 2):
        count = min(last - block, 2)
        for k in range(count):
            begin_block(
                table, block + k, planes, passes, starts, columns[k], magnitudes[k], states, contexts[k], cursors[k]
            )
        # planes that are equally low have about as much to decode
        highest = max(cursors[0, PLANES], cursors[count - 1, PLANES])
        steps = nb.int64(0)
        for k in range(count):
            cursors[k, LAG] = 3 * (highest - cursors[k, PLANES])
            steps = max(steps, cursors[k, LAG] + cursors[k, MOST])
        for step in range(steps):
            # those that wait for each other
            ready = 0
            for k in range(count):
                if begin_pass(step, data, segments, style, registers[k], cursors[k]):
                    kind, plane = (step + 2) % 3, highest - 1 - (step + 2) // 3
                    if cursors[k, RAW] == 0 and kind < 2:
                        ready |= 1 << k
                    else:
                        _decode_alone(
                            kind, plane, style, arrays[k], describe_block(table, block + k), cursors[k], address(data)
                        )
            if ready != 0:
                kind, plane = (step + 2) % 3, highest - 1 - (step + 2) // 3
                one = 0 if ready & 1 else 1
                shape, other_shape = describe_block(table, block + one), describe_block(table, block + count - 1)
                if ready != 3:
                    other_shape = (other_shape[0], nb.int64(0), nb.int64(0))
                _decode_together(
                    kind, plane, style, arrays[one], shape, lists[one], arrays[1 - one], other_shape, lists[1 - one],
                    address(data),
                )  # fmt: skip
            for k in range(count):
                end_pass(step, data, style, states, contexts[k], registers[k], cursors[k])
        for k in range(count):
            damaged[block + k] = cursors[k, BAD] != 0
            _store(table, block + k, magnitudes[k], columns[k], roi_shift, form, integers, floats)
    hold(columns, words, magnitudes, states, contexts, registers, groups)


@nb.njit(**OPTIONS)
def _decode_alone(kind, plane, style, arrays, shape, cursor, data):
    """Decode a pass of one block that is not worth waiting for another."""
    value, half, is_causal = nb.int64(3 << plane), nb.int64(1 << plane), style & CAUSAL != 0
    if kind == 0:
        read_significance(arrays, shape, value, is_causal, data)
    elif kind == 1:
        read_refinement(arrays, shape, half, data)
    else:
        decode_cleanup(arrays, shape, cursor[BELOW], value, is_causal, data)
        if style & SYMBOLS != 0 and decode_mark(arrays, data) != 0b1010:
            cursor[BAD] = 1


@nb.njit(**OPTIONS)
def _decode_together(kind, plane, style, arrays, shape, groups, other_arrays, other_shape, other_groups, data):
    """Decode a pass of two blocks, or of one if the other has no stripes."""
    is_causal = style & CAUSAL != 0
    if kind == 0:
        value = nb.int64(3 << plane)
        decode_significance(arrays, shape, other_arrays, other_shape, value, is_causal, data)
    else:
        half = nb.int64(1 << plane)
        count = list_refined(arrays[0], arrays[1], shape, is_causal, groups)
        other_count = list_refined(other_arrays[0], other_arrays[1], other_shape, is_causal, other_groups)
        decode_refinement(arrays, groups, count, other_arrays, other_groups, other_count, half, data)


@nb.njit(**OPTIONS)
def _store(table, block, magnitudes, columns, roi_shift, form, integers, floats):
    """Write the coefficients of a block to their positions."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    magnitudes, columns, integers, floats = address(magnitudes), address(columns), address(integers), address(floats)
    pitch, stripes = width + 2, (height + 3) // 4
    if roi_shift > 0:
        for k in range(4 * stripes * width):
            if nb.int64(magnitudes[k]) >> 1 >= nb.int64(1) << roi_shift:
                magnitudes[k] = nb.int64(magnitudes[k]) >> roi_shift
    for stripe in range(stripes):
        values, signs = skip(magnitudes, 4 * stripe * width), skip(columns, (stripe + 1) * pitch + 1)
        start, rows = offset + 4 * stripe * stride, min(height - 4 * stripe, 4)
        for row in range(rows):
            at = start + row * stride
            if form == 0:
                _store_integers(values, signs, row, width, skip(integers, at))
            elif form == 1:
                _store_whole(values, signs, row, width, skip(floats, at))
            else:
                _store_floats(values, signs, row, width, skip(floats, at))


@nb.njit(forceinline=True, **OPTIONS)
def _find_negative(signs, column, row):
    """Return -1 for a coefficient below zero, else 0."""
    return -(nb.int32(signs[column] >> 32) >> nb.int32(4 + 3 * row) & nb.int32(1))


@nb.njit(**OPTIONS)
def _store_integers(values, signs, row, width, out):
    """Write a row of integers."""
    for column in range(width):
        negative = _find_negative(signs, column, row)
        out[column] = (nb.int32(values[4 * column + row] >> nb.uint32(1)) ^ negative) - negative


@nb.njit(**OPTIONS)
def _store_whole(values, signs, row, width, out):
    """Write a row of integers as floats."""
    for column in range(width):
        negative = _find_negative(signs, column, row)
        out[column] = nb.float32(nb.int32((nb.int32(values[4 * column + row] >> nb.uint32(1)) ^ negative) - negative))


@nb.njit(**OPTIONS)
def _store_floats(values, signs, row, width, out):
    """Write a row of values in the middle of an interval, whose magnitudes are doubled."""
    for column in range(width):
        value, negative = nb.int64(values[4 * column + row]), nb.int64(_find_negative(signs, column, row))
        out[column] = nb.float64((value ^ negative) - negative) * 0.5
