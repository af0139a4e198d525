"""The OpenCL engine: any device with a driver, through PyOpenCL; with PoCL the CPU itself."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from subband.engines.device import Device, Groups
from subband.engines.device_engine import DeviceEngine
from subband.engines.recent import Recent
from subband.errors import ArgumentError, DeviceMemoryError, KernelError, MissingExtraError, NoDeviceError
from subband.kernels.dialects import LANES, OPENCL, OPENCL_NVIDIA
from subband.typing import Array

__all__ = ["OpenCLDevice", "OpenCLEngine", "list_devices"]

#: Shapes of arrays that are remembered.
_MOST_TEMPLATES = 1024


def _load_pyopencl() -> Any:
    try:
        import pyopencl as cl
        import pyopencl.array
        import pyopencl.tools
    except ImportError:
        raise MissingExtraError("the OpenCL engine", "opencl") from None
    return cl


def list_devices() -> list[Any]:
    """Return the devices of all OpenCL platforms, in a fixed order.

    Raises
    ------
    NoDeviceError
        If there is none.
    """
    cl = _load_pyopencl()
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        raise NoDeviceError(
            f"OpenCL finds no platform ({error}); install a driver, or subband[pocl] to use the CPU"
        ) from error
    if not devices:
        raise NoDeviceError("OpenCL has no device; install a driver, or subband[pocl] to use the CPU")
    return devices


def _find_way_out(log: str) -> str:
    """Return what to do about what a compiler says that is not the kernel's fault."""
    if "unknown target CPU" not in log:
        return ""
    return (
        ", because this PoCL is older than the processor; install another (on Debian: apt install pocl-opencl-icd), "
        "or use engine='cpu'"
    )


class OpenCLDevice(Device):
    """One device, with one queue."""

    def __init__(self, device: Any) -> None:
        self._cl = _load_pyopencl()
        self.device = device
        self.context = self._cl.Context([device])
        self.queue = self._cl.CommandQueue(self.context)
        # a new buffer costs a GPU's driver more time than filling it
        self._pool = self._cl.tools.MemoryPool(self._cl.tools.ImmediateAllocator(self.queue))
        self._nothing = self._pool.allocate(1)
        self._templates = Recent[Any](_MOST_TEMPLATES)
        self.name = device.name
        self.dialect = OPENCL_NVIDIA if "NVIDIA" in device.vendor else OPENCL
        self.is_gpu = bool(device.type & self._cl.device_type.GPU)
        self.local_memory = min(self.local_memory, int(device.local_mem_size))
        self._launching = Lock()
        self._lanes: dict[Any, int] = {}

    def compile(self, source: str, local: int = 0, resident: int = 0) -> Any:  # noqa: ARG002 - a text declares all that it takes
        try:
            program = self._cl.Program(self.context, source).build()
        except self._cl.Error as error:
            message = f"{self.device.name} does not compile a kernel{_find_way_out(str(error))}"
            raise KernelError(message, source, str(error)) from error
        return program.sweep

    def count_resident(self, kernel: Any, block: int) -> int:  # noqa: ARG002 - what OpenCL does not tell
        # a processor of a GPU keeps some tens of groups going, one of a CPU works on one at a time
        return int(self.device.max_compute_units) * (24 if self.is_gpu else 1)

    def launch(self, kernel: Any, groups: Groups, block: int, arguments: Sequence[Any]) -> None:  # noqa: ARG002
        # a work-group is as large as the kernel says, whatever `block` says; arguments are set on the kernel, which all
        # threads share, one by one before it is enqueued
        passed = [a if isinstance(a, np.generic) else a.data for a in arguments]
        with self._launching:
            lanes = self._find_lanes(kernel)
            kernel(self.queue, (groups[0] * LANES, groups[1], groups[2]), (lanes, 1, 1), *passed)

    def _find_lanes(self, kernel: Any) -> int:
        """Return the lanes of a work-group of a kernel, asked once."""
        lanes = self._lanes.get(kernel)
        if lanes is None:
            asked = self._cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
            lanes = self._lanes[kernel] = int(kernel.get_work_group_info(asked, self.device)[0])
        return lanes

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        template = self._templates.find((shape, dtype), lambda: self._make_template(shape, dtype))
        array = copy(template)
        array.events = []
        try:
            array.base_data = self._pool.allocate(array.nbytes) if array.nbytes else None
        except (self._cl.MemoryError, self._cl.LogicError) as error:
            # a LogicError is said of a size that no buffer can have
            raise DeviceMemoryError(f"{self.name} has no memory for an array of shape {shape}: {error}") from error
        return array

    def _make_template(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an array without memory: to check a shape takes PyOpenCL longer than a small kernel runs."""
        return self._cl.array.Array(self.queue, shape, dtype, data=self._nothing, allocator=self._pool)

    def allocate_parts(
        self, size: int, dtype: np.dtype[Any], parts: Sequence[tuple[int, tuple[int, ...]]]
    ) -> tuple[Any, list[Any]]:
        # not from the pool, whose buffers have no parts
        make, itemsize = self._cl.array.Array, dtype.itemsize
        try:
            memory = self._cl.Buffer(self.context, self._cl.mem_flags.READ_WRITE, max(size * itemsize, 1))
        except (self._cl.MemoryError, self._cl.LogicError) as error:
            raise DeviceMemoryError(f"{self.name} has no memory for {size} elements: {error}") from error
        regions = [memory.get_sub_region(begin * itemsize, prod(shape) * itemsize) for begin, shape in parts]
        made = [make(self.queue, shape, dtype, data=region) for (_, shape), region in zip(parts, regions, strict=True)]
        return make(self.queue, (size,), dtype, data=memory), made

    def write(self, x: Any, values: Array) -> None:
        x.set(values, queue=self.queue)

    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        zeros = self.allocate(shape, dtype)
        zeros.fill(0)
        return zeros

    def upload(self, x: Array) -> Any:
        try:
            return self._cl.array.to_device(self.queue, np.ascontiguousarray(x), allocator=self._pool)
        except (self._cl.MemoryError, self._cl.LogicError) as error:
            raise DeviceMemoryError(f"{self.name} has no memory for an array of shape {x.shape}: {error}") from error

    def download(self, x: Any, out: Array | None = None) -> Array:
        host: Array = x.get(self.queue, out)
        return host

    def owns(self, x: Any) -> bool:
        return isinstance(x, self._cl.array.Array)

    def as_contiguous(self, x: Any) -> Any:
        # a kernel is given whole buffers
        if x.flags.c_contiguous and x.offset == 0:
            return x
        return x.copy(self.queue) if x.flags.c_contiguous else self._gather(x)

    def _gather(self, x: Any) -> Any:
        """Copy an array with strided rows, such as a window into another one."""
        if x.ndim < 2 or x.strides[-1] != x.dtype.itemsize or min(x.strides) < 0:
            raise ArgumentError(f"an array of PyOpenCL has strides {x.strides}; give one whose rows are contiguous")
        gathered = self.allocate(x.shape, x.dtype)
        *outer, height, width = x.shape
        for index in np.ndindex(*outer):
            begin = x.offset + sum(k * stride for k, stride in zip(index, x.strides, strict=False))
            goal = sum(k * stride for k, stride in zip(index, gathered.strides, strict=False))
            self._cl.enqueue_copy(
                self.queue,
                gathered.base_data,
                x.base_data,
                src_origin=(begin % x.strides[-2], begin // x.strides[-2]),
                dst_origin=(0, goal // gathered.strides[-2]),
                region=(width * x.dtype.itemsize, height),
                src_pitches=(x.strides[-2],),
                dst_pitches=(gathered.strides[-2],),
            )
        return gathered

    def view(self, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return x.view(dtype).reshape(shape)

    def is_aligned(self, x: Any, size: int) -> bool:  # noqa: ARG002 - buffers begin at multiples of 128 bytes
        return True


class OpenCLEngine(DeviceEngine):
    """Runs on an OpenCL device: ``OpenCLEngine("1")`` is the second of all, ``"0:1"`` that of the first platform."""

    name = "opencl"

    def __init__(self, device: str | None = None) -> None:
        devices = list_devices()
        text = device or "0"
        platform, colon, number = text.rpartition(":")
        if colon:
            platforms = list(dict.fromkeys(found.platform for found in devices))
            index = _read_number(platform)
            devices = [found for found in devices if index < len(platforms) and found.platform == platforms[index]]
        if _read_number(number) >= len(devices):
            raise ArgumentError(
                f"engine='opencl:{text}' names no device; devices are counted from 0: "
                + ", ".join(found.name for found in list_devices())
            )
        super().__init__(OpenCLDevice(devices[_read_number(number)]))


def _read_number(text: str) -> int:
    """Return a number from 0 on; what is none is more than there are devices."""
    return int(text) if text.isdecimal() else 1 << 30
