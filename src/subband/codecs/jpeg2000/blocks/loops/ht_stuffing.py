"""Bits of high-throughput blocks as plain rows of bits, the lowest of each byte first, and as the bytes of a file.

No two bytes of a block may look like a marker. Where bytes are read forwards, the one behind 0xFF has seven bits; where
they are read backwards, one of seven ones behind a byte above 0x8F has. Plain bits are read and written eight bytes at
a time, so that buffers need eight bytes more than they hold.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subband.codecs.jpeg2000.blocks.loops.bits import OPTIONS, address
from subband.codecs.jpeg2000.blocks.loops.words import load_word, reverse_bytes, store_word

__all__ = ["peek", "put", "stuff_backward", "stuff_forward", "unstuff_backward", "unstuff_forward"]

# The lowest and the highest bit of each of eight bytes; without a sign, because a sum may have 64 bits.
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@nb.njit(**OPTIONS)
def peek(bits, position):
    """Return the bits from a position on; 57 of them can be relied upon."""
    return load_word(bits, position >> 3) >> (position & 7)


@nb.njit(**OPTIONS)
def _peek_word(bits, position):
    """Return all of the 64 bits from a position on."""
    word = peek(bits, position)
    if position & 7:
        word = word & 0xFFFFFFFFFFFFFF | (peek(bits, position + 56) & 255) << 56
    return word


@nb.njit(**OPTIONS)
def put(bits, position, number, count):
    """Write a number of up to 56 bits at a position whose byte is clean from there on; return the next position."""
    at = position >> 3
    store_word(bits, at, nb.int64(bits[at]) | number << (position & 7))
    return position + count


@nb.njit(**OPTIONS)
def _has_ones(word):
    """Tell whether one of eight bytes is 0xFF."""
    word = nb.uint64(word)
    return (~word - _ONES) & word & _TOPS != nb.uint64(0)


@nb.njit(**OPTIONS)
def _has_sevens(word):
    """Tell whether one of eight bytes has seven ones in its lower bits."""
    return ((nb.uint64(word) & ~_TOPS) + _ONES) & _TOPS != nb.uint64(0)


@nb.njit(**OPTIONS)
def unstuff_forward(data, first, last, fill, most, out):
    """Write the plain bits of some bytes, `most` bytes at most and then eight of a filling; return how many bits.

    `out` takes 24 bytes more.
    """
    data, out = address(data), address(out)
    pending, count, k, at, limit = nb.int64(0), nb.int64(0), nb.int64(0), first, nb.int64(255)
    while at < last and k < most:
        if at + 8 <= last and limit == 255:
            word = load_word(data, at)
            if not _has_ones(word):
                store_word(out, k, pending | word << count)
                pending = ((word >> (63 - count)) >> 1) & ((1 << count) - 1)
                at += 8
                k += 8
                continue
        byte = nb.int64(data[at])
        at += 1
        pending |= (byte & limit) << count
        count += 8 if limit == 255 else 7
        limit = 127 if byte == 255 else 255
        if count >= 8:
            out[k] = pending & 255
            pending >>= 8
            count -= 8
            k += 1
    rest = (-fill) << count
    store_word(out, k, pending | rest)
    store_word(out, k + 8, -nb.int64(fill))
    return 8 * k + count


@nb.njit(**OPTIONS)
def unstuff_backward(data, first, last, pending, count, before, out):
    """Write the plain bits of the bytes from `last` down to `first`, then eight bytes of zeros; return how many bits.

    So many bits are pending already, and `before` is the byte that was read before.
    """
    data, out = address(data), address(out)
    k, at = nb.int64(0), last
    while at >= first:
        if at - 7 >= first:
            word = reverse_bytes(load_word(data, at - 7))
            if not _has_sevens(word):
                store_word(out, k, pending | word << count)
                pending = ((word >> (63 - count)) >> 1) & ((1 << count) - 1)
                before = nb.int64(data[at - 7])
                at -= 8
                k += 8
                continue
        byte = nb.int64(data[at])
        at -= 1
        is_stuffed = before > 0x8F and byte & 127 == 127
        pending |= (byte & 127 if is_stuffed else byte) << count
        count += 7 if is_stuffed else 8
        before = byte
        if count >= 8:
            out[k] = pending & 255
            pending >>= 8
            count -= 8
            k += 1
    store_word(out, k, pending)
    store_word(out, k + 8, nb.int64(0))
    return 8 * k + count


@nb.njit(**OPTIONS)
def stuff_forward(bits, total, fill, out, at):
    """Write plain bits as bytes, the last one filled up; return where they end.

    Where a decoder goes on with ones by itself, a last byte of ones is left out; else a last 0xFF gets a zero behind.
    """
    bits, out = address(bits), address(out)
    position, count = nb.int64(0), nb.int64(8)
    byte = nb.int64(0)
    while position < total:
        if count == 8 and position + 64 <= total:
            word = _peek_word(bits, position)
            if not _has_ones(word):
                store_word(out, at, word)
                at += 8
                position += 64
                continue
        there = min(count, total - position)
        byte = peek(bits, position) & ((1 << there) - 1)
        position += there
        if there < count and fill:
            byte |= ((1 << count) - 1) & ~((1 << there) - 1)
        out[at] = byte
        at += 1
        count = nb.int64(7) if byte == 255 else nb.int64(8)
    if count == 7 and fill:
        return at - 1
    if count == 7:
        out[at] = 0
        return at + 1
    return at


@nb.njit(**OPTIONS)
def stuff_backward(bits, total, byte, used, out):
    """Write plain bits as bytes that are read from the last to the first, which `out` takes in that order.

    The first byte has some bits already; before it one above 0x8F is thought. Returns how many bytes are full, and the
    bits that are left over and their number.
    """
    bits, out = address(bits), address(out)
    position, k = nb.int64(0), nb.int64(0)
    is_large = True
    while position < total:
        if used == 0 and position + 64 <= total:
            word = _peek_word(bits, position)
            if not _has_sevens(word):
                store_word(out, k, word)
                is_large = word >> 56 & 255 > 0x8F
                k += 8
                position += 64
                continue
        there = min(8 - used, total - position)
        byte |= (peek(bits, position) & ((1 << there) - 1)) << used
        if is_large and used + there >= 7 and byte & 127 == 127:
            # the eighth bit stays for the next byte
            position += 7 - used
            used = nb.int64(8)
            byte = nb.int64(127)
        else:
            position += there
            used += there
        if used == 8:
            out[k] = byte
            is_large = byte > 0x8F
            k += 1
            byte, used = nb.int64(0), nb.int64(0)
    return k, byte, used
