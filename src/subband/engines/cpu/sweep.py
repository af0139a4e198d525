"""One sweep of the kernels over an array, cut into tasks for the threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from subband.compiled import Kernels
from subband.engines.cpu.program import identity_program, tabulate_program
from subband.engines.cpu.turns import share_tasks
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.schedule.axis import count_outputs
from subband.schedule.sweeps import Sweep, cut_range
from subband.typing import Array, Bands, Direction

__all__ = ["ImageLayout", "ImageSweep", "cut_tasks", "kernels", "run_kernel"]

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


class ImageLayout(NamedTuple):
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
        bands = [allocate(shape, x.dtype) for shape in layout.bands]
        arguments = (x.reshape(layout.images), *self._fill_four(bands), *layout.forward_tables, layout.tile, 0)
        run_kernel(kernels.forward, arguments, layout.forward_extent, layout.tile, kernels.forward_tasks)
        return {
            letters: band.reshape(shape)
            for letters, band, shape in zip(self.letters, bands, layout.band_shapes, strict=True)
        }

    def forward_into(self, x: Array, goals: Bands) -> None:
        """Write the bands of a C-contiguous array to C-contiguous arrays, by this thread alone."""
        layout = self.find_layout(x.shape, x.dtype)
        bands = [goals[letters].reshape(shape) for letters, shape in zip(self.letters, layout.bands, strict=True)]
        arguments = (x.reshape(layout.images), *self._fill_four(bands), *layout.forward_tables, layout.tile, 0)
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

    def _inverse_arguments(self, layout: ImageLayout, bands: Bands, y: Array) -> tuple[Any, ...]:
        images = [bands[letters].reshape(shape) for letters, shape in zip(self.letters, layout.bands, strict=True)]
        return (y, *self._fill_four(images), *layout.inverse_tables, layout.tile, 0)

    def _find_band_layout(self, bands: Bands) -> ImageLayout:
        first = bands[self.letters[0]]
        layout = self._band_layouts.get((first.shape, first.dtype))
        if layout is None:
            layout = self.find_layout(self._sweep.find_shape(first.shape), first.dtype)
            self._band_layouts[first.shape, first.dtype] = layout
        return layout

    def _fill_four(self, bands: Sequence[Array]) -> Sequence[Array]:
        """Return four bands; one that this sweep does not have is never touched, and any array will do for it."""
        if len(bands) == 4:
            return bands
        low, high = bands
        return low, high, high, low

    def find_layout(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ImageLayout:
        """Return what the kernels are given for arrays of a shape and dtype."""
        layout = self._layouts.get((shape, dtype))
        if layout is None:
            layout = self._layouts[shape, dtype] = self._lay_out(shape, dtype)
        return layout

    def _lay_out(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ImageLayout:
        seen, axes = self._sweep.lay_out(shape), self._sweep.orient(shape)
        images = seen.outer, seen.height, seen.width
        rows, columns = (
            (plan.low, plan.high) if plan else (size,) for plan, size in zip(axes, images[1:], strict=True)
        )

        def tabulate(direction: Direction) -> tuple[Array, Array, Array, Array]:
            down, along = (
                tabulate_program(plan, direction, dtype) if plan else identity_program(dtype) for plan in axes
            )
            return down.ints, down.numbers, along.ints, along.numbers

        def measure(direction: Direction) -> tuple[int, int, int]:
            height, width = (
                count_outputs(plan, direction) if plan else size for plan, size in zip(axes, images[1:], strict=True)
            )
            return images[0], height, width

        return ImageLayout(
            images,
            shape,
            tuple((images[0], height, width) for height in rows for width in columns),
            self._sweep.list_band_shapes(shape),
            tabulate("forward"),
            tabulate("inverse"),
            measure("forward"),
            measure("inverse"),
            (TILE if axes[0] else ROW_TILE) // dtype.itemsize,
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
