"""One sweep of the kernels over an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from subband.compiled import Kernels
from subband.engines.cpu.jobs import Job
from subband.engines.cpu.ladders import find_tick
from subband.engines.cpu.program import Program, identity_program, tabulate_program
from subband.engines.memory import allocate, prepare_allocation
from subband.plan import AxisPlan
from subband.schedule.axis import Form, count_outputs
from subband.schedule.sweeps import Sweep
from subband.typing import Array, Bands, Direction

__all__ = ["KERNELS", "TILE", "ImageLayout", "ImageSweep"]

_kernels = Kernels("subband.engines.cpu.kernels")

#: The kernels of both directions.
KERNELS = {"forward": _kernels.forward, "inverse": _kernels.inverse}

#: Bytes of half a row that a sweep carries down at a time: long enough for the processor to read ahead, and a ring of
#: such rows stays in the second-level cache.
TILE = 16_384

#: The same for rows that are not carried down: they stay in the first-level cache.
ROW_TILE = 4_096


@dataclass(frozen=True, eq=False)
class ImageLayout:
    """A sweep over arrays of one shape and dtype: what the kernels are given."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    band_shapes: tuple[tuple[int, ...], ...]
    images: tuple[int, int, int]
    axes: tuple[AxisPlan | None, AxisPlan | None]
    form: Form
    tile: int

    @cached_property
    def allocate_bands(self) -> Callable[[], list[Array]]:
        """What makes new arrays for the bands."""
        return prepare_allocation([(shape, self.dtype) for shape in self.band_shapes])

    @cached_property
    def forward(self) -> Job:
        """The sweep over samples."""
        return self.make_job("forward")

    @cached_property
    def inverse(self) -> Job:
        """The sweep back."""
        return self.make_job("inverse")

    def make_job(self, direction: Direction, rows: Program | None = None, channels: int = 1) -> Job:
        """Return the sweep in one direction, perhaps with another program down the rows, several channels at a time."""
        own, along = (
            tabulate_program(plan, direction, self.dtype, self.form) if plan else identity_program(self.dtype)
            for plan in self.axes
        )
        down = rows or own
        (_, *sizes), outer = self.images, self.images[0]
        height, width = (
            count_outputs(plan, direction) if plan else size for plan, size in zip(self.axes, sizes, strict=True)
        )
        for plan, size in zip(self.axes, self.images[1:], strict=True):
            sizes += (plan.low, plan.high) if plan else (size, size)
        return Job(
            KERNELS[direction],
            self.dtype,
            1 + len(self.band_shapes),
            (down.ints, down.numbers, along.ints, along.numbers),
            (*sizes, self.tile),
            (outer, height, width),
            tile=self.tile,
            channels=channels,
            tick=self._find_tick(direction, down.ladder, along.ladder),
            is_inverse=direction == "inverse",
        )

    def _find_tick(self, direction: Direction, down: str, along: str) -> int:
        """Return the loop that does it all, where both axes have the same ladder, or the only one has one."""
        ladders = {ladder for plan, ladder in zip(self.axes, (down, along), strict=True) if plan}
        tick = find_tick(direction, down, along, self.dtype) if len(ladders) == 1 else 0
        # steps one by one go along the rows first, and whole numbers down the columns
        is_rounded = all(plan and plan.integer for plan in self.axes)
        assert tick or not is_rounded, "both axes are in whole numbers, and there is no loop for their order"
        return tick


class ImageSweep:
    """Runs a sweep over one axis of an array, or over its last two."""

    def __init__(self, sweep: Sweep) -> None:
        self.letters = sweep.letters
        self._sweep = sweep
        self._layouts: dict[object, ImageLayout] = {}
        self._band_layouts: dict[object, ImageLayout] = {}

    def forward(self, x: Array) -> Bands:
        """Return the bands of a C-contiguous array."""
        layout = self.find_layout(x.shape, x.dtype)
        bands = layout.allocate_bands()
        layout.forward.run(x, *bands)
        return dict(zip(self.letters, bands, strict=True))

    def forward_into(self, x: Array, goals: Bands) -> None:
        """Write the bands of a C-contiguous array to C-contiguous arrays, by this thread alone."""
        layout = self.find_layout(x.shape, x.dtype)
        layout.forward.run_here(x, *(goals[letters] for letters in self.letters))

    def inverse(self, bands: Bands) -> Array:
        """Return the array of which C-contiguous `bands` are the bands."""
        first = bands[self.letters[0]]
        layout = self._find_band_layout(first)
        y = allocate(layout.shape, first.dtype)
        layout.inverse.run(y, *(bands[letters] for letters in self.letters))
        return y

    def inverse_into(self, bands: Bands, goal: Array) -> None:
        """Write the array of which `bands` are the bands to a C-contiguous array, by this thread alone."""
        layout = self._find_band_layout(bands[self.letters[0]])
        layout.inverse.run_here(goal, *(bands[letters] for letters in self.letters))

    def _find_band_layout(self, first: Array) -> ImageLayout:
        layout = self._band_layouts.get((first.shape, first.dtype))
        if layout is None:
            layout = self.find_layout(self._sweep.find_shape(first.shape), first.dtype)
            self._band_layouts[first.shape, first.dtype] = layout
        return layout

    def find_layout(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ImageLayout:
        """Return what the kernels are given for arrays of a shape and dtype."""
        layout = self._layouts.get((shape, dtype))
        if layout is None:
            layout = self._layouts[shape, dtype] = self._lay_out(shape, dtype)
        return layout

    def _lay_out(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ImageLayout:
        seen, axes = self._sweep.lay_out(shape), self._sweep.orient(shape)
        images = seen.outer, seen.height, seen.width
        tile = (TILE if axes[0] else ROW_TILE) // dtype.itemsize
        return ImageLayout(dtype, shape, self._sweep.list_band_shapes(shape), images, axes, self._sweep.form, tile)
