"""Launching of filter kernels on a device: compiled once, with cached small tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from subband.engines.device import Device, Groups
from subband.engines.recent import Recent
from subband.errors import DeviceError, ShapeError
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.pixels import PixelSpec, render_narrowing, render_pixels

__all__ = ["MOST_GROUPS", "Launcher", "Space", "count_items", "count_rows", "find_space", "is_empty"]

#: The most groups that CUDA launches in the second and third direction.
MOST_GROUPS = 65_535

#: Groups that walk a plane, at most; each then takes several turns.
_MOST_WALKERS = 1 << 16

#: Groups of lanes in one block.
_BLOCK = 8

#: Kernels count rows and columns in 32 bits, and some more than there are.
_LONGEST = 1 << 30

#: No more tables than this are remembered.
_MOST_TABLES = 4096

Spec = TypeVar("Spec", bound=Hashable)


class Space(NamedTuple):
    """How kernels see planes: axes that there are not have one sample."""

    planes: int
    depth: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """Samples of a plane."""
        return self.depth * self.height * self.width


def find_space(shape: tuple[int, ...]) -> Space:
    """Return how kernels see planes of a shape.

    Examples
    --------
    >>> find_space((3, 480, 640))
    Space(planes=3, depth=1, height=480, width=640)
    """
    if not 2 <= len(shape) <= 4:
        raise ShapeError(f"planes of shape {shape} have {len(shape) - 1} axes of space; filters take one to three")
    sizes = (1,) * (4 - len(shape)) + tuple(shape[1:])
    space = Space(shape[0], *sizes)
    if max(space.planes, space.depth * space.height, space.width) >= _LONGEST:
        raise DeviceError(f"planes of shape {shape}: kernels count to {_LONGEST} rows and columns; use engine='cpu'")
    return space


def count_items(count: int, planes: int) -> Groups:
    """Return the groups for so many items of each plane, one for a lane.

    Examples
    --------
    >>> count_items(100, 3)
    (4, 1, 3)
    """
    return max(1, min(-(-count // LANES), _MOST_WALKERS)), 1, min(planes, MOST_GROUPS)


def count_rows(space: Space) -> Groups:
    """Return the groups for rows of samples, one for a lane."""
    across = min(-(-space.width // LANES), _MOST_WALKERS)
    return across, min(space.depth * space.height, MOST_GROUPS), min(space.planes, MOST_GROUPS)


class Launcher:
    """Compiles, remembers and starts the kernels of one device; work goes to its current stream or queue.

    Parameters
    ----------
    device : Device
        Where the arrays are.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._kernels = Recent[Any](_MOST_TABLES, device.is_recording, is_released=False)
        self._tables = Recent[Any](_MOST_TABLES, device.is_recording)

    def run(
        self,
        render: Callable[[Spec, Dialect], str],
        spec: Spec,
        groups: Groups,
        *arguments: Any,
        block: int = _BLOCK,
    ) -> None:
        """Start the kernel of a specification."""
        kernel = self._kernels.find(spec, lambda: self.device.compile(render(spec, self.device.dialect)))
        self.device.launch(kernel, groups, block, arguments)

    def tabulate(self, *numbers: int) -> Any:
        """Return a table of integers on the device."""
        return self.keep(np.array(numbers, np.int64))

    def list_values(self, dtype: np.dtype[Any], *values: float) -> Any:
        """Return a table of numbers on the device."""
        return self.keep(np.array(values, dtype))

    def choose_run(self, count: int, *arrays: Any) -> int:
        """Return how many elements a lane takes at a time, so that no run reaches over the end of a plane."""
        is_even = count % 4 == 0 and all(self.device.is_aligned(x, 4 * x.dtype.itemsize) for x in arrays)
        return 4 if is_even else 1

    def as_numbers(self, name: str, numbers: Any, planes: int, dtype: np.dtype[Any]) -> Any:
        """Return one number for each plane in the given precision."""
        if tuple(numbers.shape) != (planes,):
            raise ShapeError(f"{name} has shape {tuple(numbers.shape)}; {planes} planes have one number each")
        numbers = self.device.as_contiguous(numbers)
        if numbers.dtype == dtype:
            return numbers
        changed = self.device.allocate((planes,), dtype)
        groups = count_items(planes, 1)
        if numbers.dtype == np.float64:
            table = self.tabulate(planes)
            self.run(lambda _, dialect: render_narrowing(dialect), "narrowing", groups, numbers, changed, table)
        else:
            spec = PixelSpec("planes", numbers.dtype.name, dtype.name)
            table, weights = self.tabulate(planes, 1, 0), self.list_values(dtype, 0.0)
            self.run(render_pixels, spec, groups, numbers, changed, table, weights)
        return changed

    def allocate_like(self, planes: Any) -> Any:
        """Return a new array of the same shape and dtype."""
        return self.device.allocate(tuple(planes.shape), planes.dtype)

    def keep(self, host: np.ndarray[Any, Any]) -> Any:
        """Return a small array on the device, the same one for the same numbers."""
        key = (host.dtype.char, host.tobytes())
        return self._tables.find(key, lambda: self.device.upload_table(host))


def is_empty(planes: Any) -> bool:
    """Say whether there is nothing to do; an empty array has no memory to hand over."""
    return 0 in planes.shape
