"""What a kernel does along one axis: the pair process of a plan, with its schedule, as constants of the text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from subband.pairs import Output, PairStep
from subband.plan import AxisPlan
from subband.schedule import Schedule, schedule_filter, schedule_lifting
from subband.wavelets.choice import prefers_lifting

__all__ = ["AxisProgram", "AxisStep", "Tap", "forward_program", "inverse_program"]


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
    """

    even: int
    odd: int
    scales: tuple[float, float]
    schedule: Schedule
    outputs: tuple[Output, Output]
    steps: tuple[AxisStep, ...] = ()
    taps: tuple[Tap, ...] = ()

    @property
    def factors(self) -> tuple[float, float]:
        """What the two outputs are multiplied with when they are stored."""
        return self.outputs[0].scale, self.outputs[1].scale


_PLAIN = (Output(0, 0, 1.0), Output(1, 0, 1.0))


@lru_cache(maxsize=1024)
def forward_program(plan: AxisPlan, *, is_lifting: bool = False) -> AxisProgram:
    """Return what turns samples into coefficients; in steps if `is_lifting` and the wavelet has good ones."""
    return _make_program(plan, 1, is_lifting=is_lifting)


@lru_cache(maxsize=1024)
def inverse_program(plan: AxisPlan, *, is_lifting: bool = False) -> AxisProgram:
    """Return what turns coefficients into samples; in steps if `is_lifting` and the wavelet has good ones."""
    return _make_program(plan, -1, is_lifting=is_lifting)


def _make_program(plan: AxisPlan, sign: int, *, is_lifting: bool) -> AxisProgram:
    if plan.integer is not None:
        pairs = [
            PairStep(int(step.kind == "predict"), step.start, tuple(map(float, step.taps)))
            for step in plan.integer.steps[::sign]
        ]
        roundings = [(step.offset, step.shift, sign) for step in plan.integer.steps[::sign]]
        schedule = schedule_lifting(pairs, _PLAIN)
        steps = tuple(map(AxisStep, pairs, schedule.lags, roundings))
        return AxisProgram(0, 1, (1.0, 1.0), schedule, _PLAIN, steps)
    lifting = plan.forward_lifting if sign == 1 else plan.inverse_lifting
    # the steps of orthogonal wavelets wait for each other longer than the filters take, and reach farther
    if lifting is not None and prefers_lifting(plan.wavelet) and (is_lifting or not plan.wavelet.orthogonal):
        schedule = schedule_lifting(lifting.steps, lifting.outputs)
        steps = tuple(map(AxisStep, lifting.steps, schedule.lags))
        return AxisProgram(lifting.even, lifting.odd, lifting.scales, schedule, lifting.outputs, steps)
    pair = plan.forward if sign == 1 else plan.inverse
    taps = tuple(
        Tap((pair.first + k) % 2, (pair.first + k) // 2, p, q) for k, (p, q) in enumerate(zip(*pair.taps, strict=True))
    )
    return AxisProgram(0, 1, (1.0, 1.0), schedule_filter(pair), _PLAIN, (), taps)
