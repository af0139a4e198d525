"""CUDA graphs: work that a GPU has done once, replayed without launching each kernel from Python.

Python takes longer to launch the kernels of a small image than the GPU takes to run them. CUDA records them as a
graph, which is launched as one; its arrays stay where they are, so that images are copied there and results back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, TypeAlias

from subband.engines.base import Engine
from subband.engines.cuda import CudaDevice
from subband.engines.device_engine import DeviceEngine

__all__ = ["CudaReplay", "Replays", "Work", "capture_graph"]

#: Computes arrays from others, all on a device; the same kernels whatever is in them.
Work: TypeAlias = Callable[..., Sequence[Any]]

#: The first run compiles kernels, and many images have a shape of their own.
_RUNS_BEFORE_RECORDING = 2


def capture_graph(cupy: Any, stream: Any, run: Callable[[], None]) -> Any:
    """Return the graph of what `run` queues on a stream of its own; None where the driver cannot capture it.

    What it allocates must come from a pool that nobody else uses as long as the graph lives.
    """
    try:
        stream.begin_capture()
        try:
            run()
        finally:
            graph = stream.end_capture()
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError):
        return None
    return graph


class CudaReplay:
    """Work on arrays of some shapes and dtypes, recorded.

    Parameters
    ----------
    cupy : module
        CuPy.
    number : int
        Of the GPU.
    work : callable
        ``work(*arrays)`` returns new arrays; it has run before, so that kernels and tables are there.
    arrays : sequence of array
        Such as it is going to be called with.
    """

    def __init__(self, cupy: Any, number: int, work: Work, arrays: Sequence[Any]) -> None:
        self._cupy = cupy
        self._device = cupy.cuda.Device(number)
        self._lock = Lock()
        with self._device as device:
            self._pool = cupy.cuda.MemoryPool()
            stream = cupy.cuda.Stream(non_blocking=True)
            # tables that were uploaded on other streams have to be there
            device.synchronize()
            with stream, cupy.cuda.using_allocator(self._pool.malloc):
                self._given = [cupy.zeros(x.shape, x.dtype) for x in arrays]
                # the pool has to be full before, because nothing can be allocated while kernels are recorded
                self._results = list(work(*self._given))
                stream.synchronize()
                self._results.clear()
                self._graph = capture_graph(cupy, stream, lambda: self._results.extend(work(*self._given)))
            self._done = cupy.cuda.Event(disable_timing=True)

    @property
    def is_captured(self) -> bool:
        """Whether there is a graph to replay."""
        return self._graph is not None

    def __call__(self, arrays: Sequence[Any], results: Sequence[Any] | None = None) -> list[Any]:
        """Replay the work on the current stream, and return its results, in arrays of the caller if there are any."""
        with self._device, self._lock:
            stream = self._cupy.cuda.get_current_stream()
            goals = [self._cupy.empty(x.shape, x.dtype) for x in self._results] if results is None else list(results)
            # another stream may still be at work on the same arrays
            stream.wait_event(self._done)
            self._copy(arrays, self._given, stream)
            self._graph.launch(stream)
            self._copy(self._results, goals, stream)
            self._done.record(stream)
        return goals

    def _copy(self, sources: Sequence[Any], goals: Sequence[Any], stream: Any) -> None:
        runtime = self._cupy.cuda.runtime
        for x, y in zip(sources, goals, strict=True):
            runtime.memcpyAsync(y.data.ptr, x.data.ptr, x.nbytes, runtime.memcpyDeviceToDevice, stream.ptr)


class Replays:
    """What an engine has recorded of several kinds of work, once each was asked for often enough to be worth that.

    Parameters
    ----------
    engine : Engine
        Of which only those of CUDA record.
    """

    def __init__(self, engine: Engine) -> None:
        self._gpu = _find_gpu(engine)
        self._lock = Lock()
        self._counts: Counter[Hashable] = Counter()
        self._found: dict[Hashable, CudaReplay | None] = {}

    def find(self, key: Hashable, work: Work, arrays: Sequence[Any]) -> CudaReplay | None:
        """Return work as it was recorded; None if it is not, or not yet, or the caller records a graph itself.

        Parameters
        ----------
        key : hashable
            Tells work of different kinds apart, and arrays of different shapes and dtypes.
        work, arrays
            As `CudaReplay` takes them.
        """
        if self._gpu is None or self._gpu.is_recording():
            return None
        with self._lock:
            self._counts[key] += 1
            if self._counts[key] == _RUNS_BEFORE_RECORDING + 1:
                import cupy

                replay = CudaReplay(cupy, self._gpu.number, work, arrays)
                self._found[key] = replay if replay.is_captured else None
            return self._found.get(key)


def _find_gpu(engine: Engine) -> CudaDevice | None:
    """Return the GPU of an engine that has one."""
    device = engine.device if isinstance(engine, DeviceEngine) else None
    return device if isinstance(device, CudaDevice) else None
