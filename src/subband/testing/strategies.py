"""Hypothesis strategies: wavelets, modes, shapes, arrays, and plans with the arrays that they take.

A case is small (thousands of samples), but its shape is any: one to three transformed axes of 1 to 70 samples in any
order, with other axes before, between and behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
from hypothesis import strategies as st

from subband.plan import AxisPlan, LevelPlan, level_plan
from subband.stationary import StationaryAxisPlan, StationaryPlan, stationary_plan
from subband.testing.samples import LAYOUTS, Pattern, all_wavelets, allowed_modes, as_layout, draw_samples
from subband.typing import COMPUTED, Array
from subband.wavelets import Wavelet, as_wavelet

__all__ = [
    "Frame",
    "LevelCase",
    "StationaryCase",
    "frames",
    "level_cases",
    "modes",
    "reversible_cases",
    "samples",
    "stationary_cases",
    "wavelets",
]

P = TypeVar("P", LevelPlan, StationaryPlan)

#: Samples of a case at most: the reference engine takes its time.
LARGEST = 6000

#: The longest transformed axis.
LONGEST = 70

_PATTERNS: tuple[Pattern, ...] = ("noise", "ramp", "impulse", "constant", "alternating")


def wavelets(*, perfect: bool = False, orthogonal: bool = False) -> st.SearchStrategy[Wavelet]:
    """Draw discrete wavelets.

    Parameters
    ----------
    perfect : bool
        Leave out ``dmey``, which does not reconstruct perfectly.
    orthogonal : bool
        Only orthogonal ones.
    """
    chosen = [
        wavelet
        for wavelet in all_wavelets()
        if not (perfect and wavelet.name == "dmey") and (wavelet.orthogonal or not orthogonal)
    ]
    return st.sampled_from(chosen)


def modes(wavelet: Wavelet) -> st.SearchStrategy[str]:
    """Draw boundary modes that `wavelet` can take."""
    return st.sampled_from(allowed_modes(wavelet))


@dataclass(frozen=True)
class Frame:
    """Where a transform happens: the shape of an array, and which of its axes are transformed."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]


@st.composite
def frames(draw: st.DrawFn, most_axes: int = 3, step: int = 1) -> Frame:
    """Draw shapes with one to `most_axes` axes to transform, in any order, and up to two others.

    Transformed lengths are multiples of `step`.
    """
    count = draw(st.integers(1, most_axes))
    others = draw(st.integers(0, 2))
    lengths: list[int] = []
    for _ in range(count):
        room = max(LARGEST // max(prod(lengths), 1), step)
        lengths.append(step * draw(st.integers(1, min(LONGEST, room) // step)))
    lengths += [draw(st.integers(1, 3)) for _ in range(others)]
    order = draw(st.permutations(range(count + others)))
    shape = [0] * (count + others)
    for axis, length in zip(order, lengths, strict=True):
        shape[axis] = length
    return Frame(tuple(shape), tuple(order[:count]))


@st.composite
def samples(
    draw: st.DrawFn,
    shape: tuple[int, ...],
    dtypes: Sequence[str] = COMPUTED,
    layouts: Sequence[str] = LAYOUTS,
) -> Array:
    """Draw arrays of `shape`: noise and patterns, of any size of numbers, in any layout."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    x = draw_samples(shape, dtype, draw(st.integers(0, 2**16)), draw(st.sampled_from(_PATTERNS)))
    if dtype.kind in "fc":
        x = (x * 10.0 ** draw(st.integers(-6, 6))).astype(dtype)
    return as_layout(x, draw(st.sampled_from(layouts)))


class _Case(Generic[P]):
    """A level of any kind, and an array for it."""

    def __init__(self, plan: P, x: Array) -> None:
        self.plan: P = plan
        self.x = x

    @staticmethod
    def _describe(plan: Any) -> str:
        """Say of the transform along an axis what is not its wavelet."""
        raise NotImplementedError

    @property
    def wavelets(self) -> tuple[Wavelet, ...]:
        """The wavelet of each axis."""
        return tuple(plan.wavelet for plan in self.plan.plans)

    def __repr__(self) -> str:
        axes = ", ".join(
            f"axis {axis}: {plan.wavelet.name!r} {self._describe(plan)}"
            for axis, plan in zip(self.plan.axes, self.plan.plans, strict=True)
        )
        return f"<{self.x.dtype} {self.plan.shape} of strides {self.x.strides}; {axes}>"


class LevelCase(_Case[LevelPlan]):
    """One level, and an array for it."""

    @staticmethod
    def _describe(plan: AxisPlan) -> str:
        return repr(plan.mode)


@st.composite
def level_cases(
    draw: st.DrawFn, dtypes: Sequence[str] = COMPUTED, *, perfect: bool = False, layouts: Sequence[str] = LAYOUTS
) -> LevelCase:
    """Draw levels with a wavelet and a mode for every axis, and arrays for them."""
    frame = draw(frames())
    chosen = tuple(draw(wavelets(perfect=perfect)) for _ in frame.axes)
    plan = level_plan(frame.shape, frame.axes, chosen, tuple(draw(modes(wavelet)) for wavelet in chosen))
    return LevelCase(plan, draw(samples(frame.shape, dtypes, layouts)))


@st.composite
def reversible_cases(draw: st.DrawFn) -> LevelCase:
    """Draw exact levels of whole numbers, and arrays of int32 or int64 for them."""
    frame = draw(frames())
    chosen = tuple(as_wavelet(draw(st.sampled_from(("cdf53", "haar", "db1")))) for _ in frame.axes)
    plan = level_plan(frame.shape, frame.axes, chosen, ("whole",) * len(chosen), True)
    return LevelCase(plan, draw(samples(frame.shape, ("int32", "int64"))))


class StationaryCase(_Case[StationaryPlan]):
    """One undecimated level, and an array for it."""

    @staticmethod
    def _describe(plan: StationaryAxisPlan) -> str:
        return f"step {plan.step}"


@st.composite
def stationary_cases(draw: st.DrawFn, dtypes: Sequence[str] = COMPUTED, *, perfect: bool = False) -> StationaryCase:
    """Draw undecimated levels of arrays of any length, and arrays for them."""
    frame = draw(frames())
    chosen = tuple(draw(wavelets(perfect=perfect)) for _ in frame.axes)
    plan = stationary_plan(frame.shape, frame.axes, chosen, draw(st.integers(1, 4)))
    return StationaryCase(plan, draw(samples(frame.shape, dtypes)))
