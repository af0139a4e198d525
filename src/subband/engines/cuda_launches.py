"""Kernels of CUDA launched back to back, with their arguments packed when they are prepared.

Only the addresses of arrays are filled in by a call: setting arguments one by one takes longer than small kernels run.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from threading import Lock
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
        # each argument has a word of 8 bytes, of which a number of 32 bits takes the first half
        words: list[int] = []
        starts: list[int] = []
        self._slots: list[tuple[int, int]] = []
        for call in calls:
            starts.append(len(words))
            self._slots += [(len(words) + index, slot) for index, slot in enumerate(call.slots)]
            words += [0 for _ in call.slots]
            words += [int(each) if isinstance(each, np.generic) else each.data.ptr for each in call.tables]
        self._words = array("q", words)
        first, _ = self._words.buffer_info()
        self._pointers = array("q", range(first, first + 8 * len(words), 8))
        first, _ = self._pointers.buffer_info()
        self._kernels = []
        for start, call in zip(starts, calls, strict=True):
            grid, threads = count_threads(call.groups, call.block)
            self._kernels.append(((call.kernel.kernel.ptr, *grid, threads, 1, 1, 0), first + 8 * start))
        self._filling = Lock()

    def __call__(self, arrays: Sequence[Any]) -> None:
        """Launch all kernels on arrays of CuPy, on its current stream."""
        self.launch([each.data.ptr for each in arrays], self._find_stream().ptr)

    def launch(self, addresses: Sequence[int], stream: int) -> None:
        """Launch all kernels on the arrays at these addresses, whose device is the current one."""
        words, launch_kernel = self._words, self._launch_kernel
        # CUDA copies the arguments of a kernel before it returns
        with self._filling:
            for index, slot in self._slots:
                words[index] = addresses[slot]
            for kernel, pointers in self._kernels:
                launch_kernel(*kernel, stream, pointers, 0)
