"""Where the block coder ends a codeword segment, which follows from the style of the blocks."""

from __future__ import annotations

from subband.compiled.compiling import stored

__all__ = ["count_room"]

_BYPASS, _TERMINATE = 1, 4
_ENDLESS = 1 << 30


@stored(nogil=True, error_model="numpy")
def count_room(done, style):
    """Return how many passes the segment that pass number `done` belongs to still takes, itself included.

    With bypass, the first ten passes are one segment; then two raw passes and a coded one take turns.
    """
    if style & _TERMINATE:
        return 1
    if style & _BYPASS:
        if done < 10:
            return 10 - done
        return 2 if (done - 10) % 3 == 0 else 1
    return _ENDLESS
