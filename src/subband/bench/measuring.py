"""Timing: the contenders take turns, so that whatever slows the machine down slows all of them down."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import subband
from subband.arrays import map_arrays, to_host
from subband.bench.beds import Bed, Replay
from subband.bench.cases import MOST_MEMORY, PYWAVELETS, Case, Target
from subband.bench.checking import check_result, compute_reference, judge_on_host, poison_memory
from subband.bench.device_cases import FULL_PRECISION, DeviceCase
from subband.bench.peers.base import Contender, Peer, load_peer

__all__ = ["Clock", "Effort", "Measurement", "measure_cases", "measure_on_device", "take_turns"]

#: ``clock(call, count)`` returns the seconds that some calls take.
Clock = Callable[[Callable[[], Any], int], float]


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
    ours, copy : float
        Medians in seconds: `subband`, and a plain copy of the array.
    peers : dict of str to float
        The same of every other contender.
    error : float or None
        Largest difference from the judge, as a fraction of the largest value; None where there is no judge.
    memory : float or None
        Peak of memory that the call added, what it returns included, as a multiple of what it returns.
    graph : float or None
        Median in seconds of the same call, recorded once and repeated without Python.
    remarks : tuple of str
        What could not be measured, and why.
    """

    case: Case
    ours: float
    peers: Mapping[str, float]
    copy: float
    error: float | None
    memory: float | None = None
    graph: float | None = None
    remarks: tuple[str, ...] = ()

    @property
    def speedups(self) -> dict[str, float]:
        """How many times as fast as each peer."""
        return {name: seconds / self.ours for name, seconds in self.peers.items()}

    @property
    def copies(self) -> float:
        """How many plain copies it takes."""
        return self.ours / self.copy

    @property
    def target(self) -> Target:
        """What is expected of the case, as far as it can be judged by what was measured."""
        return self.case.target.restrict(self.peers)

    @property
    def is_met(self) -> bool | None:
        """Whether the time meets the target of the case; None where there is none."""
        return self.target.is_met(self.ours, self.peers, self.copy) if self.target else None

    @property
    def is_met_by_graph(self) -> bool:
        """Whether the time of the repeated record does, against the same times of the others."""
        return self.graph is not None and bool(self.target) and self.target.is_met(self.graph, self.peers, self.copy)

    @property
    def is_lean(self) -> bool | None:
        """Whether the memory meets its target; None where it was not measured."""
        return None if self.memory is None else self.memory <= MOST_MEMORY


def take_turns(
    contenders: Mapping[str, Callable[[], Any]], effort: Effort, clock: Clock | None = None
) -> dict[str, float]:
    """Time functions in turn and return the median time of one call of each, in seconds.

    Every function is called once before, so compiling and first touches are not counted. Results are dropped when
    the clock does not run. A slow contender has fewer turns than a quick one, spread evenly over the whole run.
    The clock is that of the host, or of a `Bed`.

    Examples
    --------
    >>> from time import sleep
    >>> times = take_turns({"short": lambda: None, "long": lambda: sleep(0.01)}, Effort(seconds=0.05))
    >>> times["short"] < 0.001 < 0.01 <= times["long"]
    True
    """
    clock = _time_calls if clock is None else clock
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
    return Measurement(case, times["ours"], {PYWAVELETS: times["peer"]}, times["copy"], error, memory)


def measure_on_device(
    cases: Iterable[Case], effort: Effort, bed: Bed, peers: Sequence[tuple[Peer, Any]] = ()
) -> Iterator[Measurement]:
    """Measure and check cases one after the other, on arrays that are on a device.

    Parameters
    ----------
    cases : iterable of Case
        What to measure.
    effort : Effort
        How long.
    bed : Bed
        Where.
    peers : sequence of Peer and module
        As `find_peers` returns them.

    Yields
    ------
    Measurement
        As soon as a case is done.

    Raises
    ------
    WrongResultError
        If a result is not that of the reference engine.
    """
    for case in cases:
        yield _measure_on_device(case, effort, bed, peers)
        bed.release()


def _measure_on_device(case: Case, effort: Effort, bed: Bed, peers: Sequence[tuple[Peer, Any]]) -> Measurement:
    samples = bed.draw(case.shape, case.dtype)
    given = case.make_input(subband, samples)
    ours = case.bind(subband, given)
    judge = judge_on_host(case, given)
    remarks: list[str] = []

    def check() -> float:
        poison_memory(ours, bed.poison)
        return check_result(case, bed.run_poisoned(ours), judge, None)

    check()
    contenders: dict[str, Callable[[], Any]] = {"ours": ours, "copy": bed.prepare_copy(samples)}
    discounts: dict[str, Callable[[], Any]] = {}
    if (replay := _capture(case, bed, ours, remarks)) is not None:
        poison_memory(lambda: replay.result, bed.poison)
        replay.launch()
        check_result(case, replay.result, judge, None)
        contenders["graph"] = replay.launch
    for name, contender in _prepare_contenders(case, bed, samples, given, peers, remarks):
        contenders[name] = contender.call
        if contender.discount is not None:
            discounts[name] = contender.discount
    times = take_turns(
        {**contenders, **{f"{name} discount": call for name, call in discounts.items()}}, effort, bed.time_calls
    )
    # Once more at the end, after many calls have reused each other's memory.
    error = check()
    others = {
        name: times[name] - times.get(f"{name} discount", 0.0)
        for name in contenders
        if name not in ("ours", "copy", "graph")
    }
    return Measurement(
        case, times["ours"], others, times["copy"], error, graph=times.get("graph"), remarks=tuple(remarks)
    )


def _capture(case: Case, bed: Bed, call: Callable[[], Any], remarks: list[str]) -> Replay | None:
    try:
        return bed.capture(call)
    except Exception as error:  # noqa: BLE001 - whatever the driver says, the call itself is measured all the same
        remarks.append(f"{case.name} is not recorded as a graph: {error}")
        return None


def _prepare_contenders(
    case: Case, bed: Bed, samples: Any, given: Any, peers: Sequence[tuple[Peer, Any]], remarks: list[str]
) -> Iterator[tuple[str, Contender]]:
    """Yield what a case is compared with, each after it has run once."""
    if case.dtype != FULL_PRECISION:
        wide = replace(case, dtype=FULL_PRECISION)
        # by the host, because PyOpenCL does not convert half precision on devices that do not compute with it
        widened = map_arrays(given, lambda x: bed.engine.device.upload(to_host(x).astype(FULL_PRECISION)))
        yield FULL_PRECISION, Contender(wide.bind(subband, widened))
        return
    if isinstance(case, DeviceCase) and case.is_bare:
        # what users call has been compared already
        return
    for peer, module in peers:
        try:
            contender = peer.prepare(module, case, samples)
            if contender is not None:
                bed.time_calls(contender.call, 1)
        except Exception as error:  # noqa: BLE001 - a peer that fails is no fault of ours, and said so
            remarks.append(f"{peer.name} fails at {case.name}: {error}")
            continue
        if contender is not None:
            yield peer.name, contender
