"""The protocol of a device: compile and launch kernels, allocate, upload and download arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.engines.recording import Arrange, Replay
from subband.kernels.dialects import Dialect
from subband.kernels.launch import LOCAL_MEMORY
from subband.typing import Array

__all__ = ["Device", "Groups", "KernelCall", "Launches"]

#: How many groups of lanes a kernel is launched with, in three directions.
Groups = tuple[int, int, int]

#: Runs kernels on the arrays of a call.
Launches = Callable[[Sequence[Any]], None]


@dataclass(frozen=True)
class KernelCall:
    """A kernel, how many groups of lanes it is launched with, and its arguments.

    Attributes
    ----------
    kernel : object
        What `Device.compile` returned.
    groups, block
        As `Device.launch` takes them.
    slots : tuple of int
        Which of the arrays of a call its first arguments are.
    tables : tuple
        Its other arguments: arrays of the device, and numbers of 32 bits after them.
    """

    kernel: Any
    groups: Groups
    block: int
    slots: tuple[int, ...]
    tables: tuple[Any, ...]

    def list_arguments(self, arrays: Sequence[Any]) -> list[Any]:
        """Return all arguments, for the arrays of a call."""
        return [*(arrays[slot] for slot in self.slots), *self.tables]


class Device(ABC):
    """A device and its memory, as engines use it; arrays are of the device's own kind."""

    dialect: Dialect

    #: What the device is called; tuned launch parameters are remembered under it.
    name: str

    #: Whether many groups of lanes hide each other's waiting: a GPU, and not a CPU.
    is_gpu: bool

    #: Bytes of local memory that a block may have.
    local_memory: int = LOCAL_MEMORY

    def is_recording(self) -> bool:
        """Say whether what is launched now is being recorded as a graph, which knows arrays by their address."""
        return False

    @abstractmethod
    def compile(self, source: str, local: int = 0, resident: int = 0) -> Any:
        """Return the kernel ``sweep`` of `source`, ready to be launched.

        Each launch hands its blocks `local` bytes of memory besides what the text declares. If `resident` is not 0, no
        more blocks than that run on a multiprocessor at the same time, where a device can leave the rest of its local
        memory to the cache.

        Raises
        ------
        KernelError
            If it does not compile; the error carries source and log.
        """

    @abstractmethod
    def count_resident(self, kernel: Any, block: int) -> int:
        """Return how many groups of lanes of a kernel run at the same time, `block` of them in one block."""

    @abstractmethod
    def launch(self, kernel: Any, groups: Groups, block: int, arguments: Sequence[Any]) -> None:
        """Start a kernel on the current stream: `groups` groups of lanes, `block` of them in one block."""

    def join(self, calls: Sequence[KernelCall]) -> Launches:
        """Return a function of arrays that launches kernels one after another."""

        def run(arrays: Sequence[Any]) -> None:
            for call in calls:
                self.launch(call.kernel, call.groups, call.block, call.list_arguments(arrays))

        return run

    def make_replay(
        self,
        launches: Launches,
        shapes: Sequence[tuple[int, ...]],
        dtype: np.dtype[Any],
        inputs: Sequence[int],
        outputs: Sequence[int],
        arrange: Arrange,
    ) -> Replay | None:
        """Return what makes arrays and launches kernels on them with as little ado as possible; None if nothing does.

        Parameters
        ----------
        launches : callable
            From `join`.
        shapes, dtype
            Of the arrays that are written.
        inputs : sequence of int
            Which of the arrays of a call are read.
        outputs : sequence of int
            Which of those written are its result.
        arrange : callable
            Makes the result of them.
        """
        del launches, shapes, dtype, inputs, outputs, arrange  # for devices whose calls cost more than their kernels
        return None

    @abstractmethod
    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a new array with any contents.

        Raises
        ------
        DeviceMemoryError
            If there is not enough memory.
        """

    def allocate_all(self, shapes: Sequence[tuple[int, ...]], dtype: np.dtype[Any]) -> list[Any]:
        """Return new arrays, which a device may allocate in one piece of memory if they are small."""
        return [self.allocate(shape, dtype) for shape in shapes]

    @abstractmethod
    def allocate_parts(
        self, size: int, dtype: np.dtype[Any], parts: Sequence[tuple[int, tuple[int, ...]]]
    ) -> tuple[Any, list[Any]]:
        """Return a new array of `size` elements, and parts of it as arrays of their own, without a copy.

        A part is told by its first element, at a multiple of 512 bytes, and its shape.
        """

    @abstractmethod
    def write(self, x: Any, values: Array) -> None:
        """Copy a host array of the same shape and dtype to a contiguous array of the device."""

    @abstractmethod
    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a new array of zeros, without a copy from the host."""

    @abstractmethod
    def upload(self, x: Array) -> Any:
        """Copy a host array, laid out in any way, to the device, where it is contiguous."""

    def upload_table(self, x: Array) -> Any:
        """Copy a host array to the device, for kernels on any stream to read from now on."""
        return self.upload(x)

    @abstractmethod
    def download(self, x: Any, out: Array | None = None) -> Array:
        """Copy a device array to the host, into `out` if that is given: contiguous, of the same shape and dtype."""

    @abstractmethod
    def owns(self, x: Any) -> bool:
        """Say whether `x` is an array of this device's kind."""

    @abstractmethod
    def as_contiguous(self, x: Any) -> Any:
        """Return the same numbers in C order, a copy only if need be."""

    @abstractmethod
    def view(self, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a contiguous array as one of another shape and dtype, without a copy."""

    @abstractmethod
    def is_aligned(self, x: Any, size: int) -> bool:
        """Say whether the first element is at a multiple of `size` bytes."""
