"""Measuring cases: each is checked, and takes turns with a plain copy and with other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import subband
from subband.arrays import map_arrays, to_host
from subband.bench.cases import MOST_MEMORY, Case, Target
from subband.bench.checking import make_check
from subband.bench.device_cases import FULL_PRECISION, DeviceCase
from subband.bench.libraries import load_library
from subband.bench.peers.base import Contender, Peer
from subband.bench.peers.transforms import TRANSFORM_PEERS
from subband.engines.measuring.harness import Harness, Replay, open_harness
from subband.engines.measuring.judging import poison_memory
from subband.engines.measuring.timing import Clock, Effort, take_turns

__all__ = ["Measurement", "capture_call", "measure_cases", "time_contenders"]


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


def time_contenders(contenders: Mapping[str, Contender], effort: Effort, clock: Clock) -> dict[str, float]:
    """Time contenders in turn, and subtract their set-up.

    Examples
    --------
    >>> from subband.engines.measuring.timing import time_calls
    >>> times = time_contenders({"ours": Contender(lambda: None)}, Effort(0.001), time_calls)
    >>> times["ours"] < 0.001
    True
    """
    calls = {name: contender.call for name, contender in contenders.items()}
    besides = {f"{name} besides": each.discount for name, each in contenders.items() if each.discount is not None}
    times = take_turns({**calls, **besides}, effort, clock)
    return {name: times[name] - times.get(f"{name} besides", 0.0) for name in contenders}


def measure_cases(
    cases: Iterable[Case],
    effort: Effort,
    bench: Harness | None = None,
    peers: Sequence[tuple[Peer, Any]] = (),
    *,
    library: Any = subband,
    memory: Callable[[Case], float | None] | None = None,
) -> Iterator[Measurement]:
    """Measure and check cases one after the other, beside a plain copy and other libraries.

    Parameters
    ----------
    cases : iterable of Case
        What to measure.
    effort : Effort
        How long.
    bench : Harness, optional
        Where; on the host, beside PyWavelets and ``np.copyto``, if left out.
    peers : sequence of Peer and module
        As `find_peers` returns them.
    library : module
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
        If a result is not that of the reference engine, or of PyWavelets for large arrays of the host.
    """
    if bench is None:
        bench = open_harness(None, has_plain_copies=True)
        peers = [(TRANSFORM_PEERS[0], load_library("PyWavelets"))]
    for case in cases:
        peak = memory(case) if memory is not None and case.is_measurable else None
        yield replace(_measure(case, effort, bench, peers, library), memory=peak)
        bench.release()


def _measure(
    case: Case, effort: Effort, bench: Harness, peers: Sequence[tuple[Peer, Any]], library: Any
) -> Measurement:
    samples = bench.draw(case.shape, case.dtype)
    given = case.make_input(subband, samples)
    ours = case.bind(library, given)
    measure_error = make_check(case, given, samples, bench)
    remarks: list[str] = []

    def check() -> float:
        poison_memory(ours, bench.poison)
        return measure_error(bench.run_poisoned(ours))

    check()
    contenders = {"ours": Contender(ours), "copy": Contender(bench.prepare_copy(samples))}
    if (replay := capture_call(case.name, bench, ours, remarks)) is not None:
        poison_memory(lambda: replay.result, bench.poison)
        replay.launch()
        measure_error(replay.result)
        contenders["graph"] = Contender(replay.launch)
    contenders |= _prepare_contenders(case, bench, samples, given, peers, remarks)
    times = time_contenders(contenders, effort, bench.time_calls)
    # Once more at the end, after many calls have reused each other's memory.
    error = check()
    own, copy, graph = times.pop("ours"), times.pop("copy"), times.pop("graph", None)
    return Measurement(case, own, times, copy, error, graph=graph, remarks=tuple(remarks))


def capture_call(name: str, bench: Harness, call: Callable[[], Any], remarks: list[str]) -> Replay | None:
    """Record a call on a device that can; where that fails, add a remark that says so."""
    try:
        return bench.capture(call)
    except Exception as error:  # noqa: BLE001 - whatever the driver says, the call itself is measured all the same
        remarks.append(f"{name} is not recorded as a graph: {error}")
        return None


def _prepare_contenders(
    case: Case, bench: Harness, samples: Any, given: Any, peers: Sequence[tuple[Peer, Any]], remarks: list[str]
) -> Iterator[tuple[str, Contender]]:
    """Yield the contenders of a case, each after it has run once."""
    if case.dtype != FULL_PRECISION:
        wide = replace(case, dtype=FULL_PRECISION)
        # by the host, because PyOpenCL does not convert half precision on devices that do not compute with it
        widened = map_arrays(given, lambda x: bench.upload(to_host(x).astype(FULL_PRECISION)))
        yield FULL_PRECISION, Contender(wide.bind(subband, widened))
        return
    if isinstance(case, DeviceCase) and case.is_bare:
        # what users call has been compared already
        return
    for peer, module in peers:
        try:
            contender = peer.prepare(module, case, samples)
            if contender is not None:
                bench.time_calls(contender.call, 1)
        except Exception as error:  # noqa: BLE001 - a peer that fails is no fault of ours, and said so
            remarks.append(f"{peer.name} fails at {case.name}: {error}")
            continue
        if contender is not None:
            yield peer.name, contender
