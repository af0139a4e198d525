"""The schedule of lifting steps and filters: by how many pairs each lags, so that one sweep runs them all.

A sweep reads one pair after the other. A step cannot run on the newest pair before its sources are there, so it lags
some pairs behind; outputs leave the sweep after the last step. Engines of every kind follow the same schedule,
whether the pairs are rows in a cache or registers of a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from subband.pairs import Output, PairFilter, PairStep

__all__ = ["StepSchedule", "schedule_filter", "schedule_lifting"]


@dataclass(frozen=True)
class StepSchedule:
    """The order of one sweep.

    Attributes
    ----------
    first, last : int
        Outputs number ``n`` need the pairs ``n + first`` to ``n + last``, and are ready when the latter has come in.
    depth : int
        How many pairs, the newest included, have to be kept.
    lags : tuple of int
        How many pairs behind the newest each step runs.
    """

    first: int
    last: int
    depth: int
    lags: tuple[int, ...] = ()


def schedule_filter(pair: PairFilter) -> StepSchedule:
    """Schedule two filters: all pairs under them have to be there.

    Examples
    --------
    >>> schedule_filter(PairFilter(-2, ((1.0, 2.0, 3.0), (0.0, 1.0, 0.0))))
    StepSchedule(first=-1, last=0, depth=2, lags=())
    """
    first, last = pair.first // 2, (pair.first + pair.width - 1) // 2
    return StepSchedule(first, last, last - first + 1)


def schedule_lifting(steps: Sequence[PairStep], outputs: tuple[Output, Output]) -> StepSchedule:
    """Schedule lifting steps.

    Examples
    --------
    >>> steps = [PairStep(1, 0, (-0.5, -0.5)), PairStep(0, -1, (0.25, 0.25))]
    >>> schedule_lifting(steps, (Output(0, 0, 1.0), Output(1, 0, 1.0)))
    StepSchedule(first=-1, last=1, depth=3, lags=(1, 1))
    """
    lags = _find_lags(steps)
    first, last = _find_reach(steps, outputs)
    oldest = 0
    finished = [0, 0]
    for step, lag in zip(steps, lags, strict=True):
        finished[step.target] = lag
        oldest = max(oldest, lag - min(step.start, 0))
    last = max(last, *(output.shift + finished[output.member] for output in outputs))
    depth = max(oldest, *(last - output.shift for output in outputs)) + 1
    return StepSchedule(first, last, depth, lags)


def _find_lags(steps: Sequence[PairStep]) -> tuple[int, ...]:
    """Return how many pairs behind the newest one each step runs.

    A step must find its sources finished by the steps before it, and must not be overtaken by a later step that
    changes a source it has yet to read.
    """
    lags: list[int] = []
    for step in steps:
        lag = max(0, step.start + len(step.taps) - 1)
        for other, other_lag in zip(steps, lags, strict=False):
            if other.target == step.target:
                lag = max(lag, other_lag)
            else:
                lag = max(lag, other_lag + step.start + len(step.taps) - 1, other_lag - other.start)
        lags.append(lag)
    return tuple(lags)


def _find_reach(steps: Sequence[PairStep], outputs: tuple[Output, Output]) -> tuple[int, int]:
    """Return the first and last pair that outputs number 0 depend on."""
    low, high = [0, 0], [0, 0]
    for member in (0, 1):
        shifts = [output.shift for output in outputs if output.member == member]
        low[member], high[member] = min(shifts), max(shifts)
    for step in reversed(steps):
        source = 1 - step.target
        low[source] = min(low[source], low[step.target] + step.start)
        high[source] = max(high[source], high[step.target] + step.start + len(step.taps) - 1)
    return min(low), max(high)
