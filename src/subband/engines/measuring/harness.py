"""Harnesses to measure an engine on its device: random samples, a copy for comparison, and a clock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.engines.base import Engine
from subband.engines.measuring.timing import time_calls
from subband.engines.registry import get_engine, is_device_engine
from subband.engines.threads import get_threads, run_tasks
from subband.errors import ArgumentError
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array, Direction
from subband.wavelets import as_wavelet

__all__ = [
    "CudaHarness",
    "Harness",
    "OpenCLHarness",
    "Replay",
    "draw_on_host",
    "find_deviation",
    "open_device",
    "open_harness",
    "plan_array",
]

# Arrays of so many bytes are worth a second thread.
_SHARED = 2**19
# Numbers whose bits are all set are NaN in every floating-point dtype.
_NAN_BYTE = 0xFF


@dataclass(frozen=True)
class Replay:
    """A call recorded once and replayed without Python, such as a CUDA graph.

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


class Harness:
    """The harness of an engine of the host; subclasses are those of devices.

    Attributes
    ----------
    engine : Engine
        What computes.
    name : str
        Of the engine, with the number of the device, such as ``cuda:0``.
    is_device : bool
        Whether the engine has a memory of its own.
    """

    engine: Any
    name: str
    is_device = False

    def __init__(self, engine: Engine, *, has_plain_copies: bool = False) -> None:
        self.engine = engine
        self.name = engine.name
        self._has_plain_copies = has_plain_copies

    def draw(self, shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
        """Draw numbers between -0.5 and 0.5 where the engine computes."""
        return self.upload(draw_on_host(shape, dtype, seed))

    def upload(self, x: Array) -> Any:
        """Return a copy of an array where the engine computes; the array itself where that is the host."""
        return x

    def to_host(self, x: Any) -> Array:
        """Return an array of the engine as one of NumPy."""
        return to_host(x)

    def find_deviation(self, one: Any, other: Any) -> float:
        """Return the largest difference of two arrays, each of the engine or of NumPy; NaN if a number is none."""
        return find_deviation(self.to_host(one), self.to_host(other))

    def prepare(self, plan: TransformPlan, direction: Direction) -> Callable[[], Any]:
        """Return a call that transforms random samples."""
        x = self.draw(plan.shape)
        if direction == "forward":
            return lambda: self.engine.forward_all(plan, x)
        approximation, details = self.engine.forward_all(plan, x)
        return lambda: self.engine.inverse_all(plan, approximation, details)

    def prepare_copy(self, x: Any) -> Callable[[], Any]:
        """Return a call that copies an array at full bandwidth: by the threads of the engine, or on the device.

        With `has_plain_copies` it is ``np.copyto``, in one thread.
        """
        goal = np.zeros_like(x)
        if x.nbytes < _SHARED or self._has_plain_copies:
            return lambda: np.copyto(goal, x)
        edges = np.linspace(0, len(x), get_threads() + 1).astype(int).tolist()

        def copy_part(start: int, stop: int) -> None:
            np.copyto(goal[start:stop], x[start:stop])

        tasks = list(pairwise(edges))
        return lambda: run_tasks(copy_part, tasks)

    def time_calls(self, call: Callable[[], Any], count: int) -> float:
        """Return the seconds that the engine's device takes for some calls."""
        return time_calls(call, count)

    def poison(self, x: Any) -> None:
        """Fill an array with NaN, whatever its floating-point dtype."""
        x.fill(np.nan)

    def run_poisoned(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns when all memory that it is given holds NaN, as far as the device allows."""
        return call()

    def capture(self, call: Callable[[], Any]) -> Replay | None:  # noqa: ARG002 - for those who can
        """Record the work that a call queues on the device; None where devices cannot."""
        return None

    def release(self) -> None:
        """Give memory back that is kept for later calls; the host keeps none here."""


class CudaHarness(Harness):
    """A CUDA GPU: CuPy's current stream, and events for a clock."""

    is_device = True

    def __init__(self, name: str) -> None:
        super().__init__(get_engine(name))
        import cupy

        self._cupy = cupy
        self.number = int(self.engine.device.number)
        self.name = f"cuda:{self.number}"
        # CuPy's arrays decide where calls compute, by the engine of their own device
        self.engine = get_engine(self.name)
        cupy.cuda.Device(self.number).use()

    def draw(self, shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
        """Draw on the GPU itself."""
        try:
            x = self._cupy.random.default_rng(seed).random(shape, dtype=np.float32)
            x -= 0.5
            return x.astype(dtype, copy=False)
        except Exception:  # noqa: BLE001 - without cuRAND or CUDA's headers, which the engine can do without, too
            return super().draw(shape, dtype, seed)

    def upload(self, x: Array) -> Any:
        """Return a copy of an array on the GPU."""
        return self.engine.device.upload(x)

    def find_deviation(self, one: Any, other: Any) -> float:
        """Compare on the GPU what both lies there."""
        if not all(self.engine.device.owns(x) and x.size for x in (one, other)):
            return super().find_deviation(one, other)
        return float(self._cupy.abs(one - other).max())

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


class OpenCLHarness(Harness):
    """An OpenCL device: its engine's queue, and the host's clock once the queue is empty."""

    is_device = True

    def __init__(self, name: str) -> None:
        numbered = f"opencl:{name.partition(':')[2] or '0'}"
        super().__init__(get_engine(numbered))
        import pyopencl

        self.name = numbered
        self._cl = pyopencl
        self._queue = self.engine.device.queue

    def upload(self, x: Array) -> Any:
        """Return a copy of an array on the device."""
        return self.engine.device.upload(x)

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


def open_harness(engine: str | Engine | None, *, has_plain_copies: bool = False) -> Harness:
    """Return the harness of an engine; on the host, copies may be those of ``np.copyto``, in one thread.

    Raises
    ------
    MissingExtraError, NoDeviceError
        If there is no such device, or no library to reach it.

    Examples
    --------
    >>> open_harness("cpu").is_device
    False
    """
    if not is_device_engine(engine):
        return Harness(get_engine(engine), has_plain_copies=has_plain_copies)
    name = engine.name if isinstance(engine, Engine) else str(engine)
    return CudaHarness(name) if name.partition(":")[0] == "cuda" else OpenCLHarness(name)


def open_device(engine: str) -> Harness:
    """Return the harness of an engine that has a device of its own.

    Raises
    ------
    ArgumentError
        If it has none.
    MissingExtraError, NoDeviceError
        If there is no such device, or no library to reach it.

    Examples
    --------
    >>> open_device("cpu")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: engine='cpu' has no device of its own; use 'cuda' or 'opencl', or one such as ...
    """
    if not is_device_engine(engine):
        raise ArgumentError(
            f"engine={engine!r} has no device of its own; use 'cuda' or 'opencl', or one such as 'opencl:0'"
        )
    return open_harness(engine)


def find_deviation(one: Any, other: Any) -> float:
    """Return the largest difference of two arrays of the host; NaN if a number is none."""
    return float(np.abs(np.asarray(one) - np.asarray(other)).max(initial=0.0))


def draw_on_host(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Draw numbers between -0.5 and 0.5 in place, so that no wider array stands beside them."""
    x = np.empty(shape, np.float32)
    np.random.default_rng(seed).random(out=x, dtype=np.float32)
    x -= np.float32(0.5)
    return x.astype(dtype, copy=False)


def plan_array(shape: tuple[int, ...], wavelet: str, level: int) -> TransformPlan:
    """Plan the transform of all axes of an array, in the mode that makes no more coefficients than samples."""
    chosen = as_wavelet(wavelet)
    mode = "whole" if chosen.is_whole_sample_symmetric else "periodization"
    count = len(shape)
    return transform_plan(shape, tuple(range(count)), (chosen,) * count, (mode,) * count, level)
