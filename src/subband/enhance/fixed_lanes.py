"""Passes of fixed point on the host, block by block; `subband.engines.fixed_device` has those of devices."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from subband.engines.fixed import FixedPass
from subband.typing import Array

__all__ = ["HostPasses"]

#: Samples that are computed at a time, so that wide temporary numbers stay in the cache.
_BLOCK = 1 << 18

#: Columns of a block, at least: neighbours in memory are fetched together.
_LEAST_COLUMNS = 64


class HostPasses:
    """Passes over arrays of NumPy."""

    def enter(self, samples: Array, bits: int, width: int) -> Array | None:
        """Return samples as integers; None if real ones are not all from 0 to 1."""
        dtype = np.dtype(np.uint8 if width == 8 else np.uint16)
        if samples.dtype.kind == "u":
            return np.left_shift(samples, width - 8 * samples.dtype.itemsize, dtype=dtype)
        if not (samples.min() >= 0 and samples.max() <= 1):
            return None
        held: Array = _clamp(samples * np.float32(2.0**bits), bits).astype(dtype)
        return np.left_shift(held, width - bits, dtype=dtype)

    def split(self, task: FixedPass, axis: int, whole: Array) -> list[Array]:
        """Return low and high coefficients of samples along an axis."""
        halves = [_allocate(task, whole.shape, axis, length) for length in task.lengths[1:]]
        plain = np.arange(task.start, task.start + task.index.size)
        for source, *targets in _cut(axis, whole, *halves):
            lanes = [_read_lane(source, task.index[phase::2], plain[phase::2]) for phase in (0, 1)]
            for part, target in enumerate(targets):
                target[...] = _filter(task, part, lanes)[:, : target.shape[1]]
        return halves

    def merge(self, task: FixedPass, axis: int, low: Array, high: Array) -> Array:
        """Undo `split`: even samples by one pair of filters, odd ones by another, each with a bias of its own."""
        if not task.lengths[2]:
            high = np.full_like(low, task.blank)
        whole = _allocate(task, low.shape, axis, task.lengths[0])
        plain = np.arange(task.start, task.start + task.index.size) // 2
        for target, *sources in _cut(axis, whole, low, high):
            lanes = [
                _read_lane(sources[task.sources[phase]], task.index[phase::2], plain[phase::2]) for phase in (0, 1)
            ]
            for phase in (0, 1):
                part = target[:, phase::2]
                part[...] = _filter(task, phase, lanes)[:, : part.shape[1]]
        return whole

    def leave(self, band: Array, dtype: np.dtype[Any]) -> Array:
        """Return integers as samples of a dtype."""
        width = 8 * dtype.itemsize if dtype.kind == "u" else 0
        numbers: Array = band * np.float32(2.0 ** (width - 8 * band.dtype.itemsize))
        if width:
            _clamp(numbers, width)
        return numbers.astype(dtype)


def _allocate(task: FixedPass, shape: tuple[int, ...], axis: int, length: int) -> Array:
    """Return room for coefficients of a shape, but for the length of an axis."""
    return np.empty((*shape[:axis], length, *shape[axis + 1 :]), task.dtype)


def _filter(task: FixedPass, part: int, lanes: list[Array]) -> Array:
    """Return ``sum_k taps[k] * u[2 n + k] + bias`` as it is held; `lanes` are the even and odd members of `u`."""
    outer, _, inner = lanes[0].shape
    total = np.full((outer, task.count, inner), task.biases[part], np.float32)
    for k, tap in enumerate(task.rows[part]):
        if tap:
            total += np.float32(tap) * lanes[k % 2][:, k // 2 : k // 2 + task.count]
    _clamp(total, task.bits)
    if task.width > task.bits:
        total *= np.float32(2.0 ** (task.width - task.bits))
    return total


def _clamp(numbers: Array, bits: int) -> Array:
    """Round numbers, in place, to integers of so many bits."""
    np.rint(numbers, out=numbers)
    return np.clip(numbers, 0, 2.0**bits - 1, out=numbers)


def _cut(axis: int, *arrays: Array) -> Iterator[list[Array]]:
    """Cut arrays that differ only in the length of an axis into the same blocks, as outer × `axis` × inner."""
    shape, length = arrays[0].shape, max(array.shape[axis] for array in arrays)
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    views = [array.reshape(outer, array.shape[axis], inner) for array in arrays]
    columns = max(1, min(inner, max(_LEAST_COLUMNS, _BLOCK // length)))
    rows = max(1, _BLOCK // (length * columns))
    for row in range(0, outer, rows):
        for column in range(0, inner, columns):
            yield [view[row : row + rows, :, column : column + columns] for view in views]


def _read_lane(source: Array, indices: Array, plain: Array) -> Array:
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
