"""Tracks: work on a device in an order of its own, with copies to and from the host, beside that of other tracks.

A `Track` does what it is told one after the other; several of them keep both directions of the bus and the processors
of a GPU busy at the same time. A `subband.engines.streaming.Conveyor` carries frames that are as large when they come
back; here the sizes of what goes and comes may change from frame to frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from subband.engines.cuda import CudaDevice
from subband.engines.device import Device
from subband.engines.opencl import OpenCLDevice
from subband.engines.replay import capture_graph
from subband.typing import Array

__all__ = ["Track", "make_track"]

#: Queues kernels on arrays of the device.
Work: TypeAlias = Callable[[], None]


class Track(ABC):
    """One order of work on a device."""

    @abstractmethod
    def prepare(self, work: Work) -> Work:
        """Run work that is always the same on the same arrays, and return what runs it again with less ado."""

    @abstractmethod
    def upload(self, host: Array, goal: Any) -> None:
        """Queue a copy of all of a contiguous host array to the start of one on the device.

        The host array must stay as it is until `wait` returns.
        """

    @abstractmethod
    def download(self, source: Any, host: Array) -> None:
        """Queue a copy from the start of an array on the device that fills one on the host."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for all that is queued."""


class CudaTrack(Track):
    """A stream of a GPU; host arrays should be pinned, or copies wait for the stream."""

    def __init__(self, device: CudaDevice) -> None:
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(device.number)
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)
            self._pool = cupy.cuda.MemoryPool()

    def prepare(self, work: Work) -> Work:
        """Record work as a graph; where the driver cannot, its kernels are launched one by one."""
        run = partial(self._run, work)
        with self._device:
            # tables that were uploaded on other streams have to be there
            self._device.synchronize()
            with self._stream:
                # the first time compiles, and uploads tables that outlive this track and so its pool
                work()
            self._stream.synchronize()
            self._cupy.get_default_memory_pool().free_all_blocks(self._stream)
            run()
            self._stream.synchronize()
            graph = capture_graph(self._cupy, self._stream, run)
        return run if graph is None else partial(self._launch, graph)

    def _run(self, work: Work) -> None:
        # arrays between input and output come from a pool that nobody else uses
        with self._device, self._stream, self._cupy.cuda.using_allocator(self._pool.malloc):
            work()

    def _launch(self, graph: Any) -> None:
        with self._device:
            graph.launch(self._stream)

    def upload(self, host: Array, goal: Any) -> None:
        runtime = self._cupy.cuda.runtime
        with self._device:
            runtime.memcpyAsync(
                goal.data.ptr, host.ctypes.data, host.nbytes, runtime.memcpyHostToDevice, self._stream.ptr
            )

    def download(self, source: Any, host: Array) -> None:
        runtime = self._cupy.cuda.runtime
        with self._device:
            runtime.memcpyAsync(
                host.ctypes.data, source.data.ptr, host.nbytes, runtime.memcpyDeviceToHost, self._stream.ptr
            )

    def wait(self) -> None:
        self._stream.synchronize()


class OpenCLTrack(Track):
    """The queue of an OpenCL device, which all its tracks share."""

    def __init__(self, device: OpenCLDevice) -> None:
        import pyopencl as cl

        self._cl = cl
        self._queue = device.queue

    def prepare(self, work: Work) -> Work:
        work()
        return work

    def upload(self, host: Array, goal: Any) -> None:
        if host.nbytes:
            self._cl.enqueue_copy(self._queue, goal.base_data, host, is_blocking=False)

    def download(self, source: Any, host: Array) -> None:
        if host.nbytes:
            self._cl.enqueue_copy(self._queue, host, source.base_data, is_blocking=False)

    def wait(self) -> None:
        self._queue.finish()


def make_track(device: Device) -> Track:
    """Return a track on a device."""
    if isinstance(device, CudaDevice):
        return CudaTrack(device)
    assert isinstance(device, OpenCLDevice)
    return OpenCLTrack(device)
