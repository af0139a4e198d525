"""What each stage of a transform moves and computes, counted from its plan alone.

A stage is one sweep over an array, or one transfer. How many sweeps a level takes is the engine's affair: it is asked
which axes go together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeAlias

from subband.engines.layout import schedule_sweeps
from subband.engines.measuring.harness import Direction
from subband.kernels.axis import AxisProgram, forward_program, inverse_program
from subband.plan import AxisPlan, LevelPlan, TransformPlan
from subband.wavelets.choice import prefers_lifting

__all__ = [
    "PLAIN_OPERATIONS",
    "Arithmetic",
    "GroupOnDevice",
    "Schedule",
    "Stage",
    "count_operations",
    "group_on_host",
    "list_stages",
]

#: Lifting steps and filters run at different rates: a lifting step has to wait for the one before. So do the steps of
#: a volume that a device takes in one sweep, where blocks of lanes wait for each other too.
Arithmetic: TypeAlias = Literal["lifting", "filters", "volumes"]

#: Says which axes of a level are transformed together, in the order in which an engine takes them.
Schedule: TypeAlias = Callable[[LevelPlan], Sequence[tuple[int, ...]]]

#: Multiplications for each sample along one axis of the plainest transform there is, that of Haar.
PLAIN_OPERATIONS = 2

# Slices that the engine of the CPU carries from the first axis of a volume to the other two, without leaving the cache.
_BLOCK = 32
# And how often it calls a kernel for that, by the axes that are swept: low and high slices, or the bands of images.
_BLOCK_LAUNCHES: dict[tuple[Direction, int], int] = {
    ("forward", 1): 1,
    ("forward", 2): 2,
    ("inverse", 1): 4,
    ("inverse", 2): 1,
}


@dataclass(frozen=True)
class Stage:
    """One stage, counted.

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
        Bytes of the buffer in a cache which is read or written in the place of memory; 0 where there is none.
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


def group_on_host(plan: LevelPlan) -> Sequence[tuple[int, ...]]:
    """Say which axes the engine of the CPU takes together: the last three or the last two, and others one by one.

    Examples
    --------
    >>> from subband.engines.measuring.harness import plan_picture
    >>> group_on_host(plan_picture((2, 8, 8), "haar", 1).levels[0])
    [(0, 1, 2)]
    """
    count = len(plan.shape)
    for together in (tuple(range(count - 3, count)), tuple(range(count - 2, count))):
        if set(together) <= set(plan.axes):
            return [together, *((axis,) for axis in plan.axes if axis not in together)]
    return [(axis,) for axis in plan.axes]


@dataclass(frozen=True)
class GroupOnDevice:
    """Says which axes the engine of a device takes together: the last three or two, where registers hold that.

    Attributes
    ----------
    least_volume : int or None
        As `DeviceEngine.least_volume`.

    Examples
    --------
    >>> from subband.engines.measuring.harness import plan_picture
    >>> group = GroupOnDevice(16)
    >>> [group(plan_picture((64, 64), wavelet, 1).levels[0]) for wavelet in ("cdf97", "coif5")]
    [[(0, 1)], [(0,), (1,)]]
    """

    least_volume: int | None = None

    def __call__(self, plan: LevelPlan) -> Sequence[tuple[int, ...]]:
        """Return the axes of each sweep over a level, in the order in which they run."""
        return [sweep.axes for sweep in schedule_sweeps(plan, self.least_volume)[0]]


def list_stages(
    plan: TransformPlan,
    direction: Direction = "forward",
    *,
    itemsize: int = 4,
    schedule: Schedule = group_on_host,
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
    schedule : callable
        `group_on_host` or a `GroupOnDevice`.
    with_transfers : bool
        Whether samples and coefficients travel between the host and the device.

    Examples
    --------
    >>> from subband.engines.measuring.harness import plan_picture
    >>> [(stage.name, stage.memory, stage.operations) for stage in list_stages(plan_picture((1024, 1024), "cdf97", 2))]
    [('level 1', 8388608, 10485760), ('level 2', 2097152, 2621440)]
    >>> volume = plan_picture((64, 64, 64), "cdf97", 1)
    >>> [(stage.name, stage.launches) for stage in list_stages(volume, schedule=GroupOnDevice())]
    [('level 1, axes 1 and 2', 1), ('level 1, axis 0', 4)]
    >>> [(stage.name, stage.launches) for stage in list_stages(volume, schedule=GroupOnDevice(16))]
    [('level 1', 1)]
    """
    stages = [
        stage
        for number, level in enumerate(plan.levels, start=1)
        for stage in _count_level(level, number, direction, itemsize, schedule)
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
    level: LevelPlan, number: int, direction: Direction, itemsize: int, schedule: Schedule
) -> Iterator[Stage]:
    """Count the sweeps of a level, in the order of the forward direction; the inverse does the same backwards."""
    by_axis = dict(zip(level.axes, level.plans, strict=True))
    lengths = list(level.shape)
    bands = 1
    groups, is_host = schedule(level), schedule is group_on_host
    # three axes are two sweeps on the host, with a block in the cache between them
    has_blocks = is_host and any(len(group) == 3 for group in groups)
    parts = [part for group in groups for part in ([group[:1], group[1:]] if has_blocks else [group])]
    for place, axes in enumerate(parts):
        plans = [by_axis[axis] for axis in axes]
        before = prod(lengths)
        for axis, plan in zip(axes, plans, strict=True):
            lengths[axis] = plan.low + plan.high
        after = prod(lengths)
        samples = before if direction == "forward" else after
        stage = Stage(
            f"level {number}" + (f", {_spell_axes(axes)}" if len(parts) > 1 else ""),
            direction,
            len(axes),
            samples,
            level.shape[-1],
            memory=(before + after) * itemsize,
            extent=max(before, after) * itemsize // bands,
            operations=round(samples * sum(_count_on(plan, direction, len(axes), is_host) for plan in plans)),
            arithmetic=_name_arithmetic(plans, direction, len(axes), is_host),
            launches=bands,
            is_alone=len(parts) == 1,
        )
        if has_blocks and place < 2:
            yield _cut_into_blocks(stage, level, plans[0], itemsize)
        else:
            bands *= 2 ** len(axes)
            yield stage


def _count_on(plan: AxisPlan, direction: Direction, axes: int, is_host: bool) -> float:
    """Count the multiplications for each sample along an axis that is transformed with others."""
    if is_host:
        return count_operations(plan, direction)
    program = _find_program(plan, direction, axes)
    if program.steps:
        return sum(len(entry.step.taps) for entry in program.steps) / 2 + 1
    return sum((tap.p != 0) + (tap.q != 0) for tap in program.taps) / 2


def _name_arithmetic(plans: Sequence[AxisPlan], direction: Direction, axes: int, is_host: bool) -> Arithmetic:
    if is_host:
        return "lifting" if all(prefers_lifting(plan.wavelet) for plan in plans) else "filters"
    if axes == 3:
        return "volumes"
    return "lifting" if all(_find_program(plan, direction, axes).steps for plan in plans) else "filters"


def _find_program(plan: AxisPlan, direction: Direction, axes: int) -> AxisProgram:
    """Return what a device does along an axis; volumes are always lifted."""
    return (forward_program if direction == "forward" else inverse_program)(plan, is_lifting=axes == 3)


def _cut_into_blocks(stage: Stage, level: LevelPlan, plan: AxisPlan, itemsize: int) -> Stage:
    """Return a sweep over a volume as it is done block by block."""
    *outer, depth, height, width = level.shape
    count = -(-depth // _BLOCK)
    stage = replace(
        stage,
        block=-(-depth // count) * height * width * itemsize,
        parts=count * prod(outer),
        launches=count * prod(outer) * _BLOCK_LAUNCHES[stage.direction, stage.axes],
    )
    if stage.axes == 2:
        return stage
    # slices where two blocks meet are read and transformed for both, and whole slices at a time
    again = 1 + _measure_reach(plan, stage.direction) * count / depth
    return replace(
        stage,
        samples=round(again * stage.samples),
        width=height * width,
        memory=round((1 + again) / 2 * stage.memory),
        operations=round(again * stage.operations),
    )


def _measure_reach(plan: AxisPlan, direction: Direction) -> int:
    """Return how many samples a block needs besides its own."""
    schedule = _find_program(plan, direction, 3).schedule
    return 2 * (schedule.last - schedule.first)


def _spell_axes(axes: tuple[int, ...]) -> str:
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {axes[0]} and {axes[1]}"
