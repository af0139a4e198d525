"""Times of the CPU engine as multiples of its own: five levels beside one, a busy machine beside a quiet one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import subband
from subband.bench.cases import CPU_CASES, Case
from subband.bench.load import keep_busy
from subband.bench.tables import Cell, Goal, Sheet, as_record
from subband.engines.measuring.timing import Effort, take_turns

__all__ = ["BUSY", "Ratio", "judge_ratios", "measure_levels", "measure_load", "tabulate_ratios", "write_ratios"]

#: What five levels may take, as a multiple of one: samples alone are 1.33 times as many.
MOST_LEVELS = 1.5

#: Other processes at work, and what a call may take beside them, as a multiple of its time on quiet cores.
BUSY, MOST_LOAD = 4, 3.0

_FULL_HD = (1080, 1920)


@dataclass(frozen=True)
class Ratio:
    """A time as a multiple of another.

    Attributes
    ----------
    what : str
        Five levels beside one, or busy beside quiet.
    name : str
        Of the case.
    base, seconds : float
        Medians: of what is compared with, and of what is judged.
    most : float
        The largest ratio that is expected.

    Examples
    --------
    >>> ratio = Ratio("five levels beside one", "2-D", 4e-4, 6e-4, 1.5)
    >>> round(ratio.ratio, 3), ratio.is_met
    (1.5, True)
    """

    what: str
    name: str
    base: float
    seconds: float
    most: float

    @property
    def ratio(self) -> float:
        """How many times as long."""
        return self.seconds / self.base

    @property
    def is_met(self) -> bool:
        """Whether that is little enough, as far as it is printed."""
        return round(self.ratio, 2) <= self.most


def measure_levels(effort: Effort, cases: Sequence[Case] = CPU_CASES, library: Any = subband) -> Iterator[Ratio]:
    """Time five levels and one in turn, for every case of five that is at least 1080 rows high."""
    for case in cases:
        if case.level != 5 or case.dimensions != 2 or case.shape[0] < _FULL_HD[0]:
            continue
        samples = case.make_samples()
        calls = {str(level): replace(case, level=level).prepare(library, samples) for level in (1, 5)}
        times = take_turns(calls, effort)
        yield Ratio("five levels beside one", case.name, times["1"], times["5"], MOST_LEVELS)


def measure_load(effort: Effort, cases: Sequence[Case] = CPU_CASES, library: Any = subband) -> Iterator[Ratio]:
    """Time single calls of 1080 × 1920 in the usual wavelet on quiet cores, and again beside busy processes.

    Medians of single calls: a mean would say how large a part of the cores the other processes leave.
    """
    usual = Case(_FULL_HD)
    chosen = [case for case in cases if (case.shape, case.wavelet, case.mode) == (_FULL_HD, usual.wavelet, usual.mode)]
    if not chosen:
        return
    calls = {case.name: case.prepare(library, case.make_samples()) for case in chosen}
    single = replace(effort, turn=0.0, most=max(101, effort.most))
    quiet = take_turns(calls, single)
    with keep_busy(BUSY):
        busy = take_turns(calls, single)
    for name in calls:
        yield Ratio(f"beside {BUSY} busy processes", name, quiet[name], busy[name], MOST_LOAD)


def tabulate_ratios(ratios: Sequence[Ratio]) -> Sheet:
    """Make a table of ratios.

    Examples
    --------
    >>> tabulate_ratios([Ratio("five levels beside one", "2-D", 4e-4, 6e-4, 1.5)]).rows
    [['2-D', 'five levels beside one', '0.400', '0.600', '1.50', '≤ 1.5', 'yes']]
    """
    columns: dict[str, Cell] = {
        "case": "{.name}",
        "what": "{.what}",
        "from ms": lambda each: f"{each.base * 1e3:.3f}",
        "to ms": lambda each: f"{each.seconds * 1e3:.3f}",
        "times": "{.ratio:.2f}",
        "target": "≤ {.most:g}",
        "met": lambda each: "yes" if each.is_met else "no",
    }
    missed = [number for number, each in enumerate(ratios) if not each.is_met]
    note = "Medians; five levels and one take turns, and calls beside busy processes are timed one by one."
    return Sheet.from_records("Levels and load", ratios, columns, note, texts=2, last_texts=2, missed=missed)


def judge_ratios(ratios: Sequence[Ratio]) -> list[Goal]:
    """Return what is expected of each kind of ratio, and what was found."""
    goals = []
    for what in dict.fromkeys(each.what for each in ratios):
        some = [each for each in ratios if each.what == what]
        found = f"{min(each.ratio for each in some):.2f} to {max(each.ratio for each in some):.2f}"
        goals.append(Goal(f"{what}: at most {some[0].most:g} times as long", found, all(each.is_met for each in some)))
    return goals


def write_ratios(ratios: Sequence[Ratio]) -> list[dict[str, Any]]:
    """Return ratios as what JSON can hold."""
    return [as_record(each, "ratio", "is_met") for each in ratios]
