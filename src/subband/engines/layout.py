"""How kernels see arrays: which axes go together, as images of rows and columns, and the tables that tell them sizes.

Nothing here touches a device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from subband.boundary import Extension
from subband.engines.device import Groups
from subband.kernels.axis import AxisProgram, forward_program, inverse_program
from subband.kernels.dialects import LANES
from subband.kernels.launch import Launch, VolumeLaunch
from subband.kernels.sweep import SweepSpec
from subband.kernels.tiles import BANDS
from subband.kernels.volume import VOLUME_FIELDS, VolumeSpec
from subband.plan import AxisPlan, LevelPlan
from subband.typing import Array

__all__ = [
    "Layout",
    "Sweep",
    "can_align",
    "has_one_sweep",
    "is_uniform_volume",
    "lay_out",
    "list_band_shapes",
    "mirrors_samples",
    "misses_samples",
    "orient",
    "repeats_samples",
    "schedule_sweeps",
    "tabulate",
    "tabulate_volume",
]

#: Kernels of volumes count the bytes of a pair of planes, and planes, in 32 bits.
_MOST_COUNTED = 1 << 31


@dataclass(frozen=True)
class Layout:
    """How kernels see an array: images, perhaps interleaved, of rows and columns."""

    outer: int
    height: int
    width: int
    inner: int


@dataclass(frozen=True)
class Sweep:
    """One to three axes of an array that one kernel transforms."""

    axes: tuple[int, ...]
    plans: tuple[AxisPlan, ...]

    @property
    def letters(self) -> tuple[str, ...]:
        """Names of the bands, in the order in which kernels take them."""
        return {1: ("a", "d"), 2: ("aa", "ad", "da", "dd"), 3: BANDS}[len(self.axes)]


@lru_cache(maxsize=4096)
def schedule_sweeps(plan: LevelPlan, least_volume: int | None = None) -> tuple[tuple[Sweep, ...], dict[str, str]]:
    """Return the sweeps of a level, and for each key of the plan the key in the order of the sweeps.

    The last two adjacent axes go together, if registers hold what that takes. Integer axes go one by one in the order
    of the plan, because rounding makes the order matter.

    Parameters
    ----------
    plan : LevelPlan
        The level.
    least_volume : int, optional
        If given, the last three axes of the array go together where each of them has so many samples.
    """
    by_axis = dict(zip(plan.axes, plan.plans, strict=True))
    groups: list[tuple[int, ...]] = [(axis,) for axis in plan.axes]
    last = tuple(range(len(plan.shape) - 3, len(plan.shape)))
    if least_volume is not None and _fits_volume([by_axis.get(axis) for axis in last], plan.shape, least_volume):
        groups = [last, *((other,) for other in plan.axes if other not in last)]
    elif plan.plans[0].integer is None:
        for axis in sorted(plan.axes, reverse=True):
            if axis - 1 in by_axis and _fits(by_axis[axis - 1], by_axis[axis]):
                groups = [(axis - 1, axis)] + [(other,) for other in plan.axes if other not in (axis - 1, axis)]
                break
    order = [axis for group in groups for axis in group]
    places = [plan.axes.index(axis) for axis in order]
    keys = {key: "".join(key[place] for place in places) for key in plan.band_shapes}
    sweeps = tuple(Sweep(group, tuple(by_axis[axis] for axis in group)) for group in groups)
    return sweeps, keys


def has_one_sweep(plan: LevelPlan, least_volume: int | None = None) -> bool:
    """Say whether a level is one sweep, whose bands come in the order of the plan, in the precision of the data."""
    sweeps, keys = schedule_sweeps(plan, least_volume)
    return len(sweeps) == 1 and not plan.amplifies and all(key == swept for key, swept in keys.items())


def _fits(vertical: AxisPlan, horizontal: AxisPlan) -> bool:
    """Say whether both axes can go together: the rows that are kept fit into registers, and strips are not all halo."""
    for make_program in (forward_program, inverse_program):
        if make_program(vertical).schedule.depth > 8:
            return False
        schedule = make_program(horizontal).schedule
        if max(-schedule.first, schedule.last) > LANES // 4:
            return False
    return True


def _fits_volume(plans: Sequence[AxisPlan | None], shape: tuple[int, ...], least: int) -> bool:
    """Say whether three axes can go together: lifting steps of short reach, on samples repeated outside as they are."""
    for plan in plans:
        if plan is None or plan.integer is not None or plan.length < least or not repeats_samples(plan):
            return False
        for make_program in (forward_program, inverse_program):
            program = make_program(plan, is_lifting=True)
            if program.taps or program.schedule.depth > 6 or program.schedule.last - program.schedule.first > 8:
                return False
    return shape[-1] * shape[-2] * 8 < _MOST_COUNTED and prod(shape[:-2]) < _MOST_COUNTED


def repeats_samples(plan: AxisPlan) -> bool:
    """Say whether what lies outside the samples is always one of them as it is, or zero."""
    return plan.forward_mode not in ("antisymmetric", "smooth", "antireflect")


def list_band_shapes(sweep: Sweep, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the bands of an array, in the order of the letters."""
    shapes = []
    for letters in sweep.letters:
        band = list(shape)
        for letter, axis, plan in zip(letters, sweep.axes, sweep.plans, strict=True):
            band[axis] = plan.low if letter == "a" else plan.high
        shapes.append(tuple(band))
    return tuple(shapes)


def orient(sweep: Sweep, shape: tuple[int, ...]) -> tuple[AxisPlan | None, AxisPlan | None]:
    """Return which plan runs down the columns and which along the rows."""
    if len(sweep.axes) == 2:
        return sweep.plans[0], sweep.plans[1]
    return (None, sweep.plans[0]) if sweep.axes[0] == len(shape) - 1 else (sweep.plans[0], None)


def lay_out(sweep: Sweep, shape: tuple[int, ...]) -> Layout:
    """Return how the kernel of a sweep sees an array.

    Examples
    --------
    >>> lay_out(Sweep((0, 1), ()), (1080, 1920, 3))
    Layout(outer=1, height=1080, width=1920, inner=3)
    """
    axis = sweep.axes[-2] if len(sweep.axes) > 1 else sweep.axes[0]
    if len(sweep.axes) > 1:
        return Layout(prod(shape[:axis]), shape[axis], shape[axis + 1], prod(shape[axis + 2 :]))
    if axis == len(shape) - 1:
        return Layout(1, prod(shape[:-1]), shape[-1], 1)
    return Layout(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), 1)


def can_align(
    layout: Layout,
    programs: Sequence[AxisProgram | None],
    plans: Sequence[AxisPlan],
    pairs: int,
    direction: str,
) -> bool:
    """Say whether every lane's part of every row begins at a multiple of its own size."""
    horizontal = programs[1]
    if layout.inner > 1 or layout.width % (2 * pairs):
        return False
    if horizontal is None:
        return True
    plan = plans[-1]
    if plan.low % pairs or plan.high % pairs:
        return False
    if direction == "forward":
        return horizontal.even % (2 * pairs) == 0
    return horizontal.even // 2 % pairs == 0 and (horizontal.odd - 1) // 2 % pairs == 0


def tabulate(
    layout: Layout,
    vertical: AxisPlan | None,
    horizontal: AxisPlan | None,
    spec: SweepSpec,
    launch: Launch,
    resident: int,
) -> tuple[Array, Array, Groups]:
    """Return the table of integers, the table of numbers and how many groups to launch."""
    rows = _map_outside(vertical, spec.vertical, spec.direction)
    columns = _map_outside(horizontal, spec.horizontal, spec.direction)
    if spec.direction == "forward":
        steps = vertical.low if vertical else layout.height
        across = horizontal.low if horizontal else layout.width
    else:
        steps = vertical.pairs if vertical else layout.height
        across = horizontal.pairs if horizontal else layout.width
    lane = spec.useful * (spec.pairs if horizontal else spec.columns)
    strips = -(-across // lane)
    images = layout.outer * (layout.inner // spec.channels)
    chunk, chunks, rest = launch.choose_chunks(steps, strips * images, resident)
    parts = chunks + -(-max(0, steps - chunks * chunk) // rest)
    header = (
        images,
        layout.inner,
        layout.height,
        layout.width,
        vertical.low if vertical else layout.height,
        vertical.high if vertical else layout.height,
        horizontal.low if horizontal else layout.width,
        horizontal.high if horizontal else layout.width,
        rows[0],
        rows[1],
        columns[0],
        columns[1],
        strips,
        chunk,
        chunks,
        rest,
    )
    table = np.concatenate([np.array(header), rows[2], columns[2]]).astype(np.int32)
    weights = np.concatenate([rows[3].ravel(), columns[3].ravel(), np.zeros(1)])
    return table, weights, (strips * parts, 1, min(images, 65_535))


def tabulate_volume(
    sweep: Sweep, shape: tuple[int, ...], spec: VolumeSpec, launch: VolumeLaunch, resident: int
) -> tuple[Array, tuple[int, ...], Groups]:
    """Return the map of what lies outside, the numbers that the kernel is told and how many groups to launch."""
    programs = (spec.deep, spec.vertical, spec.horizontal)
    outside = [_map_outside(plan, program, spec.direction) for plan, program in zip(sweep.plans, programs, strict=True)]
    steps, down, across = (plan.low if spec.direction == "forward" else plan.pairs for plan in sweep.plans)
    tiles = spec.count_tiles(across)
    images, rows = prod(shape[:-3]), -(-down // spec.useful_rows)
    chunk, chunks, rest = launch.choose_chunks(
        steps, max(1, tiles * rows * images), max(1, resident), is_single=images == 1
    )
    parts = chunks + -(-max(0, steps - chunks * chunk) // rest)
    told = {"images": images, "chunk": chunk, "chunks": chunks, "rest": rest, "tiles": tiles}
    told |= zip(("depth", "height", "width"), shape[-3:], strict=True)
    for name, plan in zip(("depth", "height", "width"), sweep.plans, strict=True):
        told |= {f"low_{name}": plan.low, f"high_{name}": plan.high}
    for names, side in zip((("front", "back"), ("above", "below"), ("before", "behind")), outside, strict=True):
        told |= zip(names, side[:2], strict=True)
    table = np.concatenate([*(side[2] for side in outside), np.zeros(1)]).astype(np.int32)
    groups = (tiles * rows * spec.groups, parts, min(images, 65_535))
    return table, tuple(told[name] for name in VOLUME_FIELDS), groups


def is_uniform_volume(sweep: Sweep, direction: str) -> bool:
    """Say whether all bands have the same shape and, where samples are stored, they come in whole pairs."""
    plans = sweep.plans
    return all(p.low == p.high and (direction == "forward" or p.length == 2 * p.pairs) for p in plans)


def misses_samples(sweep: Sweep, programs: Sequence[AxisProgram], direction: str) -> bool:
    """Say whether some of what lies outside is none of the samples, but zero, or there may be none to take."""
    outside = [_map_outside(plan, program, direction)[2] for plan, program in zip(sweep.plans, programs, strict=True)]
    return any((index < 0).any() for index in outside) or any(plan.high == 0 for plan in sweep.plans)


def mirrors_samples(plan: AxisPlan, program: AxisProgram, direction: str) -> bool:
    """Say whether an axis goes on at both ends as in a mirror that lies on a sample, and each of its steps keeps that.

    Then the odd member of the first pair stands for the one before it, and the even member of the last pair for the one
    behind it, in each step.
    """
    before, behind, index, _ = _map_outside(plan, program, direction)
    if plan.length % 2 or plan.low != plan.high or (program.even, program.odd) != (0, 1):
        return False
    last = plan.length - 1
    mirror = np.concatenate([np.arange(before, 0, -1), last - np.arange(1, behind + 1)])
    if not np.array_equal(index, mirror) or any(output.shift for output in program.outputs):
        return False
    for entry in program.steps:
        step = entry.step
        if len(step.taps) != 2 or step.taps[0] != step.taps[1] or step.start != (0 if step.target else -1):
            return False
    return bool(program.steps)


def _map_outside(plan: AxisPlan | None, program: AxisProgram | None, direction: str) -> tuple[int, int, Array, Array]:
    """Return how many positions before and behind a sequence are read, and their samples and weights."""
    if plan is None or program is None:
        return 0, 0, np.zeros(0, np.int64), np.zeros((0, 3))
    forward = direction == "forward"
    length, count = (plan.length, plan.low) if forward else (plan.coded, plan.pairs)
    extend: Callable[[int, int], Extension] = plan.extend_samples if forward else plan.extend_coefficients
    first = 2 * program.schedule.first + min(program.even, program.odd)
    stop = 2 * (count - 1 + program.schedule.last) + max(program.even, program.odd) + 1
    before, behind = max(0, -first), max(0, stop - length)
    sides = [extend(-before, 0), extend(length, length + behind)]
    index = np.concatenate([side.index for side in sides])
    weights = np.concatenate([np.stack([side.weight, side.first, side.last], axis=1) for side in sides])
    index = np.where((weights == 0).all(axis=1), -1, index)
    return before, behind, index, weights
