"""Timing: the contenders take turns, so that whatever slows the machine down slows all of them down."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import subband
from subband.bench.cases import MOST_MEMORY, Case
from subband.bench.checking import check_result, compute_reference, poison_memory
from subband.errors import MissingExtraError

__all__ = ["Effort", "Measurement", "load_peer", "measure_cases", "take_turns"]


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    seconds : float
        For one contender of one case, as long as it has had `fewest` turns.
    fewest, most : int
        Turns of one contender.
    turn : float
        Seconds that a turn takes at least: short calls are repeated, so that the caches are warm and the clock's
        own time does not count.
    """

    seconds: float = 1.0
    fewest: int = 3
    most: int = 31
    turn: float = 5e-3


@dataclass(frozen=True)
class Measurement:
    """One case, measured.

    Attributes
    ----------
    case : Case
        What was measured.
    ours, peer, copy : float
        Medians in seconds: `subband`, PyWavelets, ``np.copyto``.
    error : float
        Largest difference from the judge, as a fraction of the largest value.
    memory : float or None
        Peak of memory that the call added, what it returns included, as a multiple of what it returns.
    """

    case: Case
    ours: float
    peer: float
    copy: float
    error: float
    memory: float | None = None

    @property
    def speedup(self) -> float:
        """How many times as fast as the peer."""
        return self.peer / self.ours

    @property
    def copies(self) -> float:
        """How many plain copies it takes."""
        return self.ours / self.copy

    @property
    def is_met(self) -> bool:
        """Whether the time meets the target of the case."""
        return self.case.target.is_met(self.ours, self.peer, self.copy)

    @property
    def is_lean(self) -> bool | None:
        """Whether the memory meets its target; None where it was not measured."""
        return None if self.memory is None else self.memory <= MOST_MEMORY


def load_peer() -> Any:
    """Import PyWavelets.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import pywt
    except ImportError:
        raise MissingExtraError("comparing with PyWavelets", "bench") from None
    return pywt


def take_turns(contenders: Mapping[str, Callable[[], Any]], effort: Effort) -> dict[str, float]:
    """Time functions in turn and return the median time of one call of each, in seconds.

    Every function is called once before, so compiling and first touches are not counted. Results are dropped when
    the clock does not run. A slow contender has fewer turns than a quick one, spread evenly over the whole run.

    Examples
    --------
    >>> from time import sleep
    >>> times = take_turns({"short": lambda: None, "long": lambda: sleep(0.01)}, Effort(seconds=0.05))
    >>> times["short"] < 0.001 < 0.01 <= times["long"]
    True
    """
    calls, turns = {}, {}
    for name, call in contenders.items():
        call()
        once = _time_calls(call, 1)
        calls[name] = max(1, ceil(effort.turn / once))
        turns[name] = int(min(effort.most, max(effort.fewest, effort.seconds / (once * calls[name]))))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    rounds = max(turns.values())
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            for name, call in contenders.items():
                if number * turns[name] // rounds != (number + 1) * turns[name] // rounds:
                    times[name].append(_time_calls(call, calls[name]) / calls[name])
    finally:
        if is_collecting:
            gc.enable()
    return {name: median(values) for name, values in times.items()}


def _time_calls(call: Callable[[], Any], count: int) -> float:
    """Return the seconds that some calls take; the last result is freed after the clock has stopped."""
    start = perf_counter()
    for _ in range(count - 1):
        call()
    result = call()
    seconds = perf_counter() - start
    del result
    return seconds


def measure_cases(
    cases: Iterable[Case],
    effort: Effort,
    library: Any = None,
    memory: Callable[[Case], float | None] | None = None,
) -> Iterator[Measurement]:
    """Measure and check cases one after the other.

    Parameters
    ----------
    cases : iterable of Case
        What to measure.
    effort : Effort
        How long.
    library : module, optional
        What is measured: `subband`.
    memory : callable, optional
        How the peak of memory of a case is measured; it is not if left out.

    Yields
    ------
    Measurement
        As soon as a case is done.

    Raises
    ------
    WrongResultError
        If a result is not that of the judge.
    """
    peer = load_peer()
    library = subband if library is None else library
    for case in cases:
        peak = memory(case) if memory is not None and case.is_measurable else None
        yield _measure(case, effort, library, peer, peak)


def _measure(case: Case, effort: Effort, library: Any, peer: Any, memory: float | None) -> Measurement:
    samples = case.make_samples()
    ours = case.prepare(library, samples)
    theirs = case.peer.prepare(peer, samples)
    reference = compute_reference(case, case.prepare(subband, samples))
    judge = theirs() if reference is None else None
    poison_memory(ours)
    check_result(case, ours(), reference, judge)
    copied = np.full_like(samples, np.nan)
    times = take_turns(
        {"ours": ours, "peer": theirs, "copy": lambda: np.copyto(copied, samples)},
        effort,
    )
    # Once more at the end, after many calls have reused each other's memory.
    poison_memory(ours)
    error = check_result(case, ours(), reference, judge)
    return Measurement(case, times["ours"], times["peer"], times["copy"], error, memory)
