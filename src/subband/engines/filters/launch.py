"""Launching of the CPU's filter kernels: work cut into tasks, which several threads run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from subband.compiled import Kernel, Kernels
from subband.engines.filters.constants import MOST
from subband.engines.threads import count_threads, share_tasks
from subband.errors import ShapeError
from subband.typing import Array

__all__ = ["TaskKernel", "TaskKernels", "cut_tasks", "invert_noise"]

_calls = Kernels("subband.engines.filters.loops.calls")

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 50_000

#: Samples of a task: enough that taking one costs nothing beside it, and few enough that no thread waits long for
#: another. Tasks do not depend on the number of threads, so neither do results.
TASK = 65_536

#: The image, rows, columns and number of a task.
_FIELDS = 6


class TaskKernels:
    """The kernels of a module of `subband.engines.filters.loops`, as attributes."""

    def __init__(self, module: str) -> None:
        self._kernels = Kernels(module)

    def __getattr__(self, name: str) -> TaskKernel:
        kernel = TaskKernel(name, getattr(self._kernels, name))
        setattr(self, name, kernel)
        return kernel


class TaskKernel:
    """A function that does one task, for arrays of any dtype.

    Parameters
    ----------
    name : str
        What it is called.
    kernel : Kernel
        Takes the addresses ``(out, x, y, numbers, sizes, task)``; see `subband.engines.filters.loops`.
    """

    def __init__(self, name: str, kernel: Kernel) -> None:
        self._name, self._kernel = name, kernel
        self._found: dict[tuple[np.dtype[Any], ...], int] = {}

    def __call__(
        self,
        tasks: Array,
        arrays: Sequence[Array],
        numbers: Sequence[Any] | Array = (),
        sizes: Sequence[int] = (),
        samples: int = 0,
    ) -> None:
        """Run all tasks and wait for them.

        Parameters
        ----------
        tasks : ndarray
            From `cut_tasks`.
        arrays : sequence of ndarray
            One to three, C-contiguous.
        numbers : sequence of float or ndarray
            What the kernel needs of the planes.
        sizes : sequence of int
            What it needs to know of the arrays.
        samples : int
            How much there is to do: by several threads only if it is worth their while.

        Raises
        ------
        ShapeError
            If an array is laid out in another way.
        """
        for array in arrays:
            if not (array.flags.c_contiguous and array.dtype.isnative):
                raise ShapeError(
                    f"{self._name} got an array of {array.dtype} with shape {array.shape} and strides "
                    f"{array.strides}; it has to be C-contiguous and in the machine's order of bytes"
                )
        # a kernel does not look at the arrays that it has no use for
        padded = [*arrays, *[arrays[0]] * (3 - len(arrays))]
        # what `ctypes` of an array has, in half the time
        addresses = [array.__array_interface__["data"][0] for array in padded]
        tables = np.array(numbers, np.float64).reshape(-1), np.array(sizes, np.int64)
        threads = count_threads() if samples >= SMALL else 1
        run = _calls.run_task.find_address("int64*, int64")
        share_tasks(_calls.work_off, threads, run, self._find(padded), *addresses, *tables, tasks)

    def _find(self, arrays: Sequence[Array]) -> int:
        """Return the address of the function compiled for the dtypes of these arrays."""
        # names of dtypes cost more than a small task
        dtypes = tuple(array.dtype for array in arrays)
        address = self._found.get(dtypes)
        if address is None:
            kinds = [f"{dtype.name}*" for dtype in dtypes]
            address = self._kernel.find_address(", ".join([*kinds, "float64*, int64*, int64*"]))
            self._found[dtypes] = address
        return address


def cut_tasks(images: int, rows: int, columns: int, widest: int | None = None) -> Array:
    """Cut images into tasks of about equal size, no wider than `widest` columns.

    Returns
    -------
    ndarray of shape (tasks, 6)
        Image, first and last row, first and last column, and the number of the task.

    Examples
    --------
    >>> cut_tasks(1, 4, 10, widest=5).tolist()
    [[0, 0, 4, 0, 5, 0], [0, 0, 4, 5, 10, 1]]
    """
    return _cut(images, rows, columns, widest or TASK, TASK)


@lru_cache(maxsize=1024)
def _cut(images: int, rows: int, columns: int, widest: int, task: int) -> Array:
    tiles = -(-columns // min(widest, task))
    strips = -(-rows // max(1, task * tiles // max(columns, 1)))
    boxes = [
        (image, *strip, *tile)
        for image in range(images)
        for strip in _cut_range(rows, strips)
        for tile in _cut_range(columns, tiles)
    ]
    table = np.array([(*box, number) for number, box in enumerate(boxes)], np.int64).reshape(-1, _FIELDS)
    table.flags.writeable = False
    return table


def _cut_range(length: int, count: int) -> list[tuple[int, int]]:
    return [(length * k // count, length * (k + 1) // count) for k in range(count)]


def invert_noise(noise: float) -> float:
    """Return one over the noise as the kernels want it: infinity where there is none, else a number that is not large.

    Examples
    --------
    >>> invert_noise(0.5), invert_noise(0.0), invert_noise(1e-36)
    (2.0, inf, 1e+30)
    """
    return min(1 / noise, MOST) if noise else inf
