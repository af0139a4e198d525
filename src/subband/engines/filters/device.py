"""Filters on a device: every one is a kernel or a few, and nothing visits the host."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from subband.engines.device import Device
from subband.engines.filters.base import Filters, choose_margins
from subband.engines.filters.cells import Cells
from subband.engines.filters.constants import FADED, LAPLACIANS, LEAST_WEIGHT, MIDDLE, WIDTH
from subband.engines.filters.device_groups import filter_groups
from subband.engines.filters.device_launcher import Launcher, count_items, count_rows, find_space, is_empty
from subband.engines.filters.device_statistics import (
    find_bayes_threshold,
    find_sure_threshold,
    measure_median,
    measure_smooth,
)
from subband.engines.filters.device_windows import shrink_bands, shrink_neighbours
from subband.engines.filters.groups import Groups
from subband.errors import ArgumentError, ShapeError
from subband.kernels.filters import FilterSpec, render_filter
from subband.kernels.pixels import PackedPixelSpec, PixelSpec, render_packed_pixels, render_pixels
from subband.kernels.samplewise import SampleSpec, WeighSpec, render_samples, render_weighing
from subband.typing import Array

__all__ = ["DeviceFilters"]

#: Bands of a launch, at most: those of eight levels.
_MOST_BANDS = 24

#: Groups that weigh a band, at most: as many for small bands as for the largest one.
_WALKERS = 2048


class DeviceFilters(Filters):
    """Works on arrays of a device; work goes to its current stream or queue, and nothing is waited for.

    Parameters
    ----------
    device : Device
        Where the arrays are.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._launcher = Launcher(device)

    def upload(self, numbers: Array) -> Any:
        # precision is kept, because the dtype of the planes is not known here; see `Launcher.as_numbers`
        host = np.asarray(numbers)
        return self._device.upload(np.ascontiguousarray(host, np.result_type(host.dtype, np.float32)))

    def allocate_pixels(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self._device.allocate(tuple(shape), np.dtype(dtype))

    def read_pixels(self, pixels: Any, matrix: Array | None, dtype: Any) -> Any:
        pixels = self._device.as_contiguous(pixels)
        planes = self._device.allocate((pixels.shape[-1], *pixels.shape[:-1]), np.dtype(dtype))
        self._change_colour("planes", pixels, planes, matrix)
        return planes

    def write_pixels(self, planes: Any, matrix: Array | None, dtype: Any, out: Any = None) -> Any:
        planes = self._device.as_contiguous(planes)
        pixels = out
        if out is None or self._device.as_contiguous(out) is not out:
            pixels = self._device.allocate((*planes.shape[1:], planes.shape[0]), np.dtype(dtype))
        self._change_colour("pixels", pixels, planes, matrix)
        if out is None or pixels is out:
            return pixels
        out[...] = pixels
        return out

    def extend(self, planes: Any, before: Sequence[int], behind: Sequence[int]) -> Any:
        sizes = zip(planes.shape[1:], before, behind, strict=True)
        shape = [size + first + last for size, first, last in sizes]
        return self.take_part(planes, [-first for first in before], shape, 1.0)

    def spin(self, planes: Any, steps: Sequence[int]) -> Any:
        space = [n + sum(own) for n, own in zip(planes.shape[1:], choose_margins(steps), strict=True)]
        both = self._device.allocate((2 * planes.shape[0], *space), planes.dtype)
        self._move("spin", planes, both, [-step for step in steps], 1.0)
        return both

    def average_shifts(self, planes: Any, shifted: Any, shape: Sequence[int], steps: Sequence[int]) -> Any:
        planes, shifted = self._device.as_contiguous(planes), self._device.as_contiguous(shifted)
        mean = self._device.allocate((planes.shape[0], *shape), planes.dtype)
        if is_empty(mean):
            return mean
        spaces = [find_space(x.shape) for x in (planes, shifted, mean)]
        sizes = (size for space in spaces for size in space[1:])
        begin = (0,) * (4 - planes.ndim) + tuple(steps)
        table = self._launcher.tabulate(planes.shape[0], *sizes, *begin)
        spec = FilterSpec("average", planes.dtype.name)
        self._launcher.run(render_filter, spec, count_rows(spaces[-1]), planes, shifted, mean, table)
        return mean

    def repeat_numbers(self, numbers: Any, count: int, planes: Any) -> Any:
        if count == 1:
            return numbers
        own = self._launcher.as_numbers("noise", numbers, planes.shape[0] // count, self.compute_dtype(planes))
        repeated = self.spread(self._device.view(own, (1, *own.shape), own.dtype), count)
        return self._device.view(repeated, (count * own.shape[0],), own.dtype)

    def add_part(self, total: Any, planes: Any, begin: Sequence[int], weight: float) -> Any:
        total = self._device.as_contiguous(total)
        self._move("add", planes, total, begin, weight)
        return total

    def take_part(self, planes: Any, begin: Sequence[int], shape: Sequence[int], weight: float) -> Any:
        part = self._device.allocate((planes.shape[0], *shape), planes.dtype)
        self._move("take", planes, part, begin, weight)
        return part

    def measure_median(self, band: Any, gain: float, mask: Array | None = None) -> Any:
        dtype = self.compute_dtype(band)
        if is_empty(band):
            return self._device.make_zeros((band.shape[0],), dtype)
        if mask is not None:
            mask = self._upload_mask(mask)
        return measure_median(self._launcher, self._device.as_contiguous(band), gain, mask, dtype)

    def measure_smooth(
        self,
        band: Any,
        gain: float,
        others: Sequence[tuple[Any, float]],
        cells: Cells,
        known: Array | None = None,
        samples: Any = None,
    ) -> Any:
        if is_empty(band):
            return self.measure_median(band, gain)
        chosen = None if known is None else self._upload_mask(known)
        bands = [(self._device.as_contiguous(other), other_gain) for other, other_gain in others]
        band, dtype = self._device.as_contiguous(band), self.compute_dtype(band)
        if samples is not None:
            samples = self._device.as_contiguous(samples)
        return measure_smooth(self._launcher, band, gain, bands, cells, chosen, samples, dtype)

    def _upload_mask(self, mask: Array) -> Any:
        return self._device.upload(np.ascontiguousarray(mask, np.uint8))

    def find_bayes_threshold(self, band: Any, noise: Any, gain: float) -> Any:
        return self._find_threshold(find_bayes_threshold, band, noise, gain)

    def find_sure_threshold(self, band: Any, noise: Any, gain: float) -> Any:
        return self._find_threshold(find_sure_threshold, band, noise, gain)

    def shrink(self, band: Any, threshold: Any, mode: str, upper: Any = None, gains: Any = None) -> Any:
        if is_empty(band):
            return band
        named = (("threshold", threshold), ("upper", upper), ("gains", gains))
        found = [None if numbers is None else self._as_numbers(name, numbers, band) for name, numbers in named]
        return self._shrink([band], found, mode)[0]

    def shrink_bands(
        self,
        bands: Sequence[Any],
        threshold: Array,
        mode: str,
        upper: Array | None = None,
        gains: Array | None = None,
    ) -> list[Any]:
        dtype = self.compute_dtype(bands[0])
        found = [
            None if numbers is None else self._launcher.keep(np.asarray(numbers, dtype))
            for numbers in (threshold, upper, gains)
        ]
        return self._shrink(bands, found, mode)

    def shrink_bivariate(
        self,
        band: Any,
        parent: Any,
        noise: Any,
        gain: float,
        parent_gain: float = 1.0,
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> Any:
        if is_empty(band):
            return self._launcher.allocate_like(band)
        noise = self._as_numbers("noise", noise, band)
        bands = self.shrink_bivariate_bands([band], [parent], noise, [gain], [parent_gain], window, shift, scale)
        return bands[0]

    def shrink_bivariate_bands(
        self,
        bands: Sequence[Any],
        parents: Sequence[Any],
        noise: Any,
        gains: Sequence[float],
        parent_gains: Sequence[float],
        window: int = 7,
        shift: int = 0,
        scale: int = 2,
    ) -> list[Any]:
        count = noise.shape[0]
        if any(band.shape[0] % count for band in bands):
            planes = next(band.shape[0] for band in bands if band.shape[0] % count)
            raise ShapeError(f"noise has {count} numbers; a band has {planes} planes, which is no multiple of that")
        full = [number for number, band in enumerate(bands) if not is_empty(band)]
        shrunk = [self._launcher.allocate_like(band) if is_empty(band) else None for band in bands]
        if not full:
            return shrunk
        own = self._launcher.as_numbers("noise", noise, count, self.compute_dtype(bands[0]))
        contiguous = self._device.as_contiguous
        results = shrink_bands(
            self._launcher,
            [contiguous(bands[number]) for number in full],
            [None if parents[number] is None else contiguous(parents[number]) for number in full],
            own,
            [gains[number] for number in full],
            [parent_gains[number] for number in full],
            window,
            shift,
            scale,
        )
        for number, result in zip(full, results, strict=True):
            shrunk[number] = result
        return shrunk

    def shrink_neighbours(self, band: Any, noise: Any, gain: float) -> Any:
        band = self._device.as_contiguous(band)
        if is_empty(band):
            return self._launcher.allocate_like(band)
        return shrink_neighbours(self._launcher, band, self._as_numbers("noise", noise, band), gain)

    def shrink_wiener(self, band: Any, guide: Any, noise: Any, gain: float) -> Any:
        band, guide = self._device.as_contiguous(band), self._device.as_contiguous(guide)
        if is_empty(band):
            return band
        space = find_space(band.shape)
        each = self._launcher.choose_run(space.size, band, guide)
        table = self._launcher.tabulate(space.size // each, space.planes)
        values = self._launcher.list_values(self.compute_dtype(band), gain)
        arguments = (band, guide, table, values, self._as_numbers("noise", noise, band))
        groups = count_items(space.size // each, space.planes)
        self._launcher.run(render_filter, FilterSpec("wiener", band.dtype.name, each), groups, *arguments)
        return band

    def filter_groups(self, planes: Any, guide: Any, noise: Any, groups: Groups) -> Any:
        if is_empty(planes):
            return self._launcher.allocate_like(planes)
        planes, guide = self._device.as_contiguous(planes), self._device.as_contiguous(guide)
        return filter_groups(self._launcher, planes, guide, self._as_numbers("noise", noise, planes), groups)

    def convolve(self, planes: Any, taps: Sequence[float], axis: int) -> Any:
        if len(taps) % 2 == 0:
            raise ArgumentError(f"taps are {len(taps)}; a filter has an odd number, so that one is the middle")
        own_axis = axis + 4 - planes.ndim
        space = find_space(planes.shape)
        stride = prod(planes.shape[axis + 2 :])
        table = (*space, own_axis, planes.shape[axis + 1], stride, len(taps) // 2)
        return self._filter("convolve", planes, table, taps)

    def add_laplacian(self, planes: Any, amount: float, kernel: str) -> Any:
        centre, beside, across = LAPLACIANS[kernel]
        weights = (centre, beside, beside, across) if planes.ndim > 2 else (-2.0, 0.0, 1.0, 0.0)
        return self._filter("laplacian", planes, find_space(planes.shape), [amount * weight for weight in weights])

    def differ(self, own: Any, other: Any, rule: str, strength: float) -> Any:
        out = self._launcher.allocate_like(own)
        self._run_samplewise(rule, (out, own, other), (strength,))
        return out

    def measure_brightness(self, planes: Any, weights: Sequence[float], power: float, white: float) -> Any:
        out = self._device.allocate((1, *planes.shape[1:]), planes.dtype)
        self._run_samplewise("brightness", (out, planes), (power, white, *weights), len(weights))
        return out

    def raise_to(self, planes: Any, power: float, white: float) -> Any:
        if power == 1:
            return planes
        out = self._launcher.allocate_like(planes)
        self._run_samplewise("raise", (out, planes), (power, white))
        return out

    def temper(self, light: Any, power: float, white: float, floor: float, level: float, strength: float) -> Any:
        self._run_samplewise("temper", (light,), (power, white, floor, level, strength))
        return light

    def divide(self, planes: Any, light: Any, scale: float) -> Any:
        self._run_samplewise("divide", (planes, light), (scale,), int(light.shape[0] > 1))
        return planes

    def multiply(self, planes: Any, light: Any, scale: float) -> Any:
        self._run_samplewise("multiply", (planes, light), (scale,), int(light.shape[0] > 1))
        return planes

    def weigh_bands(self, bands: Sequence[Any], lights: Sequence[Any], *, is_product: bool) -> list[Any]:
        bands = [self._device.as_contiguous(band) for band in bands]
        pairs = [(band, light) for band, light in zip(bands, lights, strict=True) if not is_empty(band)]
        # no kernel takes more arrays than all devices have room for
        for first in range(0, len(pairs), _MOST_BANDS):
            full, own = zip(*pairs[first : first + _MOST_BANDS], strict=True)
            sizes = [prod(band.shape[1:]) for band in full]
            spec = WeighSpec(full[0].dtype.name, len(full), is_product)
            groups = min(count_items(max(sizes), 1)[0], _WALKERS), len(full), 1
            counts = [(light.shape[0], band.shape[0] // light.shape[0]) for band, light in zip(full, own, strict=True)]
            table = self._launcher.tabulate(*sizes, *(number for each in counts for number in each))
            self._launcher.run(render_weighing, spec, groups, *full, *own, table)
        return bands

    def spread(self, plane: Any, count: int) -> Any:
        out = self._device.allocate((count, *plane.shape[1:]), plane.dtype)
        self._run_samplewise("spread", (out, plane))
        return out

    def measure_activity(self, bands: Sequence[Any]) -> Any:
        out = self._device.allocate((1, *bands[0].shape[1:]), bands[0].dtype)
        for number, band in enumerate(bands):
            self._run_samplewise("square", (out, band), (), number)
        return out

    def prefer(self, best: Any, chosen: Any, rival: Any, number: int) -> None:
        self._run_samplewise("prefer both", (best, chosen, rival), (number,))

    def mark(self, chosen: Any, number: int) -> Any:
        out = self._launcher.allocate_like(chosen)
        self._run_samplewise("mark", (out, chosen), (number,))
        return out

    def take_over(self, total: Any, planes: Any, chosen: Any, number: int) -> None:
        self._run_samplewise("take over", (total, planes, chosen), (number,))

    def judge_exposure(self, planes: Any, white: float) -> Any:
        out = self._device.allocate((1, *planes.shape[1:]), planes.dtype)
        values = (white, MIDDLE, WIDTH, -0.5, FADED, LEAST_WEIGHT)
        self._run_samplewise("exposure", (out, planes), values, int(planes.shape[0]))
        return out

    def add_weighted(self, total: Any, planes: Any, weight: Any) -> None:
        self._run_samplewise("add weighted", (total, planes, weight))

    def _run_samplewise(self, task: str, arrays: Sequence[Any], values: Sequence[float] = (), flag: int = 0) -> None:
        """Start a task on all samples of the first array."""
        first = arrays[0]
        if is_empty(first):
            return
        table = self._launcher.tabulate(first.size, prod(first.shape[1:]), flag)
        numbers = self._launcher.list_values(first.dtype, *(values or (0.0,)))
        spec = SampleSpec(task, first.dtype.name, len(arrays))
        self._launcher.run(render_samples, spec, count_items(first.size, 1), *arrays, table, numbers)

    def _as_numbers(self, name: str, numbers: Any, planes: Any) -> Any:
        return self._launcher.as_numbers(name, numbers, planes.shape[0], self.compute_dtype(planes))

    def _find_threshold(self, find: Any, band: Any, noise: Any, gain: float) -> Any:
        if is_empty(band):
            return self._device.make_zeros((band.shape[0],), self.compute_dtype(band))
        band = self._device.as_contiguous(band)
        return find(self._launcher, band, self._as_numbers("noise", noise, band), gain)

    def _shrink(self, bands: Sequence[Any], numbers: Sequence[Any], mode: str) -> list[Any]:
        """Shrink bands in one launch, by thresholds, upper thresholds and gains; the latter may be None."""
        bands = [self._device.as_contiguous(band) for band in bands]
        full = [band for band in bands if not is_empty(band)]
        if not full:
            return bands
        sizes = [prod(band.shape[1:]) for band in bands]
        each = min(self._launcher.choose_run(prod(band.shape[1:]), band) for band in full)
        planes = full[0].shape[0]
        counts = [size // each for size in sizes]
        table = self._launcher.tabulate(planes, *(int(own is not None) for own in numbers[1:]), *counts)
        # an empty array has no memory to hand over, and another one passed instead is not touched
        given = [full[0] if is_empty(band) else band for band in bands]
        spec = FilterSpec("shrink", full[0].dtype.name, each, mode, len(bands))
        across, _, images = count_items(max(counts), planes)
        arguments = (*given, table, *(numbers[0] if own is None else own for own in numbers))
        self._launcher.run(render_filter, spec, (across, len(bands), images), *arguments)
        return bands

    def _change_colour(self, task: Any, pixels: Any, planes: Any, matrix: Array | None) -> None:
        if is_empty(planes):
            return
        rows = () if matrix is None else tuple(tuple(float(weight) for weight in row) for row in matrix)
        channels, count = planes.shape[0], prod(planes.shape[1:])
        is_plain = pixels.dtype.name in ("uint8", "uint16") and planes.dtype == np.float32
        if is_plain and channels in (1, 3) and (channels == 3 or matrix is None) and self._is_aligned(pixels, planes):
            each = 4 if count % 4 == 0 else 1
            packed = PackedPixelSpec(task, pixels.dtype.name, channels, each, rows)
            table = self._launcher.tabulate(count // each)
            self._launcher.run(render_packed_pixels, packed, count_items(count // each, 1), pixels, planes, table)
            return
        spec = PixelSpec(task, pixels.dtype.name, planes.dtype.name)
        table = self._launcher.tabulate(count, channels, int(matrix is not None))
        dtype = np.dtype(np.float64 if spec.number == "double" else np.float32)
        weights = self._launcher.list_values(dtype, *(weight for row in rows or ((0.0,),) for weight in row))
        self._launcher.run(render_pixels, spec, count_items(count, 1), pixels, planes, table, weights)

    def _is_aligned(self, *arrays: Any) -> bool:
        return all(self._device.is_aligned(x, 16) for x in arrays)

    def _move(self, task: Any, planes: Any, part: Any, begin: Sequence[int], weight: float) -> None:
        if is_empty(part):
            return
        if is_empty(planes):
            raise ShapeError(f"planes of shape {tuple(planes.shape)} are empty; there is nothing to take a part of")
        planes = self._device.as_contiguous(planes)
        source, goal = find_space(planes.shape), find_space(part.shape)
        begins = (0,) * (4 - planes.ndim) + tuple(begin)
        # what is added to may have more
        planes_count = goal.planes if task == "spin" else source.planes
        table = self._launcher.tabulate(planes_count, *source[1:], *goal[1:], *begins)
        values = self._launcher.list_values(self.compute_dtype(planes), weight)
        spec = FilterSpec(task, planes.dtype.name)
        self._launcher.run(render_filter, spec, count_rows(goal), planes, part, table, values)

    def _filter(self, task: Any, planes: Any, table: Sequence[int], values: Sequence[float]) -> Any:
        """Return what a kernel makes of planes, a table and values."""
        result = self._launcher.allocate_like(planes)
        if is_empty(planes):
            return result
        arguments = (
            self._device.as_contiguous(planes),
            result,
            self._launcher.tabulate(*table),
            self._launcher.list_values(self.compute_dtype(planes), *values),
        )
        groups = count_rows(find_space(planes.shape))
        self._launcher.run(render_filter, FilterSpec(task, planes.dtype.name), groups, *arguments)
        return result
