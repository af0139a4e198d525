"""Memory of the host that frames are carried from and to.

For a bus to read and write on its own, memory has to be *pinned*: the operating system must not move it meanwhile.
Pinning takes longer than processing a frame, so `HostMemory` lends it again as soon as nobody holds it any more.
"""

from __future__ import annotations

from math import prod
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from subband.engines.cuda import CudaDevice
from subband.engines.device import Device
from subband.engines.memory import allocate
from subband.engines.threads import get_threads, run_tasks
from subband.errors import DeviceMemoryError
from subband.typing import Array

__all__ = ["HostMemory", "copy_frame", "find_address", "host_memory_for"]

#: Frames from this size on are copied by several threads.
_LARGE = 1 << 20


class HostMemory:
    """Lends memory of the host from which, and to which, frames are carried without another copy."""

    def __init__(self) -> None:
        self._lent: WeakValueDictionary[int, Array] = WeakValueDictionary()

    def lend(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array with any contents; its memory is used again when the array and all its views are gone."""
        array = self._allocate(shape, dtype)
        self._lent[find_address(array)] = array
        return array

    def is_lent(self, frame: Array) -> bool:
        """Tell whether an array is one that was lent, or shows all of one in the same order."""
        known = self._lent.get(find_address(frame))
        return known is not None and known.nbytes == frame.nbytes and frame.flags.c_contiguous

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return allocate(shape, dtype)


class _PinnedMemory(HostMemory):
    """Memory that CUDA reads and writes without the host's help; CuPy's pool keeps what is given back."""

    def __init__(self, device: CudaDevice) -> None:
        super().__init__()
        # the device has loaded it already
        import cupy

        self._cupy: Any = cupy
        self._number = device.number

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        count = prod(shape)
        try:
            with self._cupy.cuda.Device(self._number):
                memory = self._cupy.cuda.alloc_pinned_memory(count * dtype.itemsize)
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceMemoryError(f"the host has no memory to pin for a frame of shape {shape}: {error}") from error
        return np.frombuffer(memory, dtype, count).reshape(shape)


def host_memory_for(device: Device | None) -> HostMemory:
    """Return memory of the host that suits a device, or the host itself."""
    return _PinnedMemory(device) if isinstance(device, CudaDevice) else HostMemory()


def copy_frame(target: Array, source: Array) -> None:
    """Copy a frame; one thread alone reads memory far slower than the bus."""
    threads = get_threads()
    if target.nbytes < _LARGE or threads == 1:
        np.copyto(target, source)
        return
    rows = -(-len(target) // (2 * threads))
    tasks = [(start, start + rows) for start in range(0, len(target), rows)]
    run_tasks(lambda start, stop: np.copyto(target[start:stop], source[start:stop]), tasks)


def find_address(array: Array) -> int:
    """Return where the numbers of an array of the host begin."""
    address: int = array.__array_interface__["data"][0]
    return address
