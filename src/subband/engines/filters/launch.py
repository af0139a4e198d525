"""Launching of the CPU's filter kernels: work cut into tasks, which several threads run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from subband.compiled import Kernel, Kernels
from subband.engines.filters.constants import MOST
from subband.engines.filters.tables import ARRAYS, TASK_FIELDS
from subband.engines.threads import count_threads, share_tasks
from subband.errors import DtypeError, ShapeError
from subband.typing import Array

__all__ = ["TaskKernel", "TaskKernels", "cut_tasks", "invert_noise", "join_tasks", "repeat_tasks"]

_calls = Kernels("subband.engines.filters.loops.calls")

#: Arrays, numbers and sizes of a call.
_Call = tuple[Sequence[Array], Sequence[float], Sequence[int]]

#: What `subband.engines.filters.loops.calls.work_off` takes.
_KINDS = "int64[1C], int64, int64, int64, float64[1C], int64[2C], int64[2Cr], addresses"

#: Which of the arrays of a call are the three that a kernel takes.
_INDICES = {1: (0, 0, 0), 2: (0, 1, 0), 3: (0, 1, 2)}

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 50_000

#: Samples of a task: enough that taking one costs nothing beside it, and few enough that no thread waits long for
#: another. Tasks do not depend on the number of threads, so neither do results.
TASK = 65_536


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
        # a kernel does not look at the arrays that it has no use for
        indices = _INDICES[len(arrays)]
        table = np.array([[*indices, 0, *sizes]], np.int64)
        self.run_calls(tasks, table, np.array(numbers, np.float64).reshape(-1), arrays, samples)

    def run_calls(self, tasks: Array, calls: Array, numbers: Array, arrays: Sequence[Array], samples: int) -> None:
        """Run all tasks of several calls and wait for them: threads go on with the next one where one has few tasks.

        Parameters
        ----------
        tasks, calls : ndarray of int64
            See `subband.engines.filters.tables`. What calls write does not overlap, nor what others read.
        numbers : ndarray of float64
            Those of all calls.
        arrays : sequence of ndarray
            Those of all calls; the first call has the dtypes of all.
        samples : int
            How much there is to do in all.
        """
        threads = count_threads() if samples >= SMALL else 1
        out, x, y = (arrays[index] for index in calls[0, ARRAYS : ARRAYS + 3].tolist())
        run = _calls.run_task.find_address("int64*, int64")
        work_off = _calls.work_off.find_entry(_KINDS)
        given = run, self._find((out.dtype, x.dtype, y.dtype)), numbers, calls, tasks
        if share_tasks(work_off, threads, *given, *arrays) is NotImplemented:
            written = set(calls[:, ARRAYS].tolist())
            taken = [self._check(array, is_written=number in written) for number, array in enumerate(arrays)]
            outcome = share_tasks(work_off, threads, *given, *taken)
            assert outcome is not NotImplemented, "a launch was given tables that are not in order"

    def run_each(self, tasks: Array, calls: Sequence[_Call], samples: int) -> None:
        """Run all tasks of several calls in one launch.

        Parameters
        ----------
        tasks : ndarray
            From `repeat_tasks`.
        calls : sequence of (arrays, numbers, sizes)
            As for a single call, all with as many arrays, of the same dtypes, and as many numbers.
        samples : int
            How much there is to do in all.
        """
        arrays = [array for own, _, _ in calls for array in own]
        indices = _INDICES[len(calls[0][0])]
        step = len(arrays) // len(calls)
        table = [
            [*(number * step + index for index in indices), number * len(numbers), *sizes]
            for number, (_, numbers, sizes) in enumerate(calls)
        ]
        whole = np.array([numbers for _, numbers, _ in calls], np.float64).reshape(-1)
        self.run_calls(tasks, np.array(table, np.int64), whole, arrays, samples)

    def _check(self, array: Array, *, is_written: bool) -> Array:
        """Return an array that a launch has not taken as one that it takes, or refuse it."""
        if not array.flags.c_contiguous or (is_written and not array.flags.aligned):
            raise ShapeError(
                f"{self._name} got an array of {array.dtype} with shape {array.shape} and strides {array.strides}; it "
                "has to be C-contiguous, and aligned if it is written to"
            )
        return np.require(array, requirements="A").view(np.ndarray)

    def _find(self, dtypes: tuple[np.dtype[Any], ...]) -> int:
        """Return the address of the function compiled for arrays of these dtypes."""
        # names of dtypes cost more than a small task
        address = self._found.get(dtypes)
        if address is None:
            if not all(dtype.isnative for dtype in dtypes):
                raise DtypeError(
                    f"{self._name} got arrays of {dtypes}; they have to be in the machine's order of bytes"
                )
            kinds = [f"{dtype.name}*" for dtype in dtypes]
            address = self._kernel.find_address(", ".join([*kinds, "float64*, int64*, int64*"]))
            self._found[dtypes] = address
        return address


def cut_tasks(images: int, rows: int, columns: int, widest: int | None = None, samples: int | None = None) -> Array:
    """Cut images into tasks of about `samples`, `TASK` if left out, no wider than `widest` columns.

    Returns
    -------
    ndarray of shape (tasks, 6)
        Image, first and last row, first and last column, and the number of the task.

    Examples
    --------
    >>> cut_tasks(1, 4, 10, widest=5).tolist()
    [[0, 0, 4, 0, 5, 0], [0, 0, 4, 5, 10, 1]]
    """
    return _cut(images, rows, columns, widest or TASK, samples or TASK)


def repeat_tasks(calls: int, images: int, rows: int, columns: int, widest: int | None = None) -> Array:
    """Return the tasks of several calls that all have those of `cut_tasks`, with the call of each behind.

    Examples
    --------
    >>> repeat_tasks(2, 1, 4, 10).tolist()
    [[0, 0, 4, 0, 10, 0, 0], [0, 0, 4, 0, 10, 0, 1]]
    """
    return _repeat(calls, images, rows, columns, widest or TASK, TASK)


@lru_cache(maxsize=256)
def _repeat(calls: int, images: int, rows: int, columns: int, widest: int, task: int) -> Array:
    own = _cut(images, rows, columns, widest, task)
    return join_tasks([own] * calls)


def join_tasks(tasks: Sequence[Array]) -> Array:
    """Return the tasks of several calls, with the call of each behind."""
    joined = np.concatenate([np.column_stack([own, np.full(len(own), call)]) for call, own in enumerate(tasks)])
    joined.flags.writeable = False
    return joined


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
    table = np.array([(*box, number) for number, box in enumerate(boxes)], np.int64).reshape(-1, TASK_FIELDS)
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
