"""Bytes moved and operations computed by each stage of a transform, counted from its plan alone.

A stage is one sweep over an array, one pass of a sweep that is done in blocks, or one transfer. The sweeps are those of
`subband.schedule`, which the engine runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeAlias

from subband.engines.abilities import CPU
from subband.plan import AxisPlan, LevelPlan, TransformPlan
from subband.schedule.axis import AxisProgram, Form, axis_program
from subband.schedule.sweeps import Abilities, Pass, Sweep, schedule_level
from subband.typing import Direction

__all__ = [
    "PLAIN_OPERATIONS",
    "Arithmetic",
    "Stage",
    "count_operations",
    "list_stages",
]

#: Lifting steps and filters run at different rates: a lifting step has to wait for the one before. So do the steps of
#: a volume that a device takes in one sweep, where blocks of lanes wait for each other too.
Arithmetic: TypeAlias = Literal["lifting", "filters", "volumes"]

#: Multiplications for each sample along one axis of the plainest transform there is, that of Haar.
PLAIN_OPERATIONS = 2


@dataclass(frozen=True)
class Stage:
    """Bytes and operations of one stage.

    Attributes
    ----------
    name : str
        What it is, such as ``'level 1'``.
    direction : {"forward", "inverse"}
        Which way.
    axes : int
        How many axes are transformed together.
    samples : int
        How many numbers are read.
    width : int
        How many of them a row has that is worked off in one go.
    parts : int
        How many parts there are for threads to share; 0 where there are always enough.
    memory : int
        Bytes read from the memory of the device and written to it.
    extent : int
        Bytes of the larger of what one launch reads and what it writes: what has to fit into a cache to be moved
        faster, and what there is for all threads or lanes to do.
    block : int
        Bytes of the buffer in a cache which is read or written instead of memory; 0 where there is none.
    operations : int
        Multiplications with their additions.
    arithmetic : {"lifting", "filters", "volumes"}
        What they belong to.
    launches : int
        How often the device is asked to begin.
    is_alone : bool
        Whether this is all of its level; engines of devices then ask for it with less ado.
    transfers : tuple of int
        Bytes of each array that travels between the host and the device.
    """

    name: str
    direction: Direction = "forward"
    axes: int = 2
    samples: int = 0
    width: int = 1 << 20
    parts: int = 0
    memory: int = 0
    extent: int = 0
    block: int = 0
    operations: int = 0
    arithmetic: Arithmetic = "lifting"
    launches: int = 0
    is_alone: bool = True
    transfers: tuple[int, ...] = ()

    @property
    def intensity(self) -> float:
        """Operations for each byte of memory: where a stage stands under the roof."""
        return self.operations / self.memory if self.memory else 0.0

    @property
    def extra_operations(self) -> float:
        """Operations beyond those of the plainest sweep."""
        return max(self.operations - PLAIN_OPERATIONS * self.axes * self.samples, 0)


def count_operations(plan: AxisPlan, direction: Direction, form: Form = CPU.form) -> float:
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
    program = axis_program(plan, direction, form)
    if program.steps:
        return sum(len(entry.step.taps) for entry in program.steps) / 2 + 1
    return sum((tap.p != 0) + (tap.q != 0) for tap in program.taps) / 2


def list_stages(
    plan: TransformPlan,
    direction: Direction = "forward",
    *,
    itemsize: int = 4,
    abilities: Abilities = CPU,
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
    abilities : Abilities
        Of the engine, as its ``find_abilities`` returns them.
    with_transfers : bool
        Whether samples and coefficients travel between the host and the device.

    Examples
    --------
    >>> from subband.engines.measuring.harness import plan_array
    >>> [(stage.name, stage.memory, stage.operations) for stage in list_stages(plan_array((1024, 1024), "cdf97", 2))]
    [('level 1', 8388608, 10485760), ('level 2', 2097152, 2621440)]
    >>> from subband.engines.abilities import abilities_of_device
    >>> volume = plan_array((64, 64, 64), "cdf97", 1)
    >>> [(stage.name, stage.launches) for stage in list_stages(volume, abilities=abilities_of_device(None))]
    [('level 1, axes 1 and 2', 1), ('level 1, axis 0', 4)]
    >>> [(stage.name, stage.launches) for stage in list_stages(volume, abilities=abilities_of_device(16))]
    [('level 1', 1)]
    """
    stages = [
        stage
        for number, level in enumerate(plan.levels, start=1)
        for stage in _count_level(level, number, direction, itemsize, abilities)
    ]
    if direction == "inverse":
        stages.reverse()
    if not with_transfers:
        return stages
    bands = [shape for level in plan.levels for shape in list(level.band_shapes.values())[1:]]
    samples = (prod(plan.shape) * itemsize,)
    coefficients = tuple(prod(shape) * itemsize for shape in (plan.approximation_shape, *bands))
    there, back = (samples, coefficients) if direction == "forward" else (coefficients, samples)
    return [
        Stage("upload", direction, transfers=there),
        *stages,
        Stage("download", direction, transfers=back),
    ]


def _count_level(
    level: LevelPlan, number: int, direction: Direction, itemsize: int, abilities: Abilities
) -> Iterator[Stage]:
    """Count the sweeps of a level, in the order of the forward direction; the inverse does the same backwards."""
    lengths = list(level.shape)
    bands = 1
    passes = [
        (sweep, each) for sweep in schedule_level(level, abilities).sweeps for each in sweep.list_passes(direction)
    ]
    for sweep, each in passes:
        before = prod(lengths)
        for axis, plan in zip(each.axes, each.plans, strict=True):
            lengths[axis] = plan.low + plan.high
        after = prod(lengths)
        samples = before if direction == "forward" else after
        programs = [axis_program(plan, direction, sweep.form) for plan in each.plans]
        stage = Stage(
            f"level {number}" + (f", {_format_axes(each.axes)}" if len(passes) > 1 else ""),
            direction,
            len(each.axes),
            samples,
            level.shape[-1],
            memory=(before + after) * itemsize,
            extent=max(before, after) * itemsize // bands,
            operations=round(samples * sum(count_operations(plan, direction, sweep.form) for plan in each.plans)),
            arithmetic=_name_arithmetic(programs),
            launches=bands,
            is_alone=len(passes) == 1,
        )
        if sweep.block:
            yield _cut_into_blocks(stage, level, sweep, each, programs, itemsize)
        else:
            yield stage
        if each.axes[-1] == sweep.axes[-1]:
            bands *= len(sweep.letters)


def _name_arithmetic(programs: Sequence[AxisProgram]) -> Arithmetic:
    if len(programs) == 3:
        return "volumes"
    return "lifting" if all(program.steps for program in programs) else "filters"


def _cut_into_blocks(
    stage: Stage, level: LevelPlan, sweep: Sweep, each: Pass, programs: Sequence[AxisProgram], itemsize: int
) -> Stage:
    """Return a pass over a volume as it is done block by block."""
    *outer, depth, height, width = level.shape
    count = len(sweep.cut_blocks(stage.direction))
    stage = replace(
        stage,
        block=-(-depth // count) * height * width * itemsize,
        parts=count * prod(outer),
        launches=count * prod(outer) * each.launches,
    )
    if stage.axes == 2:
        return stage
    # slices where two blocks meet are read and transformed for both, and whole slices at a time
    (program,) = programs
    reach = 2 * (program.schedule.last - program.schedule.first)
    again = 1 + reach * count / depth
    return replace(
        stage,
        samples=round(again * stage.samples),
        width=height * width,
        memory=round((1 + again) / 2 * stage.memory),
        operations=round(again * stage.operations),
    )


def _format_axes(axes: tuple[int, ...]) -> str:
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {axes[0]} and {axes[1]}"
