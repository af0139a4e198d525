"""Three axes in one go: blocks of slices that go through two sweeps without leaving the cache.

A block of slices is swept down the first axis into a small buffer, and from there through the sweep of its images.
So each sample is read from memory once and each coefficient written once, and no more memory is taken than the bands
and one block for each thread.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from subband.engines.cpu.jobs import SMALL, Job
from subband.engines.cpu.ladders import find_tick
from subband.engines.cpu.program import identity_program, tabulate_program
from subband.engines.cpu.sweep import KERNELS, TILE, ImageSweep
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.schedule.sweeps import Sweep
from subband.typing import Array, Bands, Direction

__all__ = ["VolumeSweep"]


class VolumeSweep:
    """Runs a sweep over the last three axes of an array, in blocks."""

    def __init__(self, sweep: Sweep) -> None:
        self.letters = sweep.letters
        self._sweep = sweep
        self._depth = sweep.plans[0]
        # a block is to the sweep of its images what a batch is: an axis in front
        self._images = ImageSweep(Sweep((1, 2), sweep.plans[1:], sweep.form))

    def forward(self, x: Array) -> Bands:
        """Return the bands of a C-contiguous array."""
        depth, dtype = self._depth, x.dtype
        volumes = x.reshape(-1, *x.shape[-3:])
        shapes = dict(zip(self.letters, self._sweep.list_band_shapes(x.shape), strict=True))
        bands = {letters: allocate((len(volumes), *shape[-3:]), dtype) for letters, shape in shapes.items()}
        area = prod(x.shape[-2:])

        def transform_block(number: int, start: int, stop: int) -> None:
            low = allocate((stop - start, *x.shape[-2:]), dtype)
            high = allocate((max(min(stop, depth.high) - start, 0), *x.shape[-2:]), dtype)
            sizes = depth.length, area, len(low), len(high), area, area
            job = self._make_job("forward", dtype, sizes)
            job.run_part((volumes[number], low, high), start, (start, stop))
            for letter, slices in (("a", low), ("d", high)):
                goals = {two: bands[letter + two][number, start : start + len(slices)] for two in self._images.letters}
                if len(slices):
                    self._images.forward_into(slices, goals)

        self._run(transform_block, len(volumes), "forward", volumes.size)
        return {letters: band.reshape(shapes[letters]) for letters, band in bands.items()}

    def inverse(self, bands: Bands) -> Array:
        """Return the array of which C-contiguous `bands` are the bands."""
        depth, dtype = self._depth, bands["aaa"].dtype
        shape = self._sweep.find_shape(bands["aaa"].shape)
        volumes = allocate((prod(shape[:-3]), *shape[-3:]), dtype)

        def transform_block(number: int, start: int, stop: int) -> None:
            count = min(2 * stop, depth.length) - 2 * start
            parts = {}
            for two in self._images.letters:
                low, high = bands["a" + two], bands["d" + two]
                size = low.shape[-2:]
                area = prod(size)
                part = parts[two] = allocate((count, *size), dtype)
                job = self._make_job("inverse", dtype, (count, area, depth.low, depth.high, area, area))
                own = [each.reshape(len(volumes), -1, area)[number] if each.size else each for each in (low, high)]
                job.run_part((part, *own), start, (start, stop))
            self._images.inverse_into(parts, volumes[number, 2 * start : 2 * start + count])

        self._run(transform_block, len(volumes), "inverse", volumes.size)
        return volumes.reshape(shape)

    def _make_job(self, direction: Direction, dtype: np.dtype[Any], sizes: tuple[int, ...]) -> Job:
        """Return the job of the first axis, down which the slices of a block are rows; of one that is then cut out."""
        program, identity = tabulate_program(self._depth, direction, dtype), identity_program(dtype)
        tables = program.ints, program.numbers, identity.ints, identity.numbers
        tile = TILE // dtype.itemsize
        return Job(
            KERNELS[direction],
            dtype,
            3,
            tables,
            (*sizes, tile),
            (1, 0, sizes[1]),
            tick=find_tick(direction, program.ladder, "", dtype),
            is_inverse=direction == "inverse",
        )

    def _run(self, work: Callable[[int, int, int], None], volumes: int, direction: Direction, samples: int) -> None:
        blocks = self._sweep.cut_blocks(direction)
        tasks = [(number, *block) for number in range(volumes) for block in blocks]
        if samples < SMALL or get_threads() == 1:
            for task in tasks:
                work(*task)
        else:
            run_tasks(work, tasks, is_even=True)
