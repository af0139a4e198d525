"""One sweep of the kernels over an array, cut into tasks for the threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from subband.compiled import Kernels
from subband.engines.cpu.program import forward_program, identity_program, inverse_program
from subband.engines.cpu.turns import share_tasks
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.plan import AxisPlan
from subband.typing import Array, Bands

__all__ = ["Layout", "Sweep", "cut_range", "cut_tasks", "kernels", "run_kernel"]

kernels = Kernels("subband.engines.cpu.kernels")

#: Bytes of half a row that a sweep carries down at a time: long enough for the processor to read ahead, and a ring of
#: such rows stays in the second-level cache.
TILE = 16_384

#: The same for rows that are not carried down: they stay in the first-level cache.
ROW_TILE = 4_096

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 250_000

#: Samples of a task, so that a thread that is held up or wakes late leaves work to the others, and for which another
#: thread is worth waking; but at most so many tasks for each thread.
TASK = 65_536
TASKS = 8


class Layout(NamedTuple):
    """A sweep over arrays of one shape and dtype: what the kernels are given."""

    images: tuple[int, int, int]  # how the kernels see the samples: images, rows, columns
    shape: tuple[int, ...]
    bands: tuple[tuple[int, int, int], ...]  # and the bands, in the order of the letters
    band_shapes: tuple[tuple[int, ...], ...]
    forward_tables: tuple[Array, Array, Array, Array]
    inverse_tables: tuple[Array, Array, Array, Array]
    forward_extent: tuple[int, int, int]
    inverse_extent: tuple[int, int, int]
    tile: int


class Sweep:
    """Transforms one axis of an array, or its last two together.

    Parameters
    ----------
    axes : tuple of int
        One axis, or the last two.
    plans : tuple of AxisPlan
        One for each of `axes`.
    """

    def __init__(self, axes: tuple[int, ...], plans: tuple[AxisPlan, ...]) -> None:
        self.axes = axes
        self.plans = plans
        self.letters = ("aa", "ad", "da", "dd") if len(axes) == 2 else ("a", "d")
        self._layouts: dict[object, Layout] = {}
        self._band_layouts: dict[object, Layout] = {}

    def forward(self, x: Array) -> Bands:
        """Return the bands of a C-contiguous array."""
        layout = self.find_layout(x.shape, x.dtype)
        bands = [allocate(shape, x.dtype) for shape in layout.bands]
        arguments = (x.reshape(layout.images), *self._fill_places(bands), *layout.forward_tables, layout.tile, 0)
        run_kernel(kernels.forward, arguments, layout.forward_extent, layout.tile, kernels.forward_tasks)
        return {
            letters: band.reshape(shape)
            for letters, band, shape in zip(self.letters, bands, layout.band_shapes, strict=True)
        }

    def forward_into(self, x: Array, goals: Bands) -> None:
        """Write the bands of a C-contiguous array to C-contiguous arrays, by this thread alone."""
        layout = self.find_layout(x.shape, x.dtype)
        bands = [goals[letters].reshape(shape) for letters, shape in zip(self.letters, layout.bands, strict=True)]
        arguments = (x.reshape(layout.images), *self._fill_places(bands), *layout.forward_tables, layout.tile, 0)
        _run_whole(kernels.forward, arguments, layout.forward_extent)

    def inverse(self, bands: Bands) -> Array:
        """Return the array of which C-contiguous `bands` are the bands."""
        layout = self._find_band_layout(bands)
        y = allocate(layout.images, bands[self.letters[0]].dtype)
        arguments = self._inverse_arguments(layout, bands, y)
        run_kernel(kernels.inverse, arguments, layout.inverse_extent, layout.tile, kernels.inverse_tasks)
        return y.reshape(layout.shape)

    def inverse_into(self, bands: Bands, goal: Array) -> None:
        """Write the array of which `bands` are the bands to a C-contiguous array, by this thread alone."""
        layout = self._find_band_layout(bands)
        arguments = self._inverse_arguments(layout, bands, goal.reshape(layout.images))
        _run_whole(kernels.inverse, arguments, layout.inverse_extent)

    def _inverse_arguments(self, layout: Layout, bands: Bands, y: Array) -> tuple[Any, ...]:
        images = [bands[letters].reshape(shape) for letters, shape in zip(self.letters, layout.bands, strict=True)]
        return (y, *self._fill_places(images), *layout.inverse_tables, layout.tile, 0)

    def _find_band_layout(self, bands: Bands) -> Layout:
        first = bands[self.letters[0]]
        layout = self._band_layouts.get((first.shape, first.dtype))
        if layout is None:
            shape = list(first.shape)
            for axis, plan in zip(self.axes, self.plans, strict=True):
                shape[axis] = plan.length
            layout = self.find_layout(tuple(shape), first.dtype)
            self._band_layouts[first.shape, first.dtype] = layout
        return layout

    def _fill_places(self, bands: Sequence[Array]) -> Sequence[Array]:
        """Return four bands; one that this sweep does not have is never touched, and any array will do for it."""
        if len(bands) == 4:
            return bands
        low, high = bands
        return low, high, high, low

    def find_layout(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        """Return what the kernels are given for arrays of a shape and dtype."""
        layout = self._layouts.get((shape, dtype))
        if layout is None:
            layout = self._layouts[shape, dtype] = self._lay_out(shape, dtype)
        return layout

    def _lay_out(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        axis = self.axes[0]
        vertical: AxisPlan | None = self.plans[0]
        horizontal: AxisPlan | None = self.plans[1] if len(self.axes) == 2 else None
        images = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
        if len(self.axes) == 1 and axis == len(shape) - 1:
            vertical, horizontal = None, self.plans[0]
            images = 1, prod(shape[:-1]), shape[-1]
        rows = (vertical.low, vertical.high) if vertical else (images[1],)
        columns = (horizontal.low, horizontal.high) if horizontal else (images[2],)
        tables = []
        for make in (forward_program, inverse_program):
            programs = [make(plan, dtype) if plan else identity_program(dtype) for plan in (vertical, horizontal)]
            tables.append((programs[0].ints, programs[0].numbers, programs[1].ints, programs[1].numbers))
        band_shapes = []
        for letters in self.letters:
            band = list(shape)
            for letter, place, plan in zip(letters, self.axes, self.plans, strict=True):
                band[place] = plan.low if letter == "a" else plan.high
            band_shapes.append(tuple(band))
        return Layout(
            images,
            shape,
            tuple((images[0], height, width) for height in rows for width in columns),
            tuple(band_shapes),
            tables[0],
            tables[1],
            (images[0], rows[0], columns[0]),
            (images[0], vertical.pairs if vertical else images[1], horizontal.pairs if horizontal else images[2]),
            (TILE if vertical else ROW_TILE) // dtype.itemsize,
        )


def run_kernel(
    kernel: Callable[..., object],
    arguments: tuple[Any, ...],
    extent: tuple[int, int, int],
    tile: int = 64,
    together: Callable[..., object] | None = None,
    channels: int = 1,
) -> None:
    """Run a kernel over images, rows and columns, by several threads if there is enough to do.

    `together` is the kernel that takes a list of tasks, if there is one. The kernel may take several `channels`, all of
    one image, at a time.
    """
    images, rows, columns = extent
    samples = 4 * images * rows * columns
    threads = min(get_threads(), max(1, samples // TASK))
    extent = images // channels, rows, columns
    if samples < SMALL or threads == 1:
        _run_whole(kernel, arguments, extent)
        return
    count = min(max(samples // TASK, threads), threads * TASKS)
    # tasks that are larger by themselves, and as many for each thread
    count = -(-count // (channels * threads)) * threads if channels > 1 else count
    if together is not None:
        share_tasks(together, arguments, _tabulate_tasks(extent, count, tile), threads)
    else:
        run_tasks(lambda *task: kernel(*arguments, *task), cut_tasks(extent, count, tile), is_even=True)


def _run_whole(kernel: Callable[..., object], arguments: tuple[Any, ...], extent: tuple[int, int, int]) -> None:
    images, rows, columns = extent
    kernel(*arguments, 0, images, 0, rows, 0, columns)


def cut_tasks(extent: tuple[int, int, int], count: int, tile: int) -> list[tuple[int, int, int, int, int, int]]:
    """Cut images, rows and columns into about `count` boxes: whole images first, then rows, then columns.

    Examples
    --------
    >>> cut_tasks((6, 10, 10), 3, 4)
    [(0, 2, 0, 10, 0, 10), (2, 4, 0, 10, 0, 10), (4, 6, 0, 10, 0, 10)]
    """
    images, rows, columns = extent
    image_cuts = cut_range(images, count)
    # rounded up, for the threads would share three tasks less evenly than six
    row_cuts = cut_range(rows, max(1, min(-(-count // len(image_cuts)), rows // 16)))
    column_cuts = cut_range(columns, max(1, min(count // (len(image_cuts) * len(row_cuts)), columns // tile)))
    return [(*b, *r, *c) for b in image_cuts for r in row_cuts for c in column_cuts]


@lru_cache(maxsize=256)
def _tabulate_tasks(extent: tuple[int, int, int], count: int, tile: int) -> Array:
    return np.array(cut_tasks(extent, count, tile))


def cut_range(length: int, count: int) -> list[tuple[int, int]]:
    """Cut a range into at most `count` parts of nearly equal length."""
    count = max(1, min(count, length))
    edges = [length * k // count for k in range(count + 1)]
    return list(pairwise(edges))
