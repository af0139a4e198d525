"""Measurements for people and for programs: a table, JSON, a section of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subband.bench.cases import MOST_MEMORY
from subband.bench.machine import Machine
from subband.bench.measuring import Measurement
from subband.errors import FormatError

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["insert_section", "summarise", "to_json", "to_markdown", "to_table"]

_CPU_LEGEND = (
    "× PyWavelets: how many times as fast; × copy: how many plain copies of the array it takes; memory: peak added by "
    f"the call as a multiple of what it returns (target ≤ {MOST_MEMORY:g}). "
    "The peer of cdf97 whole is PyWavelets' bior4.4 periodization. float32. Results are dropped between calls, so that "
    "subband uses their memory again where it keeps any (SUBBAND_KEEP_BYTES)."
)

_DEVICE_LEGEND = (
    "subband: the call as users write it, many of them queued one behind the other; graph: the same call recorded as a "
    "CUDA graph and repeated without Python; copy: the same bytes from one place of the device to another; of copy: "
    "the speed as a part of the copy's, of the call and of its graph; × a peer: how many times as fast as its call. "
    "Met: by the call itself (yes), by its graph only (graph), or not. Times of the device. float32 unless said. "
    "Every result was compared, number by number, with that of the reference engine in double precision, those of "
    "large arrays with that of the CPU engine in double precision, which was compared with the former on a small array."
)


@dataclass(frozen=True)
class _Column:
    """A column of the table: its title, how a cell is written, and whether it is text."""

    title: str
    write: Callable[[Measurement], str]
    is_text: bool = False


def summarise(measurements: Sequence[Measurement]) -> str:
    """Say in one line how many targets were met.

    Examples
    --------
    >>> from subband.bench.cases import Case
    >>> summarise([Measurement(Case((512, 512)), 1e-4, {"PyWavelets": 5e-3}, copy=5e-5, error=0.0)])
    '1 of 1 speed targets met; memory was not measured'
    """
    judged = [measurement for measurement in measurements if measurement.is_met is not None]
    met = sum(measurement.is_met is True for measurement in judged)
    text = f"{met} of {len(judged)} speed targets met"
    if any(measurement.graph is not None for measurement in measurements):
        more = sum(measurement.is_met is False and measurement.is_met_by_graph for measurement in judged)
        return f"{text} by the call itself, {more} more by its graph"
    if _is_on_device(measurements):
        return text
    lean = [measurement.is_lean for measurement in measurements if measurement.is_lean is not None]
    memory = f"{sum(lean)} of {len(lean)} memory targets met" if lean else "memory was not measured"
    return f"{text}; {memory}"


def to_table(measurements: Sequence[Measurement], machine: Machine) -> Table:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    columns = _choose_columns(measurements)
    table = Table(title=str(machine), caption=_legend(measurements), box=box.SIMPLE_HEAVY, title_justify="left")
    for column in columns:
        table.add_column(column.title, justify="left" if column.is_text else "right", overflow="fold")
    for measurement in measurements:
        is_good = _write_verdict(measurement) in ("yes", "")
        table.add_row(*(column.write(measurement) for column in columns), style=None if is_good else "yellow")
    return table


def to_json(measurements: Sequence[Measurement], machine: Machine) -> dict[str, Any]:
    """Return everything as what JSON can hold; times are in seconds."""
    return {
        "machine": machine.to_dict(),
        "summary": summarise(measurements),
        "measurements": [_write_record(measurement) for measurement in measurements],
    }


def to_markdown(measurements: Sequence[Measurement], machine: Machine, remarks: Iterable[str] = ()) -> str:
    """Write the section of a page: the machine, the table, what its columns mean, and what was left out."""
    columns = _choose_columns(measurements)
    rows = [
        "| " + " | ".join(column.title for column in columns) + " |",
        "| " + " | ".join("---" if column.is_text else "---:" for column in columns) + " |",
        *("| " + " | ".join(column.write(measurement) for column in columns) + " |" for measurement in measurements),
    ]
    said = [*remarks, *(remark for measurement in measurements for remark in measurement.remarks)]
    notes = ["\n".join(f"- {' '.join(remark.split())}" for remark in dict.fromkeys(said))] if said else []
    parts = [f"Measured on: {machine}.", "\n".join(rows), _legend(measurements), *notes, f"{summarise(measurements)}."]
    return "\n\n".join(parts)


def insert_section(page: Path, section: str, part: str = "cpu") -> str:
    """Return the text of a page with a section in the place that two comments mark.

    Parameters
    ----------
    page : Path
        A Markdown file; if there is none, the text is the section alone.
    section : str
        What takes the place of all that stood there.
    part : str
        Which of the page's places, such as ``cpu``, ``cuda``; the others stay as they are.

    Raises
    ------
    FormatError
        If the page has no such place.
    """
    first, last = f"<!-- measured {part}: begin -->", f"<!-- measured {part}: end -->"
    section = f"{first}\n\n{section}\n\n{last}"
    if not page.exists():
        return section + "\n"
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise FormatError(f"{page} has no lines {first} and {last} to write between; put them where the figures go")
    return before + section + after


def _is_on_device(measurements: Sequence[Measurement]) -> bool:
    """Tell what the table is about: cases of devices have a target of their own each."""
    from subband.bench.device_cases import DeviceCase

    return any(isinstance(measurement.case, DeviceCase) for measurement in measurements)


def _legend(measurements: Sequence[Measurement]) -> str:
    """Say what the columns mean."""
    return _DEVICE_LEGEND if _is_on_device(measurements) else _CPU_LEGEND


def _choose_columns(measurements: Sequence[Measurement]) -> list[_Column]:
    """Choose the columns: one pair for each peer that was measured, and what else the measurements have."""
    peers = dict.fromkeys(name for measurement in measurements for name in measurement.peers)
    columns = [_Column("case", lambda m: m.case.name, is_text=True), _time_column("subband", lambda m: m.ours)]
    is_on_device = _is_on_device(measurements)
    has_graphs = any(measurement.graph is not None for measurement in measurements)
    if has_graphs:
        columns.append(_time_column("graph", lambda m: m.graph))
    columns += map(_peer_column, peers)
    columns.append(_time_column("copy", lambda m: m.copy))
    columns += map(_ratio_column, peers)
    if is_on_device:
        columns.append(_Column("of copy", lambda m: f"{m.copy / m.ours:.3f}"))
        if has_graphs:
            columns.append(_Column("graph of copy", lambda m: "" if m.graph is None else f"{m.copy / m.graph:.3f}"))
    else:
        columns.append(_Column("× copy", lambda m: f"{m.copies:.2f}"))
        columns.append(_Column("memory", lambda m: "" if m.memory is None else f"{m.memory:.2f}"))
    return [*columns, _Column("target", _write_target, is_text=True), _Column("met", _write_verdict, is_text=True)]


def _time_column(name: str, find: Callable[[Measurement], float | None]) -> _Column:
    """Make a column of times."""
    return _Column(f"{name} ms", lambda m: _write_milliseconds(find(m)))


def _peer_column(name: str) -> _Column:
    """Make the column of a peer's times."""
    return _time_column(name, lambda m: m.peers.get(name))


def _ratio_column(name: str) -> _Column:
    """Make the column that says how many times as fast as a peer."""
    return _Column(f"× {name}", lambda m: _write_ratio(m.speedups.get(name)))


def _write_target(measurement: Measurement) -> str:
    """Write what is expected of a case, the memory where it was measured."""
    target = str(measurement.target)
    return target if measurement.memory is None else f"{target}, ≤ {MOST_MEMORY:g} memory"


def _write_verdict(measurement: Measurement) -> str:
    """Say whether all that is expected is met, and by what."""
    if measurement.is_met is None:
        return ""
    if measurement.is_met and measurement.is_lean is not False:
        return "yes"
    return "graph" if measurement.is_met_by_graph else "no"


def _write_ratio(ratio: float | None) -> str:
    """Write a ratio with as many digits as mean something."""
    if ratio is None:
        return ""
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def _write_milliseconds(seconds: float | None) -> str:
    """Write a time with as many digits as mean something."""
    if seconds is None:
        return ""
    milliseconds = seconds * 1e3
    if milliseconds < 0.1:
        return f"{milliseconds:.4f}"
    return f"{milliseconds:.3f}" if milliseconds < 1 else f"{milliseconds:.2f}"


def _write_record(measurement: Measurement) -> dict[str, Any]:
    """Collect one measurement by the names of its parts."""
    case = measurement.case
    return {
        "case": case.name,
        "shape": list(case.shape),
        "wavelet": case.wavelet,
        "mode": case.mode,
        "level": case.level,
        "inverse": case.inverse,
        "dtype": case.dtype,
        "ours": measurement.ours,
        "graph": measurement.graph,
        "peers": dict(measurement.peers),
        "copy": measurement.copy,
        "speedups": measurement.speedups,
        "copies": measurement.copies,
        "error": measurement.error,
        "memory": measurement.memory,
        "target": {**asdict(measurement.target), "memory": MOST_MEMORY if measurement.memory is not None else None},
        "is_met": measurement.is_met,
        "is_met_by_graph": measurement.is_met_by_graph,
        "is_lean": measurement.is_lean,
        "remarks": list(measurement.remarks),
    }
