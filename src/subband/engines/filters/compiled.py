"""Filters for arrays of the host: compiled by Numba, for several threads.

The loops stand in `subband.engines.filters.loops`; here is what they are given. Results lie in recycled memory, and do
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from subband.engines.cpu.frame_tables import find_pixel_loop, find_shrink_loop, tabulate_thresholds
from subband.engines.cpu.program import ADDRESS, BYTES, FRAME_TABLE, PIXELS
from subband.engines.filters import compiled_statistics
from subband.engines.filters.base import Filters, choose_margins
from subband.engines.filters.cells import Cells
from subband.engines.filters.compiled_bivariate import shrink_bands
from subband.engines.filters.compiled_groups import filter_strips
from subband.engines.filters.constants import LAPLACIANS, NORMAL_MEDIAN, RULES, TILE
from subband.engines.filters.groups import Groups
from subband.engines.filters.launch import TaskKernel, TaskKernels, cut_tasks, invert_noise, repeat_tasks
from subband.engines.filters.plain import PlainFilters
from subband.engines.filters.tallies import choose_neighbours, choose_rows, choose_threshold, find_step
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["CompiledFilters"]

_convolution = TaskKernels("subband.engines.filters.loops.convolution")
_parts = TaskKernels("subband.engines.filters.loops.parts")
_pixels = TaskKernels("subband.engines.filters.loops.pixels")
_samplewise = TaskKernels("subband.engines.filters.loops.samplewise")
_shrinkage = TaskKernels("subband.engines.filters.loops.shrinkage")
_windows = TaskKernels("subband.engines.filters.loops.windows")

#: Columns that are filtered at a time, so that what is read stays in the cache.
_TILE = 4096

#: What pixels may be for the compiled loops.
_PIXELS = ("uint8", "uint16", "float32", "float64")


class CompiledFilters(PlainFilters):
    """Works on arrays of the host with compiled loops; what is seldom needed, with NumPy.

    Examples
    --------
    >>> filters = CompiledFilters()
    >>> filters.convolve(np.array([[0.0, 4.0, 0.0]]), (0.25, 0.5, 0.25), 0)
    array([[1., 2., 1.]])
    """

    def allocate_pixels(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return allocate(shape, np.dtype(dtype))

    def read_pixels(self, pixels: Array, matrix: Array | None, dtype: Any) -> Array:
        if pixels.dtype.name not in _PIXELS:
            # float16, which Numba does not compute with on the host
            pixels = pixels.astype(np.float32)
        *space, channels = pixels.shape
        planes = allocate((channels, *space), np.dtype(dtype))
        apart = np.moveaxis(pixels, -1, 0)
        if matrix is None and channels > 1 and apart.flags.c_contiguous:
            planes[...] = apart
            return planes
        _pass_pixels("split", planes, np.ascontiguousarray(pixels), matrix)
        return planes

    def write_pixels(self, planes: Array, matrix: Array | None, dtype: Any, out: Array | None = None) -> Array:
        kind = np.dtype(dtype)
        if kind.name not in _PIXELS:
            wide = self.write_pixels(planes, matrix, planes.dtype)
            return super().write_pixels(np.moveaxis(wide, -1, 0), None, kind, out)
        pixels = out
        if pixels is None or pixels.dtype != kind or not pixels.flags.carray:
            pixels = allocate((*planes.shape[1:], len(planes)), kind)
        _pass_pixels("join", planes, pixels, matrix)
        if out is None or out is pixels:
            return pixels
        out[...] = pixels
        return out

    def extend(self, planes: Array, before: Sequence[int], behind: Sequence[int]) -> Array:
        space = [a + n + b for a, n, b in zip(before, planes.shape[1:], behind, strict=True)]
        goal = allocate((len(planes), *space), planes.dtype)
        return _blend_part(goal, planes, [-count for count in before], 1.0, add=False)

    def spin(self, planes: Array, steps: Sequence[int]) -> Array:
        count, space = (
            len(planes),
            [n + sum(own) for n, own in zip(planes.shape[1:], choose_margins(steps), strict=True)],
        )
        goal = allocate((2 * count, *space), planes.dtype)
        depth, height, width = _as_volume(goal)
        begins = [0] * 3, [*[0] * (3 - len(steps)), *(-step for step in steps)]
        calls = [
            ((half, planes), (1.0,), (*_as_volume(planes), depth, height, width, *begin, 0))
            for half, begin in zip((goal[:count], goal[count:]), begins, strict=True)
        ]
        _parts.blend_part.run_each(repeat_tasks(2, count * depth, height, width), calls, goal.size)
        return goal

    def average_shifts(self, planes: Array, shifted: Array, shape: Sequence[int], steps: Sequence[int]) -> Array:
        out = allocate((len(planes), *shape), planes.dtype)
        depth, height, width = _as_volume(out)
        sizes = *_as_volume(planes), *_as_volume(shifted), depth, height, width, *[0] * (4 - planes.ndim), *steps
        tasks = cut_tasks(len(planes) * depth, height, width)
        _parts.average_shifts(tasks, (out, planes, shifted), (), sizes, out.size)
        return out

    def add_part(self, total: Array, planes: Array, begin: Sequence[int], weight: float) -> Array:
        return _blend_part(total, planes, begin, weight, add=True)

    def take_part(self, planes: Array, begin: Sequence[int], shape: Sequence[int], weight: float) -> Array:
        return _blend_part(allocate((len(planes), *shape), planes.dtype), planes, begin, weight, add=False)

    def measure_median(self, band: Array, gain: float, mask: Array | None = None) -> Array:
        return compiled_statistics.measure_median(band, mask) / (NORMAL_MEDIAN * gain)

    def measure_smooth(
        self,
        band: Array,
        gain: float,
        others: Sequence[tuple[Array, float]],
        cells: Cells,
        known: Array | None = None,
        samples: Array | None = None,
    ) -> Array:
        return compiled_statistics.measure_smooth(band, gain, others, cells, known, samples)

    def find_bayes_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        variance = np.square(np.asarray(noise, np.float64) * gain)
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = variance / np.sqrt(np.maximum(compiled_statistics.measure_power(band) - variance, 0))
        return np.where(variance == 0, 0.0, threshold)

    def find_sure_threshold(self, band: Array, noise: Array, gain: float) -> Array:
        count = prod(band.shape[1:])
        step = find_step(count)
        if step == 0:
            return np.zeros(len(band))
        scaled = np.asarray(noise, np.float64) * gain
        return choose_threshold(self.count_magnitudes(band, scaled, step), scaled, count)

    def shrink(
        self,
        band: Array,
        threshold: Array,
        mode: str,
        upper: Array | None = None,
        gains: Array | None = None,
    ) -> Array:
        count = prod(band.shape[1:])
        low = np.asarray(threshold, np.float64)
        high = low if upper is None else np.asarray(upper, np.float64)
        gain = np.ones(len(band)) if gains is None else np.asarray(gains, np.float64)
        values = tabulate_thresholds(low, high, gain).astype(band.dtype)
        sizes = count, find_shrink_loop(mode, band.dtype.name)
        _shrinkage.shrink_by_threshold(cut_tasks(len(band), 1, count), (band, values), (), sizes, band.size)
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
        return shrink_bands([band], [parent], noise, [gain], [parent_gain], window, shift, scale)[0]

    def shrink_bivariate_bands(
        self,
        bands: Sequence[Array],
        parents: Sequence[Array | None],
        noise: Array,
        gains: Sequence[float],
        parent_gains: Sequence[float],
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> list[Array]:
        return shrink_bands(bands, parents, noise, gains, parent_gains, window, shift, scale)

    def shrink_neighbours(self, band: Array, noise: Array, gain: float) -> Array:
        space, scaled = band.shape[1:], np.asarray(noise, np.float64) * gain
        whole = [slice(length) for length in space]
        rows = choose_rows(space, whole, 0, self.choose_row_distance(prod(space)))
        tables = self.count_neighbours(band, scaled, whole, rows)
        return self.scale_neighbours(band, scaled, choose_neighbours(tables, scaled, len(space)))

    def choose_row_distance(self, count: int) -> int:
        return Filters.choose_row_distance(self, count)

    def count_magnitudes(self, band: Array, noise: Array, step: float) -> Array:
        return compiled_statistics.count_magnitudes(band, noise, step)

    def count_neighbours(self, band: Array, noise: Array, inner: Sequence[slice], rows: Array) -> Array:
        return compiled_statistics.count_neighbours(band, noise, inner, rows)

    def scale_neighbours(self, band: Array, noise: Array, chosen: Array) -> Array:
        out = allocate(band.shape, band.dtype)
        axes = band.ndim - 1
        inverse = [invert_noise(n) for n in noise.tolist()]
        numbers = np.stack([inverse, *chosen.T, 1 / chosen[:, 1] ** axes], axis=1)
        depth, height, width = _as_volume(band)
        tasks = cut_tasks(len(band) * depth, height, width, TILE)
        _windows.scale_neighbours(tasks, (out, band), numbers, (depth, height, width, axes), band.size)
        return out

    def shrink_wiener(self, band: Array, guide: Array, noise: Array, gain: float) -> Array:
        count = prod(band.shape[1:])
        numbers = [invert_noise(n) for n in _scale_noise(noise, gain)]
        _shrinkage.shrink_by_guide(cut_tasks(len(band), 1, count), (band, guide), numbers, (count,), band.size)
        return band

    def filter_groups(self, planes: Array, guide: Array, noise: Array, groups: Groups) -> Array:
        return filter_strips(planes, guide, np.asarray(noise, np.float64), groups)

    def convolve(self, planes: Array, taps: Sequence[float], axis: int) -> Array:
        out, shape = allocate(planes.shape, planes.dtype), planes.shape
        weights = np.array(taps, planes.dtype)[::-1].copy()
        outer, length, inner = prod(shape[: axis + 1]), shape[axis + 1], prod(shape[axis + 2 :])
        arrays = out, planes, weights
        if inner == 1:
            tasks = cut_tasks(1, outer, length, _TILE)
            _convolution.convolve_rows(tasks, arrays, (), (length, len(weights)), planes.size)
        else:
            tasks = cut_tasks(outer, length, inner, _TILE)
            _convolution.convolve_columns(tasks, arrays, (), (length, inner, len(weights)), planes.size)
        return out

    def add_laplacian(self, planes: Array, amount: float, kernel: str) -> Array:
        out = allocate(planes.shape, planes.dtype)
        depth, height, width = _as_volume(planes)
        centre, beside, across = LAPLACIANS[kernel]
        weights = 1 - amount * centre, -amount * beside, -amount * beside, -amount * across
        if planes.ndim == 2:
            weights = 1 + 2 * amount, -amount, 0.0, 0.0
        tasks = cut_tasks(len(planes) * depth, height, width, _TILE)
        _convolution.subtract_laplacian(tasks, (out, planes), weights, (height, width), planes.size)
        return out

    def differ(self, own: Array, other: Array, rule: str, strength: float) -> Array:
        out = allocate(own.shape, own.dtype)
        _run_samplewise(_samplewise.differ, (out, own, other), (strength,), (RULES.index(rule),))
        return out

    def raise_to(self, planes: Array, power: float, white: float) -> Array:
        if power == 1:
            return planes
        out = allocate(planes.shape, planes.dtype)
        _run_samplewise(_samplewise.raise_to, (out, planes), (power, white))
        return out

    def measure_brightness(self, planes: Array, weights: Sequence[float], power: float, white: float) -> Array:
        out = allocate((1, *planes.shape[1:]), planes.dtype)
        sizes = prod(planes.shape[1:]), len(planes)
        _run_samplewise(_samplewise.measure_brightness, (out, planes), (power, white, *weights), sizes)
        return out

    def temper(self, light: Array, power: float, white: float, floor: float, level: float, strength: float) -> Array:
        _run_samplewise(_samplewise.temper, (light,), (power, white, floor, level, strength))
        return light

    def divide(self, planes: Array, light: Array, scale: float) -> Array:
        return _weigh(planes, light, scale, is_product=False)

    def multiply(self, planes: Array, light: Array, scale: float) -> Array:
        return _weigh(planes, light, scale, is_product=True)


def _scale_noise(noise: Array, gain: float) -> list[float]:
    """Return the noise of a band as Python's numbers: for a handful of planes they are faster than arrays."""
    return [n * gain for n in np.asarray(noise, np.float64).tolist()]


def _as_volume(planes: Array) -> tuple[int, int, int]:
    """Return depth, height and width of planes; what they do not have is 1."""
    depth, height, width = (1,) * (4 - planes.ndim) + planes.shape[1:]
    return depth, height, width


def _blend_part(goal: Array, planes: Array, begin: Sequence[int], weight: float, *, add: bool) -> Array:
    """Write, or add, `weight` times the part of `planes` that begins at `begin`, mirrored where it reaches beyond."""
    start = [0] * (4 - planes.ndim) + list(begin)
    depth, height, width = _as_volume(goal)
    sizes = *_as_volume(planes), depth, height, width, *start, int(add)
    _parts.blend_part(cut_tasks(len(planes) * depth, height, width), (goal, planes), (weight,), sizes, goal.size)
    return goal


def _pass_pixels(task: Literal["split", "join"], planes: Array, pixels: Array, matrix: Array | None) -> None:
    """Turn pixels into planes, or planes into pixels; common ones by the loops of the CPU engine."""
    channels, count = len(planes), prod(planes.shape[1:])
    tasks = cut_tasks(1, 1, count)
    is_common = channels == 3 or (channels == 1 and matrix is None)
    if is_common and pixels.dtype.kind == "u" and planes.dtype == np.float32:
        table = np.zeros(FRAME_TABLE + 1, np.int64)
        loop = find_pixel_loop(task, channels, pixels.dtype.name)
        table[[PIXELS, ADDRESS, BYTES]] = loop, pixels.ctypes.data, channels * pixels.itemsize
        table[-1] = count
        weights = np.ascontiguousarray(np.eye(channels) if matrix is None else matrix, np.float32)
        _pixels.pass_rows(tasks, (planes, weights), (), table.tolist(), planes.size)
        return
    sizes = count, channels, int(matrix is not None)
    weights = np.ascontiguousarray(np.eye(1) if matrix is None else matrix, planes.dtype)
    if task == "split":
        _pixels.split_pixels(tasks, (planes, pixels, weights), (), sizes, planes.size)
    else:
        _pixels.join_pixels(tasks, (pixels, planes, weights), (), sizes, planes.size)


def _run_samplewise(
    kernel: TaskKernel, arrays: Sequence[Array], numbers: Sequence[float], sizes: Sequence[int] = ()
) -> None:
    """Run a kernel over all samples of the first array."""
    count = arrays[0].size
    kernel(cut_tasks(1, 1, count), arrays, numbers, sizes, count)


def _weigh(planes: Array, light: Array, scale: float, *, is_product: bool) -> Array:
    count = prod(planes.shape[1:])
    sizes = count, int(len(light) > 1), int(is_product)
    _samplewise.weigh(cut_tasks(len(planes), 1, count), (planes, light), (scale,), sizes, planes.size)
    return planes
