"""Filters in NumPy: slow, short, in double precision, and the judge of the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from subband.engines.filters.base import Filters
from subband.engines.filters.cells import Cells, measure_cells
from subband.engines.filters.constants import (
    BIVARIATE,
    FADED,
    LAPLACIANS,
    LARGEST_FACTOR,
    LEAST_WEIGHT,
    MIDDLE,
    NEAR,
    NEIGHBOUR_WINDOWS,
    NORMAL_MEDIAN,
    SURE_BINS,
    WIDTH,
)
from subband.engines.filters.groups import Groups, find_floor, find_grid
from subband.typing import Array

__all__ = ["PlainFilters", "choose_near"]


class PlainFilters(Filters):
    """Works on arrays of the host with nothing but NumPy."""

    def upload(self, numbers: Array) -> Array:
        return np.asarray(numbers, np.float64)

    def upload_planes(self, planes: Array, dtype: Any) -> Array:
        return np.ascontiguousarray(planes, dtype)

    def allocate_pixels(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def read_pixels(self, pixels: Array, matrix: Array | None, dtype: Any) -> Array:
        planes = np.moveaxis(pixels.astype(np.float64), -1, 0)
        if matrix is not None:
            planes = np.tensordot(matrix, planes, 1)
        return np.ascontiguousarray(planes, dtype)

    def write_pixels(self, planes: Array, matrix: Array | None, dtype: Any, out: Array | None = None) -> Array:
        values = planes.astype(np.float64)
        if matrix is not None:
            values = np.tensordot(matrix, values, 1)
        kind = np.dtype(dtype)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            values = np.floor(np.clip(values, limits.min, limits.max) + 0.5)
        pixels = np.ascontiguousarray(np.moveaxis(values, 0, -1), kind)
        if out is None:
            return pixels
        out[...] = pixels
        return out

    def extend(self, planes: Array, before: Sequence[int], behind: Sequence[int]) -> Array:
        return np.pad(planes, [(0, 0), *zip(before, behind, strict=True)], mode="reflect")

    def add_part(self, total: Array, planes: Array, begin: Sequence[int], weight: float) -> Array:
        total[: len(planes)] += self.take_part(planes, begin, total.shape[1:], weight)
        return total

    def take_part(self, planes: Array, begin: Sequence[int], shape: Sequence[int], weight: float) -> Array:
        part = tuple(slice(start, start + size) for start, size in zip(begin, shape, strict=True))
        return np.ascontiguousarray(planes[(slice(None), *part)] * planes.dtype.type(weight))

    def measure_median(self, band: Array, gain: float, mask: Array | None = None) -> Array:
        magnitudes = np.abs(band.reshape(len(band), -1).astype(np.float64))
        if mask is not None:
            magnitudes = magnitudes[:, np.asarray(mask).ravel() != 0]
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
        own = cells.measure_energies(band.astype(np.float64), gain)
        beside = sum(cells.measure_energies(other.astype(np.float64), each) for other, each in others) / len(others)
        if samples is not None:
            beside = cells.set_back(beside, own, samples.astype(np.float64))
        counted = slice(None) if known is None else known
        pairs = zip(beside[:, counted], own[:, counted], strict=True)
        return np.array([measure_cells(*pair) for pair in pairs])

    def find_bayes_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        power = np.mean(np.square(band.reshape(len(band), -1).astype(np.float64)), axis=1)
        variance = np.square(noise * gain)
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = variance / np.sqrt(np.maximum(power - variance, 0))
        return np.where(variance == 0, 0.0, threshold)

    def find_sure_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        count = band[0].size
        edges = np.arange(SURE_BINS + 1) * (sqrt(2 * log(max(count, 1))) / SURE_BINS)
        thresholds = np.zeros(len(band))
        for number, plane in enumerate(band):
            n = float(noise[number]) * gain
            if n == 0:
                continue
            a = np.abs(plane.astype(np.float64)).ravel() / n
            risks = [count - 2 * np.sum(a < e) + np.sum(a[a < e] ** 2) + np.sum(a >= e) * e**2 for e in edges]
            thresholds[number] = n * edges[int(np.argmin(risks))]
        return thresholds

    def shrink(
        self,
        band: Array,
        threshold: Array,
        mode: str,
        upper: Array | None = None,
        gains: Array | None = None,
    ) -> Array:
        low = _spread(threshold, band)
        values = band.astype(np.float64)
        magnitude = np.abs(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            if mode == "hard":
                factor = np.where(magnitude < low, 0.0, 1.0)
            elif mode == "garrote":
                factor = np.maximum(np.nan_to_num(1 - np.square(low / magnitude), nan=0.0), 0)
            else:
                factor = np.maximum(np.nan_to_num(1 - low / magnitude, nan=0.0), 0)
            if mode == "firm":
                high = _spread(low if upper is None else upper, band)
                steepness = np.where(np.isinf(high), 1.0, high / (high - low))
                factor = np.where(magnitude > high, 1.0, factor * np.where(high == low, 0.0, steepness))
        if gains is not None:
            factor = factor * _spread(gains, band)
        band[...] = values * factor
        return band

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
        values, numbers, near = band.astype(np.float64), BIVARIATE, choose_near(window, band.ndim - 1, scale)
        n = _spread(noise, band) * gain
        with np.errstate(divide="ignore", invalid="ignore"):
            energy = np.square(values / n)
            around = _average(energy, window)
            parents = above = around
            if parent is not None:
                indices = [
                    np.minimum((np.arange(size) + shift) // scale, whole - 1)
                    for size, whole in zip(band.shape[1:], parent.shape[1:], strict=True)
                ]
                chosen = np.ix_(np.arange(len(parent)), *indices)
                squares = np.square(parent.astype(np.float64) * (gain / parent_gain) / n)
                parents, above = squares[chosen], _average(squares, near)[chosen]
            signal = np.clip(around + numbers.parent * above - numbers.floor, 0, numbers.most)
            own = np.minimum(energy, numbers.most) + numbers.own
            x = np.minimum(_average(energy, near), numbers.most) * numbers.slope
            parents = np.minimum(parents, numbers.most)
            share = (parents + numbers.least) / (parents + numbers.far)
            x = x * np.sqrt(own * share * signal / (signal + numbers.half))
        # without noise nothing shrinks, not even where nothing is
        factor = np.where(n == 0, 1.0, np.nan_to_num(x / (1 + x), nan=0.0))
        return (values * factor).astype(band.dtype)

    def shrink_neighbours(self, band: Array, noise: Array, gain: float) -> Array:
        result = band.copy()
        for number, plane in enumerate(band):
            n = float(noise[number]) * gain
            if n == 0:
                continue
            w = plane[np.newaxis].astype(np.float64) / n
            best = (np.inf, 0.0, w)
            for window in NEIGHBOUR_WINDOWS:
                m = _average(np.square(w), window) + 1e-9
                count = window ** (band.ndim - 1)
                for k in np.arange(SURE_BINS + 1) * (LARGEST_FACTOR / SURE_BINS):
                    kept = m >= k
                    square = np.square(w)
                    inside = k**2 * square / m**2 - 2 * k / m + 4 * k * square / (m**2 * count)
                    risk = np.sum(np.where(kept, inside, square - 2))
                    if risk < best[0]:
                        best = (risk, k, m)
            result[number] = plane * np.maximum(1 - best[1] / best[2][0], 0)
        return result

    def choose_row_distance(self, count: int) -> int:  # noqa: ARG002 - every row counts here
        return 1

    def shrink_wiener(self, band: Array, guide: Array, noise: Array, gain: float) -> Array:
        energy = np.square(guide.astype(np.float64))
        variance = np.square(_spread(noise, band) * gain)
        with np.errstate(invalid="ignore"):
            factor = energy / (energy + variance)
        band[...] = band * np.where(variance == 0, 1.0, factor)
        return band

    def filter_groups(self, planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
        grid = find_grid(planes.shape[1:], groups)
        shape = len(planes), *grid.space
        noisy, pilot = planes.reshape(shape).astype(np.float64), guide.reshape(shape).astype(np.float64)
        axes = (1, 2, 3)
        patches = np.lib.stride_tricks.sliding_window_view(noisy, grid.patch, axes)
        pilots = np.lib.stride_tricks.sliding_window_view(pilot, grid.patch, axes)
        values, weights = np.zeros(shape), np.zeros(shape)
        for index in np.ndindex(*grid.references):
            lasts = [n - p for n, p in zip(grid.space, grid.patch, strict=True)]
            own = [min(i * s, last) for i, s, last in zip(index, grid.step, lasts, strict=True)]
            begin = [max(0, at - r) for at, r in zip(own, grid.reach, strict=True)]
            part = tuple(
                slice(a, min(last, at + r) + 1) for a, at, r, last in zip(begin, own, grid.reach, lasts, strict=True)
            )
            distances = np.sum(np.square(pilots[0][part] - pilots[0][tuple(own)]), axis=(3, 4, 5))
            distances[tuple(at - a for at, a in zip(own, begin, strict=True))] = -1
            nearest = np.argsort(distances, axis=None, kind="stable")[: groups.count]
            positions = np.stack(np.unravel_index(nearest, distances.shape), axis=1) + begin
            for plane, s in enumerate(np.asarray(noise, np.float64)):
                if s == 0:
                    continue
                own_pilots, own_patches = (
                    np.stack([each[plane][tuple(at)] for at in positions]) for each in (pilots, patches)
                )
                mean = own_pilots.mean()
                x, y = ((each - mean).reshape(len(positions), -1) for each in (own_pilots, own_patches))
                energy = groups.trust * x @ x.T + (1 - groups.trust) * y @ y.T
                variance = max(x.shape[1] * s**2, find_floor(planes.dtype) * float(np.diag(energy).max()))
                less = variance * np.linalg.inv(energy + groups.trust * variance * np.eye(len(positions)))
                own_weights = 1 / np.maximum(np.sum(np.square(np.eye(len(positions)) - less), axis=1), 1e-3)
                own_weights = own_weights if groups.is_sharp else own_weights**0.75
                estimates = (y - less @ y + mean).reshape(own_patches.shape)
                for at, estimate, weight in zip(positions, estimates, own_weights, strict=True):
                    box: tuple[Any, ...] = plane, *(slice(a, a + p) for a, p in zip(at, grid.patch, strict=True))
                    values[box] += weight * estimate
                    weights[box] += weight
        # without noise nothing was summed
        result = np.where(weights > 0, values / np.where(weights > 0, weights, 1), noisy)
        return result.reshape(planes.shape).astype(planes.dtype)

    def convolve(self, planes: Array, taps: Sequence[float], axis: int) -> Array:
        reach = len(taps) // 2
        borders = [(0, 0)] * planes.ndim
        borders[axis + 1] = (reach, reach)
        wide = np.pad(planes.astype(np.float64), borders, mode="symmetric")
        length = planes.shape[axis + 1]
        total = np.zeros(planes.shape)
        for start, tap in enumerate(reversed(taps)):
            total += tap * np.take(wide, np.arange(start, start + length), axis + 1)
        return total.astype(planes.dtype)

    def add_laplacian(self, planes: Array, amount: float, kernel: str) -> Array:
        values = planes.astype(np.float64)
        if planes.ndim == 2:
            laplacian = _shift(values, 1, -1) + _shift(values, 1, 1) - 2 * values
            return (values - amount * laplacian).astype(planes.dtype)
        centre, beside, across = LAPLACIANS[kernel]
        rows, columns = planes.ndim - 2, planes.ndim - 1
        laplacian = centre * values
        for step in (-1, 1):
            laplacian += beside * (_shift(values, rows, step) + _shift(values, columns, step))
            laplacian += across * (_shift(_shift(values, rows, step), columns, -1))
            laplacian += across * (_shift(_shift(values, rows, step), columns, 1))
        return (values - amount * laplacian).astype(planes.dtype)

    def differ(self, own: Array, other: Array, rule: str, strength: float) -> Array:
        if rule == "add":
            return strength * other
        if rule == "mix":
            return strength * (other - own)
        strong = strength * other
        return np.where(np.abs(strong) > np.abs(own), strong - own, np.zeros_like(own))

    def raise_to(self, planes: Array, power: float, white: float) -> Array:
        if power == 1:
            return planes
        raised: Array = white * (np.maximum(planes, 0) / white) ** power
        return raised

    def measure_brightness(self, planes: Array, weights: Sequence[float], power: float, white: float) -> Array:
        total = np.zeros((1, *planes.shape[1:]), planes.dtype)
        for plane, weight in zip(planes, weights, strict=True):
            total[0] += weight * self.raise_to(plane, power, white)
        return total

    def temper(self, light: Array, power: float, white: float, floor: float, level: float, strength: float) -> Array:
        raised = np.maximum(self.raise_to(light, power, white), floor)
        light[...] = level + strength * (raised - level)
        return light

    def divide(self, planes: Array, light: Array, scale: float) -> Array:
        planes *= scale / light
        return planes

    def multiply(self, planes: Array, light: Array, scale: float) -> Array:
        planes *= scale * light
        return planes

    def spread(self, plane: Array, count: int) -> Array:
        return np.repeat(plane, count, axis=0)

    def measure_activity(self, bands: Sequence[Array]) -> Array:
        total: Array = np.square(bands[0][:1])
        for band in bands[1:]:
            total += np.square(band[:1])
        return total

    def prefer(self, best: Array, chosen: Array, rival: Array, number: int) -> None:
        better = rival > best
        best[better] = rival[better]
        chosen[better] = number

    def mark(self, chosen: Array, number: int) -> Array:
        return np.where(chosen == number, 1, 0).astype(chosen.dtype)

    def take_over(self, total: Array, planes: Array, chosen: Array, number: int) -> None:
        np.copyto(total, planes, where=chosen == number)

    def judge_exposure(self, planes: Array, white: float) -> Array:
        weight = np.exp(-0.5 * np.square((planes[:1] / white - MIDDLE) / WIDTH))
        if len(planes) == 3:
            weight *= FADED + np.sqrt(np.square(planes[1:2]) + np.square(planes[2:3])) / white
        return np.asarray(weight + LEAST_WEIGHT)

    def add_weighted(self, total: Array, planes: Array, weight: Array) -> None:
        total += planes * weight


def _spread(numbers: Array, planes: Array) -> Array:
    """Return numbers in a shape that goes with planes."""
    return np.asarray(numbers, np.float64).reshape((-1,) + (1,) * (planes.ndim - 1))


def choose_near(window: int, axes: int, scale: int) -> int:
    """Return how many samples along each axis the smaller window of bivariate shrinkage has.

    Coefficients beside each other tell the less the closer they are: without decimation, which parents as dense as
    the band stand for, there is one window only.

    Examples
    --------
    >>> choose_near(7, 2, 2), choose_near(1, 2, 2), choose_near(5, 3, 2), choose_near(7, 2, 1)
    (3, 1, 5, 7)
    """
    return window if axes > 2 or scale == 1 else min(window, NEAR)


def _average(values: Array, window: int) -> Array:
    """Return the mean over a window around every sample; borders are mirrored, the last sample repeated."""
    reach = window // 2
    for axis in range(1, values.ndim):
        borders = [(0, 0)] * values.ndim
        borders[axis] = (reach, reach)
        wide = np.pad(values, borders, mode="symmetric")
        length = values.shape[axis]
        parts = [np.take(wide, np.arange(start, start + length), axis) for start in range(window)]
        values = np.mean(parts, axis=0)
    return values


def _shift(values: Array, axis: int, step: int) -> Array:
    """Return for every sample its neighbour `step` further along an axis; the last one is its own."""
    length = values.shape[axis]
    moved: Array = np.take(values, np.clip(np.arange(length) + step, 0, length - 1), axis)
    return moved
