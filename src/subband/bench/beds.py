"""Test beds: what measuring needs of a device besides the engine that is measured.

A bed draws samples into the memory of its device, copies them there as fast as the device can, and has a clock that
counts the device's time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from subband.engines import get_engine
from subband.engines.registry import is_device_engine
from subband.errors import ArgumentError
from subband.typing import Array

__all__ = ["Bed", "CudaBed", "OpenCLBed", "Replay", "open_bed"]

# Numbers whose bits are all set are NaN in every floating-point dtype.
_NAN_BYTE = 0xFF


@dataclass(frozen=True)
class Replay:
    """A call that was recorded once, and is repeated without Python.

    Attributes
    ----------
    launch : callable
        Repeats it.
    result : array or bands
        What it writes, every time anew.
    keep : object
        What has to live as long.
    """

    launch: Callable[[], Any]
    result: Any
    keep: object = None


class Bed(ABC):
    """A device to measure on.

    Attributes
    ----------
    engine : DeviceEngine
        What computes there.
    engine_name : str
        With the number of the device, such as ``cuda:0``.
    """

    engine: Any
    engine_name: str

    def draw(self, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
        """Draw numbers between -0.5 and 0.5 into an array on the device."""
        return self.engine.device.upload(draw_on_host(shape, dtype, seed))

    def run_poisoned(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns when all memory that it is given holds NaN, as far as the device allows."""
        return call()

    def capture(self, call: Callable[[], Any]) -> Replay | None:  # noqa: ARG002 - for those who can
        """Record what a call asks of the device; None where devices have no such thing."""
        return None

    def release(self) -> None:  # noqa: B027 - devices that keep nothing have nothing to do
        """Give memory back that is kept for later calls."""

    @abstractmethod
    def prepare_copy(self, x: Any) -> Callable[[], Any]:
        """Return a function that copies an array from one place of the device to another."""

    @abstractmethod
    def time_calls(self, call: Callable[[], Any], count: int) -> float:
        """Return the seconds that the device takes for some calls."""

    @abstractmethod
    def poison(self, x: Any) -> None:
        """Fill an array with NaN, whatever its floating-point dtype."""


class CudaBed(Bed):
    """A CUDA GPU: CuPy's current stream, and events for a clock."""

    def __init__(self, engine_name: str) -> None:
        self.engine = get_engine(engine_name)
        import cupy

        self._cupy = cupy
        self.number = int(self.engine.device.number)
        self.engine_name = f"cuda:{self.number}"
        # CuPy's arrays decide where calls compute, by the engine of their own device
        self.engine = get_engine(self.engine_name)
        cupy.cuda.Device(self.number).use()

    def draw(self, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
        """Draw on the GPU itself."""
        cupy = self._cupy
        try:
            x = cupy.random.default_rng(seed).random(shape, dtype=np.float32)
            x -= 0.5
            return x.astype(dtype, copy=False)
        except Exception:  # noqa: BLE001 - without cuRAND or CUDA's headers, which the engine can do without, too
            return super().draw(shape, dtype, seed)

    def run_poisoned(self, call: Callable[[], Any]) -> Any:
        """Fill every allocation of the call, those of levels in between too."""
        pool = self._cupy.get_default_memory_pool()

        def allocate(size: int) -> Any:
            memory = pool.malloc(size)
            if size:
                memory.memset_async(_NAN_BYTE, size, self._cupy.cuda.get_current_stream())
            return memory

        with self._cupy.cuda.using_allocator(allocate):
            return call()

    def capture(self, call: Callable[[], Any]) -> Replay | None:
        """Record the call as a CUDA graph."""
        cuda = self._cupy.cuda
        # a pool of its own: what the recorded kernels use in between must not be lent to others
        pool = cuda.MemoryPool()
        stream = cuda.Stream(non_blocking=True)
        cuda.runtime.deviceSynchronize()
        with cuda.using_allocator(pool.malloc), stream:
            call()
            stream.synchronize()
            stream.begin_capture()
            try:
                result = call()
                graph = stream.end_capture()
            except Exception:
                with suppress(Exception):
                    stream.end_capture()
                raise
        return Replay(lambda: graph.launch(cuda.get_current_stream()), result, (graph, pool, stream))

    def release(self) -> None:
        """Empty CuPy's pool."""
        self._cupy.get_default_memory_pool().free_all_blocks()

    def prepare_copy(self, x: Any) -> Callable[[], Any]:
        """Copy by ``cudaMemcpyAsync``."""
        runtime = self._cupy.cuda.runtime
        goal = self._cupy.empty_like(x)
        stream = self._cupy.cuda.get_current_stream()

        def copy() -> None:
            runtime.memcpyAsync(goal.data.ptr, x.data.ptr, x.nbytes, runtime.memcpyDeviceToDevice, stream.ptr)

        return copy

    def time_calls(self, call: Callable[[], Any], count: int) -> float:
        """Record an event before and one behind the calls, on the current stream."""
        cuda = self._cupy.cuda
        start, stop = cuda.Event(), cuda.Event()
        stream = cuda.get_current_stream()
        # while the device is busy with this one, Python queues those that count
        call()
        start.record(stream)
        for _ in range(count):
            call()
        stop.record(stream)
        stop.synchronize()
        return float(cuda.get_elapsed_time(start, stop)) * 1e-3

    def poison(self, x: Any) -> None:
        """Fill by ``cudaMemsetAsync``."""
        x.data.memset_async(_NAN_BYTE, x.nbytes, self._cupy.cuda.get_current_stream())


class OpenCLBed(Bed):
    """An OpenCL device: its engine's queue, and the host's clock once the queue is empty."""

    def __init__(self, engine_name: str) -> None:
        self.engine_name = f"opencl:{engine_name.partition(':')[2] or '0'}"
        self.engine = get_engine(self.engine_name)
        import pyopencl

        self._cl = pyopencl
        self._queue = self.engine.device.queue

    def prepare_copy(self, x: Any) -> Callable[[], Any]:
        """Copy by ``clEnqueueCopyBuffer``."""
        goal = self.engine.device.allocate(x.shape, x.dtype)

        def copy() -> None:
            self._cl.enqueue_copy(self._queue, goal.data, x.data, byte_count=x.nbytes)

        return copy

    def time_calls(self, call: Callable[[], Any], count: int) -> float:
        """Wait until the queue is empty, before and after."""
        self._queue.finish()
        start = perf_counter()
        for _ in range(count):
            call()
        self._queue.finish()
        return perf_counter() - start

    def poison(self, x: Any) -> None:
        """Fill by ``clEnqueueFillBuffer``."""
        self._cl.enqueue_fill_buffer(self._queue, x.data, np.full(1, _NAN_BYTE, np.uint8), x.offset, x.nbytes)


def open_bed(engine_name: str) -> Bed:
    """Return the bed of an engine.

    Raises
    ------
    ArgumentError
        If the engine is not one of a device.
    MissingExtraError, NoDeviceError
        If there is no such device, or no library to reach it.

    Examples
    --------
    >>> open_bed("cpu")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: engine='cpu' has no device of its own; use 'cuda' or 'opencl', or one such as ...
    """
    if not is_device_engine(engine_name):
        raise ArgumentError(
            f"engine={engine_name!r} has no device of its own; use 'cuda' or 'opencl', or one such as 'opencl:0'"
        )
    return CudaBed(engine_name) if engine_name.partition(":")[0] == "cuda" else OpenCLBed(engine_name)


def draw_on_host(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Draw numbers between -0.5 and 0.5 in place, so that no wider array stands beside them."""
    x = np.empty(shape, np.float32)
    np.random.default_rng(seed).random(out=x, dtype=np.float32)
    x -= np.float32(0.5)
    return x.astype(dtype, copy=False)
