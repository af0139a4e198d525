"""Averages over time on a device: frames stay there, and nothing waits for the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from subband.engines.device import Device, Groups
from subband.engines.filters.device_launcher import Launcher, count_items, is_empty
from subband.engines.temporal.base import Grid, TemporalFilters
from subband.engines.temporal.device_past import DeviceMotion, DevicePast
from subband.kernels.averages import LIGHT, ROOM, UPDATED, AverageSpec, count_fitters, render_average
from subband.kernels.block_search import SearchSpec, render_search
from subband.kernels.dialects import LANES
from subband.kernels.motion import BALANCED, COMMON, HALVED, THREADS, MotionSpec, render_motion
from subband.kernels.noise_maps import HALVERS, MOST_HALVES, MapSpec, render_map
from subband.tracking import BLOCK, PATCH, RADIUS, SCALES, STEPS, WINDOW, measure_gain, tabulate_taps

__all__ = ["DeviceTemporalFilters"]

_SINGLE = np.dtype(np.float32)

#: Groups of a block of lanes.
_BLOCK = THREADS // LANES

#: The same of one that halves variances; and maps that are drawn by one launch, at most.
_HALVERS, _MOST_MAPS = HALVERS // LANES, 24

#: Groups that draw a map, at most: as many for small maps as for the largest one.
_DRAWERS = 2048

#: Groups in a block where each has a block of the image to itself.
_TRACKERS = 4


class DeviceTemporalFilters(TemporalFilters):
    """Works on arrays of a device; work goes to its current stream or queue.

    Parameters
    ----------
    device : Device
        Where the arrays are.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._launcher = Launcher(device)

    def begin(self, planes: Any, noise: Any) -> DevicePast:
        planes, noise = self._prepare(planes, noise)
        blocks = self._device.make_zeros(_count_blocks(planes.shape), _SINGLE)
        past = self._make_past(planes, noise, DeviceMotion(blocks, self._list_values(1.0, 1.0)))
        self._renew(planes, past)
        return past

    def find_motion(self, planes: Any, past: DevicePast, noise: Any) -> DeviceMotion:
        planes, noise = self._prepare(planes, noise)
        nothing = self._list_values(0.0, 0.0)
        scales = self._make_scales(planes, past.planes)
        if not scales:
            return DeviceMotion(self._device.make_zeros(_count_blocks(planes.shape), _SINGLE), nothing)
        # coarser than the coarsest scale nothing moves
        blocks, size = nothing, (1, 1)
        for number in reversed(range(len(scales))):
            rows, columns = scales[number].shape[1:]
            coarse, high, wide = blocks, -(-rows // BLOCK), -(-columns // BLOCK)
            blocks, costs = (self._device.allocate(shape, _SINGLE) for shape in ((high, wide, 2), (high, wide)))
            table = self._launcher.tabulate(rows, columns, high, wide, *size)
            known = noise, past.motion.summary, table, self._list_values(measure_gain(number + 1))
            reach = (RADIUS, 0) if number == len(scales) - 1 else (0, STEPS)
            arrays = scales[number], coarse, blocks, costs
            self._search(SearchSpec("track", *reach), high * wide, *arrays, *known)
            size = high, wide
        common = self._find_common(scales[0], blocks)
        arrays = scales[0], common, blocks, costs
        self._search(SearchSpec("prefer"), high * wide, *arrays, *known)
        return DeviceMotion(blocks, nothing)

    def average(
        self, past: DevicePast, planes: Any, noise: Any, motion: DeviceMotion, steps: tuple[int, int]
    ) -> DevicePast:
        planes, noise = self._prepare(planes, noise)
        count, rows, columns = planes.shape
        high, wide = motion.blocks.shape[:2]
        down, across = (2 * BLOCK // step for step in steps)
        predicted, variances = self._launcher.allocate_like(planes), self._device.allocate((rows, columns), _SINGLE)
        blocks = self._device.allocate((2, count, high, wide), _SINGLE)
        table = rows, columns, high, wide
        taps, sizes = self._launcher.keep(tabulate_taps()), self._launcher.tabulate(*table)

        def run(task: Any, groups: Groups, block: int, *arguments: Any) -> None:
            self._average(AverageSpec(task, count, (down, across)), groups, block, *arguments)

        known = planes, past.planes, past.ratios, motion.blocks, taps
        run("predict", (wide, high, 1), 1, *known, predicted, variances, blocks, sizes)
        lights, room = (self._device.allocate((count, n), _SINGLE) for n in (LIGHT, ROOM * high * wide))
        fitters = count_fitters(self._device.dialect) // LANES
        run("light", (fitters, 1, count), fitters, blocks, variances, noise, room, lights, sizes)
        drifts = self._device.allocate((high, wide), _SINGLE)
        # a frame without a whole one has room for one all the same
        shape = max(rows // PATCH, 1), max(columns // PATCH, 1)
        patches = self._device.allocate((count, *shape), _SINGLE)
        run(
            "patches",
            count_items(shape[0] * shape[1], 1),
            4,
            planes,
            predicted,
            variances,
            lights,
            noise,
            patches,
            sizes,
        )
        run("drift", count_items(high * wide, 1), 4, blocks, variances, lights, noise, patches, drifts, sizes)
        summary = self._device.allocate((2,), _SINGLE)
        after = self._make_past(planes, noise, replace(motion, summary=summary))
        above, beside = -(-rows // UPDATED[0]), -(-columns // UPDATED[1])
        sums = self._device.allocate((above * beside, 2), _SINGLE)
        found, goals = (planes, predicted, variances, drifts, lights, noise), (after.planes, after.ratios, sums)
        run("update", (beside * _BLOCK, above, 1), _BLOCK, *found, *goals, self._launcher.tabulate(*table, beside))
        table = self._launcher.tabulate(above * beside, -(-rows // BLOCK) * -(-columns // BLOCK))
        judged = sums, noise, motion.summary, summary
        self._average(AverageSpec("judge", count), (_BLOCK, 1, 1), _BLOCK, *judged, table)
        self._renew(planes, after)
        return after

    def halve(self, variances: Any, count: int) -> list[Any]:
        levels: list[Any] = []
        while len(levels) < count:
            source, turns = levels[-1] if levels else variances, min(count - len(levels), MOST_HALVES)
            shapes = [tuple(source.shape)]
            for _ in range(turns):
                rows, columns = shapes[-1]
                shapes.append((-(-rows // 2), -(-columns // 2)))
            made = [self._device.allocate(shape, _SINGLE) for shape in shapes[1:]]
            above, beside = (-(-length // 2**turns) for length in shapes[0])
            table = self._launcher.tabulate(*(length for shape in shapes for length in shape))
            groups = beside * _HALVERS, above, 1
            self._map(MapSpec("halve", turns), groups, _HALVERS, source, *made, table)
            levels += made
        return levels

    def draw(self, variances: Sequence[Any], grids: Sequence[Grid]) -> list[Any]:
        drawn = [self._device.allocate((1, *grid.shape), _SINGLE) for grid in grids]
        pairs = [(grid, x) for grid, x in zip(grids, drawn, strict=True) if not is_empty(x)]
        for first in range(0, len(pairs), _MOST_MAPS):
            some = pairs[first : first + _MOST_MAPS]
            sources = [variances[grid.level] for grid, _ in some]
            rows = [
                (*source.shape, *grid.shape, grid.step, grid.level, *grid.begin)
                for source, (grid, _) in zip(sources, some, strict=True)
            ]
            groups = min(count_items(max(x.size for _, x in some), 1)[0], _DRAWERS), len(some), 1
            table = self._launcher.tabulate(*(number for row in rows for number in row))
            self._map(MapSpec("draw", len(some)), groups, _BLOCK, *sources, *(x for _, x in some), table)
        return drawn

    def measure_typical(self, variances: Any, planes: int) -> Any:
        typical = self._device.allocate((planes,), _SINGLE)
        table = self._launcher.tabulate(variances.size, planes)
        self._map(MapSpec("typical"), (1, 1, 1), 1, variances, typical, table)
        return typical

    def _prepare(self, planes: Any, noise: Any) -> tuple[Any, Any]:
        return self._device.as_contiguous(planes), self._launcher.as_numbers("noise", noise, planes.shape[0], _SINGLE)

    def _list_values(self, *values: float) -> Any:
        return self._launcher.list_values(_SINGLE, *values)

    def _search(self, spec: SearchSpec, blocks: int, *arguments: Any) -> None:
        self._launcher.run(render_search, spec, (blocks, 1, 1), *arguments, block=_TRACKERS)

    def _run(self, spec: MotionSpec, groups: Groups, block: int, *arguments: Any) -> None:
        self._launcher.run(render_motion, spec, groups, *arguments, block=block)

    def _average(self, spec: AverageSpec, groups: Groups, block: int, *arguments: Any) -> None:
        self._launcher.run(render_average, spec, groups, *arguments, block=block)

    def _map(self, spec: MapSpec, groups: Groups, block: int, *arguments: Any) -> None:
        self._launcher.run(render_map, spec, groups, *arguments, block=block)

    def _make_past(self, planes: Any, noise: Any, motion: DeviceMotion) -> DevicePast:
        """Return what kernels are going to fill."""
        ratios = self._device.allocate(tuple(planes.shape[1:]), _SINGLE)
        return DevicePast(self._launcher.allocate_like(planes), ratios, noise, motion)

    def _renew(self, planes: Any, past: DevicePast) -> None:
        """Replace what is known by the frame, if its summary says so."""
        size, spec = past.ratios.size, AverageSpec("renew", planes.shape[0])
        arrays = planes, past.motion.summary, past.planes, past.ratios
        self._launcher.run(render_average, spec, count_items(size, 1), *arrays, self._launcher.tabulate(size))

    def _make_scales(self, new: Any, old: Any) -> list[Any]:
        """Return smoothed versions of the first planes with half, a quarter and less of their rows and columns."""
        scales: list[Any] = []
        before, size = (new, old, 0), tuple(new.shape[1:])
        for _ in range(SCALES):
            rows, columns = (-(-length // 2) for length in size)
            if min(rows, columns) < WINDOW:
                break
            scale = self._device.allocate((2, rows, columns), _SINGLE)
            table = self._launcher.tabulate(*size, rows, columns, before[2])
            groups = -(-columns // HALVED[1]) * _BLOCK, -(-rows // HALVED[0]), 2
            self._run(MotionSpec("halve"), groups, _BLOCK, before[0], before[1], scale, table)
            scales.append(scale)
            size, before = (rows, columns), (scale, scale, rows * columns)
        return scales

    def _find_common(self, scales: Any, blocks: Any) -> Any:
        """Return the motion that most blocks have: a fit, and one step along the slopes of those that move so."""
        rows, columns = scales.shape[1:]
        high, wide = blocks.shape[:2]
        median, start, common = (self._device.allocate((count,), _SINGLE) for count in (2, COMMON, COMMON))
        sums = self._device.allocate((high * wide, BALANCED), _SINGLE)
        self._run(MotionSpec("median"), (_BLOCK, 1, 2), _BLOCK, blocks, median, self._launcher.tabulate(high * wide))
        size = self._launcher.tabulate(high, wide)
        self._run(MotionSpec("fit"), (_BLOCK, 1, 1), _BLOCK, blocks, median, start, size)
        table, taps = self._launcher.tabulate(rows, columns, high, wide), self._launcher.keep(tabulate_taps())
        self._run(MotionSpec("balance"), (wide, high, 1), 1, scales, blocks, start, taps, sums, table)
        self._run(MotionSpec("solve"), (_BLOCK, 1, 1), _BLOCK, sums, start, common, size)
        return common


def _count_blocks(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the shape of motion for planes of a shape."""
    rows, columns = (-(-length // (2 * BLOCK)) for length in shape[-2:])
    return rows, columns, 2
