"""Passes of fixed point on devices, the same bit by bit as on the host."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from subband.engines.device import Device
from subband.engines.device_engine import DeviceEngine
from subband.engines.filters.device_launcher import MOST_GROUPS, Launcher, count_items
from subband.engines.fixed import FixedPass
from subband.kernels.dialects import LANES
from subband.kernels.fixed import EntrySpec, ExitSpec, FixedSpec, render_entry, render_exit, render_fixed

__all__ = ["DevicePasses", "find_device_passes"]


class DevicePasses:
    """Passes on a device."""

    def __init__(self, device: Device) -> None:
        self._device, self._launcher = device, Launcher(device)

    def enter(self, samples: Any, bits: int, width: int) -> Any | None:
        """Return samples as integers; None if real ones are not all from 0 to 1."""
        samples = self._device.as_contiguous(samples)
        y = self._device.allocate(samples.shape, np.dtype(np.uint8 if width == 8 else np.uint16))
        wrong = self._device.make_zeros((1,), np.dtype(np.int32))
        size = prod(samples.shape)
        spec, table = EntrySpec(samples.dtype.name, bits, width), self._launcher.tabulate(size)
        self._launcher.run(render_entry, spec, count_items(size, 1), samples, y, wrong, table)
        # of integers none is wrong, and nobody waits to hear it
        is_right = samples.dtype.kind == "u" or not self._device.download(wrong).item()
        return y if is_right else None

    def split(self, task: FixedPass, axis: int, whole: Any) -> list[Any]:
        """Return low and high coefficients of samples along an axis."""
        halves = [self._device.allocate(_replace(whole.shape, axis, n), task.dtype) for n in task.lengths[1:]]
        self._run(task, axis, whole, *halves)
        return halves

    def merge(self, task: FixedPass, axis: int, low: Any, high: Any) -> Any:
        """Undo `split`."""
        low, high = map(self._device.as_contiguous, (low, high))
        if not task.lengths[2]:
            high = self._device.upload(np.full(low.shape, task.blank, task.dtype))
        whole = self._device.allocate(_replace(low.shape, axis, task.lengths[0]), task.dtype)
        self._run(task, axis, whole, low, high)
        return whole

    def leave(self, band: Any, dtype: np.dtype[Any]) -> Any:
        """Return integers as samples of a dtype."""
        band = self._device.as_contiguous(band)
        x = self._device.allocate(band.shape, dtype)
        size = prod(band.shape)
        spec, table = ExitSpec(dtype.name, 8 * band.dtype.itemsize), self._launcher.tabulate(size)
        self._launcher.run(render_exit, spec, count_items(size, 1), band, x, table)
        return x

    def _run(self, task: FixedPass, axis: int, whole: Any, low: Any, high: Any) -> None:
        shape = whole.shape
        outer, stride = prod(shape[:axis]), prod(shape[axis + 1 :])
        is_last = axis == len(shape) - 1
        spec = FixedSpec(task.direction, task.rows, task.biases, task.sources, task.bits, task.width, is_last)
        lanes, second, third = (task.count, outer, 1) if is_last else (stride, task.count, outer)
        groups = (-(-lanes // LANES), min(second, MOST_GROUPS), min(third, MOST_GROUPS))
        table = self._launcher.tabulate(outer, task.count, stride, *(array.shape[axis] for array in (whole, low, high)))
        self._launcher.run(render_fixed, spec, groups, whole, low, high, self._launcher.keep(task.index), table)


_found: WeakKeyDictionary[DeviceEngine, DevicePasses] = WeakKeyDictionary()


def find_device_passes(engine: DeviceEngine) -> DevicePasses:
    """Return the passes of an engine, made once."""
    found = _found.get(engine)
    if found is None:
        found = _found[engine] = DevicePasses(engine.device)
    return found


def _replace(shape: Sequence[int], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])
