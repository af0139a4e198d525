"""The compiled decoder of code-blocks.

Words, magnitudes and their order are those of the encoder. Magnitudes are doubled, so that the middle of an interval is
a whole number.

Whatever the bytes are, the decoder makes a bounded number of decisions; it writes to its own arrays and to the
positions in the table, which its caller has checked.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, STORED, address, count_trailing
from subband.codecs.jpeg2000.blocks.loops.contexts import (
    AROUND,
    FROM_SELF_TO_REFINED,
    INITIAL,
    REFINED,
    RUN,
    SELF,
    SELVES,
    SIGN_CONTEXTS,
    SIGNIFICANCE,
    UNIFORM,
    VISITED,
    VISITS,
    ZERO_CONTEXTS,
)
from subband.codecs.jpeg2000.blocks.loops.modelling import clear_words, find_candidates, mark_significant
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import (
    CODE,
    INTERVAL,
    MARGIN,
    REGISTERS,
    WAITING,
    decode_symbol,
    has_predictable_end,
    has_predictable_raw_end,
    read_raw,
    start_decoder,
    start_raw_decoder,
)
from subband.codecs.jpeg2000.blocks.styles import CAUSAL, PREDICTABLE, RESET, SYMBOLS
from subband.codecs.jpeg2000.loops.segments import count_room, is_raw_pass
from subband.compiled.compiling import stored

__all__ = ["decode_range"]


@stored(**STORED)
def decode_range(
    data, table, first, last, planes, passes, segments, starts, style, roi_shift, form, integers, floats, damaged
):
    """Decode the blocks `first` … `last` to their positions, and tell which are damaged.

    What is written has the form 0, integers, 1, floats that are integers, or 2, floats in the middle of an interval.
    """
    area, around = 1, 1
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        stripes = (height + 3) // 4
        area = max(area, 4 * stripes * width)
        around = max(around, (stripes + 2) * (width + 2))
    magnitudes = np.empty(area, np.uint32)
    words = np.empty(around, np.int64)
    contexts = np.empty(19, np.int64)
    registers = np.zeros(REGISTERS, np.int64)
    for block in range(first, last):
        height, width = table[block, 2], table[block, 3]
        stripes = (height + 3) // 4
        for k in range(4 * stripes * width):
            magnitudes[k] = 0
        below = clear_words(words, width, height)
        _reset(contexts)
        count = nb.int64(planes[block])
        is_bad = count > 31
        if is_bad:
            count = 0
        most = max(min(nb.int64(passes[block]), 3 * count - 2), 0)
        zeros = 512 * table[block, 4]
        is_causal = style & CAUSAL != 0
        number = 0
        for segment in range(starts[block], starts[block + 1]):
            at = min(max(segments[segment, 0], 0), data.size)
            end = at + min(max(segments[segment, 1], 0), data.size - at)
            until = min(number + max(segments[segment, 2], 0), most)
            is_raw = is_raw_pass(number, style)
            if number >= until:
                continue
            if is_raw:
                start_raw_decoder(registers, at, end)
            else:
                start_decoder(registers, data, at, end)
            while number < until:
                kind = (number + 2) % 3
                plane = count - 1 - (number + 2) // 3
                if is_raw:
                    if kind == 0:
                        _read_significance(words, magnitudes, width, stripes, plane, is_causal, registers, data)
                    elif kind == 1:
                        _read_refinement(words, magnitudes, width, stripes, plane, registers, data)
                    else:
                        # the table of segments does not belong to this style
                        is_bad = True
                        break
                elif kind == 0:
                    _decode_significance(
                        words, magnitudes, zeros, width, stripes, plane, is_causal, contexts, registers, data
                    )
                elif kind == 1:
                    _decode_refinement(words, magnitudes, width, stripes, plane, contexts, registers, data)
                else:
                    _decode_cleanup(
                        words, magnitudes, zeros, width, stripes, below, plane, is_causal, contexts, registers, data
                    )
                    if style & SYMBOLS != 0 and _decode_mark(contexts, registers, data) != 0b1010:
                        is_bad = True
                if style & RESET != 0:
                    _reset(contexts)
                number += 1
            # a segment that was cut ends anyhow
            is_end = number == 3 * count - 2 or count_room(number - 1, style) == 1
            if style & PREDICTABLE != 0 and not is_bad and is_end:
                if is_raw:
                    is_bad = not has_predictable_raw_end(registers, data)
                else:
                    is_bad = not has_predictable_end(registers, data, at)
            if is_bad and number < until:
                break
        damaged[block] = is_bad
        _store(table, block, magnitudes, words, roi_shift, form, integers, floats)


@nb.njit(forceinline=True, **OPTIONS)
def _find_row(shift):
    """Return a third of a shift to the bits of a row."""
    return shift * 11 >> 5


@nb.njit(**OPTIONS)
def _reset(contexts):
    """Forget what the contexts have learnt."""
    for context in range(INITIAL.size):
        contexts[context] = INITIAL[context]


@nb.njit(**OPTIONS)
def _store(table, block, magnitudes, words, roi_shift, form, integers, floats):
    """Write the coefficients of a block to their positions."""
    offset, stride, height, width = table[block, 0], table[block, 1], table[block, 2], table[block, 3]
    pitch = width + 2
    for y in range(height):
        stripe, row = y // 4, y % 4
        start = offset + y * stride
        k, at, sign = 4 * stripe * width + row, (stripe + 1) * pitch + 1, 36 + 3 * row
        for column in range(width):
            value = nb.int64(magnitudes[k + 4 * column])
            if roi_shift > 0 and value >> 1 >= 1 << roi_shift:
                value >>= roi_shift
            negative = -((words[at + column] >> sign) & 1)
            if form == 0:
                integers[start + column] = ((value >> 1) ^ negative) - negative
            elif form == 1:
                floats[start + column] = ((value >> 1) ^ negative) - negative
            else:
                floats[start + column] = nb.float64((value ^ negative) - negative) * 0.5


@nb.njit(forceinline=True, **OPTIONS)
def _decode_sign(
    word, shift, words, at, pitch, is_causal, contexts, interval, code, margin, waiting, registers, data
):  # fmt: skip
    """Decode the sign of a coefficient that is significant now, and tell its neighbours; return its column's word."""
    here = word >> shift
    context = nb.int64(SIGN_CONTEXTS[(here & 0xAA) | ((here >> 33) & 0x55)])
    sign, interval, code, margin, waiting = decode_symbol(
        context >> 1, contexts, interval, code, margin, waiting, registers, data
    )
    sign ^= context & 1
    mark_significant(words, at, pitch, shift, sign, is_causal)
    return word | (SELF | nb.int64(SELF) << 32 & -sign) << shift, interval, code, margin, waiting


@nb.njit(**OPTIONS)
def _decode_significance(words, magnitudes, zeros, width, stripes, plane, is_causal, contexts, registers, data):
    """Decode the significance propagation pass of a bit plane."""
    words, magnitudes, contexts, registers, data = (
        address(words),
        address(magnitudes),
        address(contexts),
        address(registers),
        address(data),
    )
    interval, code = registers[INTERVAL], registers[CODE]
    margin, waiting = registers[MARGIN], registers[WAITING]
    pitch = width + 2
    value = 3 << plane
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            ready = find_candidates(word)
            if ready == 0:
                continue
            # no branch asks which rows are coded: which come next is as good as random
            while ready != 0:
                shift = count_trailing(ready)
                here = word >> shift
                word |= VISITED << shift
                ready &= ready - 1
                bit, interval, code, margin, waiting = decode_symbol(
                    nb.int64(ZERO_CONTEXTS[zeros + (here & AROUND)]),
                    contexts, interval, code, margin, waiting, registers, data,
                )  # fmt: skip
                if bit:
                    magnitudes[4 * (stripe * width + column) + _find_row(shift)] = value
                    word, interval, code, margin, waiting = _decode_sign(
                        word, shift, words, at, pitch, is_causal,
                        contexts, interval, code, margin, waiting, registers, data,
                    )  # fmt: skip
                    # the row below may have a neighbour now
                    ready = find_candidates(word) & (nb.int64(-2) << shift)
            words[at] = word
    registers[INTERVAL], registers[CODE] = interval, code
    registers[MARGIN], registers[WAITING] = margin, waiting


@nb.njit(**OPTIONS)
def _decode_refinement(words, magnitudes, width, stripes, plane, contexts, registers, data):
    """Decode the magnitude refinement pass of a bit plane."""
    words, magnitudes, contexts, registers, data = (
        address(words),
        address(magnitudes),
        address(contexts),
        address(registers),
        address(data),
    )
    interval, code = registers[INTERVAL], registers[CODE]
    margin, waiting = registers[MARGIN], registers[WAITING]
    pitch = width + 2
    half = 1 << plane
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            ready = word & ~(word >> 16) & SELVES
            if ready == 0:
                continue
            words[at] = word | ready << FROM_SELF_TO_REFINED
            while ready != 0:
                shift = count_trailing(ready) - 4
                here = word >> shift
                ready &= ready - 1
                context = 16 if here & REFINED else (15 if here & AROUND else 14)
                bit, interval, code, margin, waiting = decode_symbol(
                    context, contexts, interval, code, margin, waiting, registers, data
                )
                k = 4 * (stripe * width + column) + _find_row(shift)
                magnitudes[k] = nb.int64(magnitudes[k]) + (half if bit else -half)
    registers[INTERVAL], registers[CODE] = interval, code
    registers[MARGIN], registers[WAITING] = margin, waiting


@nb.njit(**OPTIONS)
def _decode_cleanup(words, magnitudes, zeros, width, stripes, below, plane, is_causal, contexts, registers, data):
    """Decode the cleanup pass of a bit plane, and forget which coefficients were visited."""
    words, magnitudes, contexts, registers, data = (
        address(words),
        address(magnitudes),
        address(contexts),
        address(registers),
        address(data),
    )
    interval, code = registers[INTERVAL], registers[CODE]
    margin, waiting = registers[MARGIN], registers[WAITING]
    pitch = width + 2
    value = 3 << plane
    for stripe in range(stripes):
        keep = ~nb.int64(VISITS)
        if stripe == stripes - 1:
            keep |= below
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            if (word | word >> 16) & SELVES == SELVES:
                words[at] = word & keep
                continue
            ready = ~(word | word >> 16) & SELVES
            is_known = False
            if word & (SIGNIFICANCE | VISITS) == 0:
                bit, interval, code, margin, waiting = decode_symbol(
                    nb.int64(RUN), contexts, interval, code, margin, waiting, registers, data
                )
                if bit == 0:
                    continue
                upper, interval, code, margin, waiting = decode_symbol(
                    nb.int64(UNIFORM), contexts, interval, code, margin, waiting, registers, data
                )
                lower, interval, code, margin, waiting = decode_symbol(
                    nb.int64(UNIFORM), contexts, interval, code, margin, waiting, registers, data
                )
                ready &= nb.int64(-SELF) << (3 * (2 * upper + lower))
                is_known = True
            while ready != 0:
                shift = count_trailing(ready) - 4
                here = word >> shift
                ready &= ready - 1
                bit = 1
                if not is_known:
                    bit, interval, code, margin, waiting = decode_symbol(
                        nb.int64(ZERO_CONTEXTS[zeros + (here & AROUND)]),
                        contexts, interval, code, margin, waiting, registers, data,
                    )  # fmt: skip
                is_known = False
                if bit:
                    magnitudes[4 * (stripe * width + column) + _find_row(shift)] = value
                    word, interval, code, margin, waiting = _decode_sign(
                        word, shift, words, at, pitch, is_causal,
                        contexts, interval, code, margin, waiting, registers, data,
                    )  # fmt: skip
            words[at] = word & keep
    registers[INTERVAL], registers[CODE] = interval, code
    registers[MARGIN], registers[WAITING] = margin, waiting


@nb.njit(**OPTIONS)
def _decode_mark(contexts, registers, data):
    """Return the four bits that stand behind a cleanup pass to show that nothing went wrong."""
    contexts, registers, data = address(contexts), address(registers), address(data)
    interval, code = registers[INTERVAL], registers[CODE]
    margin, waiting = registers[MARGIN], registers[WAITING]
    mark = 0
    for _ in range(4):
        bit, interval, code, margin, waiting = decode_symbol(
            nb.int64(UNIFORM), contexts, interval, code, margin, waiting, registers, data
        )
        mark = 2 * mark + bit
    registers[INTERVAL], registers[CODE] = interval, code
    registers[MARGIN], registers[WAITING] = margin, waiting
    return mark


@nb.njit(**OPTIONS)
def _read_significance(words, magnitudes, width, stripes, plane, is_causal, registers, data):
    """Read the significance propagation pass of a bit plane from raw bits."""
    words, magnitudes, registers, data = address(words), address(magnitudes), address(registers), address(data)
    code, waiting = registers[CODE], registers[WAITING]
    pitch = width + 2
    value = 3 << plane
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            if find_candidates(word) == 0:
                continue
            for row in range(4):
                here = word >> (3 * row)
                if here & AROUND != 0 and here & (SELF | VISITED) == 0:
                    bit, code, waiting = read_raw(code, waiting, registers, data)
                    if bit:
                        sign, code, waiting = read_raw(code, waiting, registers, data)
                        magnitudes[4 * (stripe * width + column) + row] = value
                        word |= (SELF | nb.int64(SELF) << 32 & -sign) << (3 * row)
                        mark_significant(words, at, pitch, 3 * row, sign, is_causal)
                    word |= VISITED << (3 * row)
            words[at] = word
    registers[CODE], registers[WAITING] = code, waiting


@nb.njit(**OPTIONS)
def _read_refinement(words, magnitudes, width, stripes, plane, registers, data):
    """Read the magnitude refinement pass of a bit plane from raw bits."""
    words, magnitudes, registers, data = address(words), address(magnitudes), address(registers), address(data)
    code, waiting = registers[CODE], registers[WAITING]
    pitch = width + 2
    half = 1 << plane
    for stripe in range(stripes):
        for column in range(width):
            at = (stripe + 1) * pitch + column + 1
            word = words[at]
            if word & ~(word >> 16) & SELVES == 0:
                continue
            for row in range(4):
                here = word >> (3 * row)
                if here & (SELF | VISITED) == SELF:
                    bit, code, waiting = read_raw(code, waiting, registers, data)
                    k = 4 * (stripe * width + column) + row
                    magnitudes[k] = nb.int64(magnitudes[k]) + (half if bit else -half)
                    word |= REFINED << (3 * row)
            words[at] = word
    registers[CODE], registers[WAITING] = code, waiting
