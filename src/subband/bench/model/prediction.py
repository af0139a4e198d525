"""What a stage should take on a device.

A stage takes as long as its launches, its traffic and its arithmetic together:

    T = launches · t_launch + transfer / B_transfer + memory / B(extent) + operations / R

The bandwidth is that of a plain copy of the same extent, on the same device. Arithmetic is added, not hidden behind the
traffic as in the classical model: a sweep computes on the rows that it has just loaded, and both cores of a CPU and the
warps of a GPU were measured to take the sum. What takes the longest is the bound of the stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from subband.bench.model.device import DeviceModel
from subband.bench.model.stages import Stage
from subband.errors import ArgumentError

__all__ = ["Bound", "Prediction", "predict_stage", "predict_stages"]

Bound: TypeAlias = Literal["memory", "arithmetic", "transfer", "launch"]


@dataclass(frozen=True)
class Prediction:
    """The time of a stage, and what it is made of.

    Attributes
    ----------
    name : str
        Of the stage.
    memory, arithmetic, transfer, launch : float
        Seconds.

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

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.memory + self.arithmetic + self.transfer + self.launch

    @property
    def bound(self) -> Bound:
        """What takes the longest."""
        parts: dict[Bound, float] = {
            "memory": self.memory,
            "arithmetic": self.arithmetic,
            "transfer": self.transfer,
            "launch": self.launch,
        }
        return max(parts, key=parts.__getitem__)


def predict_stage(stage: Stage, device: DeviceModel) -> Prediction:
    """Say how long a stage takes on a device.

    Raises
    ------
    ArgumentError
        If the stage transfers something, and the device has no memory of its own.
    """
    if stage.transfer and device.transfer is None:
        raise ArgumentError(f"{stage.name!r} transfers {stage.transfer} bytes, and {device.name} has no memory apart")
    return Prediction(
        stage.name,
        memory=stage.memory / device.find_bandwidth(stage.extent) if stage.memory else 0.0,
        arithmetic=stage.operations / device.rates[stage.arithmetic],
        transfer=stage.transfer / device.transfer if device.transfer else 0.0,
        launch=stage.launches * device.launch,
    )


def predict_stages(stages: Iterable[Stage], device: DeviceModel, name: str = "all") -> Prediction:
    """Add up stages that run one after the other, and the call itself."""
    parts = [predict_stage(stage, device) for stage in stages]
    return Prediction(
        name,
        memory=sum(part.memory for part in parts),
        arithmetic=sum(part.arithmetic for part in parts),
        transfer=sum(part.transfer for part in parts),
        launch=sum(part.launch for part in parts) + device.call,
    )
