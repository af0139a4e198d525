"""How reading packets ends."""

__all__ = ["CORRUPT", "CUT", "DONE", "MORE"]

#: All packets are read; the bytes are used up between packets, or within one; or they make no sense.
DONE, MORE, CUT, CORRUPT = 0, 1, 2, 3
