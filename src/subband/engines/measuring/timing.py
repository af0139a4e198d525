"""Timing of calls in turn, so that whatever slows the machine down slows all of them down."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

__all__ = ["Clock", "Effort", "take_turns", "time_calls"]

#: ``clock(call, count)`` returns the seconds that some calls take.
Clock: TypeAlias = Callable[[Callable[[], Any], int], float]


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


def time_calls(call: Callable[[], Any], count: int) -> float:
    """Return the seconds that some calls take; the last result is freed after the clock has stopped."""
    start = perf_counter()
    for _ in range(count - 1):
        call()
    result = call()
    seconds = perf_counter() - start
    del result
    return seconds


def take_turns(
    contenders: Mapping[str, Callable[[], Any]], effort: Effort, clock: Clock = time_calls
) -> dict[str, float]:
    """Time functions in turn and return the median time of one call of each, in seconds.

    Every function is called once before, so compiling and first touches are not counted. Results are dropped when
    the clock does not run. A slow contender has fewer turns than a quick one, spread evenly over the whole run.
    The clock is that of the host, or of a `Harness`.

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
        # not zero, whatever a coarse clock says
        once = max(clock(call, 1), 1e-9)
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
                    times[name].append(clock(call, calls[name]) / calls[name])
    finally:
        if is_collecting:
            gc.enable()
    return {name: median(values) for name, values in times.items()}
