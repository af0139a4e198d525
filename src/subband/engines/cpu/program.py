"""One axis of a plan as two flat tables that the compiled kernels read.

The integer table holds a header (named below), then one row for each tap of a filter or each operation of a
lifting, then the sample index of every position outside the sequence. The table of numbers, in the dtype of the
data, holds scales, weights and the extension's weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from subband.boundary import Extension
from subband.pairs import PairFilter, PairLifting, PairStep
from subband.plan import AxisPlan
from subband.schedule import schedule_filter, schedule_lifting
from subband.typing import Array
from subband.wavelets.choice import REACH, prefers_lifting
from subband.wavelets.reversible import IntegerScheme

__all__ = ["Program", "forward_program", "identity_program", "inverse_program"]

# Header of the integer table. A pair `n` of outputs needs the pairs n + FIRST … n + LAST of the sequence.
KIND, EVEN, ODD, LENGTH, FIRST, LAST, DEPTH, COUNT = range(8)
P_MEMBER, P_SHIFT, Q_MEMBER, Q_SHIFT = range(8, 12)
LEFT, OUTSIDE, MIXING = 12, 13, 14  # positions before the sequence; where the extension stands in both tables
MIXED = 15  # whether the extension takes part of the first or last sample
FRAME, TONES = 16, 17  # where the table of a frame stands in both tables, 0 if there is none
HEADER = 18

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


@dataclass(frozen=True, eq=False)
class Program:
    """The tables of one axis in one direction."""

    ints: Array
    numbers: Array


@dataclass(frozen=True)
class _Operation:
    """A lifting step of one or two taps: a longer step is several of these."""

    step: PairStep
    rounding: tuple[int, int, int] = (0, 0, 0)


@lru_cache(maxsize=64)
def identity_program(dtype: np.dtype[np.generic]) -> Program:
    """Return the program of an axis that is not transformed."""
    ints = np.zeros(HEADER, np.int64)
    ints[[ODD, DEPTH]] = 1
    return Program(ints, np.ones(NUMBERS, dtype))


@lru_cache(maxsize=4096)
def forward_program(plan: AxisPlan, dtype: np.dtype[np.generic]) -> Program:
    """Return the program that turns samples into coefficients."""
    if plan.integer is not None:
        return _compile_integers(plan.integer, 1, plan.length, plan.low, plan.extend_samples, dtype)
    lifting = plan.forward_lifting if prefers_lifting(plan.wavelet) else None
    return _compile(plan.forward, lifting, plan.length, plan.low, plan.extend_samples, dtype)


@lru_cache(maxsize=4096)
def inverse_program(plan: AxisPlan, dtype: np.dtype[np.generic]) -> Program:
    """Return the program that turns coefficients into samples."""
    if plan.integer is not None:
        return _compile_integers(plan.integer, -1, plan.coded, plan.pairs, plan.extend_coefficients, dtype)
    lifting = plan.inverse_lifting if prefers_lifting(plan.wavelet) else None
    return _compile(plan.inverse, lifting, plan.coded, plan.pairs, plan.extend_coefficients, dtype)


def _compile(
    pair: PairFilter,
    lifting: PairLifting | None,
    length: int,
    count: int,
    extend: Callable[[int, int], Extension],
    dtype: np.dtype[np.generic],
) -> Program:
    if lifting is None:
        return _compile_filter(pair, length, count, extend, dtype)
    operations = [
        _Operation(PairStep(step.target, step.start + k, step.taps[k : k + 2]))
        for step in lifting.steps
        for k in range(0, len(step.taps), 2)
    ]
    return _compile_lifting(lifting, operations, length, count, extend, dtype)


def _compile_filter(
    pair: PairFilter,
    length: int,
    count: int,
    extend: Callable[[int, int], Extension],
    dtype: np.dtype[np.generic],
) -> Program:
    width = pair.width + pair.width % 2  # kernels take taps two, four or eight at a time
    positions = pair.first + np.arange(width)
    rows = np.zeros((width, ROW), np.int64)
    rows[:, 0], rows[:, 1] = positions % 2, positions // 2
    weights = np.zeros((2, width))
    weights[:, : pair.width] = pair.taps
    header = np.zeros(HEADER, np.int64)
    header[[KIND, ODD, COUNT]] = CONVOLUTION, 1, width
    schedule = schedule_filter(PairFilter(pair.first, (tuple(weights[0]), tuple(weights[1]))))
    header[[FIRST, LAST, DEPTH]] = schedule.first, schedule.last, schedule.depth
    return _assemble(header, rows, np.ones(NUMBERS), weights.ravel(), length, count, extend, dtype)


def _compile_integers(
    scheme: IntegerScheme,
    sign: int,
    length: int,
    count: int,
    extend: Callable[[int, int], Extension],
    dtype: np.dtype[np.generic],
) -> Program:
    lifting = PairLifting.from_integers()
    operations = [
        _Operation(
            PairStep(int(step.kind == "predict"), step.start, tuple(map(float, step.taps))),
            (step.offset, step.shift, sign),
        )
        for step in scheme.steps[::sign]
    ]
    return _compile_lifting(lifting, operations, length, count, extend, dtype)


def _compile_lifting(
    lifting: PairLifting,
    operations: list[_Operation],
    length: int,
    count: int,
    extend: Callable[[int, int], Extension],
    dtype: np.dtype[np.generic],
) -> Program:
    steps = [operation.step for operation in operations]
    schedule = schedule_lifting(steps, lifting.outputs)
    rows = np.zeros((len(steps), ROW), np.int64)
    weights = np.zeros((len(steps), WEIGHTS))
    for k, (operation, lag) in enumerate(zip(operations, schedule.lags, strict=True)):
        step = operation.step
        rows[k, [TARGET, LAG, START, TAPS]] = step.target, lag, step.start, len(step.taps)
        weights[k, : len(step.taps)] = step.taps
        weights[k, 2:] = operation.rounding
    if not np.issubdtype(dtype, np.integer):
        _mark_fused(rows)
    p, q = lifting.outputs
    header = np.zeros(HEADER, np.int64)
    header[[KIND, EVEN, ODD, COUNT]] = LIFTING, lifting.even, lifting.odd, len(steps)
    header[[FIRST, LAST, DEPTH]] = schedule.first, schedule.last, schedule.depth
    header[[P_MEMBER, P_SHIFT, Q_MEMBER, Q_SHIFT]] = p.member, p.shift, q.member, q.shift
    scales = np.array([*lifting.scales, p.scale, q.scale])
    return _assemble(header, rows, scales, weights.ravel(), length, count, extend, dtype)


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


def _assemble(
    header: Array,
    rows: Array,
    scales: Array,
    weights: Array,
    length: int,
    count: int,
    extend: Callable[[int, int], Extension],
    dtype: np.dtype[np.generic],
) -> Program:
    """Put the tables together, with the extension for all positions that `count` outputs read outside."""
    start = 2 * header[FIRST] + min(header[EVEN], header[ODD])
    stop = 2 * (count - 1 + header[LAST]) + max(header[EVEN], header[ODD]) + 1
    left, right = max(0, -start), max(0, stop - length)
    sides = [extend(-left, 0), extend(length, length + right)]
    index = np.concatenate([side.index for side in sides])
    mixing = np.concatenate([np.stack([side.weight, side.first, side.last], axis=1) for side in sides])
    header[[LENGTH, LEFT, OUTSIDE, MIXING]] = length, left, HEADER + rows.size, NUMBERS + weights.size
    header[MIXED] = mixing[:, 1:].any()
    return Program(
        np.concatenate([header, rows.ravel(), index]),
        np.concatenate([scales, weights, mixing.ravel()]).astype(dtype),
    )
