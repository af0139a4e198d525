"""Kernels of CUDA launched back to back, with their arguments packed when they are prepared.

Only the addresses of arrays are filled in by a call: setting arguments one by one takes longer than small kernels run.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from threading import Lock
from typing import Any

import numpy as np

from subband.engines.cuda_graphs import CudaGraph, KernelLaunch, load_driver
from subband.engines.device import Groups, KernelCall
from subband.errors import DeviceError
from subband.kernels.dialects import LANES

__all__ = ["CudaKernel", "CudaLaunches", "count_threads"]

#: Streams that have a graph each, so that none of them waits for another.
_MOST_GRAPHS = 4


@dataclass(frozen=True)
class CudaKernel:
    """A kernel of CuPy, the local memory that its blocks are handed, and how many a multiprocessor runs, at most.

    Attributes
    ----------
    function : cupy.RawKernel
        The kernel.
    local : int
        Bytes of local memory that a launch hands to a block.
    resident : int
        Blocks of it on a multiprocessor; 0 if as many as fit.
    """

    function: Any
    local: int = 0
    resident: int = 0


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
        # a word of 8 bytes for the address of each array, which all kernels that take the array point to; then one for
        # each other argument, of which a number of 32 bits takes the first half
        self._count = 1 + max((slot for call in calls for slot in call.slots), default=-1)
        words = [0] * self._count
        pointed: list[int] = []
        starts: list[int] = []
        for call in calls:
            starts.append(len(pointed))
            pointed += [*call.slots, *range(len(words), len(words) + len(call.tables))]
            words += [int(each) if isinstance(each, np.generic) else each.data.ptr for each in call.tables]
        self._words = array("q", words)
        self._fill = Struct(f"{self._count}q").pack_into
        first, _ = self._words.buffer_info()
        self._pointers = array("q", [first + 8 * index for index in pointed])
        first, _ = self._pointers.buffer_info()
        self._kernels: list[KernelLaunch] = []
        self._graphs: dict[int, CudaGraph | None] = {}
        for start, call in zip(starts, calls, strict=True):
            grid, threads = count_threads(call.groups, call.block)
            self._kernels.append(
                ((call.kernel.function.kernel.ptr, *grid, threads, 1, 1, call.kernel.local), first + 8 * start)
            )
        self._filling = Lock()

    def __call__(self, arrays: Sequence[Any]) -> None:
        """Launch all kernels on arrays of CuPy, on its current stream."""
        stream = self._find_stream()
        launch = self.launch if stream.is_capturing() else self.launch_graph
        launch([each.data.ptr for each in arrays], stream.ptr)

    def launch(self, addresses: Sequence[int], stream: int) -> None:
        """Launch all kernels on the arrays at these addresses, whose device is the current one."""
        # CUDA copies the arguments of a kernel before it returns
        with self._filling:
            self._fill(self._words, 0, *addresses[: self._count])
            self._launch_each(stream)

    def launch_graph(self, addresses: Sequence[int], stream: int) -> None:
        """Do what `launch` does in less time, on a stream that is not being recorded."""
        with self._filling:
            self._fill(self._words, 0, *addresses[: self._count])
            try:
                graph = self._graphs[stream]
            except KeyError:
                graph = self._add_graph(stream)
            if graph is None:
                self._launch_each(stream)
            else:
                graph.launch(stream)

    def _launch_each(self, stream: int) -> None:
        launch_kernel = self._launch_kernel
        for kernel, pointers in self._kernels:
            launch_kernel(*kernel, stream, pointers, 0)

    def _add_graph(self, stream: int) -> CudaGraph | None:
        """Make the graph of a stream; None if there are enough, or the driver makes none."""
        driver = load_driver()
        if driver is None or not self._kernels or len(self._graphs) >= _MOST_GRAPHS:
            return None
        try:
            graph = CudaGraph(driver, self._kernels)
        except DeviceError:
            graph = None
        self._graphs[stream] = graph
        return graph
