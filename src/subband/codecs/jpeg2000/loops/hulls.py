"""The compiled loops of rate control: which passes of a block are worth their bytes."""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import stored

__all__ = ["fill_up", "keep_first", "list_segments"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


@stored(**_OPTIONS)
def list_segments(passes, ends, gains, weights):
    """Return the segments of the convex hull of each block: slope, gain, bytes, block, and passes before and behind.

    A segment leads from one number of passes to the next; its slope is the decrease of squared error a byte. Slopes
    fall from segment to segment of a block. The arrays may have room for more segments than the number returned.
    """
    blocks, most = ends.shape
    room = passes.sum()
    values = np.empty((3, room), np.float64)
    owners = np.empty((3, room), np.int32)
    points = np.empty(most + 1, np.int64)
    steep = np.empty(most + 1, np.float64)
    total = 0
    for block in range(blocks):
        top = 0
        for index in range(passes[block]):
            slope = 0.0
            while True:
                below = points[top - 1] if top else -1
                gain = gains[block, index] - (gains[block, below] if top else 0.0)
                size = ends[block, index] - (ends[block, below] if top else 0)
                if gain <= 0:
                    break
                slope = gain / size if size > 0 else np.inf
                if top and slope >= steep[top - 1]:
                    top -= 1
                    continue
                points[top], steep[top] = index, slope
                top += 1
                break
        for corner in range(top):
            below = points[corner - 1] if corner else -1
            values[0, total] = steep[corner] * weights[block]
            gain = gains[block, points[corner]] - (gains[block, below] if corner else 0.0)
            values[1, total] = gain * weights[block]
            values[2, total] = ends[block, points[corner]] - (ends[block, below] if corner else 0)
            owners[0, total] = block
            owners[1, total] = below + 1
            owners[2, total] = points[corner] + 1
            total += 1
    return values, owners, total


@stored(**_OPTIONS)
def keep_first(count, owners, floor, kept):
    """Write to `kept` the passes of each block within the first `count` segments, and at least those of `floor`."""
    kept[:] = floor
    for index in range(count):
        block = owners[0, index]
        kept[block] = max(kept[block], owners[2, index])


@stored(**_OPTIONS)
def fill_up(first, owners, sizes, room, kept):
    """Keep further segments while they fit into `room` bytes; a few that are too large are passed over."""
    for index in range(first, min(owners.shape[1], first + 2000)):
        block = owners[0, index]
        # how much its header grows is not known; two bytes are more than usual
        if owners[1, index] == kept[block] and sizes[index] + 2 <= room:
            kept[block] = owners[2, index]
            room -= sizes[index] + 2
        if room < 4:
            break
