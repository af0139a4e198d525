"""Kernels of the CPU's filters: compiled when first used, cut into tasks, run by several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np

from subband.engines.compiling import stored_pointer
from subband.engines.cpu.loops import OPTIONS
from subband.engines.cpu.turns import share_tasks
from subband.engines.filters.loops.calls import work_off
from subband.engines.threads import get_threads
from subband.errors import ShapeError
from subband.typing import Array

__all__ = ["Kernel", "cut_tasks"]

#: Below this many samples, waking a second thread costs more than it saves.
SMALL = 50_000

#: Samples of a task: enough that taking one costs nothing beside it, and few enough that no thread waits long for
#: another. Tasks do not depend on the number of threads, so neither do results.
TASK = 65_536

#: The image, rows, columns and number of a task.
_FIELDS = 6


class Kernel:
    """A function that does one task, for arrays of any dtype.

    Parameters
    ----------
    function : callable
        Takes the addresses ``(out, x, y, numbers, sizes, task)``; see `subband.engines.filters.loops`.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._function = function
        self._compiled: dict[tuple[Any, ...], Any] = {}

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
                    f"{self.__name__} got an array of {array.dtype} with shape {array.shape} and strides "
                    f"{array.strides}; it has to be C-contiguous and in the machine's order of bytes"
                )
        # a kernel does not look at the arrays that it has no use for
        padded = [*arrays, *[arrays[0]] * (3 - len(arrays))]
        addresses = [array.ctypes.data for array in padded]
        tables = np.array(numbers, np.float64).reshape(-1), np.array(sizes, np.int64)
        threads = get_threads() if samples >= SMALL else 1
        share_tasks(work_off, (self._find(padded), *addresses, *tables), tasks, threads)

    def _find(self, arrays: Sequence[Array]) -> int:
        """Return the address of the function compiled for the dtypes of these arrays."""
        dtypes = tuple([array.dtype for array in arrays])
        compiled = self._compiled.get(dtypes)
        if compiled is None:
            tables = nb.types.float64, nb.types.int64, nb.types.int64
            kinds = [*(getattr(nb.types, dtype.name) for dtype in dtypes), *tables]
            signature = nb.types.void(*map(nb.types.CPointer, kinds))
            made = stored_pointer(signature, **OPTIONS)(self._function)
            # another thread may have been faster, and what it runs must stay
            compiled = self._compiled.setdefault(dtypes, made)
        return int(compiled.address)


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
