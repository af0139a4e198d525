"""One axis of a plan as two flat tables that the compiled kernels read.

The integer table holds a header (named below), then one row for each tap of a filter or each operation of a
lifting, then the sample index of every position outside the sequence, then the mixtures of an adjoint. The table of
numbers, in the dtype of the data, holds scales, weights, the extension's weights and those of mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from subband.engines.abilities import CPU
from subband.engines.cpu.ladders import name_ladder, read_ladder
from subband.plan import AxisPlan
from subband.schedule.axis import AxisProgram, Form, Mixed, axis_program, find_mixture, map_mixed, map_outside
from subband.typing import Array, Direction
from subband.wavelets.choice import REACH

__all__ = ["Program", "identity_program", "tabulate_program"]

# Header of the integer table. A pair `n` of outputs needs the pairs n + FIRST … n + LAST of the sequence.
KIND, EVEN, ODD, LENGTH, FIRST, LAST, DEPTH, COUNT = range(8)
P_MEMBER, P_SHIFT, Q_MEMBER, Q_SHIFT = range(8, 12)
LEFT, OUTSIDE, MIXING = 12, 13, 14  # positions before the sequence; where the extension stands in both tables
MIXED = 15  # whether the extension takes part of the first or last sample
FRAME, TONES = 16, 17  # where the table of a frame stands in both tables, 0 if there is none
BEGIN, END = 18, 19  # the positions that are read as they are; others are outside, or mixtures
RIGHT = 20  # which entry of the extension, or which mixture, belongs to the first position behind those
MIXTURE, MIXTURE_ROOM = 21, 22  # where the blocks of mixtures stand, 0 if there are none; room for all mixtures
AGE_EVEN, AGE_ODD = 23, 24  # how many pairs behind the newest the rows are that a tick takes
KEPT, STAGES = 25, 26  # rows of the state that it keeps for each output along the rows; vectors that it is ahead
BESIDE = 27  # pairs before and behind its own of which a tick keeps rows too, if it goes down the columns first
REPEATS = 28  # whether each number outside is one of the sequence as it is
HEADER = 29

# Mixtures come in blocks of so many positions. A row of the integer table for each: how many numbers of the sequence it
# is made of, a multiple of eight, and where these, and their weights for all positions, stand in the two tables.
BLOCK = 16
BLOCK_COUNT, BLOCK_INDEX, BLOCK_WEIGHTS = range(3)
BLOCK_ROW = 3

# Pairs of columns of which the rows of a state are made: whole vectors, of any kind.
WHOLE = 16

# What KIND says.
IDENTITY, CONVOLUTION, LIFTING = range(3)

# A row of the integer table: one tap of a filter (member, pair), or one lifting operation.
TARGET, LAG, START, TAPS, FUSED = range(5)
ROW = 5

# Header of the table of numbers: what even and odd members are multiplied by when loaded, and outputs when stored.
SCALE_EVEN, SCALE_ODD, SCALE_P, SCALE_Q = range(4)
NUMBERS = 4

# How far a lifting step may reach beyond the members of a row: the kernels leave that much room.
MARGIN = REACH

# The integer table of a frame: the address of the loop that passes over pixels, or 0 if the sweep does not touch them;
# that of the pixels, and the bytes of one; the channels and size of the frame; the address of the loop that shrinks.
FRAME_TABLE = 7
PIXELS, ADDRESS, BYTES, CHANNELS, HEIGHT, WIDTH, SHRINK = range(FRAME_TABLE)

# The table of numbers of a frame: a matrix that changes colours; then for each band ad, da, dd of each channel both
# thresholds, steepness and gain.
VALUES = 9
THRESHOLDS = 4

# A row of the table of numbers: two weights, or for integers two weights, an offset, a shift and a sign.
WEIGHTS = 5

# A job: one kernel over some arrays. A kernel takes the addresses of five arrays, of two tables of integers with one of
# numbers each, of the sizes, and of the box to compute: first and last image, row and column.
# In the table of a job an array is the number of one that is given, and the bytes before it begins. A job for several
# threads has many boxes, and their address instead of one.
KERNEL = 0
ARRAYS, OFFSETS, TABLES, SIZES, BOX, BOXES, BOX_COUNT = 1, 6, 11, 15, 24, 30, 31
JOB = 32

# The sizes: of samples, and of the bands that are low or high down the rows and along them; columns done at a time, and
# the pair of rows with which the arrays begin; the address of a tick, or 0 where steps run one by one.
ROWS, COLUMNS, LOW_ROWS, HIGH_ROWS, LOW_COLUMNS, HIGH_COLUMNS, STRIP, BASE, TICK = range(9)
TAP_COUNT = 2  # of an undecimated level, which has no bands of other sizes


@dataclass(frozen=True, eq=False)
class Program:
    """The tables of one axis in one direction, and the name of its ladder if it has one."""

    ints: Array
    numbers: Array
    ladder: str = ""


@lru_cache(maxsize=64)
def identity_program(dtype: np.dtype[np.generic]) -> Program:
    """Return the program of an axis that is not transformed."""
    ints = np.zeros(HEADER, np.int64)
    ints[[ODD, DEPTH]] = 1
    return Program(ints, np.ones(NUMBERS, dtype))


@lru_cache(maxsize=8192)
def tabulate_program(
    plan: AxisPlan, direction: Direction, dtype: np.dtype[np.generic], form: Form = CPU.form
) -> Program:
    """Return the program that turns samples into coefficients, or back."""
    program = axis_program(plan, direction, form)
    rows, weights = _tabulate_taps(program) if program.taps else _tabulate_steps(program)
    if program.steps and not np.issubdtype(dtype, np.integer):
        _mark_fused(rows)
    outside = map_outside(plan, program, direction)
    schedule, (p, q) = program.schedule, program.outputs
    header = np.zeros(HEADER, np.int64)
    header[[KIND, EVEN, ODD, COUNT]] = CONVOLUTION if program.taps else LIFTING, program.even, program.odd, len(rows)
    header[[FIRST, LAST, DEPTH]] = schedule.first, schedule.last, schedule.depth
    header[[P_MEMBER, P_SHIFT, Q_MEMBER, Q_SHIFT]] = p.member, p.shift, q.member, q.shift
    header[LENGTH] = plan.length if direction == "forward" else plan.coded
    header[[LEFT, OUTSIDE, MIXING]] = outside.before, HEADER + rows.size, NUMBERS + weights.size
    header[MIXED] = outside.weights[:, 1:].any()
    header[REPEATS] = find_mixture(plan, direction) is None and (outside.weights == (1, 0, 0)).all()
    header[[BEGIN, END, RIGHT]] = 0, header[LENGTH], outside.before
    ladder = name_ladder(program, direction)
    if ladder:
        climbed = read_ladder(ladder)
        header[[AGE_EVEN, AGE_ODD, KEPT, STAGES]] = *climbed.arrivals, climbed.kept, climbed.stages
        if climbed.is_rounded and direction == "forward":
            # a vector before, and as many behind as there are stages, one more for the last that is not whole
            header[BESIDE] = WHOLE * (climbed.stages + 1)
    ints: list[Array] = [header, rows.ravel(), outside.index]
    scales = np.array([*program.scales, *program.factors])
    numbers: list[Array] = [scales, weights.ravel(), outside.weights.ravel()]
    if find_mixture(plan, direction) is not None:
        mixed = map_mixed(plan, program, direction, dtype)
        blocks = _cut_mixtures(mixed)
        left = -(-(mixed.before + mixed.lead) // BLOCK) * BLOCK
        header[[BEGIN, END, RIGHT]] = mixed.lead, header[LENGTH] - mixed.tail, left
        header[[MIXTURE, MIXTURE_ROOM]] = sum(map(len, ints)), BLOCK * len(blocks)
        index = np.cumsum([header[MIXTURE] + BLOCK_ROW * len(blocks), *(len(block.sources) for block in blocks)])
        offset = np.cumsum([sum(map(len, numbers)), *(block.weights.size for block in blocks)])
        ints += [np.array([[len(b.sources), i, n] for b, i, n in zip(blocks, index, offset, strict=False)]).ravel()]
        ints += [block.sources for block in blocks]
        numbers += [block.weights.ravel() for block in blocks]
    return Program(np.concatenate(ints), np.concatenate(numbers).astype(dtype), ladder)


class _Block(NamedTuple):
    """Neighbouring mixtures: the numbers of the sequence that they are made of, and the weights of each in all."""

    sources: Array
    weights: Array


def _cut_mixtures(mixed: Mixed) -> list[_Block]:
    """Return the blocks of the mixtures at the beginning, then those at the end."""
    blocks = []
    positions, border = len(mixed.offsets) - 1, mixed.before + mixed.lead
    entries = np.repeat(np.arange(positions), np.diff(mixed.offsets))
    for begin, end in ((0, border), (border, positions)):
        for first in range(begin, end, BLOCK):
            terms = slice(mixed.offsets[first], mixed.offsets[min(first + BLOCK, end)])
            index, row = np.unique(mixed.index[terms], return_inverse=True)
            # filled up with what takes part anyway; mixtures of nothing are zeros
            filled = np.concatenate([index, [0]])[:1].repeat(-len(index) % 8 or 8 * (len(index) == 0))
            index = np.concatenate([index, filled])
            weights = np.zeros((len(index), BLOCK))
            np.add.at(weights, (row, entries[terms] - first), mixed.weights[terms])
            blocks.append(_Block(index, weights))
    return blocks


def _tabulate_taps(program: AxisProgram) -> tuple[Array, Array]:
    rows = np.zeros((len(program.taps), ROW), np.int64)
    rows[:, :2] = [(tap.member, tap.pair) for tap in program.taps]
    return rows, np.array([[tap.p for tap in program.taps], [tap.q for tap in program.taps]])


def _tabulate_steps(program: AxisProgram) -> tuple[Array, Array]:
    rows = np.zeros((len(program.steps), ROW), np.int64)
    weights = np.zeros((len(program.steps), WEIGHTS))
    for k, entry in enumerate(program.steps):
        step = entry.step
        rows[k, [TARGET, LAG, START, TAPS]] = step.target, entry.lag, step.start, len(step.taps)
        weights[k, : len(step.taps)] = step.taps
        weights[k, 2:] = entry.rounding or (0, 0, 0)
    return rows, weights


def _mark_fused(rows: Array) -> None:
    """Mark the steps that can run in one loop with the next: its last tap reads what they have just computed."""
    k = 0
    while k + 1 < len(rows):
        step, then = rows[k], rows[k + 1]
        fresh = then[START] + then[TAPS] - 1 - then[LAG] == -step[LAG]
        if then[TARGET] != step[TARGET] and fresh:
            step[FUSED] = 1
            k += 1
        k += 1
