"""Filtering integers block by block: what `subband.enhance.fixed` reads, and how it rounds."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from subband.typing import Array

__all__ = ["clamp", "cut", "read_lane"]

#: Samples that are computed at a time, so that wide temporary numbers stay in the cache.
_BLOCK = 1 << 18

#: Columns of a block, at least: neighbours in memory are fetched together.
_LEAST_COLUMNS = 64


def clamp(numbers: Array, bits: int) -> Array:
    """Round numbers, in place, to integers of so many bits."""
    np.rint(numbers, out=numbers)
    return np.clip(numbers, 0, 2.0**bits - 1, out=numbers)


def cut(axis: int, *arrays: Array) -> Iterator[list[Array]]:
    """Cut arrays that differ only in the length of an axis into the same blocks, as outer × `axis` × inner."""
    shape, length = arrays[0].shape, max(array.shape[axis] for array in arrays)
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    views = [array.reshape(outer, array.shape[axis], inner) for array in arrays]
    columns = max(1, min(inner, max(_LEAST_COLUMNS, _BLOCK // length)))
    rows = max(1, _BLOCK // (length * columns))
    for row in range(0, outer, rows):
        for column in range(0, inner, columns):
            yield [view[row : row + rows, :, column : column + columns] for view in views]


def read_lane(source: Array, indices: Array, plain: Array) -> Array:
    """Return the samples at `indices` as float32; all but those at the borders are a slice of `plain` positions."""
    lane = np.empty((source.shape[0], indices.size, source.shape[2]), np.float32)
    (inside,) = np.nonzero(indices == plain)
    begin, end = (int(inside[0]), int(inside[-1]) + 1) if inside.size else (0, 0)
    if inside.size:
        step = int(plain[1] - plain[0]) if plain.size > 1 else 1
        lane[:, begin:end] = source[:, plain[begin] : plain[end - 1] + 1 : step]
    for edge in (slice(0, begin), slice(end, None)):
        lane[:, edge] = source[:, indices[edge]]
    return lane
