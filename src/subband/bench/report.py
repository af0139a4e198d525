"""Measurements of transforms as a report: ours, a plain copy and others, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from subband.bench.cases import MOST_MEMORY
from subband.bench.figures import BarChart, Figure, draw_bars
from subband.bench.measuring import Measurement
from subband.bench.ratios import Ratio, judge_ratios, tabulate_ratios, write_ratios
from subband.bench.tables import Cell, Report, Sheet, write_number
from subband.engines.measuring.devices import Machine

__all__ = ["report", "summarise", "write_milliseconds", "write_ratio"]

_CPU_LEGEND = (
    "× PyWavelets: how many times as fast; × copy: how many plain copies of the array it takes; memory: peak added by "
    f"the call as a multiple of what it returns (target ≤ {MOST_MEMORY:g}). "
    "The peer of cdf97 whole is PyWavelets' bior4.4 periodization. float32. Results are dropped between calls, so that "
    "subband uses their memory again where it keeps any (SUBBAND_KEEP_BYTES)."
)

_DEVICE_LEGEND = (
    "Times of the device. float32 unless said. Every result was compared, number by number, with that of the reference "
    "engine in double precision, those of large arrays with that of the CPU engine in double precision, which was "
    "compared with the former on a small array."
)


def summarise(measurements: Sequence[Measurement]) -> str:
    """Return in one line how many targets were met.

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


def report(
    measurements: Sequence[Measurement],
    machine: Machine,
    remarks: Sequence[str] = (),
    *,
    title: str = "Transforms",
    note: str | None = None,
    has_copies: bool = True,
    ratios: Sequence[Ratio] = (),
) -> Report:
    """Make a report of measurements.

    Parameters
    ----------
    measurements : sequence of Measurement
        On the CPU, or all on one device.
    machine : Machine
        Where.
    remarks : sequence of str
        What could not be measured at all; what could not of a case is part of its measurement.
    title : str
        What was measured.
    note : str, optional
        What the columns mean; what they mean on the CPU, or on a device, if left out.
    has_copies : bool
        Whether a plain copy is something to compare with.
    ratios : sequence of Ratio
        Times as multiples of other times.

    Examples
    --------
    >>> from subband.bench.cases import Case
    >>> from subband.engines.measuring.devices import describe_machine
    >>> fast = Measurement(Case((512, 512)), 1e-4, {"PyWavelets": 5e-3}, copy=5e-5, error=0.0)
    >>> report([fast], describe_machine()).sheets[0].rows[0][1:6]
    ['0.100', '5.00', '0.0500', '50.0', '2.00']
    """
    columns = _choose_columns(measurements, has_copies)
    missed = [number for number, each in enumerate(measurements) if _write_verdict(each) not in ("yes", "")]
    beside = ["a plain copy"] * has_copies + ["others"] * any(each.peers for each in measurements)
    note = _legend(measurements) if note is None else note
    last_texts = 2 if "target" in columns else 0
    title_of_sheet = f"{title} beside {' and '.join(beside)}"
    sheet = Sheet.from_records(title_of_sheet, measurements, columns, note, last_texts=last_texts, missed=missed)
    said = [*remarks, *(remark for measurement in measurements for remark in measurement.remarks)]
    figures = {"measurements": [_write_record(measurement) for measurement in measurements]}
    return Report(
        [sheet, *([tabulate_ratios(ratios)] if ratios else [])],
        judge_ratios(ratios),
        figures | ({"ratios": write_ratios(ratios)} if ratios else {}),
        machine,
        {"Times as fast, and copies": _draw(title, measurements, has_copies)} if measurements else {},
        tuple(dict.fromkeys(said)),
        summarise(measurements),
    )


def _draw(title: str, measurements: Sequence[Measurement], has_copies: bool) -> Figure:
    """Draw how many times as fast as each peer, and how many copies."""
    labels = [measurement.case.name for measurement in measurements]
    peers = dict.fromkeys(name for measurement in measurements for name in measurement.peers)
    speedups = {name: [measurement.speedups.get(name) for measurement in measurements] for name in peers}
    copies = {"copies": [measurement.copies for measurement in measurements]}
    charts = [BarChart("Times as fast as others", "times", labels, speedups, is_log=True, mark=1.0)] if peers else []
    if has_copies or not charts:
        charts.append(BarChart("Copies of the array that a transform takes", "copies", labels, copies, mark=1.0))
    return draw_bars(title, *charts)


def _is_on_device(measurements: Sequence[Measurement]) -> bool:
    """Tell what the table is about: cases of devices have a target of their own each."""
    from subband.bench.device_cases import DeviceCase

    return any(isinstance(measurement.case, DeviceCase) for measurement in measurements)


def _legend(measurements: Sequence[Measurement]) -> str:
    """Return the legend of the columns that there are."""
    if not _is_on_device(measurements):
        return _CPU_LEGEND
    has_graph = any(measurement.graph is not None for measurement in measurements)
    has_peers = any(measurement.peers for measurement in measurements)
    columns = ["subband: the call as users write it, many of them queued one behind the other"]
    columns += ["graph: the same call recorded as a CUDA graph and repeated without Python"] * has_graph
    columns += ["copy: the same bytes copied within the memory of the device"]
    columns += ["of copy: the speed as a part of the copy's" + ", of the call and of its graph" * has_graph]
    columns += ["× a peer: how many times as fast as its call"] * has_peers
    met = " Met: by the call itself (yes), by its graph only (graph), or not." * has_graph
    return f"{'; '.join(columns)}.{met} {_DEVICE_LEGEND}"


def _choose_columns(measurements: Sequence[Measurement], has_copies: bool) -> dict[str, Cell]:
    """Choose the columns: one pair for each peer that was measured, and what else the measurements have."""
    peers = dict.fromkeys(name for measurement in measurements for name in measurement.peers)
    has_graphs = any(measurement.graph is not None for measurement in measurements)
    columns: dict[str, Cell] = {"case": "{.case.name}", "subband ms": lambda m: write_milliseconds(m.ours)}
    if has_graphs:
        columns["graph ms"] = lambda m: write_milliseconds(m.graph)
    for name in peers:
        columns[f"{name} ms"] = partial(_write_peer, name)
    if has_copies:
        columns["copy ms"] = lambda m: write_milliseconds(m.copy)
    for name in peers:
        columns[f"× {name}"] = partial(_write_speedup, name)
    if _is_on_device(measurements):
        columns["of copy"] = lambda m: f"{m.copy / m.ours:.3f}"
        if has_graphs:
            columns["graph of copy"] = lambda m: "" if m.graph is None else f"{m.copy / m.graph:.3f}"
    elif has_copies:
        columns["× copy"] = "{.copies:.2f}"
        if any(measurement.memory is not None for measurement in measurements):
            columns["memory"] = lambda m: write_number(m.memory)
    if any(measurement.target for measurement in measurements):
        columns |= {"target": _write_target, "met": _write_verdict}
    return columns


def _write_peer(name: str, measurement: Measurement) -> str:
    return write_milliseconds(measurement.peers.get(name))


def _write_speedup(name: str, measurement: Measurement) -> str:
    return write_ratio(measurement.speedups.get(name))


def _write_target(measurement: Measurement) -> str:
    """Format the target of a case, the memory where it was measured."""
    target = str(measurement.target)
    return target if measurement.memory is None else f"{target}, ≤ {MOST_MEMORY:g} memory"


def _write_verdict(measurement: Measurement) -> str:
    """Format whether all targets are met, and by what."""
    if measurement.is_met is None:
        return ""
    if measurement.is_met and measurement.is_lean is not False:
        return "yes"
    return "graph" if measurement.is_met_by_graph else "no"


def write_ratio(ratio: float | None) -> str:
    """Format a ratio with as many digits as mean something, and nothing where there is none.

    Examples
    --------
    >>> write_ratio(31.416), write_ratio(3.1416), write_ratio(None)
    ('31.4', '3.14', '')
    """
    if ratio is None:
        return ""
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def write_milliseconds(seconds: float | None) -> str:
    """Format a time in seconds as milliseconds with as many digits as mean something, and nothing where there is none.

    Examples
    --------
    >>> write_milliseconds(0.0123), write_milliseconds(4.5e-5)
    ('12.30', '0.0450')
    """
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
