"""The CUDA engine: NVIDIA GPUs through CuPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from subband.engines.cuda_launches import CudaKernel, CudaLaunches, count_threads
from subband.engines.device import Device, Groups, KernelCall
from subband.engines.device_engine import ALIGNMENT, DeviceEngine
from subband.engines.prepared import DEVICE_FORMS, UnknownForm
from subband.engines.recording import Arrange, Replay
from subband.errors import ArgumentError, DeviceMemoryError, KernelError, MissingExtraError, NoDeviceError
from subband.kernels.dialects import CUDA, LANES
from subband.typing import Array

__all__ = ["CudaDevice", "CudaEngine"]

#: Bytes up to which arrays that are made together share one piece of memory, which then is freed with the last of them:
#: asking for each would take longer than to fill them.
_SMALL = 1 << 25

#: Arrays begin at multiples of so many bytes, as those of CuPy do.
_ALIGNMENT = 512

#: Bytes of local memory that CUDA itself takes of each block.
_RESERVED = 1 << 10

_NOTHING: AbstractContextManager[None] = nullcontext()


def _load_cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise MissingExtraError("the CUDA engine", "cuda") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NoDeviceError(
            f"CUDA finds no GPU ({error}); install NVIDIA's driver, or use engine='cpu' or 'opencl'"
        ) from error
    if count == 0:
        raise NoDeviceError("CUDA has no GPU; use engine='cpu' or 'opencl'")
    return cupy


def _restore_cache() -> None:
    """Make the folder of CuPy's kernels again if it was deleted: CuPy itself makes it when it is imported only."""
    folder = os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache")
    with suppress(OSError):
        Path(folder).expanduser().mkdir(parents=True, exist_ok=True)


@lru_cache(maxsize=1024)
def _pack_together(shapes: tuple[tuple[int, ...], ...], itemsize: int) -> tuple[tuple[int, ...], int]:
    """Return the offsets of arrays packed in one piece of memory, and its size."""
    sizes = [-(-prod(shape) * itemsize // _ALIGNMENT) * _ALIGNMENT for shape in shapes]
    ends = list(accumulate(sizes, initial=0))
    return tuple(ends[:-1]), ends[-1]


def _describe(x: Any) -> object:
    """Return what the kernels for an array depend on, if they can take it as it is."""
    # asking for `flags` would make an object, which takes longer than all of this
    if not x._c_contiguous:
        raise UnknownForm
    data = x.data
    return x.shape, x.dtype, data.device_id, data.ptr % ALIGNMENT == 0


def _find_maker(cupy: Any) -> Callable[[tuple[int, ...], type, Any], Any]:
    """Return what makes an array of a shape and a type of numbers in memory that is there already.

    CuPy's class takes twice as long as what it calls, which is called itself if this version has it.
    """
    kind = cupy.ndarray

    def make(shape: tuple[int, ...], number: type, memory: Any) -> Any:
        x = new(kind)
        x._init(shape, number, memory)
        return x

    memory = cupy.cuda.alloc(_ALIGNMENT)
    try:
        new = cupy._core.core._ndarray_base.__new__
        found, expected = make((2, 3), np.float32, memory), kind((2, 3), np.float32, memory)
    except (AttributeError, TypeError):
        return kind  # type: ignore[no-any-return] # CuPy has no types
    same = ("shape", "strides", "dtype", "size", "data.ptr", "_c_contiguous", "_f_contiguous")
    is_same = type(found) is kind and attrgetter(*same)(found) == attrgetter(*same)(expected)
    return make if is_same else kind


class CudaDevice(Device):
    """One GPU; work goes to CuPy's current stream."""

    dialect = CUDA
    is_gpu = True

    def __init__(self, number: int) -> None:
        self._cupy = _load_cupy()
        self.number = number
        properties = self._cupy.cuda.runtime.getDeviceProperties(number)
        self.name = properties["name"].decode()
        self._processors = int(properties["multiProcessorCount"])
        self._registers = int(properties["regsPerMultiprocessor"])
        self.local_memory = int(properties["sharedMemPerBlockOptin"])
        self._local_memory = int(properties["sharedMemPerMultiprocessor"])
        self._most_groups = int(properties["maxThreadsPerMultiProcessor"]) // LANES
        with self._enter():
            self._make = _find_maker(self._cupy)
        DEVICE_FORMS[self._cupy.ndarray] = _describe

    def is_recording(self) -> bool:
        return bool(self._cupy.cuda.get_current_stream().is_capturing())

    def compile(self, source: str, local: int = 0, resident: int = 0) -> CudaKernel:
        _restore_cache()
        with self._enter():
            module = self._cupy.RawModule(code=source, options=("-std=c++17",))
            try:
                kernel = module.get_function("sweep")
                if local:
                    kernel.max_dynamic_shared_size_bytes = local
                if resident:
                    taken = resident * (kernel.shared_size_bytes + local + _RESERVED)
                    kernel.preferred_shared_memory_carveout = min(100, -(-100 * taken // self._local_memory))
                return CudaKernel(kernel, local, resident)
            except self._cupy.cuda.compiler.CompileException as error:
                raise KernelError(f"{self.name} does not compile a kernel", source, str(error)) from error

    def count_resident(self, kernel: CudaKernel, block: int) -> int:
        # registers are handed out to groups in portions of 256, and a multiprocessor takes whole blocks
        each = -(-kernel.function.num_regs * LANES // 256) * 256
        blocks = min(self._registers // (each * block), self._most_groups // block, 32)
        if local := kernel.function.shared_size_bytes + kernel.local:
            blocks = min(blocks, self._local_memory // (local + _RESERVED))
        if kernel.resident:
            blocks = min(blocks, kernel.resident)
        return int(self._processors * max(1, blocks) * block)

    def _enter(self) -> AbstractContextManager[Any]:
        """Make this GPU the current one, which costs nothing if it is."""
        if self._cupy.cuda.runtime.getDevice() == self.number:
            return _NOTHING
        device: AbstractContextManager[Any] = self._cupy.cuda.Device(self.number)
        return device

    def launch(self, kernel: CudaKernel, groups: Groups, block: int, arguments: Sequence[Any]) -> None:
        grid, threads = count_threads(groups, block)
        with self._enter():
            kernel.function(grid, (threads,), tuple(arguments), shared_mem=kernel.local)

    def join(self, calls: Sequence[KernelCall]) -> CudaLaunches:
        with self._enter():
            return CudaLaunches(self._cupy, calls)

    def make_replay(
        self,
        launches: Any,
        shapes: Sequence[tuple[int, ...]],
        dtype: np.dtype[Any],
        inputs: Sequence[int],
        outputs: Sequence[int],
        arrange: Arrange,
    ) -> Replay | None:
        offsets, size = _pack_together(tuple(shapes), dtype.itemsize)
        if not 0 < size <= _SMALL:
            return None
        cuda, make, launch, number, kind = self._cupy.cuda, self._make, launches.launch_graph, self.number, dtype.type
        find_device, find_stream, alloc = cuda.runtime.getDevice, cuda.get_current_stream, cuda.alloc
        results = [(shapes[k], offsets[k]) for k in outputs]

        def replay(arrays: Sequence[Any]) -> Any:
            stream = find_stream()
            # a graph keeps what it is recorded from, which the engine itself sees to
            if find_device() != number or stream.is_capturing():
                return NotImplemented
            try:
                memory = alloc(size)
            except cuda.memory.OutOfMemoryError:
                return NotImplemented  # and then in smaller pieces, or with an error that helps
            start = memory.ptr
            addresses = [arrays[k].data.ptr for k in inputs]
            launch([*addresses, *[start + offset for offset in offsets]], stream.ptr)
            return arrange([make(shape, kind, memory + offset) for shape, offset in results])

        return replay

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        try:
            with self._enter():
                return self._cupy.empty(shape, dtype)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(f"{self.name} has no memory for an array of shape {shape}: {error}") from error

    def allocate_all(self, shapes: Sequence[tuple[int, ...]], dtype: np.dtype[Any]) -> list[Any]:
        offsets, size = _pack_together(tuple(shapes), dtype.itemsize)
        if size > _SMALL:
            return super().allocate_all(shapes, dtype)
        try:
            with self._enter():
                memory = self._cupy.cuda.alloc(max(1, size))
                make, kind = self._make, dtype.type
                return [make(shape, kind, memory + offset) for shape, offset in zip(shapes, offsets, strict=True)]
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(f"{self.name} has no memory for arrays of {size} bytes: {error}") from error

    def allocate_parts(
        self, size: int, dtype: np.dtype[Any], parts: Sequence[tuple[int, tuple[int, ...]]]
    ) -> tuple[Any, list[Any]]:
        whole = self.allocate((size,), dtype)
        return whole, [whole[begin : begin + prod(shape)].reshape(shape) for begin, shape in parts]

    def write(self, x: Any, values: Array) -> None:
        with self._enter():
            x.set(values)

    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        zeros = self.allocate(shape, dtype)
        with self._enter():
            zeros.fill(0)
        return zeros

    def upload(self, x: Array) -> Any:
        # as it lies in memory: to put axes into another order takes the host far longer than the device
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        lying = x.transpose(order)
        try:
            with self._enter():
                if x.flags.c_contiguous or not lying.flags.c_contiguous:
                    return self._cupy.asarray(np.ascontiguousarray(x))
                there = self._cupy.asarray(lying).transpose(np.argsort(order).tolist())
                return self._cupy.ascontiguousarray(there)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(f"{self.name} has no memory for an array of shape {x.shape}: {error}") from error

    def upload_table(self, x: Array) -> Any:
        table = self.upload(x)
        # the copy is part of the current stream, and other streams would not wait for it
        with self._enter():
            self._cupy.cuda.get_current_stream().synchronize()
        return table

    def download(self, x: Any, out: Array | None = None) -> Array:
        host: Array = x.get(out=out)
        return host

    def owns(self, x: Any) -> bool:
        return isinstance(x, self._cupy.ndarray)

    def as_contiguous(self, x: Any) -> Any:
        if x.flags.c_contiguous:
            return x
        with self._enter():
            return self._cupy.ascontiguousarray(x)

    def view(self, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return x.reshape(-1).view(dtype).reshape(shape)

    def is_aligned(self, x: Any, size: int) -> bool:
        return bool(x.data.ptr % size == 0)


class CudaEngine(DeviceEngine):
    """Runs on an NVIDIA GPU; ``CudaEngine("1")`` is the second one."""

    name = "cuda"

    def __init__(self, device: str | None = None) -> None:
        cupy = _load_cupy()
        count = cupy.cuda.runtime.getDeviceCount()
        text = str(cupy.cuda.runtime.getDevice()) if device is None else device
        if not text.isdecimal() or int(text) >= count:
            raise ArgumentError(f"engine='cuda:{text}' names no GPU; there are {count}, counted from 0")
        super().__init__(CudaDevice(int(text)))
