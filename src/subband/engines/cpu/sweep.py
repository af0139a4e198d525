"""One sweep of the kernels over an array, cut into tasks for the threads."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from subband.engines.cpu import kernels
from subband.engines.cpu.program import forward_program, identity_program, inverse_program
from subband.engines.threads import get_threads, run_tasks
from subband.plan import AxisPlan
from subband.typing import Array, Bands

__all__ = ["Sweep", "cut_tasks", "run_kernel"]

#: Bytes of a row that a sweep carries down at a time: a ring of rows this long stays in the first-level cache.
TILE = 4096

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 32_768

#: Tasks for each thread: more than one, so that a thread that is held up leaves work to the others.
TASKS = 3


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

    def forward(self, x: Array) -> Bands:
        """Return the bands of a C-contiguous array."""
        shape = x.shape
        vertical, horizontal = self._assign_axes(len(shape))
        outer, height, width = self._view_as_images(shape)
        v = forward_program(vertical, x.dtype) if vertical else identity_program(x.dtype)
        h = forward_program(horizontal, x.dtype) if horizontal else identity_program(x.dtype)
        rows = (vertical.low, vertical.high) if vertical else (height, 0)
        columns = (horizontal.low, horizontal.high) if horizontal else (width, 0)
        aa = np.empty((outer, rows[0], columns[0]), x.dtype)
        # a band that this sweep does not make is never touched: any array will do in its place
        ad = np.empty((outer, rows[0], columns[1]), x.dtype) if horizontal else aa
        da = np.empty((outer, rows[1], columns[0]), x.dtype) if vertical else aa
        dd = np.empty((outer, rows[1], columns[1]), x.dtype) if vertical and horizontal else aa
        images = x.reshape(outer, height, width)
        tile = TILE // x.itemsize
        arguments = (images, aa, ad, da, dd, v.ints, v.numbers, h.ints, h.numbers, tile)
        run_kernel(kernels.forward, arguments, (outer, rows[0], columns[0]), tile)
        bands = (aa, ad, da, dd) if vertical and horizontal else (aa, ad if horizontal else da)
        return {letters: band.reshape(self._band_shape(shape, letters)) for letters, band in zip(self.letters, bands, strict=True)}

    def inverse(self, bands: Bands) -> Array:
        """Return the array of which C-contiguous `bands` are the bands."""
        first = bands[self.letters[0]]
        shape = list(first.shape)
        for axis, plan in zip(self.axes, self.plans, strict=True):
            shape[axis] = plan.length
        vertical, horizontal = self._assign_axes(len(shape))
        outer, height, width = self._view_as_images(tuple(shape))
        v = inverse_program(vertical, first.dtype) if vertical else identity_program(first.dtype)
        h = inverse_program(horizontal, first.dtype) if horizontal else identity_program(first.dtype)
        rows = (vertical.low, vertical.high) if vertical else (height, 0)
        columns = (horizontal.low, horizontal.high) if horizontal else (width, 0)
        aa = first.reshape(outer, rows[0], columns[0])
        ad = da = dd = aa
        if horizontal:
            ad = bands["ad" if vertical else "d"].reshape(outer, rows[0], columns[1])
        if vertical:
            da = bands["da" if horizontal else "d"].reshape(outer, rows[1], columns[0])
        if vertical and horizontal:
            dd = bands["dd"].reshape(outer, rows[1], columns[1])
        y = np.empty((outer, height, width), first.dtype)
        extent = (outer, vertical.pairs if vertical else height, horizontal.pairs if horizontal else width)
        tile = TILE // y.itemsize
        arguments = (y, aa, ad, da, dd, v.ints, v.numbers, h.ints, h.numbers, tile)
        run_kernel(kernels.inverse, arguments, extent, tile)
        return y.reshape(shape)

    def _assign_axes(self, ndim: int) -> tuple[AxisPlan | None, AxisPlan | None]:
        """Return the plans down the columns and along the rows."""
        if len(self.axes) == 2:
            return self.plans[0], self.plans[1]
        if self.axes[0] == ndim - 1:
            return None, self.plans[0]
        return self.plans[0], None

    def _view_as_images(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """Return how many images of what height and width an array of `shape` is to the kernels."""
        if len(self.axes) == 1 and self.axes[0] == len(shape) - 1:
            return 1, prod(shape[:-1]), shape[-1]
        axis = self.axes[0]
        return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])

    def _band_shape(self, shape: tuple[int, ...], letters: str) -> tuple[int, ...]:
        band = list(shape)
        for letter, axis, plan in zip(letters, self.axes, self.plans, strict=True):
            band[axis] = plan.low if letter == "a" else plan.high
        return tuple(band)


def run_kernel(kernel: Callable[..., object], arguments: tuple[object, ...], extent: tuple[int, ...], tile: int = 64) -> None:
    """Run a kernel over images, rows and columns, by several threads if there is enough to do."""
    images, rows, columns = extent
    if images * rows * columns < SMALL or get_threads() == 1:
        kernel(*arguments, 0, images, 0, rows, 0, columns)
    else:
        tasks = cut_tasks((images, rows, columns), get_threads() * TASKS, tile)
        run_tasks(lambda *task: kernel(*arguments, *task), tasks)


def cut_tasks(extent: tuple[int, int, int], count: int, tile: int) -> list[tuple[int, int, int, int, int, int]]:
    """Cut images, rows and columns into about `count` boxes: whole images first, then rows, then columns.

    Examples
    --------
    >>> cut_tasks((6, 10, 10), 3, 4)
    [(0, 2, 0, 10, 0, 10), (2, 4, 0, 10, 0, 10), (4, 6, 0, 10, 0, 10)]
    """
    images, rows, columns = extent
    image_cuts = _cut(images, count)
    row_cuts = _cut(rows, max(1, min(count // len(image_cuts), rows // 16)))
    column_cuts = _cut(columns, max(1, min(count // (len(image_cuts) * len(row_cuts)), columns // tile)))
    return [(*b, *r, *c) for b in image_cuts for r in row_cuts for c in column_cuts]


def _cut(length: int, count: int) -> list[tuple[int, int]]:
    """Cut a range into at most `count` parts of nearly equal length."""
    count = max(1, min(count, length))
    edges = [length * k // count for k in range(count + 1)]
    return list(zip(edges[:-1], edges[1:], strict=True))
