"""Lifting steps in whole numbers of which each repeats its own outermost sources: by loops of their own.

The sweeps of other plans extend the samples before the first step, which does not amount to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod

import numpy as np

from subband.compiled import Kernel, Kernels
from subband.engines.threads import run_tasks
from subband.pairs import Output, PairStep
from subband.plan import AxisPlan, LevelPlan
from subband.schedule.steps import StepSchedule, schedule_lifting
from subband.schedule.sweeps import cut_range
from subband.typing import Array, Bands, Direction
from subband.wavelets.reversible import IntegerStep

__all__ = [
    "HEAD",
    "LAG",
    "LOOPS",
    "MOST_TAPS",
    "REACH",
    "merge_level",
    "schedule_steps",
    "split_level",
    "tabulate_steps",
]

#: The loops.
LOOPS = Kernels("subband.engines.cpu.lifting_loops")

#: Columns of the table of steps before the weights, and the weights that there is room for.
HEAD, MOST_TAPS = 6, 8

#: The last of these columns: how many pairs of rows a step runs behind the newest.
LAG = 5

#: How far a step reads beyond the ends.
REACH = 4

# Numbers of one task.
_TOGETHER = 1 << 16

_OUTPUTS = Output(0, 0, 1.0), Output(1, 0, 1.0)


@lru_cache(maxsize=64)
def schedule_steps(steps: tuple[IntegerStep, ...], direction: Direction) -> StepSchedule:
    """Return how closely steps of the forward transform follow each other in a direction."""
    ordered = steps if direction == "forward" else steps[::-1]
    pairs = [PairStep(int(step.kind == "predict"), step.start, tuple(map(float, step.taps))) for step in ordered]
    return schedule_lifting(pairs, _OUTPUTS)


@lru_cache(maxsize=64)
def tabulate_steps(steps: tuple[IntegerStep, ...], direction: Direction, dtype: str) -> Array:
    """Return steps in the order in which a direction runs them.

    Parameters
    ----------
    steps : tuple of IntegerStep
        Of the forward transform.
    direction : {"forward", "inverse"}
        Which way they run.
    dtype : str
        Of the numbers that they run on.

    Examples
    --------
    >>> steps = IntegerStep("predict", 0, (-1, -1), 0, 1), IntegerStep("update", -1, (1, 1), 2, 2)
    >>> tabulate_steps(steps, "inverse", "int32")[:, :8].tolist()
    [[0, -1, 2, 2, 2, 0, 1, 1], [1, 0, 2, 0, 1, 1, -1, -1]]
    """
    ordered = steps if direction == "forward" else steps[::-1]
    lags = schedule_steps(steps, direction).lags
    table = np.zeros((len(ordered), HEAD + MOST_TAPS), dtype)
    for row, step, lag in zip(table, ordered, lags, strict=True):
        row[:HEAD] = step.kind == "predict", step.start, len(step.taps), step.offset, step.shift, lag
        row[HEAD : HEAD + len(step.taps)] = step.taps
    table.flags.writeable = False
    return table


def split_level(plan: LevelPlan, x: Array) -> Bands:
    """Transform one level of whole numbers, one axis after the other in the order of the plan."""
    bands = {"": x}
    for axis, own in zip(plan.axes, plan.plans, strict=True):
        split: Bands = {}
        for key, band in bands.items():
            split[key + "a"], split[key + "d"] = _split(own, band, axis)
        bands = split
    return bands


def merge_level(plan: LevelPlan, bands: Bands) -> Array:
    """Undo `split_level`."""
    for axis, own in reversed([*zip(plan.axes, plan.plans, strict=True)]):
        keys = dict.fromkeys(key[:-1] for key in bands)
        bands = {key: _merge(own, bands[key + "a"], bands[key + "d"], axis) for key in keys}
    return bands[""]


def _split(plan: AxisPlan, x: Array, axis: int) -> tuple[Array, Array]:
    assert plan.integer is not None
    table = tabulate_steps(plan.integer.steps, "forward", x.dtype.name)
    if axis == x.ndim - 1:
        # copied, so that loops for arrays that can be written to serve
        samples, made, rows = x.reshape(-1).copy(), np.empty(x.size, x.dtype), x.size // plan.length
        sizes = 0, plan.length, rows, plan.length, 0, plan.integer.shift
        _run(lambda a, b: LOOPS.forward_rows(samples, *sizes, made, 0, plan.length, table, a, b), rows, plan.length)
        low, high = np.split(made.reshape(x.shape), 2, axis=-1)
        return low.copy(), high.copy()
    made = np.left_shift(x, plan.integer.shift, order="C")
    _lift_columns(LOOPS.forward_columns, made, axis, table)
    around = (slice(None),) * axis
    return made[(*around, slice(0, None, 2))].copy(), made[(*around, slice(1, None, 2))].copy()


def _merge(plan: AxisPlan, low: Array, high: Array, axis: int) -> Array:
    assert plan.integer is not None
    table, shift = tabulate_steps(plan.integer.steps, "inverse", low.dtype.name), plan.integer.shift
    shape = (*low.shape[:axis], plan.length, *low.shape[axis + 1 :])
    if axis == low.ndim - 1:
        coefficients = np.concatenate([low, high], axis=-1).reshape(-1)
        made, rows, most = np.empty_like(coefficients), low.size // plan.low, int(np.iinfo(low.dtype).max)
        goal = made, 0, plan.length, plan.length, shift, -most - 1, most, 0
        _run(lambda a, b: LOOPS.inverse_rows(coefficients, 0, plan.length, table, *goal, a, b), rows, plan.length)
        return made.reshape(shape)
    made = np.stack([low, high], axis=axis + 1).reshape(shape)
    _lift_columns(LOOPS.inverse_columns, made, axis, table)
    return made + ((1 << shift) >> 1) >> shift


def _lift_columns(kernel: Kernel, x: Array, axis: int, table: Array) -> None:
    """Run steps in place along an axis that is not the last."""
    rows, width = x.shape[axis], prod(x.shape[axis + 1 :])
    flat = x.reshape(-1)
    for image in range(prod(x.shape[:axis])):
        begin = image * rows * width
        _run(partial(kernel, flat, begin, width, rows, table), width, rows)


def _run(work: Callable[[int, int], object], count: int, size: int) -> None:
    """Share rows or columns of some size among threads."""
    run_tasks(work, cut_range(count, max(count * size // _TOGETHER, 1)))
