"""Streaming of frames to a device, through a computation, and back, with overlapped transfers.

A `Conveyor` carries frames of one shape. On a GPU three streams take turns: while one frame is computed, the next is
uploaded and the one before is downloaded, for a GPU has an engine of its own for each direction of the bus. What a
frame needs on the device is allocated once, and what the host calls for a frame is recorded once and then replayed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np

from subband.engines.cuda import CudaDevice
from subband.engines.device import Device
from subband.engines.host_memory import HostMemory, copy_frame, find_address, host_memory_for
from subband.engines.opencl import OpenCLDevice
from subband.engines.replay import capture_graph
from subband.typing import Array

__all__ = [
    "Computation",
    "Conveyor",
    "HostConveyor",
    "HostMemory",
    "Slot",
    "copy_frame",
    "host_memory_for",
    "make_conveyor",
]

#: Queues the work on a frame: takes the pixels and where the result goes, both on the device.
Computation: TypeAlias = Callable[[Any, Any], None]


class Slot:
    """The buffers of one frame in flight.

    Attributes
    ----------
    pixels, result : device arrays
        What comes from the host and what goes there; they stay for as long as the conveyor.
    frame, target : ndarray or None
        What is read and written on the host while the frame is under way.
    """

    def __init__(self, pixels: Any = None, result: Any = None) -> None:
        self.pixels = pixels
        self.result = result
        self.frame: Array | None = None
        self.target: Array | None = None
        self.staging: Array | None = None


class Conveyor(ABC):
    """Carries frames of one shape and dtype through a computation; they come back in the order they were sent in."""

    @abstractmethod
    def send(self, frame: Array) -> Slot:
        """Start the work on a frame; unless its memory was lent for that, it may be changed afterwards."""

    @abstractmethod
    def is_done(self, slot: Slot) -> bool:
        """Tell whether `receive` would not have to wait."""

    @abstractmethod
    def receive(self, slot: Slot) -> Array:
        """Wait for a frame and return its result, a new array."""

    @abstractmethod
    def drain(self) -> None:
        """Wait for whatever is under way, and forget it."""

    def measure_stages(self, turns: int = 20) -> dict[str, float]:  # noqa: ARG002 - nothing to measure here
        """Return the seconds of each stage that overlaps with others; nothing where there are no such stages."""
        return {}


class HostConveyor(Conveyor):
    """Computes a frame when it is sent, on the host.

    Parameters
    ----------
    compute : callable
        Takes a frame and returns a new one.

    Examples
    --------
    >>> conveyor = HostConveyor(lambda frame: 255 - frame)
    >>> conveyor.receive(conveyor.send(np.array([[5]], np.uint8)))
    array([[250]], dtype=uint8)
    """

    def __init__(self, compute: Callable[[Array], Array]) -> None:
        self._compute = compute

    def send(self, frame: Array) -> Slot:
        """Compute a frame."""
        slot = Slot()
        slot.target = self._compute(frame)
        return slot

    def is_done(self, slot: Slot) -> bool:  # noqa: ARG002 - `send` has waited already
        """Return True: there is nothing to wait for."""
        return True

    def receive(self, slot: Slot) -> Array:
        """Return what was computed."""
        assert slot.target is not None
        return slot.target

    def drain(self) -> None:
        """Do nothing: nothing is under way."""


class _DeviceConveyor(Conveyor):
    """What conveyors to devices share: slots, and frames that have to be copied before they can go."""

    def __init__(
        self,
        device: Device,
        memory: HostMemory,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        count: int,
    ) -> None:
        self._memory = memory
        self._shape = shape
        self._dtype = dtype
        self._slots = [Slot(device.allocate(shape, dtype), device.allocate(shape, dtype)) for _ in range(count)]
        self._free = deque(self._slots)

    def send(self, frame: Array) -> Slot:
        """Copy a frame to where the device can fetch it, if need be, and queue the work on it."""
        slot = self._free.popleft()
        try:
            if frame.dtype == self._dtype and self._memory.is_lent(frame):
                slot.frame = frame
            else:
                if slot.staging is None:
                    slot.staging = self._memory.lend(self._shape, self._dtype)
                copy_frame(slot.staging, frame)
                slot.frame = slot.staging
            slot.target = self._memory.lend(self._shape, self._dtype)
            self._start(slot, slot.frame, slot.target)
        except BaseException:
            self._free.append(slot)
            raise
        return slot

    def receive(self, slot: Slot) -> Array:
        """Wait for the download of a frame."""
        self._wait(slot)
        target, slot.frame, slot.target = slot.target, None, None
        self._free.append(slot)
        assert target is not None
        return target

    def drain(self) -> None:
        """Wait for the device, and take all slots back."""
        self._finish()
        for slot in self._slots:
            slot.frame = slot.target = None
        self._free = deque(self._slots)

    @abstractmethod
    def _start(self, slot: Slot, frame: Array, target: Array) -> None:
        """Queue upload, computation and download of a frame."""

    @abstractmethod
    def _wait(self, slot: Slot) -> None:
        """Wait for the download of a frame."""

    @abstractmethod
    def _finish(self) -> None:
        """Wait for everything."""


class CudaConveyor(_DeviceConveyor):
    """Three streams: upload, compute and download, that wait for each other by events.

    The work of a slot is captured as a graph, so that a frame costs the host a single launch. Arrays between input and
    output live in a pool of their own, which all slots share: they are computed one after the other.
    """

    def __init__(
        self,
        device: CudaDevice,
        memory: HostMemory,
        compute: Computation,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        count: int,
    ) -> None:
        import cupy

        self._cupy: Any = cupy
        self._device = cupy.cuda.Device(device.number)
        self._compute = compute
        super().__init__(device, memory, shape, dtype, count)
        self._bytes = prod(shape) * dtype.itemsize
        with self._device:
            self._upload, self._work, self._download = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
            self._events = {slot: tuple(cupy.cuda.Event(disable_timing=True) for _ in range(3)) for slot in self._slots}
            self._pool = cupy.cuda.MemoryPool()
            # tables that were uploaded on other streams have to be there
            self._device.synchronize()
            with self._work:
                # the first time compiles, and uploads tables that outlive this conveyor and so its pool
                compute(self._slots[0].pixels, self._slots[0].result)
            self._work.synchronize()
            # what else was allocated would wait for this stream, which will not ask for it again
            cupy.get_default_memory_pool().free_all_blocks(self._work)
            self._run(self._slots[0])
            self._work.synchronize()
            self._graphs = self._capture()

    @property
    def is_captured(self) -> bool:
        """Whether the work is replayed from graphs; else every kernel is launched by itself."""
        return bool(self._graphs)

    def is_done(self, slot: Slot) -> bool:
        """Tell whether the download is complete."""
        return bool(self._events[slot][2].done)

    def measure_stages(self, turns: int = 20) -> dict[str, float]:
        """Return the seconds that upload, computation and download of a frame take when nothing else is under way.

        ``both`` is an upload and a download at the same time.
        """
        first, last = self._slots[0], self._slots[-1]
        hosts = [self._memory.lend(self._shape, self._dtype) for _ in range(2)]
        hosts[0][...] = 0
        uploads, computations, downloads = (
            (self._upload, lambda: self._copy_in(first, hosts[0])),
            (self._work, lambda: self._launch(first)),
            (self._download, lambda: self._copy_out(last, hosts[1])),
        )
        with self._device:
            self._finish()
            return {
                "upload": self._time(turns, uploads),
                "compute": self._time(turns, computations),
                "download": self._time(turns, downloads),
                "both": self._time(turns, uploads, downloads),
            }

    def _time(self, turns: int, *stages: tuple[Any, Callable[[], None]]) -> float:
        """Return the seconds of a turn, in which each stage runs once on its own stream."""
        start, stop = (self._cupy.cuda.Event() for _ in range(2))
        leader = stages[0][0]
        for number in range(-1, turns):  # once beforehand, to warm up
            if number == 0:
                start.record(leader)
                for stream, _ in stages[1:]:
                    stream.wait_event(start)
            for _, run in stages:
                run()
        for stream, _ in stages[1:]:
            joined = self._cupy.cuda.Event()
            joined.record(stream)
            leader.wait_event(joined)
        stop.record(leader)
        stop.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(start, stop)) / turns / 1e3

    def _start(self, slot: Slot, frame: Array, target: Array) -> None:
        uploaded, computed, downloaded = self._events[slot]
        with self._device:
            self._copy_in(slot, frame)
            uploaded.record(self._upload)
            self._work.wait_event(uploaded)
            self._launch(slot)
            computed.record(self._work)
            self._download.wait_event(computed)
            self._copy_out(slot, target)
            downloaded.record(self._download)

    def _wait(self, slot: Slot) -> None:
        self._events[slot][2].synchronize()

    def _finish(self) -> None:
        for stream in (self._upload, self._work, self._download):
            stream.synchronize()

    def _copy_in(self, slot: Slot, frame: Array) -> None:
        runtime = self._cupy.cuda.runtime
        address = slot.pixels.data.ptr
        runtime.memcpyAsync(address, find_address(frame), self._bytes, runtime.memcpyHostToDevice, self._upload.ptr)

    def _copy_out(self, slot: Slot, target: Array) -> None:
        runtime = self._cupy.cuda.runtime
        address = slot.result.data.ptr
        runtime.memcpyAsync(find_address(target), address, self._bytes, runtime.memcpyDeviceToHost, self._download.ptr)

    def _launch(self, slot: Slot) -> None:
        if self._graphs:
            self._graphs[slot].launch(self._work)
        else:
            self._run(slot)

    def _run(self, slot: Slot) -> None:
        """Launch every kernel of a frame, with memory of the pool between them."""
        with self._work, self._cupy.cuda.using_allocator(self._pool.malloc):
            self._compute(slot.pixels, slot.result)

    def _capture(self) -> dict[Slot, Any]:
        """Return a graph for each slot, or nothing where the driver cannot capture the work."""
        graphs = {}
        for slot in self._slots:
            graphs[slot] = capture_graph(self._cupy, self._work, partial(self._run, slot))
            if graphs[slot] is None:
                return {}
        return graphs


class OpenCLConveyor(_DeviceConveyor):
    """Three queues: one for each direction of the bus, and the device's own."""

    def __init__(
        self,
        device: OpenCLDevice,
        memory: HostMemory,
        compute: Computation,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        count: int,
    ) -> None:
        super().__init__(device, memory, shape, dtype, count)
        import pyopencl as cl

        self._cl = cl
        self._device = device
        self._compute = compute
        self._upload, self._download = (cl.CommandQueue(device.context) for _ in range(2))
        self._downloaded: dict[Slot, Any] = {}

    def is_done(self, slot: Slot) -> bool:
        """Tell whether the download is complete."""
        # errors are negative, and are met by whoever waits
        return bool(self._downloaded[slot].command_execution_status <= self._cl.command_execution_status.COMPLETE)

    def _start(self, slot: Slot, frame: Array, target: Array) -> None:
        cl, queue = self._cl, self._device.queue
        uploaded = cl.enqueue_copy(self._upload, slot.pixels.data, frame, is_blocking=False)
        self._upload.flush()
        cl.enqueue_barrier(queue, wait_for=[uploaded])
        self._compute(slot.pixels, slot.result)
        computed = cl.enqueue_marker(queue)
        queue.flush()
        copy = cl.enqueue_copy(self._download, target, slot.result.data, is_blocking=False, wait_for=[computed])
        self._download.flush()
        self._downloaded[slot] = copy

    def _wait(self, slot: Slot) -> None:
        self._downloaded.pop(slot).wait()

    def _finish(self) -> None:
        for queue in (self._upload, self._device.queue, self._download):
            queue.finish()
        self._downloaded.clear()


def make_conveyor(
    device: Device,
    memory: HostMemory,
    compute: Computation,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    count: int,
) -> Conveyor:
    """Return a conveyor to a device.

    Parameters
    ----------
    device : Device
        Where the frames are computed.
    memory : HostMemory
        What `host_memory_for` returns for the device.
    compute : callable
        Queues the work on one frame.
    shape, dtype
        Of a frame.
    count : int
        Frames under way at the same time, at most.
    """
    if isinstance(device, CudaDevice):
        return CudaConveyor(device, memory, compute, shape, dtype, count)
    assert isinstance(device, OpenCLDevice)
    return OpenCLConveyor(device, memory, compute, shape, dtype, count)
