"""The model of a device: rates of copies, sweeps, arithmetic and transfers, and overheads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from subband.bench.model.stages import Arithmetic
from subband.typing import Direction

__all__ = ["DeviceModel", "Overhead", "Path", "Transfers", "Way", "Work"]

#: How an engine of a device asks for a level: all levels in one chain, or sweep after sweep.
Path: TypeAlias = Literal["chain", "sweeps"]

#: What is done in a row: the plainest sweep, or what heavier ones compute besides.
Work: TypeAlias = Literal["plain"] | Arithmetic


@dataclass(frozen=True)
class Overhead:
    """Seconds of a call and of each launch before anything is moved.

    Attributes
    ----------
    launch, call : float
        For each launch, and for a whole call besides.
    """

    launch: float
    call: float


@dataclass(frozen=True)
class Way:
    """The rates of a device in one direction, at each of the sizes of its `DeviceModel`.

    Attributes
    ----------
    overhead : Overhead
        Of the device, or of all where it does not work while the host goes on.
    sweeps : mapping
        Bytes per second that the plainest sweep reads and writes together, by how many axes it transforms.
    rates : mapping
        Multiplications with additions in a second, beyond those of the plainest sweep.
    rows : mapping
        Samples that would take as long as it takes to begin a row, in the plainest sweep and in what heavier ones
        compute besides.
    host : mapping
        What the host takes to ask for everything, while the device is at work; empty where it waits for the device.
    graph : Overhead
        The least that the launch of a recorded call takes, and what the device pauses between two of them.
    """

    overhead: Overhead
    sweeps: Mapping[int, Sequence[float]]
    rates: Mapping[Arithmetic, Sequence[float]]
    rows: Mapping[Work, float] = field(default_factory=dict)
    host: Mapping[Path, Overhead] = field(default_factory=dict)
    graph: Overhead = Overhead(0.0, 0.0)


@dataclass(frozen=True)
class Transfers:
    """How fast arrays of some sizes travel, in the ordinary memory of the host.

    Attributes
    ----------
    sizes : sequence of float
        Bytes.
    uploads, downloads : sequence of float
        Seconds.
    """

    sizes: Sequence[float]
    uploads: Sequence[float]
    downloads: Sequence[float]

    def find_seconds(self, size: float, *, is_upload: bool) -> float:
        """Return what an array of so many bytes takes; beyond the largest that was measured, in proportion.

        Examples
        --------
        >>> transfers = Transfers((1e3, 1e6), (1e-5, 1e-4), (2e-5, 2e-4))
        >>> [round(1e6 * transfers.find_seconds(size, is_upload=True)) for size in (10, 1e6, 3e6)]
        [10, 100, 300]
        """
        seconds = self.uploads if is_upload else self.downloads
        found = _interpolate(size, self.sizes, seconds)
        return found * max(1.0, size / self.sizes[-1])


@dataclass(frozen=True)
class DeviceModel:
    """The model of a device: its rates and overheads.

    Attributes
    ----------
    name : str
        What it is called.
    sizes : sequence of float
        Bytes of the arrays that were measured.
    copies : sequence of float
        Bytes per second that a plain copy of them reads and writes together.
    ways : mapping
        What it can do in each direction.
    transfers : Transfers or None
        None where host and device share their memory.
    threads : int
        How many share the parts of a stage.

    Examples
    --------
    >>> sizes, flat = (2.0**16, 2.0**26), (2e10, 2e10)
    >>> way = Way(Overhead(5e-5, 1e-5), {1: flat, 2: flat}, {"lifting": flat, "filters": flat})
    >>> device = DeviceModel("a CPU", sizes, (4e10, 1e10), {"forward": way, "inverse": way})
    >>> round(device.find(device.copies, 2**21) / 1e9, 3)
    20.0
    """

    name: str
    sizes: Sequence[float]
    copies: Sequence[float]
    ways: Mapping[Direction, Way]
    transfers: Transfers | None = None
    threads: int = 1

    def find(self, values: Sequence[float], extent: float) -> float:
        """Return a speed for arrays of so many bytes, between the sizes that were measured on a straight line.

        Both are taken as logarithms, so that halves and doubles count alike.
        """
        return _interpolate(extent, self.sizes, values)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict for JSON."""
        return asdict(self)


def _interpolate(x: float, points: Sequence[float], values: Sequence[float]) -> float:
    return float(np.exp(np.interp(np.log(x), np.log(points), np.log(values))))
