"""Predicted times of stages on a device.

A sweep takes as long as its launches, its traffic and its arithmetic together:

    T = launches · t_launch + memory / B(extent) + operations / R(extent)

The bandwidth is that of the plainest sweep over an array of the same extent, on the same device: one that reads an
image and writes its bands, or the other way round, and computes no more than Haar's transform does. As much of it as
a plain copy takes counts as memory, and the rest as arithmetic. Further operations are added, not hidden behind the
traffic as in the classical model: a sweep computes on the rows that it has just loaded, and both cores of a CPU and the
warps of a GPU were measured to take the sum. To begin a row takes as long as a number of samples more.

A device that works while the host goes on takes its own time or that of the host to ask for everything, whichever is
longer. What takes the longest is the bound of the stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from subband.bench.model.device import DeviceModel, Path
from subband.bench.model.stages import Stage
from subband.errors import ArgumentError

__all__ = ["Asking", "Bound", "Prediction", "predict_stage", "predict_stages"]

Bound: TypeAlias = Literal["memory", "arithmetic", "transfer", "launch"]

#: What the host asks of a device.
Asking: TypeAlias = Literal["call", "graph", "none"]


@dataclass(frozen=True)
class Prediction:
    """The time of a stage, and what it is made of.

    Attributes
    ----------
    name : str
        Of the stage.
    memory, arithmetic, transfer, launch : float
        Seconds, one after the other.
    host : float
        Seconds that the host takes while the device moves, computes and launches.

    Examples
    --------
    >>> prediction = Prediction("level 1", memory=2e-3, arithmetic=3e-3, launch=1e-5)
    >>> round(prediction.seconds, 6), prediction.bound
    (0.00501, 'arithmetic')
    """

    name: str
    memory: float = 0.0
    arithmetic: float = 0.0
    transfer: float = 0.0
    launch: float = 0.0
    host: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.transfer + max(self.host, self.memory + self.arithmetic + self.launch)

    @property
    def parts(self) -> dict[Bound, float]:
        """What adds up to all of it: where the device waits for the host, that is part of the launch."""
        begun = self.seconds - self.memory - self.arithmetic - self.transfer
        return {"launch": begun, "transfer": self.transfer, "memory": self.memory, "arithmetic": self.arithmetic}

    @property
    def bound(self) -> Bound:
        """What takes the longest."""
        return max(self.parts, key=self.parts.__getitem__)


def predict_stage(stage: Stage, device: DeviceModel) -> Prediction:
    """Predict how long a stage takes on a device, and how long the host takes to launch it.

    Parameters
    ----------
    stage : Stage
        What was counted.
    device : DeviceModel
        What was measured.

    Raises
    ------
    ArgumentError
        If the stage transfers something, and the device has no memory of its own.
    """
    if stage.transfers and device.transfers is None:
        raise ArgumentError(
            f"{stage.name!r} transfers {sum(stage.transfers)} bytes, and {device.name} has no memory apart"
        )
    way = device.ways[stage.direction]
    plainest = copy = extra = 0.0
    if stage.memory:
        # what goes through a block does so at the speed of the cache that holds it
        extents = (stage.extent, stage.block or stage.extent)
        plainest, copy = (
            sum(stage.memory / 2 / device.find(speeds, extent) for extent in extents)
            for speeds in (way.sweeps[stage.axes], device.copies)
        )
        plainest *= 1 + way.rows.get("plain", 0.0) / stage.width
    if stage.extra_operations:
        extra = stage.extra_operations / device.find(way.rates[stage.arithmetic], stage.extent)
        extra *= 1 + way.rows.get(stage.arithmetic, 0.0) / stage.width
    if stage.parts:
        # all wait for the thread that has one more
        waiting = -(-stage.parts // device.threads) * device.threads / stage.parts
        plainest, extra = waiting * plainest, waiting * extra
    host = way.host.get("chain" if stage.is_alone else "sweeps")
    return Prediction(
        stage.name,
        memory=min(copy, plainest),
        arithmetic=max(plainest - copy, 0.0) + extra,
        transfer=sum(
            device.transfers.find_seconds(size, is_upload=stage.name == "upload")
            for size in stage.transfers
            if device.transfers is not None
        ),
        launch=stage.launches * way.overhead.launch,
        host=stage.launches * host.launch if host else 0.0,
    )


def predict_stages(
    stages: Iterable[Stage], device: DeviceModel, name: str = "all", *, asking: Asking = "call"
) -> Prediction:
    """Add up stages that run one after the other, and the call itself.

    Parameters
    ----------
    stages : iterable of Stage
        What was counted, all in one direction.
    device : DeviceModel
        What was measured.
    name : str
        What they are together.
    asking : {"call", "graph", "none"}
        Whether the host asks for every launch, for the record of all of them, or for nothing while the device is timed.
    """
    stages = list(stages)
    parts = [predict_stage(stage, device) for stage in stages]
    sweeps = [stage for stage in stages if stage.launches]
    launch, host = (sum(getattr(part, what) for part in parts) for what in ("launch", "host"))
    if sweeps:
        way = device.ways[sweeps[0].direction]
        path: Path = "chain" if all(stage.is_alone for stage in sweeps) else "sweeps"
        launch += way.overhead.call
        host += way.host[path].call if way.host else 0.0
        if asking == "graph":
            launch, host = launch + way.graph.call, way.graph.launch
    return Prediction(
        name,
        memory=sum(part.memory for part in parts),
        arithmetic=sum(part.arithmetic for part in parts),
        transfer=sum(part.transfer for part in parts),
        launch=launch,
        host=0.0 if asking == "none" else host,
    )
