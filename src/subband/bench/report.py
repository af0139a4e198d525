"""Measurements for people and for programs: a table, JSON, a section of a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subband.bench.cases import MOST_MEMORY
from subband.bench.machine import Machine
from subband.bench.measuring import Measurement
from subband.errors import FormatError

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["insert_section", "summarise", "to_json", "to_markdown", "to_table"]

_COLUMNS = (
    "case",
    "subband ms",
    "PyWavelets ms",
    "copy ms",
    "× PyWavelets",
    "× copy",
    "memory",
    "target",
    "met",
)

#: Lines between which a page holds what was measured.
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"

_LEGEND = (
    "× PyWavelets: how many times as fast; × copy: how many plain copies of the array it takes; memory: peak added by "
    f"the call as a multiple of what it returns (target ≤ {MOST_MEMORY:g}). "
    "The peer of cdf97 whole is PyWavelets' bior4.4 periodization. float32. Results are dropped between calls, so that "
    "subband uses their memory again where it keeps any (SUBBAND_KEEP_BYTES)."
)


def summarise(measurements: Sequence[Measurement]) -> str:
    """Say in one line how many targets were met.

    Examples
    --------
    >>> from subband.bench.cases import Case
    >>> summarise([Measurement(Case((512, 512)), ours=1e-4, peer=5e-3, copy=5e-5, error=0.0)])
    '1 of 1 speed targets met; memory was not measured'
    """
    met = sum(measurement.is_met for measurement in measurements)
    lean = [measurement.is_lean for measurement in measurements if measurement.is_lean is not None]
    memory = f"{sum(lean)} of {len(lean)} memory targets met" if lean else "memory was not measured"
    return f"{met} of {len(measurements)} speed targets met; {memory}"


def to_table(measurements: Sequence[Measurement], machine: Machine) -> Table:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    table = Table(title=str(machine), caption=_LEGEND, box=box.SIMPLE_HEAVY, title_justify="left")
    for column in _COLUMNS:
        is_text = column in ("case", "target", "met")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    for measurement in measurements:
        style = None if measurement.is_met and measurement.is_lean is not False else "yellow"
        table.add_row(*_write_row(measurement), style=style)
    return table


def to_json(measurements: Sequence[Measurement], machine: Machine) -> dict[str, Any]:
    """Return everything as what JSON can hold; times are in seconds."""
    return {
        "machine": machine.to_dict(),
        "summary": summarise(measurements),
        "measurements": [_write_record(measurement) for measurement in measurements],
    }


def to_markdown(measurements: Sequence[Measurement], machine: Machine) -> str:
    """Write the section of a page: the machine, the table, what its columns mean."""
    rows = [
        "| " + " | ".join(_COLUMNS) + " |",
        "| --- |" + " ---: |" * 6 + " --- | --- |",
        *("| " + " | ".join(_write_row(measurement)) + " |" for measurement in measurements),
    ]
    return "\n\n".join([f"Measured on: {machine}.", "\n".join(rows), _LEGEND, f"{summarise(measurements)}."])


def insert_section(page: Path, section: str) -> str:
    """Return the text of a page with a section in the place that two comments mark.

    Parameters
    ----------
    page : Path
        A Markdown file; if there is none, the text is the section alone.
    section : str
        What takes the place of all that stood there.

    Raises
    ------
    FormatError
        If the page has no such place.
    """
    section = f"{_BEGIN}\n\n{section}\n\n{_END}"
    if not page.exists():
        return section + "\n"
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise FormatError(f"{page} has no lines {_BEGIN} and {_END} to write between; put them where the figures go")
    return before + section + after


def _write_row(measurement: Measurement) -> list[str]:
    """Write one line of a table."""
    case = measurement.case
    is_met = measurement.is_met and measurement.is_lean is not False
    return [
        case.name,
        *(_write_milliseconds(seconds) for seconds in (measurement.ours, measurement.peer, measurement.copy)),
        f"{measurement.speedup:.1f}",
        f"{measurement.copies:.2f}",
        "" if measurement.memory is None else f"{measurement.memory:.2f}",
        str(case.target) if measurement.memory is None else f"{case.target}, ≤ {MOST_MEMORY:g} memory",
        "yes" if is_met else "no",
    ]


def _write_milliseconds(seconds: float) -> str:
    """Write a time with as many digits as mean something."""
    milliseconds = seconds * 1e3
    return f"{milliseconds:.4f}" if milliseconds < 0.1 else f"{milliseconds:.2f}"


def _write_record(measurement: Measurement) -> dict[str, Any]:
    """Collect one measurement by the names of its parts."""
    case, target = measurement.case, measurement.case.target
    return {
        "case": case.name,
        "shape": list(case.shape),
        "wavelet": case.wavelet,
        "mode": case.mode,
        "level": case.level,
        "inverse": case.inverse,
        "peer": f"PyWavelets {case.peer.wavelet} {case.peer.mode}",
        "ours": measurement.ours,
        "pywavelets": measurement.peer,
        "copy": measurement.copy,
        "speedup": measurement.speedup,
        "copies": measurement.copies,
        "error": measurement.error,
        "memory": measurement.memory,
        "target": {
            "speedup": target.speedup,
            "copies": target.copies,
            "seconds": target.seconds,
            "memory": MOST_MEMORY,
        },
        "is_met": measurement.is_met,
        "is_lean": measurement.is_lean,
    }
