"""Bits of packet headers: after a byte of ones, the next byte begins with a zero that says nothing.

The state of a reader is a small table: the next position, the byte at hand, the bits left in it, the end of the
source, and whether that end was passed.
"""

from __future__ import annotations

from subband.compiled.compiling import stored

__all__ = ["BYTE", "END", "LEFT", "OVER", "POSITION", "finish_reading", "get_bit", "get_bits"]

POSITION, BYTE, LEFT, END, OVER = 0, 1, 2, 3, 4


@stored(nogil=True, error_model="numpy")
def get_bit(source, bits):
    """Read a bit; zero after the end of the data."""
    if bits[LEFT] == 0:
        if bits[POSITION] >= bits[END]:
            bits[OVER] = 1
            return 0
        bits[LEFT] = 7 if bits[BYTE] == 0xFF else 8
        bits[BYTE] = source[bits[POSITION]]
        bits[POSITION] += 1
    bits[LEFT] -= 1
    return (bits[BYTE] >> bits[LEFT]) & 1


@stored(nogil=True, error_model="numpy")
def get_bits(source, bits, count):
    """Read a number of so many bits."""
    number = 0
    for _ in range(count):
        number = (number << 1) | get_bit(source, bits)
    return number


@stored(nogil=True, error_model="numpy")
def finish_reading(bits):
    """Go on to the byte behind the header, and behind the zero that follows a last byte of ones."""
    if bits[BYTE] == 0xFF:
        bits[POSITION] += 1
    bits[BYTE] = 0
    bits[LEFT] = 0
