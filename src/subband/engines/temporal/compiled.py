"""Averages over time by loops of the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subband.compiled import Kernels
from subband.engines.memory import allocate
from subband.engines.temporal.base import Grid, TemporalFilters
from subband.engines.temporal.light import find_light, measure_drift
from subband.engines.temporal.motion import find_motion, pad_planes, repeat_border
from subband.engines.temporal.sharing import share_rows
from subband.tracking import (
    BLOCK,
    CUT,
    MARGIN,
    MEMORY,
    NEW,
    PATCH,
    PATCH_SLACK,
    PATCH_WORTH,
    SLACKS,
    UNSEEN,
    tabulate_taps,
)
from subband.typing import Array

__all__ = ["CompiledPast", "CompiledTemporalFilters"]

#: Rows that a thread takes at a time.
_ROWS = 128

_loops = Kernels("subband.engines.temporal.temporal_loops")


@dataclass(frozen=True)
class CompiledPast:
    """What is known after a frame, in arrays with margins, so that loops need not ask whether they are inside.

    Attributes
    ----------
    padded : ndarray of float32, of shape (planes, rows, columns)
        The averages, with margins.
    padded_ratios : ndarray of float32, of shape (rows, columns)
        Variance of their noise over that of a frame, with margins.
    noise : ndarray of float64, of shape (planes,)
        Standard deviation of the noise of a frame in each plane.
    motion : ndarray of shape (blocks, blocks, 2) or None
        Where each block was before, in rows and columns; None if there is nothing before.
    """

    padded: Array
    padded_ratios: Array
    noise: Array
    motion: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the averages."""
        count, rows, columns = self.padded.shape
        return count, rows - 2 * MARGIN, columns - 2 * MARGIN

    @property
    def planes(self) -> Array:
        """The averages."""
        return np.ascontiguousarray(self.padded[:, MARGIN:-MARGIN, MARGIN:-MARGIN])

    @property
    def ratios(self) -> Array:
        """Variance of the noise of the averages over that of a frame."""
        return self.padded_ratios[MARGIN:-MARGIN, MARGIN:-MARGIN]


class CompiledTemporalFilters(TemporalFilters):
    """Works on arrays of NumPy; `noise` is on the host too."""

    def begin(self, planes: Array, noise: Any) -> CompiledPast:
        padded = pad_planes(planes)
        ratios = _make_ratios(padded.shape[1:])
        ratios[MARGIN:-MARGIN, MARGIN:-MARGIN] = 1
        return CompiledPast(padded, ratios, np.asarray(noise, np.float64))

    def find_motion(self, planes: Array, past: CompiledPast, noise: Any) -> Array | None:
        if not noise[0]:
            return None
        ratio = float(past.ratios[::BLOCK, ::BLOCK].mean())
        return find_motion(pad_planes(planes[0]), past.padded[0], float(noise[0]), ratio)

    def average(
        self, past: CompiledPast, planes: Array, noise: Any, motion: Array | None, steps: tuple[int, int]
    ) -> CompiledPast:
        sigma = np.asarray(noise, np.float64)
        if motion is None or not sigma[0]:
            return self.begin(planes, sigma)
        predicted = allocate(planes.shape, planes.dtype)
        ratios, residuals = allocate(planes.shape[1:], planes.dtype), allocate(planes.shape, planes.dtype)
        sums = np.zeros((2, len(planes), *motion.shape[:2]), np.float32)
        # noise of chroma that was once stored with fewer samples measures too low, and must not tell that nothing
        # matches
        certain = np.maximum(sigma, sigma[0])
        weights = (1 / (np.square(certain) * len(planes))).astype(np.float32)
        block = (2 * BLOCK // steps[0], 2 * BLOCK // steps[1])
        known = past.padded, past.padded_ratios, motion, block, tabulate_taps(), weights
        share_rows(len(motion), partial(_loops.predict, planes, *known, predicted, ratios, residuals, sums))
        light, drift = _compare_blocks(sums, ratios, certain, block)
        if (light != (1, 0)).any():
            relit = partial(_loops.relight, planes, light, weights, predicted, ratios, residuals)
            share_rows(planes.shape[1], relit, 32)
        # the mean of a patch is its sum over its samples, and noise is as strong in its sum over the root of these
        patches = [PATCH * self.halve(plane, PATCH.bit_length() - 1)[-1] for plane in residuals]
        drift = np.maximum(drift, _compare_patches(patches, planes.shape[1:], drift.shape, block))
        padded, padded_ratios = allocate(past.padded.shape, planes.dtype), _make_ratios(past.padded_ratios.shape)
        found = predicted, ratios, residuals, SLACKS, 1 / MEMORY, drift, block
        share_rows(planes.shape[1], partial(_loops.update, planes, *found, padded, padded_ratios), 32)
        for plane in np.flatnonzero(sigma == 0):
            padded[plane, MARGIN:-MARGIN, MARGIN:-MARGIN] = planes[plane]
        repeat_border(padded)
        # where little is left of the past, all of the frame counts as new
        after = CompiledPast(padded, padded_ratios, sigma, motion)
        return self.begin(planes, sigma) if np.mean(after.ratios[::BLOCK, ::BLOCK] > NEW) > CUT else after

    def halve(self, variances: Array, count: int) -> list[Array]:
        levels = [np.ascontiguousarray(variances, np.float32)]
        for _ in range(count):
            rows, columns = levels[-1].shape
            means = allocate((-(-rows // 2), -(-columns // 2)), np.dtype(np.float32))
            share_rows(len(means), partial(_loops.average, levels[-1], means), _ROWS)
            levels.append(means)
        return levels[1:]

    def draw(self, variances: Sequence[Array], grids: Sequence[Grid]) -> list[Array]:
        deviations = {level: np.sqrt(variances[level]) for level in {grid.level for grid in grids}}
        return [_draw(deviations[grid.level], grid) for grid in grids]

    def measure_typical(self, variances: Array, planes: int) -> Array:
        return np.full(planes, np.sqrt(np.mean(variances)))


def _compare_blocks(sums: Array, ratios: Array, sigma: Array, block: tuple[int, int]) -> tuple[Array, Array]:
    """Return the gain and the offset of each plane, and the drift of blocks, from the sums of their samples."""
    lengths = [
        np.minimum(np.arange(0, count * step, step) + step, length) - np.arange(0, count * step, step)
        for count, step, length in zip(sums.shape[2:], block, ratios.shape, strict=True)
    ]
    counts = np.outer(*lengths)
    new, old = sums / counts
    # one sample of a block stands for its variance
    variance = 1 + ratios[:: block[0], :: block[1]]
    light = np.array([
        find_light(after, before, square * variance / counts)
        for after, before, square in zip(new, old, np.square(sigma), strict=True)
    ])  # fmt: skip
    left = new - old * light[:, :1, np.newaxis] - light[:, 1:, np.newaxis]
    drift = measure_drift(left / (sigma[:, np.newaxis, np.newaxis] * np.sqrt(variance)), 1 / counts)
    return light.astype(np.float32), drift


def _compare_patches(
    patches: Sequence[Array], space: tuple[int, ...], blocks: tuple[int, ...], block: tuple[int, int]
) -> Array:
    """Return the excess of the energy of sums of patches, the median of each block and those around it."""
    shape, sides = [length // PATCH for length in space], [step // PATCH for step in block]
    # at the ends, blocks have fewer patches, or none
    whole = np.zeros((len(patches), blocks[0] * sides[0], blocks[1] * sides[1]), np.float32)
    for plane, sums in zip(whole, patches, strict=True):
        plane[: shape[0], : shape[1]] = sums[: shape[0], : shape[1]]
    rows, columns = (
        np.clip(length - np.arange(count) * side, 0, side)
        for length, count, side in zip(shape, blocks, sides, strict=True)
    )
    counts = np.maximum(np.outer(rows, columns), 1)
    parts = whole.reshape(-1, blocks[0], sides[0], blocks[1], sides[1])
    means, energies = parts.sum(axis=(2, 4)) / counts, np.square(parts).sum(axis=(2, 4)) / counts
    means, energies = (
        np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge"), (3, 3), axis=(1, 2))
        for x in (means, energies)
    )
    # what all of them have in common is drift
    common = means.mean(axis=(3, 4), keepdims=True)
    apart = (energies - common * (2 * means - common)).sum(axis=0)
    # what moves by itself is off by much in few blocks, and says nothing about those beside it
    return np.asarray(PATCH_WORTH * np.maximum(np.median(apart, axis=(2, 3)) - PATCH_SLACK, 0), np.float32)


def _make_ratios(shape: tuple[int, ...]) -> Array:
    """Return an array for ratios, where nothing is known of what lies beyond the border."""
    ratios = allocate(shape, np.dtype(np.float32))
    for edge in (slice(None, MARGIN), slice(-MARGIN, None)):
        ratios[edge], ratios[:, edge] = UNSEEN, UNSEEN
    return ratios


def _draw(deviations: Array, grid: Grid) -> Array:
    """Return the standard deviation at each coefficient of a band."""
    drawn = allocate((1, *grid.shape), np.dtype(np.float32))
    share_rows(grid.shape[0], partial(_loops.draw, deviations, drawn[0], grid.step, grid.level, *grid.begin), _ROWS)
    return drawn
