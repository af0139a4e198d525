"""The program of a sweep along one axis: lifting steps or filter taps as an engine runs them, and its borders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from subband.boundary import Extension, Mixture
from subband.pairs import Output, PairFilter, PairLifting, PairStep
from subband.plan import AxisPlan
from subband.schedule.steps import StepSchedule, schedule_filter, schedule_lifting
from subband.typing import Array, Direction
from subband.wavelets.choice import prefers_lifting

__all__ = [
    "PLAIN",
    "AxisProgram",
    "AxisStep",
    "Form",
    "Mixed",
    "Outside",
    "Tap",
    "axis_program",
    "count_outputs",
    "find_mixture",
    "map_mixed",
    "map_outside",
]


@dataclass(frozen=True)
class Form:
    """How an engine runs a pair process: which wavelets are lifted, and how steps and filters are cut.

    Attributes
    ----------
    lifts_orthogonal : bool
        Whether orthogonal wavelets that have good lifting steps are lifted too, or convolved: their steps wait for
        each other longer than the filters take, and reach farther.
    step_taps : int or None
        The most taps of a step; a longer one is cut into several. None if a step has as many as it likes.
    tap_multiple : int
        Filters are filled up with zeros to a multiple of so many taps.
    """

    lifts_orthogonal: bool = False
    step_taps: int | None = None
    tap_multiple: int = 1


#: Filters as they are, and steps for wavelets that are not orthogonal.
PLAIN = Form()


@dataclass(frozen=True)
class AxisStep:
    """A lifting step; `rounding` is None, or offset, shift and sign of a step in whole numbers."""

    step: PairStep
    lag: int
    rounding: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Tap:
    """One pair of filter taps: what output ``p`` and output ``q`` number 0 take of a member of pair number `pair`."""

    member: int
    pair: int
    p: float
    q: float


@dataclass(frozen=True)
class AxisProgram:
    """The pair process along one axis: either `steps` or `taps`.

    Attributes
    ----------
    even, odd : int
        Pair ``m`` is made of positions ``2 m + even`` and ``2 m + odd``.
    scales : pair of float
        What even and odd members are multiplied with when they are loaded.
    outputs : pair of Output
        What is stored, for lifting.
    shift : int
        Bits by which whole numbers are shifted up before the steps, or rounded down after those of the inverse.
    repeats_sources : bool
        Whether each step repeats the outermost of its own sources; see `subband.wavelets.reversible.IntegerScheme`.
    """

    even: int
    odd: int
    scales: tuple[float, float]
    schedule: StepSchedule
    outputs: tuple[Output, Output]
    steps: tuple[AxisStep, ...] = ()
    taps: tuple[Tap, ...] = ()
    shift: int = 0
    repeats_sources: bool = False

    @property
    def factors(self) -> tuple[float, float]:
        """What the two outputs are multiplied with when they are stored."""
        return self.outputs[0].scale, self.outputs[1].scale


@dataclass(frozen=True, eq=False)
class Outside:
    """The positions that a sweep reads outside a sequence: first those before it, then those behind.

    Attributes
    ----------
    before, behind : int
        How many there are.
    index : ndarray
        The sample of each.
    weights : ndarray
        Three of each: of that sample, of the first of all samples and of the last.
    """

    before: int
    behind: int
    index: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Mixed:
    """The positions at both ends of a sequence, and outside, that are mixtures of its numbers.

    Attributes
    ----------
    before, lead : int
        How many there are before the sequence, and at its beginning.
    tail, behind : int
        How many there are at its end, and behind it.
    offsets : ndarray
        Where the terms of each position begin, those at the beginning first; and the number of all terms.
    index, weights : ndarray
        Of each term the number of the sequence, and its weight.
    """

    before: int
    lead: int
    tail: int
    behind: int
    offsets: Array
    index: Array
    weights: Array


_PLAIN = (Output(0, 0, 1.0), Output(1, 0, 1.0))


@lru_cache(maxsize=2048)
def axis_program(plan: AxisPlan, direction: Direction, form: Form = PLAIN) -> AxisProgram:
    """Return the program that turns samples into coefficients, or back.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = axis_plan(Wavelet("db2"), "symmetric", 9)
    >>> len(axis_program(plan, "forward").taps), len(axis_program(plan, "forward", Form(lifts_orthogonal=True)).steps)
    (4, 3)
    """
    if plan.integer is not None:
        return _round_steps(plan, 1 if direction == "forward" else -1)
    lifting = plan.forward_lifting if direction == "forward" else plan.inverse_lifting
    if lifting is not None and prefers_lifting(plan.wavelet) and (form.lifts_orthogonal or not plan.wavelet.orthogonal):
        return _lift(lifting, form)
    return _filter(plan.forward if direction == "forward" else plan.inverse, form)


def _round_steps(plan: AxisPlan, sign: int) -> AxisProgram:
    assert plan.integer is not None
    integers = plan.integer.steps[::sign]
    steps = [PairStep(int(step.kind == "predict"), step.start, tuple(map(float, step.taps))) for step in integers]
    roundings = [(step.offset, step.shift, sign) for step in integers]
    schedule = schedule_lifting(steps, _PLAIN)
    entries = tuple(map(AxisStep, steps, schedule.lags, roundings))
    shift, repeats = plan.integer.shift, plan.integer.repeats_sources
    return AxisProgram(0, 1, (1.0, 1.0), schedule, _PLAIN, entries, (), shift, repeats)


def _lift(lifting: PairLifting, form: Form) -> AxisProgram:
    steps = [
        PairStep(step.target, step.start + k, step.taps[k : k + most])
        for step in lifting.steps
        for most in [form.step_taps or len(step.taps)]
        for k in range(0, len(step.taps), most)
    ]
    schedule = schedule_lifting(steps, lifting.outputs)
    entries = tuple(map(AxisStep, steps, schedule.lags))
    return AxisProgram(lifting.even, lifting.odd, lifting.scales, schedule, lifting.outputs, entries)


def _filter(pair: PairFilter, form: Form) -> AxisProgram:
    zeros = (0.0,) * (-pair.width % form.tap_multiple)
    pair = PairFilter(pair.first, (pair.taps[0] + zeros, pair.taps[1] + zeros))
    taps = tuple(
        Tap((pair.first + k) % 2, (pair.first + k) // 2, p, q) for k, (p, q) in enumerate(zip(*pair.taps, strict=True))
    )
    return AxisProgram(0, 1, (1.0, 1.0), schedule_filter(pair), _PLAIN, (), taps)


def count_outputs(plan: AxisPlan, direction: Direction) -> int:
    """Return how many pairs of outputs there are along an axis, the last one perhaps half."""
    return plan.low if direction == "forward" else plan.pairs


def map_outside(plan: AxisPlan, program: AxisProgram, direction: Direction) -> Outside:
    """Return what is read outside a sequence of samples, or of low and high coefficients in turn.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = axis_plan(Wavelet("cdf53"), "whole", 8)
    >>> map_outside(plan, axis_program(plan, "forward"), "forward").index.tolist()
    [2, 1, 6, 5]
    """
    length, extend = _find_sequence(plan, direction)
    before, behind = _reach_outside(plan, program, direction)
    sides = [extend(-before, 0), extend(length, length + behind)]
    return Outside(
        before,
        behind,
        np.concatenate([side.index for side in sides]),
        np.concatenate([np.stack([side.weight, side.first, side.last], axis=1) for side in sides]),
    )


def find_mixture(plan: AxisPlan, direction: Direction) -> Mixture | None:
    """Return what is made of the sequence that is read, if it is that of an adjoint."""
    return plan.sample_mixture if direction == "forward" else plan.coefficient_mixture


def map_mixed(
    plan: AxisPlan, program: AxisProgram, direction: Direction, dtype: np.dtype[Any] | type = np.float64
) -> Mixed:
    """Return what is read at the ends of a sequence that an adjoint mixes, and outside, by numbers of some dtype.

    Examples
    --------
    >>> from subband.plan import level_plan
    >>> from subband.schedule.adjoint import transpose_forward
    >>> from subband.wavelets import Wavelet
    >>> (plan,) = transpose_forward(level_plan((64,), (0,), (Wavelet("db2"),), ("symmetric",))).plans
    >>> mixed = map_mixed(plan, axis_program(plan, "inverse"), "inverse")
    >>> mixed.before, mixed.lead, mixed.tail, mixed.behind
    (0, 4, 4, 0)
    """
    mixture = find_mixture(plan, direction) or _NO_MIXTURE
    # banks that are not quite perfect have many small terms, which single precision does not see
    used = abs(mixture.weights) > np.finfo(dtype).eps / 16
    mixture = Mixture(mixture.rows[used], mixture.columns[used], mixture.weights[used])
    length, extend = _find_sequence(plan, direction)
    before, behind = _reach_outside(plan, program, direction)
    # what is mixed lies on both sides of the widest gap
    rows = np.concatenate([[-1], np.unique(mixture.rows), [length]])
    gap = int(np.argmax(np.diff(rows)))
    lead, tail = int(rows[gap]) + 1, length - int(rows[gap + 1])
    sides = [extend(-before, lead), extend(length - tail, length + behind)]
    source = np.concatenate([side.index for side in sides])
    is_used = np.concatenate([side.weight for side in sides]) != 0
    begin, end = (np.searchsorted(mixture.rows, source, side) for side in ("left", "right"))
    counts = np.where(is_used, end - begin + 1, 0)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    # each position is the number that it repeats, and what is added to that
    turn = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    index, weights = np.repeat(source, counts), np.ones(offsets[-1])
    added = turn > 0
    term = (np.repeat(begin, counts) + turn - 1)[added]
    index[added], weights[added] = mixture.columns[term], mixture.weights[term]
    return Mixed(before, lead, tail, behind, offsets, index, weights)


_NO_MIXTURE = Mixture(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def _find_sequence(plan: AxisPlan, direction: Direction) -> tuple[int, Callable[[int, int], Extension]]:
    """Return the length of what is read, and how it goes on outside."""
    return (plan.length, plan.extend_samples) if direction == "forward" else (plan.coded, plan.extend_coefficients)


def _reach_outside(plan: AxisPlan, program: AxisProgram, direction: Direction) -> tuple[int, int]:
    """Return how many positions are read before and behind a sequence."""
    length, _ = _find_sequence(plan, direction)
    first = 2 * program.schedule.first + min(program.even, program.odd)
    last = 2 * (count_outputs(plan, direction) - 1 + program.schedule.last) + max(program.even, program.odd)
    return max(0, -first), max(0, last + 1 - length)
