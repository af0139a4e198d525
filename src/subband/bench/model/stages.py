"""What each stage of a transform moves and computes, counted from its plan alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from subband.bench.workbench import Direction
from subband.plan import AxisPlan, LevelPlan, TransformPlan
from subband.wavelets.choice import prefers_lifting

__all__ = ["Arithmetic", "Stage", "count_operations", "list_stages"]

#: Lifting steps and filters run at different rates: a lifting step has to wait for the one before.
Arithmetic: TypeAlias = Literal["lifting", "filters"]


@dataclass(frozen=True)
class Stage:
    """One stage, counted.

    Attributes
    ----------
    name : str
        What it is, such as ``'level 1'``.
    memory : int
        Bytes read from the memory of the device and written to it.
    extent : int
        Bytes of the larger of what is read and what is written: what has to fit into a cache to be moved faster.
    operations : int
        Multiplications with their additions.
    arithmetic : {"lifting", "filters"}
        What they belong to.
    launches : int
        How often the device is asked to begin.
    transfer : int
        Bytes between the host and the device.
    """

    name: str
    memory: int = 0
    extent: int = 0
    operations: int = 0
    arithmetic: Arithmetic = "lifting"
    launches: int = 0
    transfer: int = 0

    @property
    def intensity(self) -> float:
        """Operations for each byte of memory: where a stage stands under the roof."""
        return self.operations / self.memory if self.memory else 0.0


def count_operations(plan: AxisPlan, direction: Direction) -> float:
    """Count the multiplications for each sample along one axis.

    A step of lifting changes every second sample, and both kinds are scaled at the end. Filters have a low and a high
    output for every two samples.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> count_operations(axis_plan(Wavelet("cdf97"), "whole", 64), "forward")
    5.0
    >>> count_operations(axis_plan(Wavelet("db20"), "periodization", 64), "forward")
    40.0
    """
    lifting = plan.forward_lifting if direction == "forward" else plan.inverse_lifting
    if lifting is not None and prefers_lifting(plan.wavelet):
        return sum(len(step.taps) for step in lifting.steps) / 2 + 1
    filters = plan.forward if direction == "forward" else plan.inverse
    return sum(sum(tap != 0 for tap in taps) for taps in filters.taps) / 2


def list_stages(
    plan: TransformPlan,
    direction: Direction = "forward",
    *,
    itemsize: int = 4,
    sweeps: int = 1,
    with_transfers: bool = False,
) -> list[Stage]:
    """Count the stages of a transform, in the order in which they run.

    Parameters
    ----------
    plan : TransformPlan
        What is transformed, and how.
    direction : {"forward", "inverse"}
        Which way.
    itemsize : int
        Bytes of a sample and of a coefficient.
    sweeps : int
        How many times a level crosses memory; 1 where all its axes are transformed at once.
    with_transfers : bool
        Whether samples and coefficients travel between the host and the device.

    Examples
    --------
    >>> from subband.plan import transform_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = transform_plan((1024, 1024), (0, 1), (Wavelet("cdf97"),) * 2, ("whole",) * 2, 2)
    >>> [(stage.name, stage.memory, stage.operations) for stage in list_stages(plan)]
    [('level 1', 8388608, 10485760), ('level 2', 2097152, 2621440)]
    """
    levels = [
        _count_level(level, number, direction, itemsize, sweeps) for number, level in enumerate(plan.levels, start=1)
    ]
    if direction == "inverse":
        levels.reverse()
    if not with_transfers:
        return levels
    samples, coefficients = prod(plan.shape) * itemsize, plan.size * itemsize
    there, back = (samples, coefficients) if direction == "forward" else (coefficients, samples)
    return [Stage("upload", transfer=there), *levels, Stage("download", transfer=back)]


def _count_level(plan: LevelPlan, number: int, direction: Direction, itemsize: int, sweeps: int) -> Stage:
    samples = prod(plan.shape)
    coefficients = sum(prod(shape) for shape in plan.band_shapes.values())
    is_lifted = all(prefers_lifting(axis.wavelet) for axis in plan.plans)
    return Stage(
        f"level {number}",
        memory=(samples + coefficients) * itemsize * sweeps,
        extent=max(samples, coefficients) * itemsize,
        operations=round(samples * sum(count_operations(axis, direction) for axis in plan.plans)),
        arithmetic="lifting" if is_lifted else "filters",
        launches=sweeps,
    )
