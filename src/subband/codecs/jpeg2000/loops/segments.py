"""Which passes make up a codeword segment, and which of them bypass the coder, as the style of a block says."""

from __future__ import annotations

from subband.codecs.jpeg2000.blocks.styles import BYPASS, HIGH_THROUGHPUT, TERMINATE
from subband.compiled.compiling import stored

__all__ = ["count_room", "is_raw_pass"]

_ENDLESS = 1 << 30


@stored(nogil=True, error_model="numpy")
def count_room(done, style):
    """Return how many passes the segment that pass number `done` belongs to still takes, itself included.

    With bypass, the first ten passes are one segment; then two raw passes and a coded one take turns. In
    high-throughput blocks a cleanup pass takes turns with the two that refine it.
    """
    if style & HIGH_THROUGHPUT:
        return 2 if done % 3 == 1 else 1
    if style & TERMINATE:
        return 1
    if style & BYPASS:
        if done < 10:
            return 10 - done
        return 2 if (done - 10) % 3 == 0 else 1
    return _ENDLESS


@stored(nogil=True, error_model="numpy")
def is_raw_pass(number, style):
    """Tell whether a pass of Part 1 bypasses the arithmetic coder."""
    return style & BYPASS != 0 and number >= 10 and (number + 2) % 3 < 2
