"""Kernels of CUDA launched back to back, with their arguments packed when they are prepared.

Only the addresses of arrays are filled in by a call: setting arguments one by one takes longer than small kernels run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subband.engines.device import Groups, KernelCall
from subband.kernels.dialects import LANES

__all__ = ["CudaLaunches", "count_threads"]


def count_threads(groups: Groups, block: int) -> tuple[Groups, int]:
    """Return the grid of blocks and the threads of each, for groups of lanes of which `block` make a block."""
    block = min(block, groups[0])
    return (-(-groups[0] // block), groups[1], groups[2]), block * LANES


class CudaLaunches:
    """Launches kernels on CuPy's arrays, or on any arrays by their addresses.

    Parameters
    ----------
    cupy : module
        The library that launches.
    calls : sequence of KernelCall
        In the order in which they run.
    """

    def __init__(self, cupy: Any, calls: Sequence[KernelCall]) -> None:
        self._launch_kernel = cupy.cuda.driver.launchKernel
        self._find_stream = cupy.cuda.get_current_stream
        self._tables = [call.tables for call in calls]  # kept for their memory
        self._kernels: list[tuple[Any, ...]] = []
        # each argument has a word of 8 bytes, of which a number of 32 bits takes the first half
        words: list[int] = []
        slots: list[int] = []
        goals: list[int] = []
        for call in calls:
            grid, threads = count_threads(call.groups, call.block)
            self._kernels.append((8 * len(words), call.kernel.kernel.ptr, *grid, threads, 1, 1, 0))
            goals.extend(range(len(words), len(words) + len(call.slots)))
            slots.extend(call.slots)
            words.extend(0 for _ in call.slots)
            words.extend(int(each) if isinstance(each, np.generic) else each.data.ptr for each in call.tables)
        self._words, self._slots, self._goals = np.array(words), np.array(slots), np.array(goals)
        self._offsets = 8 * np.arange(len(words))

    def __call__(self, arrays: Sequence[Any]) -> None:
        """Launch all kernels on arrays of CuPy, on its current stream."""
        self.launch([array.data.ptr for array in arrays], self._find_stream().ptr)

    def launch(self, addresses: Sequence[int], stream: int) -> None:
        """Launch all kernels on the arrays at these addresses, whose device is the current one."""
        words = self._words.copy()
        words[self._goals] = np.array(addresses)[self._slots]
        pointers = self._offsets + _address_of(words)
        first = _address_of(pointers)
        for offset, *kernel in self._kernels:
            self._launch_kernel(*kernel, stream, first + offset, 0)


def _address_of(x: Any) -> int:
    address: int = x.__array_interface__["data"][0]
    return address
