"""What a call costs: every public function of PyWavelets at many sizes, beside PyWavelets itself.

Short calls are what notebooks, tests and small programs make. Both libraries take turns in one process. Results are
compared before times count, and a wrong one ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import subband
from subband.bench.call_cases import CallCase
from subband.bench.figures import DotChart, Figure, draw_bars
from subband.bench.libraries import load_library
from subband.bench.tables import Cell, Goal, Report, Sheet
from subband.engines.measuring.judging import DOUBLE_TOLERANCE, WrongResultError, compare_bands, find_largest
from subband.engines.measuring.timing import Effort, take_turns

__all__ = ["Measured", "compare_results", "draw_ratios", "measure_calls", "report_calls"]

_PEER = "PyWavelets"


@dataclass(frozen=True)
class Measured:
    """One call, measured.

    Attributes
    ----------
    case : CallCase
        What was called.
    ours, theirs : float
        Medians in seconds.
    error : float
        Largest difference from PyWavelets' result, as a fraction of its largest value.
    """

    case: CallCase
    ours: float
    theirs: float
    error: float

    @property
    def ratio(self) -> float:
        """How many times as fast as PyWavelets."""
        return self.theirs / self.ours

    @property
    def is_met(self) -> bool:
        """Whether that is what is expected, two digits being what is told."""
        return round(self.ratio, 2) >= self.case.target


def measure_calls(cases: Iterable[CallCase], effort: Effort, library: Any = subband) -> Iterator[Measured]:
    """Measure calls one after the other, beside PyWavelets.

    Parameters
    ----------
    cases : iterable of CallCase
        What to measure.
    effort : Effort
        How long.
    library : module
        What is measured: `subband`.

    Raises
    ------
    MissingExtraError
        If PyWavelets is not installed.
    WrongResultError
        If a result is not that of PyWavelets.

    Examples
    --------
    >>> case = CallCase("dwt", (16,), lambda library, x: library.dwt(x, "haar"))
    >>> [measured] = measure_calls([case], Effort(0.001, most=3, turn=1e-4))
    >>> measured.ours > 0 and measured.theirs > 0 and measured.error < 1e-12
    True
    """
    peer = load_library(_PEER)
    for case in cases:
        samples = case.draw()
        ours, theirs = (case.bind(each, samples.copy()) for each in (library, peer))
        compare_results(case, ours(), theirs())
        times = take_turns({"ours": ours, "theirs": theirs}, effort)
        # once more at the end, after many calls have reused each other's memory
        error = compare_results(case, ours(), theirs())
        yield Measured(case, times["ours"], times["theirs"], error)


def compare_results(case: CallCase, found: Any, expected: Any) -> float:
    """Compare what a call returned with what PyWavelets did, part by part.

    Returns
    -------
    float
        The largest difference of numbers, as a fraction of the largest one.

    Raises
    ------
    WrongResultError
        If anything differs by more than rounding.

    Examples
    --------
    >>> case = CallCase("dwt", (2,), lambda library, x: library.dwt(x, "haar"))
    >>> compare_results(case, (np.ones(1), np.zeros(1)), (np.ones(1), np.zeros(1)))
    0.0
    >>> compare_results(case, "db4", "db5")
    Traceback (most recent call last):
        ...
    subband.engines.measuring.judging.WrongResultError: dwt 2: result is 'db4', and PyWavelets' 'db5'
    """
    numbers: list[dict[str, Any]] = [{}, {}]
    words: list[dict[str, Any]] = [{}, {}]
    for side, result in enumerate((found, expected)):
        for name, value in _list_parts(case.read(result) if case.read else result, "result"):
            (numbers if isinstance(value, np.ndarray) else words)[side][name] = value
    for name in sorted(words[0].keys() | words[1].keys()):
        own, other = (side.get(name) for side in words)
        if own != other:
            raise WrongResultError(f"{case.name}: {name} is {own!r}, and PyWavelets' {other!r}")
    largest = find_largest(numbers[1]) if numbers[1] else 0.0
    deviation = compare_bands(numbers[0], numbers[1], case.name, DOUBLE_TOLERANCE * (largest or 1.0), "peer")
    return deviation / (largest or 1.0)


def _list_parts(result: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of any result by name: numbers as arrays, all else as it is."""
    if result is None or isinstance(result, str | slice):
        yield name, result
    elif isinstance(result, Mapping):
        for key in sorted(result):
            yield from _list_parts(result[key], f"{name}[{key!r}]")
    elif isinstance(result, list | tuple):
        for number, part in enumerate(result):
            yield from _list_parts(part, f"{name}[{number}]")
    else:
        yield name, np.asarray(result)


def report_calls(measured: Sequence[Measured], *, is_whole: bool = True) -> Report:
    """Put measurements together: tables of ratios and of times, by function and size.

    Parameters
    ----------
    measured : sequence of Measured
        From `measure_calls`.
    is_whole : bool
        Whether it is enough to judge.

    Examples
    --------
    >>> case = CallCase("dwt", (64,), lambda library, x: library.dwt(x, "haar"))
    >>> report = report_calls([Measured(case, 2e-6, 3e-6, 0.0)])
    >>> report.sheets[0].rows, str(report.goals[0])
    ([['dwt', '1.50']], 'met: no call slower than by PyWavelets (1 of 1)')
    """
    note = (
        "float64, `db4`, half-sample symmetry; multilevel transforms as deep as they go, undecimated ones and `mra` of "
        "3 levels, packets of 2, periodic, `cwt` of 32 scales of `morl`. Medians of turns; every result was compared "
        "with that of PyWavelets before and after."
    )
    sheets = []
    for title, dimensions in (("Signals", 1), ("Images", 2)):
        some = [each for each in measured if len(each.case.shape) == dimensions]
        if some:
            sheets.append(_tabulate(f"{title}: times as fast as PyWavelets", some, lambda each: f"{each.ratio:.2f}"))
            sheets.append(_tabulate(f"{title}: microseconds a call", some, lambda each: f"{each.ours * 1e6:.3g}"))
    small = [each for each in measured if not each.case.shape]
    if small:
        columns: dict[str, Cell] = {
            "function": "{.case.label}",
            "subband µs": lambda each: f"{each.ours * 1e6:.3g}",
            "PyWavelets µs": lambda each: f"{each.theirs * 1e6:.3g}",
            "× PyWavelets": "{.ratio:.2f}",
        }
        missed = [number for number, each in enumerate(small) if not each.is_met]
        sheets.append(Sheet.from_records("Without samples", small, columns, missed=missed))
    return Report(
        [*(replace(sheet, note=note) for sheet in sheets[:1]), *sheets[1:]],
        _judge(measured) if is_whole else (),
        {"calls": [_write_record(each) for each in measured]},
        drawings={"Times as fast as PyWavelets": draw_ratios(measured)} if measured else {},
    )


def _tabulate(title: str, measured: Sequence[Measured], write: Callable[[Measured], str]) -> Sheet:
    """Make a table with a row for each function and a column for each size."""
    sizes = list(dict.fromkeys(each.case.size for each in sorted(measured, key=lambda each: each.case.shape)))
    cells = {(each.case.label, each.case.size): each for each in measured}
    labels = list(dict.fromkeys(each.case.label for each in measured))
    rows = [
        [label, *(write(cells[label, size]) if (label, size) in cells else "" for size in sizes)] for label in labels
    ]
    late = {each.case.label for each in measured if not each.is_met}
    return Sheet(title, ["function", *sizes], rows, missed=[k for k, label in enumerate(labels) if label in late])


def _judge(measured: Sequence[Measured]) -> list[Goal]:
    """Return what is expected of all calls, and of some of them."""
    slow = [each for each in measured if round(each.ratio, 2) < 1]
    found = f"{len(measured) - len(slow)} of {len(measured)}"
    if slow:
        found += f"; slower: {', '.join(f'{each.case.name} {each.ratio:.2f}' for each in slow)}"
    goals = [Goal("no call slower than by PyWavelets", found, not slow)]
    groups: dict[tuple[float, str], list[Measured]] = {}
    for each in measured:
        if each.case.target > 1:
            # calls of several sizes that are expected to be as fast share a line
            size = "" if each.case.function == "cwt" else f" of {each.case.size} samples"
            groups.setdefault((each.case.target, size), []).append(each)
    for (target, size), some in groups.items():
        functions = " and ".join(dict.fromkeys(each.case.label for each in some))
        ratios = ", ".join(f"{each.case.name} {each.ratio:.2f}" for each in some)
        text = f"{functions}{size} at least {target:g} times as fast"
        goals.append(Goal(text, ratios, all(each.is_met for each in some)))
    return goals


def _write_record(each: Measured) -> dict[str, Any]:
    return {
        "function": each.case.label,
        "shape": list(each.case.shape),
        "ours": each.ours,
        "theirs": each.theirs,
        "ratio": each.ratio,
        "error": each.error,
        "target": each.case.target,
        "is_met": each.is_met,
    }


def draw_ratios(measured: Sequence[Measured]) -> Figure:
    """Draw how many times as fast each function is, a dot for each size."""
    charts = []
    for title, dimensions in (("Signals", 1), ("Images", 2), ("Without samples", 0)):
        some = [each for each in measured if len(each.case.shape) == dimensions]
        if not some:
            continue
        labels = list(dict.fromkeys(each.case.label for each in some))
        by_size: dict[str, dict[str, float]] = {}
        for each in sorted(some, key=lambda each: each.case.shape):
            by_size.setdefault(each.case.size, {})[each.case.label] = each.ratio
        series = {size: [ratios.get(label) for label in labels] for size, ratios in by_size.items()}
        charts.append(DotChart(title, "times as fast as PyWavelets", labels, series, is_log=True, mark=1.0))
    return draw_bars("Calls beside PyWavelets", *charts)
