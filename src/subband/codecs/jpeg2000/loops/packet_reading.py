"""Reading the packets of a tile: which blocks get how many passes and bytes."""

from __future__ import annotations

import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import copy_bytes
from subband.codecs.jpeg2000.blocks.styles import HIGH_THROUGHPUT, MIXED, UNDECIDED
from subband.codecs.jpeg2000.loops.bits import BYTE, END, LEFT, OVER, POSITION, finish_reading, get_bit, get_bits
from subband.codecs.jpeg2000.loops.segments import count_room
from subband.codecs.jpeg2000.loops.statuses import CORRUPT, CUT, DONE, MORE
from subband.codecs.jpeg2000.loops.tag_trees import MOST_DEPTH, find_path, read_tag
from subband.compiled.compiling import stored

__all__ = ["gather_blocks", "read_packets"]

_MOST_ZERO_PLANES = 100
_MOST_PASSES = 3 * 110
_MOST_LENGTH_BITS = 32


@stored(nogil=True, error_model="numpy")
def _count_passes(source, bits):
    """Read the codeword that tells how many passes a block gets (table B.4)."""
    if not get_bit(source, bits):
        return 1
    if not get_bit(source, bits):
        return 2
    number = get_bits(source, bits, 2)
    if number < 3:
        return 3 + number
    number = get_bits(source, bits, 5)
    if number < 31:
        return 6 + number
    return 37 + get_bits(source, bits, 7)


@stored(nogil=True, error_model="numpy")
def _log2(number):
    """Return the exponent of the largest power of two that is not above a number."""
    exponent = 0
    while number >> (exponent + 1):
        exponent += 1
    return exponent


@stored(nogil=True, error_model="numpy")
def _read_first_length(source, bits, done, more, length_bits, style):
    """Read the first length of a block that may be of high throughput (ISO/IEC 15444-15, annex B).

    Passes without bytes may come before its first cleanup pass, and lengths are told as in Part 1 until it has come;
    where blocks are mixed, the highest bit of a length tells a block of Part 1. Returns the passes that the length is
    for, the length, or -1 if it makes no sense, and the style that the block has then.
    """
    plain = style & ~(UNDECIDED | MIXED | HIGH_THROUGHPUT)
    now = more - (done + more - 1) % 3
    width, length = length_bits, 0
    if now > 0:
        width += _log2(now)
        length = get_bits(source, bits, width)
        is_short = length_bits > 3 and length >> (width - 1) == 0
        if length > 1 and (style & MIXED == 0 or is_short):
            return now, length, plain | HIGH_THROUGHPUT
        if length > 0 and style & MIXED == 0:
            return now, -1, style
    rest = length_bits + _log2(more) - width
    length = length << rest | get_bits(source, bits, rest)
    if length == 0:
        return more, 0, style
    return more, length if style & MIXED else -1, plain


@stored(nogil=True, error_model="numpy")
def _read_header(source, bits, layer, precinct, layout, state, chunks, count, path):
    """Read the header of a packet; return the chunks that there are then, or -1 if it makes no sense."""
    precinct_cells, cells = layout
    zero_planes, passes, length_bits, inclusion, inclusion_low, zeros, zeros_low, styles = state
    bits[BYTE] = 0
    bits[LEFT] = 0
    if not get_bit(source, bits):
        finish_reading(bits)
        return chunks, count
    for cell in range(precinct_cells[precinct], precinct_cells[precinct + 1]):
        wide, high, first, node = cells[cell, 1], cells[cell, 2], cells[cell, 3], cells[cell, 4]
        for y in range(high):
            for x in range(wide):
                block = first + y * wide + x
                if zero_planes[block] >= 0:
                    if not get_bit(source, bits):
                        continue
                else:
                    depth = find_path(path, node, wide, high, x, y)
                    if not read_tag(source, bits, inclusion, inclusion_low, path, depth, layer + 1):
                        continue
                    # what is below the numbers that are known already need not be asked for
                    planes = 1
                    for step in range(depth):
                        planes = max(planes, zeros_low[path[step]] + 1)
                    while not read_tag(source, bits, zeros, zeros_low, path, depth, planes):
                        planes += 1
                        if planes > _MOST_ZERO_PLANES:
                            return chunks, -1
                    zero_planes[block] = planes - 1
                more = _count_passes(source, bits)
                while get_bit(source, bits):
                    length_bits[block] += 1
                    if length_bits[block] > _MOST_LENGTH_BITS:
                        return chunks, -1
                if bits[OVER] or passes[block] + more > _MOST_PASSES:
                    return chunks, -1
                length = -1
                if styles[block] & UNDECIDED:
                    now, length, style = _read_first_length(
                        source, bits, passes[block], more, length_bits[block], styles[block]
                    )
                    if length < 0:
                        return chunks, -1
                    styles[block] = style
                    if style & UNDECIDED:
                        passes[block] += more
                        continue
                    if style & HIGH_THROUGHPUT:
                        # passes before the first cleanup pass stand for bit planes without anything
                        zero_planes[block] += (passes[block] + now - 1) // 3
                        more -= now - 1
                        now = 1
                    else:
                        more += passes[block]
                        now += passes[block]
                    passes[block] = 0
                while more > 0:
                    if length < 0:
                        now = min(more, count_room(passes[block], styles[block]))
                        length = get_bits(source, bits, length_bits[block] + _log2(now))
                    if count == len(chunks):
                        grown = np.empty((2 * count + 64, 5), np.int64)
                        for number in range(count):
                            for field in range(5):
                                grown[number, field] = chunks[number, field]
                        chunks = grown
                    chunks[count, 0] = block
                    chunks[count, 2] = length
                    chunks[count, 3] = now
                    chunks[count, 4] = passes[block]
                    count += 1
                    passes[block] += now
                    more -= now
                    length = -1
    finish_reading(bits)
    return chunks, count


@stored(nogil=True, error_model="numpy")
def _locate_chunks(chunks, before, count, position, stop):
    """Set the offsets of the chunks of a packet in the body; one that is cut keeps what is there.

    Returns the position behind the packet; it lies behind `stop` if the packet was cut.
    """
    for number in range(before, count):
        length = chunks[number, 2]
        chunks[number, 1] = min(position, stop)
        if position + length > stop:
            # of a cut segment, about as many passes can be decoded as there are bytes
            there = max(stop - position, 0)
            kept = chunks[number, 3] * there // length
            chunks[number, 2] = there
            chunks[number, 3] = kept
        position += length
    return position


@stored(nogil=True, error_model="numpy")
def _is_marker(source, offset, end, low):
    return offset + 1 < end and source[offset] == 0xFF and source[offset + 1] == low


@stored(nogil=True, error_model="numpy")
def _read_packet(data, body, headers, head, is_packed, layer, precinct, is_kept, has_sop, has_eph, layout, state,
                 chunks, count, path):  # fmt: skip
    """Read a packet, its header perhaps from elsewhere; return chunks, their count and how it ended."""
    if has_sop and _is_marker(data, body[POSITION], body[END], 0x91):
        body[POSITION] += 6
    bits = head if is_packed else body
    bits[OVER] = 0
    before = count
    chunks, count = _read_header(headers, bits, layer, precinct, layout, state, chunks, count, path)
    if count < 0 or bits[OVER]:
        # nothing that a broken header said is to be believed
        return chunks, before, CUT if bits[OVER] else CORRUPT
    if has_eph and _is_marker(headers, bits[POSITION], bits[END], 0x92):
        bits[POSITION] += 2
    body[POSITION] = _locate_chunks(chunks, before, count, body[POSITION], body[END])
    return chunks, count if is_kept else before, CUT if body[POSITION] > body[END] else DONE


@stored(nogil=True, error_model="numpy")
def read_packets(data, body, headers, head, is_packed, order, bounds, layers, cursor, next_layer, wanted, most_layers,
                 left, lengths, length_cursor, has_sop, has_eph, layout, state, chunks, count):  # fmt: skip
    """Read packets in their order until they end or the bytes do; return chunks, their count, and how it ended.

    `cursor` holds run, layer and index within `order`, where reading goes on. `left` holds how many wanted packets
    there are still to come; `lengths` those of the packets ahead, as far as they were told, from `length_cursor` on.
    """
    path = np.empty(MOST_DEPTH, np.int64)
    run, layer, index = cursor[0], cursor[1], cursor[2]
    status = DONE
    while run < len(bounds) - 1 and left[0] > 0:
        start, stop = bounds[run], bounds[run + 1]
        if index < start:
            index = start
            layer = layers
            for i in range(start, stop):
                layer = min(layer, next_layer[order[i]])
        while layer < layers and left[0] > 0:
            while index < stop and left[0] > 0:
                precinct = order[index]
                if layer < next_layer[precinct]:
                    index += 1
                    continue
                if is_packed:
                    if head[POSITION] >= head[END]:
                        status = MORE
                        break
                elif body[POSITION] >= body[END]:
                    status = MORE
                    break
                next_layer[precinct] = layer + 1
                is_kept = wanted[precinct] and layer < most_layers
                length = -1
                if length_cursor[0] < len(lengths):
                    length = lengths[length_cursor[0]]
                    length_cursor[0] += 1
                if not is_kept and length >= 0 and not is_packed:
                    body[POSITION] += length
                    if body[POSITION] > body[END]:
                        status = CUT
                else:
                    chunks, count, status = _read_packet(
                        data, body, headers, head, is_packed, layer, precinct, is_kept, has_sop, has_eph, layout, state,
                        chunks, count, path,
                    )  # fmt: skip
                left[0] -= is_kept
                index += 1
                if status != DONE:
                    break
            if status != DONE:
                break
            if index >= stop:
                layer += 1
                index = start
        if status != DONE:
            break
        if layer >= layers:
            run += 1
            index = -1
    cursor[0], cursor[1], cursor[2] = run, layer, index
    return chunks, count, status


@stored(nogil=True, error_model="numpy")
def gather_blocks(data, chunks, count, block_count, styles):
    """Lay the bytes of each block one behind the other, unless those of each segment already lie so.

    Returns them, or none, the segments, the first segment of each block, and the passes of each block.
    """
    firsts = np.zeros(block_count + 1, np.int64)
    total = 0
    for number in range(count):
        firsts[chunks[number, 0] + 1] += 1
        total += chunks[number, 2]
    for block in range(block_count):
        firsts[block + 1] += firsts[block]
    order = np.empty(count, np.int64)
    filled = firsts[:-1].copy()
    for number in range(count):
        block = chunks[number, 0]
        order[filled[block]] = number
        filled[block] += 1
    segments = np.empty((count, 3), np.int64)
    starts = np.zeros(block_count + 1, np.int64)
    passes = np.zeros(block_count, np.int32)
    segment = 0
    is_whole = True
    for block in range(block_count):
        starts[block] = segment
        room = 0
        for i in range(firsts[block], firsts[block + 1]):
            number = order[i]
            start, length, now = chunks[number, 1], chunks[number, 2], chunks[number, 3]
            if room == 0:
                room = count_room(chunks[number, 4], styles[block])
                segments[segment, 0] = start
                segments[segment, 1] = 0
                segments[segment, 2] = 0
                segment += 1
            if segments[segment - 1, 1] == 0:
                segments[segment - 1, 0] = start
            is_whole = is_whole and (length == 0 or segments[segment - 1, 0] + segments[segment - 1, 1] == start)
            segments[segment - 1, 1] += length
            segments[segment - 1, 2] += now
            passes[block] += now
            room -= now
    starts[block_count] = segment
    if is_whole:
        return np.empty(0, np.uint8), segments[:segment].copy(), starts, passes
    gathered = np.empty(total, np.uint8)
    position = 0
    for i in range(count):
        start, length = chunks[order[i], 1], chunks[order[i], 2]
        copy_bytes(data, start, length, gathered, position)
        position += length
    position = 0
    for number in range(segment):
        segments[number, 0] = position
        position += segments[number, 1]
    return gathered, segments[:segment].copy(), starts, passes
