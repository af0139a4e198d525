"""Three axes in one go: blocks of slices that go through two sweeps without leaving the cache.

A block of slices is swept down the first axis into a small buffer, and from there through the sweep of its images.
So each sample is read from memory once and each coefficient written once, and no more memory is taken than the bands
and one block for each thread.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np

from subband.engines.cpu.program import forward_program, identity_program, inverse_program
from subband.engines.cpu.sweep import SMALL, TILE, Sweep, cut_range, kernels
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.plan import AxisPlan
from subband.typing import Array, Bands

__all__ = ["VolumeSweep"]

#: Pairs of slices in a block: enough that the slices read twice, where blocks meet, are few.
_BLOCK = 16


class VolumeSweep:
    """Transforms the last three axes of an array together.

    Parameters
    ----------
    axes : tuple of int
        The last three.
    plans : tuple of AxisPlan
        One for each of `axes`.
    """

    letters = tuple(map("".join, product("ad", repeat=3)))

    def __init__(self, axes: tuple[int, ...], plans: tuple[AxisPlan, ...]) -> None:
        self.axes = axes
        self.plans = plans
        self._depth = plans[0]
        # a block is to the sweep of its images what a batch is: an axis in front
        self._images = Sweep((1, 2), plans[1:])

    def forward(self, x: Array) -> Bands:
        """Return the bands of a C-contiguous array."""
        depth, dtype = self._depth, x.dtype
        volumes = x.reshape(-1, *x.shape[-3:])
        shapes = {letters: self._band_shape(letters) for letters in self.letters}
        bands = {letters: allocate((len(volumes), *shape), dtype) for letters, shape in shapes.items()}
        program, identity = forward_program(depth, dtype), identity_program(dtype)
        tables = (program.ints, program.numbers, identity.ints, identity.numbers)
        area = prod(x.shape[-2:])

        def transform_block(number: int, start: int, stop: int) -> None:
            volume = volumes[number].reshape(1, -1, area)
            low = np.empty((1, stop - start, area), dtype)
            high = np.empty((1, max(min(stop, depth.high) - start, 0), area), dtype)
            tile = TILE // dtype.itemsize
            kernels.forward(volume, low, high, high, low, *tables, tile, start, 0, 1, start, stop, 0, area)
            for letter, part in (("a", low), ("d", high)):
                slices = part.reshape(-1, *x.shape[-2:])
                goals = {two: bands[letter + two][number, start : start + len(slices)] for two in self._images.letters}
                if len(slices):
                    self._images.forward_into(slices, goals)

        self._run(transform_block, len(volumes), depth.low, volumes.size)
        return {letters: band.reshape(*x.shape[:-3], *shapes[letters]) for letters, band in bands.items()}

    def inverse(self, bands: Bands) -> Array:
        """Return the array of which C-contiguous `bands` are the bands."""
        depth, dtype = self._depth, bands["aaa"].dtype
        shape = tuple(plan.length for plan in self.plans)
        outer = bands["aaa"].shape[:-3]
        volumes = allocate((prod(outer), *shape), dtype)
        program, identity = inverse_program(depth, dtype), identity_program(dtype)
        tables = (program.ints, program.numbers, identity.ints, identity.numbers)

        def transform_block(number: int, start: int, stop: int) -> None:
            count = min(2 * stop, depth.length) - 2 * start
            parts = {}
            for two in self._images.letters:
                size = self._band_shape("a" + two)[1:]
                area = prod(size)
                low = bands["a" + two].reshape(len(volumes), depth.low, area)[number : number + 1]
                high = bands["d" + two].reshape(len(volumes), depth.high, area)[number : number + 1]
                part = np.empty((1, count, area), dtype)
                tile = TILE // dtype.itemsize
                kernels.inverse(part, low, high, high, low, *tables, tile, start, 0, 1, start, stop, 0, area)
                parts[two] = part.reshape(count, *size)
            self._images.inverse_into(parts, volumes[number, 2 * start : 2 * start + count])

        self._run(transform_block, len(volumes), depth.pairs, volumes.size)
        return volumes.reshape(*outer, *shape)

    def _band_shape(self, letters: str) -> tuple[int, ...]:
        return tuple(plan.low if letter == "a" else plan.high for letter, plan in zip(letters, self.plans, strict=True))

    def _run(self, work: Callable[[int, int, int], None], volumes: int, pairs: int, samples: int) -> None:
        blocks = cut_range(pairs, -(-pairs // _BLOCK))
        tasks = [(number, *block) for number in range(volumes) for block in blocks]
        if samples < SMALL or get_threads() == 1:
            for task in tasks:
                work(*task)
        else:
            run_tasks(work, tasks, is_even=True)
