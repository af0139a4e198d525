"""A device that computes nothing: it keeps the text of every kernel and how it was launched.

With it an engine shows, on any machine, what it would run on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from subband.engines.device import Device, Groups
from subband.engines.device_engine import DeviceEngine
from subband.kernels.dialects import Dialect
from subband.typing import Array

__all__ = ["RecordingDevice", "RecordingEngine"]


class _Remote(np.ndarray[Any, Any]):
    """An array that counts as the device's own."""


class RecordingDevice(Device):
    """Takes kernels for those of a GPU, and leaves results as they are.

    Attributes
    ----------
    sources : list of str
        The text of every kernel, in the order of their first use.
    handed : list of int
        The bytes of local memory that launches of it hand to a block.
    launches : list of tuple
        The groups and the block of every launch.
    """

    name = "a device that only records"

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.is_gpu = True
        self.sources: list[str] = []
        self.handed: list[int] = []
        self.launches: list[tuple[Groups, int]] = []

    def compile(self, source: str, local: int = 0, resident: int = 0) -> Any:  # noqa: ARG002 - nothing runs
        """Keep the text."""
        self.sources.append(source)
        self.handed.append(local)
        return len(self.sources)

    def count_resident(self, kernel: Any, block: int) -> int:  # noqa: ARG002 - as of a GPU of middle size
        """Return a number that cuts even small images into several chunks."""
        return 2048

    def launch(self, kernel: Any, groups: Groups, block: int, arguments: Sequence[Any]) -> None:  # noqa: ARG002
        """Keep how many groups there are; nothing runs, so kernel and arguments do not matter."""
        self.launches.append((groups, block))

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an array of zeros, whose memory nobody touches."""
        return np.zeros(shape, dtype).view(_Remote)

    def allocate_parts(
        self, size: int, dtype: np.dtype[Any], parts: Sequence[tuple[int, tuple[int, ...]]]
    ) -> tuple[Any, list[Any]]:
        """Return an array of zeros, and views of it."""
        whole = self.allocate((size,), dtype)
        return whole, [whole[begin : begin + prod(shape)].reshape(shape) for begin, shape in parts]

    def write(self, x: Any, values: Array) -> None:
        """Copy."""
        x[...] = values

    def make_zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an array of zeros."""
        return self.allocate(shape, dtype)

    def upload(self, x: Array) -> Any:
        """Copy."""
        return np.array(x, order="C").view(_Remote)

    def download(self, x: Any, out: Array | None = None) -> Array:
        """Copy back."""
        host = np.empty(x.shape, x.dtype) if out is None else out
        host[...] = x
        return host

    def owns(self, x: Any) -> bool:
        """Say whether an array went through `upload` or `allocate`."""
        return isinstance(x, _Remote)

    def as_contiguous(self, x: Any) -> Any:
        """Copy, if need be."""
        return np.ascontiguousarray(x).view(_Remote)

    def view(self, x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return the same memory."""
        return x.reshape(-1).view(dtype).reshape(shape)

    def is_aligned(self, x: Any, size: int) -> bool:  # noqa: ARG002 - as the memory of a GPU is
        """Say yes."""
        return True


class RecordingEngine(DeviceEngine):
    """An engine without results."""

    name = "recording"
    device: RecordingDevice

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(RecordingDevice(dialect))
