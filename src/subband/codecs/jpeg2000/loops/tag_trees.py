"""Reading tag trees: the numbers of the blocks of a cell, sent as differences from the smallest of their neighbours.

A tree over wide × high leaves has levels of half the size until a single node is left. Its nodes lie one behind the
other in tables that all trees share: leaves row by row, then the level above. `value` is the number of a node, or more
than it can be while it is not known; `low` is what it is known to be at least.
"""

from __future__ import annotations

from subband.codecs.jpeg2000.loops.bits import get_bit
from subband.compiled.compiling import stored

__all__ = ["MOST_DEPTH", "find_path", "read_tag"]

#: Levels that a tree can have.
MOST_DEPTH = 34


@stored(nogil=True, error_model="numpy")
def find_path(path, first, wide, high, x, y):
    """Write the nodes from a leaf to the root to `path`, and return how many they are."""
    depth = 0
    while True:
        path[depth] = first + y * wide + x
        depth += 1
        if wide <= 1 and high <= 1:
            return depth
        first += wide * high
        wide, high = (wide + 1) >> 1, (high + 1) >> 1
        x >>= 1
        y >>= 1


@stored(nogil=True, error_model="numpy")
def read_tag(source, bits, value, low, path, depth, threshold):
    """Read until it is known whether the leaf is below `threshold`, and tell so."""
    least = 0
    for step in range(depth):
        node = path[depth - 1 - step]
        least = max(least, low[node])
        while least < threshold and least < value[node]:
            if get_bit(source, bits):
                value[node] = least
            else:
                least += 1
        low[node] = least
    return value[path[0]] < threshold
