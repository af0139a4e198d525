"""The least time of many calls, which take turns until all times have converged.

A neighbour on the machine, or a slower clock, lengthens a call and never shortens it. So the least of many times is
what the call itself takes, and leasts can be compared with each other where medians tell of the neighbours.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from time import perf_counter
from typing import Any

from subband.engines.measuring.timing import Clock, Effort, time_calls

__all__ = ["Rounds"]

# Calls of one turn.
_MOST_CALLS = 200
# A time has converged if it was met so often, give or take so much.
_OFTEN, _NEAR = 3, 1.05


class Rounds:
    """Calls that take turns.

    Parameters
    ----------
    calls : mapping
        What is timed.
    effort : Effort
        Its turns are rounds: the fewest that all calls take part in, and the most. After the fewest, a call whose time
        has converged takes part no more, and after so many seconds the rounds end.
    clock : callable, optional
        That of a `Harness`; else that of the host, which times every call by itself.

    Examples
    --------
    >>> rounds = Rounds({"nothing": lambda: None, "sum": lambda: sum(range(10_000))}, Effort(0.02, 3, 9))
    >>> 3 <= len(list(rounds.run())) <= 9
    True
    >>> 0 < rounds.best["nothing"] < rounds.best["sum"]
    True
    """

    def __init__(self, calls: Mapping[str, Callable[[], Any]], effort: Effort, clock: Clock | None = None) -> None:
        self._calls = dict(calls)
        self._effort = effort
        self._clock = clock
        self._times: dict[str, list[float]] = {}
        self._counts: dict[str, int] = {}
        for name, call in self._calls.items():
            # compiles, and touches everything for the first time
            call()
            # not zero, whatever a coarse clock says
            once = max(self._time(call, 1), 1e-9)
            self._times[name] = [once]
            self._counts[name] = min(_MOST_CALLS, ceil(effort.turn / once))

    @property
    def best(self) -> dict[str, float]:
        """The least seconds of each call."""
        return {name: min(times) for name, times in self._times.items()}

    def run(self) -> Iterator[int]:
        """Give every call a turn, again and again; yield how many calls took part in each round."""
        is_collecting = gc.isenabled()
        end = perf_counter() + self._effort.seconds
        for number in range(self._effort.most):
            names = list(self._calls)
            if number >= self._effort.fewest:
                names = [name for name in names if not self._has_converged(name)]
                if not names or perf_counter() > end:
                    break
            gc.disable()
            try:
                for name in names:
                    # others have had the caches since
                    self._calls[name]()
                    self._times[name].append(self._time(self._calls[name], self._counts[name]))
            finally:
                if is_collecting:
                    gc.enable()
            yield len(names)

    def _has_converged(self, name: str) -> bool:
        times = self._times[name]
        return sum(seconds <= _NEAR * min(times) for seconds in times) >= _OFTEN

    def _time(self, call: Callable[[], Any], count: int) -> float:
        if self._clock is not None:
            # the clocks of devices time what is queued, and not a single call
            return self._clock(call, count) / count
        return min(time_calls(call, 1) for _ in range(count))
