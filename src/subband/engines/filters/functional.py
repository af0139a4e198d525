"""Filters as operations on whole arrays, none of which writes into one: for arrays that are traced, and for NumPy's.

Each is what `PlainFilters` has, in the precision of the planes. Where a formula divides by what may be zero, or takes
its root, another number is put there before and its result is not used: a derivative of the discarded branch would not
be a number, and nothing times that is not nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from math import log, sqrt
from operator import add
from typing import Any

import numpy as np

from subband.engines.filters.cells import (
    DENSE,
    EMPTY,
    ENOUGH,
    EVEN,
    JUMP,
    LEAST_CLIPPED,
    MOST_CLIPPED,
    PARTS,
    WHITE,
    Cells,
)
from subband.engines.filters.constants import (
    BIVARIATE,
    LAPLACIANS,
    LARGEST_FACTOR,
    NEIGHBOUR_WINDOWS,
    NORMAL_MEDIAN,
    SURE_BINS,
)
from subband.engines.filters.groups import Groups
from subband.engines.filters.plain import PlainFilters, choose_near
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["FunctionalFilters"]


class FunctionalFilters(PlainFilters):
    """Computes by functions of the library that planes belong to; what is edited sample by sample is NumPy's only."""

    def read_pixels(self, pixels: Array, matrix: Array | None, dtype: Any) -> Array:
        return _mix(np.moveaxis(pixels.astype(dtype), -1, 0), matrix).copy()

    def write_pixels(self, planes: Array, matrix: Array | None, dtype: Any, out: Array | None = None) -> Array:
        values = _mix(planes, matrix)
        kind = np.dtype(dtype)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            values = np.floor(np.minimum(np.maximum(values, limits.min), limits.max) + 0.5)
        pixels = np.moveaxis(values, 0, -1).astype(kind).copy()
        if out is None:
            return pixels
        out[...] = pixels
        return out

    def add_part(self, total: Array, planes: Array, begin: Sequence[int], weight: float) -> Array:
        count = planes.shape[0]
        sums = total[:count] + self.take_part(planes, begin, total.shape[1:], weight)
        return sums if count == total.shape[0] else np.concatenate([sums, total[count:]])

    def take_part(self, planes: Array, begin: Sequence[int], shape: Sequence[int], weight: float) -> Array:
        part = tuple(slice(start, start + size) for start, size in zip(begin, shape, strict=True))
        return weight * planes[(slice(None), *part)]

    def measure_median(self, band: Array, gain: float, mask: Array | None = None) -> Array:
        magnitudes = np.absolute(band.reshape(band.shape[0], -1))
        if mask is not None:
            magnitudes = np.take(magnitudes, np.flatnonzero(mask), 1)
        return np.median(magnitudes, axis=1) / (NORMAL_MEDIAN * gain)

    def measure_smooth(
        self,
        band: Array,
        gain: float,
        others: Sequence[tuple[Array, float]],
        cells: Cells,
        known: Array | None = None,
        samples: Array | None = None,
    ) -> Array:
        beside = reduce(add, (cells.measure_energies(other, own) for other, own in others)) / len(others)
        own = cells.measure_energies(band, gain)
        if samples is not None:
            beside = cells.set_back(beside, own, samples)
        if known is not None:
            beside, own = (np.take(each, np.flatnonzero(known), 1) for each in (beside, own))
        return np.stack([_conclude(*pair) for pair in zip(beside, own, strict=True)])

    def find_bayes_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        variance = np.square(noise * gain)
        signal = np.mean(np.square(band.reshape(band.shape[0], -1)), axis=1) - variance
        threshold = np.where(signal > 0, variance / np.sqrt(np.where(signal > 0, signal, 1.0)), np.inf)
        return np.where(variance == 0, 0.0, threshold)

    def find_sure_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        count = band[0].size
        step = sqrt(2 * log(max(count, 1))) / SURE_BINS
        n = noise * gain
        a = np.absolute(band.reshape(band.shape[0], -1)) / _spread(np.where(n == 0, 1.0, n), 2)
        square = np.square(a)
        edges = (np.arange(SURE_BINS + 1) * step).astype(a.dtype).reshape(-1, 1, 1)
        # a compiler sums this up without an array of all candidates
        risks = np.sum(np.where(a < edges, square - 2, np.square(edges)), axis=2)
        least = np.min(risks, axis=0)
        # of equal risks the smaller threshold counts
        chosen = np.min(np.where(risks <= least, edges[..., 0], np.inf), axis=0)
        return np.where(n == 0, 0.0, chosen * n)

    def shrink(
        self, band: Array, threshold: Array, mode: str, upper: Array | None = None, gains: Array | None = None
    ) -> Array:
        low, magnitude = _spread(threshold, band.ndim), np.absolute(band)
        if mode == "hard":
            factor = np.where(magnitude < low, 0.0 * magnitude, 1.0)
        else:
            is_kept = magnitude > low
            ratio = np.where(is_kept, low, 0.0 * magnitude) / np.where(is_kept, magnitude, 1.0)
            factor = np.where(is_kept, 1 - (np.square(ratio) if mode == "garrote" else ratio), 0.0)
        if mode == "firm":
            high = low if upper is None else _spread(upper, band.ndim)
            is_ramp = (high > low) & np.isfinite(high)
            top = np.where(is_ramp, high, 1.0)
            slope = top / (top - np.where(is_ramp, low, 0.0))
            between = np.where(high == low, 0.0 * factor, factor * slope)
            factor = np.where(magnitude > high, 1.0, between)
        if gains is not None:
            factor = factor * _spread(gains, band.ndim)
        return (band * factor).astype(band.dtype)

    def shrink_bivariate(
        self,
        band: Array,
        parent: Array | None,
        noise: Array,
        gain: float,
        parent_gain: float = 1.0,
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> Array:
        numbers, near = BIVARIATE, choose_near(window, band.ndim - 1, scale)
        n = _spread(noise, band.ndim) * gain
        inverse = 1 / np.where(n == 0, 1.0, n)
        energy = np.square(band * inverse)
        around = _average(energy, window)
        parents = above = around
        if parent is not None:
            parents = np.square(parent * (gain / parent_gain * inverse))
            above = _average(parents, near)
            for axis in range(1, band.ndim):
                indices = np.minimum((np.arange(band.shape[axis]) + shift) // scale, parent.shape[axis] - 1)
                parents, above = np.take(parents, indices, axis), np.take(above, indices, axis)
        excess = around + numbers.parent * above - numbers.floor
        signal = np.minimum(np.where(excess > 0, excess, 0.0), numbers.most)
        own = np.minimum(energy, numbers.most) + numbers.own
        parents = np.minimum(parents, numbers.most)
        share = own * ((parents + numbers.least) / (parents + numbers.far)) * (signal / (signal + numbers.half))
        # the root has no derivative where nothing is left
        root = np.sqrt(np.where(excess > 0, share, 1.0))
        x = numbers.slope * np.minimum(_average(energy, near), numbers.most) * root
        factor = np.where(excess > 0, x / (1 + x), 0.0)
        return (band * np.where(n == 0, 1.0, factor)).astype(band.dtype)

    def shrink_neighbours(self, band: Array, noise: Array, gain: float) -> Array:
        n = _spread(noise * gain, band.ndim)
        square = np.square(band / np.where(n == 0, 1.0, n))
        rest = tuple(range(1, band.ndim))
        best: Any = None
        factor: Any = None
        for window in NEIGHBOUR_WINDOWS:
            mean = _average(square, window) + 1e-9
            inverse = 1 / mean
            ratio = square * np.square(inverse)
            for k in (number * (LARGEST_FACTOR / SURE_BINS) for number in range(SURE_BINS + 1)):
                inside = (k**2 + 4 * k / window ** len(rest)) * ratio - (2 * k) * inverse
                risk = _spread(np.sum(np.where(mean >= k, inside, square - 2), axis=rest), band.ndim)
                own = np.maximum(1 - k * inverse, 0)
                factor = own if best is None else np.where(risk < best, own, factor)
                best = risk if best is None else np.minimum(risk, best)
        return (band * np.where(n == 0, 1.0, factor)).astype(band.dtype)

    def shrink_wiener(self, band: Array, guide: Array, noise: Array, gain: float) -> Array:
        energy, variance = np.square(guide), np.square(_spread(noise, band.ndim) * gain)
        factor = energy / np.where(variance == 0, 1.0, energy + variance)
        return (band * np.where(variance == 0, 1.0, factor)).astype(band.dtype)

    def filter_groups(self, planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
        if not isinstance(planes, np.ndarray):
            raise ArgumentError(
                f"groups of similar patches are looked for in numbers, and planes are a {type(planes).__name__}, which "
                "is traced; use method='wiener', or denoise outside of what is traced"
            )
        return super().filter_groups(planes, guide, noise, groups)

    def convolve(self, planes: Array, taps: Sequence[float], axis: int) -> Array:
        parts = _list_shifts(planes, len(taps), axis + 1)
        total: Array = reduce(add, (tap * part for tap, part in zip(reversed(taps), parts, strict=True)))
        return total

    def add_laplacian(self, planes: Array, amount: float, kernel: str) -> Array:
        if planes.ndim == 2:
            before, values, behind = _list_shifts(planes, 3, 1)
            steeper: Array = values - amount * (before + behind - 2 * values)
            return steeper
        centre, beside, across = LAPLACIANS[kernel]
        columns = _list_shifts(planes, 3, planes.ndim - 1)
        (nw, west, sw), (north, values, south), (ne, east, se) = (_list_shifts(x, 3, planes.ndim - 2) for x in columns)
        laplacian = centre * values + beside * (north + south + west + east) + across * (nw + ne + sw + se)
        return values - amount * laplacian


def _conclude(others: Array, own: Array) -> Array:
    """Return what `cells.conclude` does from the energies of all cells of a plane, without a table to count in."""
    count = others.shape[0]
    ranks = np.arange(count, dtype=np.float64)
    largest = np.sort(others, axis=0)[count - 1]
    scaled = np.where(largest > 0, others / np.where(largest > 0, largest, 1.0), 1.0 + 0.0 * others)
    ordered = np.sort(scaled, axis=0)
    empty = np.sum(np.where(ordered < EMPTY, 1.0, 0.0))
    total = count - empty
    heights = []
    for number in range(PARTS + 1):
        rank = total * (number / PARTS)
        index = np.minimum(np.floor(empty + rank), count - 1.0)
        low, high = _find_edges(np.sum(np.where(ranks == index, ordered, 0.0 * ordered)))
        is_below, is_inside = (scaled >= EMPTY) & (scaled < low), (scaled >= low) & (scaled < high)
        below, inside = (np.sum(np.where(chosen, 1.0, 0.0)) for chosen in (is_below, is_inside))
        share = (rank - below) / np.maximum(inside, 1.0)
        heights.append(
            [
                np.sum(np.where(is_below, each, 0.0 * each)) + share * np.sum(np.where(is_inside, each, 0.0 * each))
                for each in (others, own)
            ]
        )
    parts = [[(b - a) * (PARTS / total) for a, b in zip(*pair, strict=True)] for pair in pairwise(heights)]
    found = first = parts[0][1] + parts[1][1]
    if count >= ENOUGH:
        is_jump = parts[0][1] < JUMP * parts[1][1]
        rest = found
        for number in reversed(range(1, PARTS - 1)):
            (beside, here), (next_beside, behind) = parts[number : number + 2]
            is_noise = (behind <= EVEN * here) & (here >= WHITE * beside) & (next_beside <= DENSE * beside)
            pair = here + behind
            is_clipped = is_jump | ((pair >= LEAST_CLIPPED * first) & (pair <= MOST_CLIPPED * first))
            rest = np.where(is_noise & is_clipped, pair, rest)
        found = np.where(total >= ENOUGH, rest, found)
    return np.where(found > 0, np.sqrt(np.where(found > 0, found / 2, 1.0)), 0.0 * found)


def _find_edges(energy: Array) -> tuple[Array, Array]:
    """Return the edges of the bin of an energy, which is an eighth of an octave, from a power of two on."""
    octave = 2.0 ** np.floor(np.log2(np.where(energy > 0, energy, 1.0)))
    step = np.floor(8 * (energy / octave))
    return octave * (step / 8), octave * ((step + 1) / 8)


def _mix(planes: Array, matrix: Array | None) -> Array:
    """Return weighted sums of planes, one for each row of a matrix; not by a product of matrices, which may round."""
    if matrix is None:
        return planes
    rows = [reduce(add, (float(w) * planes[number] for number, w in enumerate(row))) for row in matrix]
    return np.stack(rows).astype(planes.dtype)


def _spread(numbers: Array, ndim: int) -> Array:
    """Return numbers in a shape that goes with planes of so many axes."""
    return numbers.reshape((-1,) + (1,) * (ndim - 1))


def _list_shifts(x: Array, count: int, axis: int) -> list[Array]:
    """Return an array shifted by each offset of a window; borders are mirrored, the last sample repeated."""
    reach, length = count // 2, x.shape[axis]
    wide = np.take(x, np.pad(np.arange(length), reach, mode="symmetric"), axis)
    before = (slice(None),) * axis
    return [wide[(*before, slice(start, start + length))] for start in range(count)]


def _average(values: Array, window: int) -> Array:
    """Return the mean over a window around every sample."""
    for axis in range(1, values.ndim):
        values = reduce(add, _list_shifts(values, window, axis)) / window
    return values
