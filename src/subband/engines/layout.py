"""Argument tables of device kernels: sizes of arrays and the map of the boundary extension.

Nothing here touches a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from subband.engines.device import Groups
from subband.kernels.cascade import CascadeSpec
from subband.kernels.dialects import LANES
from subband.kernels.launch import Launch, VolumeLaunch
from subband.kernels.numbers import STORAGES
from subband.kernels.sweep import FIELDS, SweepSpec
from subband.kernels.volume import VOLUME_FIELDS, VolumeSpec
from subband.plan import AxisPlan
from subband.schedule.axis import (
    AxisProgram,
    Mixed,
    axis_program,
    count_outputs,
    find_mixture,
    map_mixed,
    map_outside,
)
from subband.schedule.sweeps import Layout, Sweep
from subband.typing import Array, Direction

__all__ = [
    "can_align",
    "can_cascade",
    "count_mixtures",
    "is_uniform_volume",
    "mirrors_samples",
    "misses_samples",
    "tabulate",
    "tabulate_cascade",
    "tabulate_volume",
]


def can_align(
    layout: Layout,
    programs: Sequence[AxisProgram | None],
    plans: Sequence[AxisPlan],
    pairs: int,
    direction: Direction,
    channels: int = 1,
) -> bool:
    """Return whether every lane's part of every row begins at a multiple of its own size; it has all of `channels`."""
    horizontal = programs[1]
    if layout.inner > channels or layout.width % (2 * pairs):
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
    sides = ((vertical, spec.vertical), (horizontal, spec.horizontal))
    steps = count_outputs(vertical, spec.direction) if vertical else layout.height
    across = count_outputs(horizontal, spec.direction) if horizontal else layout.width
    lane = spec.useful * (spec.pairs if horizontal else spec.columns)
    strips = -(-across // lane)
    images = layout.outer * (layout.inner // spec.channels)
    chunk, chunks, rest = launch.choose_chunks(steps, strips * images, resident)
    parts = chunks + -(-max(0, steps - chunks * chunk) // rest)
    if spec.mixes:
        number = np.float64 if STORAGES[spec.bands].number == "double" else np.float32
        reach, maps, weights = _tabulate_terms([_map_mixed(*side, spec.direction, number) for side in sides])
    else:
        rows, columns = (_map_outside(*side, spec.direction) for side in sides)
        reach, maps = (*rows[:2], *columns[:2], 0, 0, 0, 0), [rows[2], columns[2]]
        weights = np.concatenate([rows[3].ravel(), columns[3].ravel(), np.zeros(1)])
    header = (
        images,
        layout.inner,
        layout.height,
        layout.width,
        vertical.low if vertical else layout.height,
        vertical.high if vertical else layout.height,
        horizontal.low if horizontal else layout.width,
        horizontal.high if horizontal else layout.width,
        *reach[:4],
        strips,
        chunk,
        chunks,
        rest,
        *reach[4:],
    )
    table = np.concatenate([np.array(header), *maps]).astype(np.int32)
    return table, weights, (strips * parts, 1, min(images, 65_535))


def _tabulate_terms(sides: Sequence[Mixed]) -> tuple[tuple[int, ...], list[Array], Array]:
    """Return the fields that say how far mixtures of rows and columns reach, their terms, and the weights."""
    rows, columns = sides
    reach = (rows.before, rows.behind, columns.before, columns.behind, rows.lead, rows.tail, columns.lead, columns.tail)
    maps = [rows.offsets, columns.offsets + rows.offsets[-1], rows.index, columns.index]
    return reach, maps, np.concatenate([rows.weights, columns.weights, np.zeros(1)])


def count_mixtures(table: Array, spec: SweepSpec) -> int:
    """Return how many mixtures the sweep of a table reads, of all images.

    They are the mixed columns of each row, and the mixed rows, behind which come their mixed columns.
    """
    told = dict(zip(FIELDS, map(int, table), strict=False))
    down, across = told["height"], told["width"]
    if spec.direction == "inverse":
        down = told["low_height"] + told["high_height"] if spec.vertical else down
        across = told["low_width"] + told["high_width"] if spec.horizontal else across
    rows = told["above"] + told["lead_rows"] + told["tail_rows"] + told["below"]
    columns = told["before"] + told["lead"] + told["tail"] + told["behind"]
    return (down * columns + rows * (across + columns)) * told["images"] * spec.channels


def _map_mixed(plan: AxisPlan | None, program: AxisProgram | None, direction: Direction, number: type) -> Mixed:
    if plan is None or program is None:
        return Mixed(0, 0, 0, 0, np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return map_mixed(plan, program, direction, number)


def tabulate_volume(
    sweep: Sweep, shape: tuple[int, ...], spec: VolumeSpec, launch: VolumeLaunch, resident: int
) -> tuple[Array, tuple[int, ...], Groups]:
    """Return the boundary map, the arguments of the kernel and how many groups to launch."""
    programs = (spec.deep, spec.vertical, spec.horizontal)
    outside = [_map_outside(plan, program, spec.direction) for plan, program in zip(sweep.plans, programs, strict=True)]
    steps, down, across = (count_outputs(plan, spec.direction) for plan in sweep.plans)
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


#: Channels up to which a lane of two levels has registers for whole pixels.
MOST_PIXEL = 3


def can_cascade(sweeps: Sequence[Sweep], shape: tuple[int, ...], direction: Direction, pairs: int, size: int) -> bool:
    """Return whether one kernel can do these levels of an array, the finest first, with so many pairs in a lane.

    That takes two axes that go on as in a mirror, alike in all levels, and rows that lanes hold whole pieces of.
    `size`: the bytes of an element.
    """
    fine = sweeps[0]
    if any(len(sweep.axes) != 2 or sweep.axes != fine.axes or sweep.form != fine.form for sweep in sweeps):
        return False
    layout, lane = fine.lay_out(shape), 2 * pairs
    # what is loaded ahead comes in words
    if pairs // len(sweeps) * layout.inner * size % 4 or not 1 <= layout.inner <= MOST_PIXEL:
        return False
    # four rows come in together, and offsets have 32 bits
    if layout.height % 4 or layout.height < LANES or layout.width % lane or layout.width < LANES * lane:
        return False
    if layout.height * layout.width * layout.inner * size >= 1 << 32:
        return False
    programs = [[axis_program(plan, direction, sweep.form) for plan in sweep.plans] for sweep in sweeps]
    # a mirror shows only what lies inside: three times the reach is read beyond the last pairs, in twos of them
    down = programs[0][0].schedule
    if layout.height < 8 * max(-down.first, down.last):
        return False
    are_mirrors = all(
        find_mixture(plan, direction) is None and mirrors_samples(plan, program, direction)
        for sweep, own in zip(sweeps, programs, strict=True)
        for plan, program in zip(sweep.plans, own, strict=True)
    )
    return are_mirrors and all(own == programs[0] for own in programs)


def tabulate_cascade(
    layout: Layout, spec: CascadeSpec, launch: Launch, resident: int
) -> tuple[tuple[int, ...], Groups]:
    """Return the arguments of two levels of an array, and how many groups to launch."""
    steps, strips, images = layout.height // 4, spec.count_strips(layout.width), layout.outer
    # whole blocks side by side
    across = -(-strips // spec.block) * spec.block
    chunk, chunks, rest = launch.choose_chunks(steps, across * images, resident)
    parts = chunks + -(-max(0, steps - chunks * chunk) // rest)
    told = (images, layout.height, layout.width, strips, chunk, chunks, rest)
    return told, (across * parts, 1, min(images, 65_535))


def is_uniform_volume(sweep: Sweep, direction: Direction) -> bool:
    """Return whether all bands have the same shape and, where samples are stored, they come in whole pairs."""
    plans = sweep.plans
    return all(p.low == p.high and (direction == "forward" or p.length == 2 * p.pairs) for p in plans)


def misses_samples(sweep: Sweep, programs: Sequence[AxisProgram], direction: Direction) -> bool:
    """Return whether some positions of the boundary extension are zero and not a sample."""
    outside = [_map_outside(plan, program, direction)[2] for plan, program in zip(sweep.plans, programs, strict=True)]
    return any((index < 0).any() for index in outside) or any(plan.high == 0 for plan in sweep.plans)


def mirrors_samples(plan: AxisPlan, program: AxisProgram, direction: Direction) -> bool:
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


def _map_outside(
    plan: AxisPlan | None, program: AxisProgram | None, direction: Direction
) -> tuple[int, int, Array, Array]:
    """Return how many positions before and behind a sequence are read, and their samples, -1 for zero, and weights."""
    if plan is None or program is None:
        return 0, 0, np.zeros(0, np.int64), np.zeros((0, 3))
    outside = map_outside(plan, program, direction)
    index = np.where((outside.weights == 0).all(axis=1), -1, outside.index)
    return outside.before, outside.behind, index, outside.weights
