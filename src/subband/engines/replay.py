"""CUDA graphs: work that a GPU has done once, replayed without launching each kernel from Python.

Python takes longer to launch the kernels of a small image than the GPU takes to run them. CUDA records them as a
graph, which is launched as one; its arrays stay where they are, so that images are copied there and results back.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from subband.engines.base import Engine
from subband.engines.cuda import CudaDevice
from subband.engines.device_engine import DeviceEngine

__all__ = ["CudaReplay", "capture_graph", "is_recording", "make_replay"]


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
    """Work on arrays of one shape and dtype, recorded.

    Parameters
    ----------
    cupy : module
        CuPy.
    number : int
        Of the GPU.
    compute : callable
        ``compute(x, result)`` has run before, so that kernels and tables are there.
    shape, dtype
        Of both.
    """

    def __init__(
        self, cupy: Any, number: int, compute: Callable[[Any, Any], None], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._cupy = cupy
        self._lock = Lock()
        with cupy.cuda.Device(number) as device:
            self._pool = cupy.cuda.MemoryPool()
            stream = cupy.cuda.Stream(non_blocking=True)
            # tables that were uploaded on other streams have to be there
            device.synchronize()
            with stream, cupy.cuda.using_allocator(self._pool.malloc):
                self._x, self._result = (cupy.empty(shape, dtype) for _ in range(2))
                # the pool has to be full before, because nothing can be allocated while kernels are recorded
                self._x.fill(0)
                compute(self._x, self._result)
                stream.synchronize()
                self._graph = capture_graph(cupy, stream, lambda: compute(self._x, self._result))
            self._done = cupy.cuda.Event(disable_timing=True)

    @property
    def is_captured(self) -> bool:
        """Whether there is a graph to replay."""
        return self._graph is not None

    def __call__(self, x: Any, result: Any) -> None:
        """Replay the work on the current stream."""
        stream = self._cupy.cuda.get_current_stream()
        runtime = self._cupy.cuda.runtime
        with self._lock:
            # another stream may still be at work on the same arrays
            stream.wait_event(self._done)
            size, kind = self._x.nbytes, runtime.memcpyDeviceToDevice
            runtime.memcpyAsync(self._x.data.ptr, x.data.ptr, size, kind, stream.ptr)
            self._graph.launch(stream)
            runtime.memcpyAsync(result.data.ptr, self._result.data.ptr, size, kind, stream.ptr)
            self._done.record(stream)


def _find_gpu(engine: Engine) -> CudaDevice | None:
    """Return the GPU of an engine that has one."""
    device = engine.device if isinstance(engine, DeviceEngine) else None
    return device if isinstance(device, CudaDevice) else None


def is_recording(engine: Engine) -> bool:
    """Say whether the caller is capturing a graph itself: then nothing else can be captured or replayed."""
    if _find_gpu(engine) is None:
        return False
    import cupy

    return bool(cupy.cuda.get_current_stream().is_capturing())


def make_replay(
    engine: Engine, compute: Callable[[Any, Any], None], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> CudaReplay | None:
    """Return work recorded on the device of an engine; None where devices have no such thing, or cannot record it."""
    gpu = _find_gpu(engine)
    if gpu is None:
        return None
    import cupy

    replay = CudaReplay(cupy, gpu.number, compute, shape, dtype)
    return replay if replay.is_captured else None
