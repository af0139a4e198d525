"""Which pass of which segment a block is at while it is decoded."""

from __future__ import annotations

import numba as nb

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS
from subband.codecs.jpeg2000.blocks.loops.columns import clear_columns
from subband.codecs.jpeg2000.blocks.loops.mq_decoder import (
    has_predictable_end,
    has_predictable_raw_end,
    reset_contexts,
    start_decoder,
    start_raw_decoder,
)
from subband.codecs.jpeg2000.blocks.styles import PREDICTABLE, RESET
from subband.codecs.jpeg2000.loops.segments import count_room, is_raw_pass

__all__ = ["BAD", "BELOW", "CURSOR", "LAG", "MOST", "PLANES", "RAW", "begin_block", "begin_pass", "end_pass"]

#: Of a block: its planes, how many passes may be decoded, and after how many of another block the first of them comes;
#: the bits for rows below it; the next segment and the one behind the last; after how many passes the segment ends,
#: where it begins, and whether it bypasses the coder; whether a pass has begun, and whether the block is damaged.
PLANES, MOST, LAG, BELOW, _NEXT, _LAST, _UNTIL, _START, RAW, _IS_ON, BAD, CURSOR = range(12)


@nb.njit(**OPTIONS)
def begin_block(table, block, planes, passes, starts, columns, magnitudes, states, contexts, cursor):
    """Prepare to decode a block."""
    height, width = table[block, 2], table[block, 3]
    for k in range((height + 3) // 4 * 4 * width):
        magnitudes[k] = 0
    reset_contexts(states, contexts)
    count = nb.int64(planes[block])
    cursor[BAD] = nb.int64(count > 31)
    if count > 31:
        count = nb.int64(0)
    cursor[PLANES] = count
    cursor[MOST] = max(min(nb.int64(passes[block]), 3 * count - 2), 0)
    cursor[BELOW] = clear_columns(columns, width, height)
    cursor[_NEXT], cursor[_LAST], cursor[_UNTIL] = starts[block], starts[block + 1], 0


@nb.njit(**OPTIONS)
def begin_pass(step, data, segments, style, registers, cursor):
    """Tell whether a block has a pass at this step; prepare the decoder if a segment begins with it."""
    number = step - cursor[LAG]
    cursor[_IS_ON] = 0
    if number < 0 or number >= cursor[MOST]:
        return False
    while cursor[_UNTIL] <= number:
        segment = cursor[_NEXT]
        if segment == cursor[_LAST]:
            cursor[MOST] = 0
            return False
        cursor[_NEXT] = segment + 1
        cursor[_UNTIL] = min(number + max(segments[segment, 2], 0), cursor[MOST])
        if cursor[_UNTIL] > number:
            at = min(max(segments[segment, 0], 0), data.size)
            end = at + min(max(segments[segment, 1], 0), data.size - at)
            cursor[_START], cursor[RAW] = at, nb.int64(is_raw_pass(number, style))
            if cursor[RAW] != 0:
                start_raw_decoder(registers, at, end)
            else:
                start_decoder(registers, data, at, end)
    if cursor[RAW] != 0 and (number + 2) % 3 == 2:
        # the table of segments does not belong to this style
        cursor[MOST], cursor[BAD] = 0, 1
        return False
    cursor[_IS_ON] = 1
    return True


@nb.njit(**OPTIONS)
def end_pass(step, data, style, states, contexts, registers, cursor):
    """Forget what the contexts have learnt, and look at the end of a segment, as the style says."""
    if cursor[_IS_ON] == 0:
        return
    if style & RESET != 0:
        reset_contexts(states, contexts)
    done = step - cursor[LAG] + 1
    if style & PREDICTABLE == 0 or done < cursor[_UNTIL] or cursor[BAD] != 0:
        return
    # a segment that was cut ends anyhow
    if done == 3 * cursor[PLANES] - 2 or count_room(done - 1, style) == 1:
        if cursor[RAW] != 0:
            cursor[BAD] = nb.int64(not has_predictable_raw_end(registers, data))
        else:
            cursor[BAD] = nb.int64(not has_predictable_end(registers, data, cursor[_START]))
