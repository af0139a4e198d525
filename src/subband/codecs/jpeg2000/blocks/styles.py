"""The style of code-blocks: the bits that a file has for it, and one that it has not."""

from __future__ import annotations

__all__ = [
    "BYPASS",
    "CAUSAL",
    "HIGH_THROUGHPUT",
    "MIXED",
    "PREDICTABLE",
    "RESET",
    "SYMBOLS",
    "TERMINATE",
    "UNDECIDED",
]

BYPASS, RESET, TERMINATE, CAUSAL, PREDICTABLE, SYMBOLS = 1, 2, 4, 8, 16, 32

#: Blocks of Part 15; where `MIXED` stands beside it, each block is of Part 15 or of Part 1.
HIGH_THROUGHPUT, MIXED = 64, 128

#: A block of Part 15 of which no byte has come yet, so that its passes may stand for empty bit planes.
UNDECIDED = 256
