"""Wavelet filtering of ultrasound on graphics hardware, 2007: raw speed, frames per second, breakdown.

A frame is transformed by three levels of CDF 9/7, its details are thresholded, and it is transformed back. Monochrome
frames have one channel and those in colour four, in 16 or 32 bits.

References
----------
Real-time wavelet filtering on the GPU, NTNU, 2007, tables 4.2 to 4.7. Programs on the GPU ran on a GeForce 8800 GTX in
a PC with a Pentium 4 of 3.2 GHz, those on the CPU on a Core 2 Duo T7200 of 2 GHz.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.bench.figures import COLOURS, ORANGE, VIOLET, Figure, Panel
from subband.bench.papers.judging import copy_bands
from subband.bench.tables import Report, Sheet
from subband.engines import get_threads, set_threads
from subband.engines.filters import find_filters
from subband.engines.measuring.harness import Harness, open_harness
from subband.engines.measuring.judging import HALF_TOLERANCE, TOLERANCE, check_transform, compare_bands, find_largest
from subband.engines.measuring.timing import Effort, take_turns
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import Work, make_shrinker
from subband.enhance.stages import Shrink

__all__ = [
    "PARTS",
    "SIZES",
    "STAGE",
    "Program",
    "list_programs",
    "measure_programs",
    "report",
    "tabulate_sizes",
    "use_threads",
]

#: Rows, and as many columns, of the frames.
SIZES = (128, 256, 512, 1024, 2048)

#: Their figures by program: elements in a microsecond, times as fast as one thread, frames per second.
_ELEMENTS = {
    "gpu-mono-16": (29.2, 93.7, 255.5, 425.0, 394.3),
    "gpu-mono-32": (29.5, 92.7, 255.5, 321.2, 273.8),
    "gpu-colour-16": (41.4, 138.9, 340.1, 435.7, 528.3),
    "gpu-colour-32": (41.3, 139.6, 326.1, 435.6, 441.8),
    "previous-gpu-32": (102.1, 129.1, 116.3, 121.1, 79.5),
    "cpu-mono-32-single": (17.7, 17.7, 18.1, 17.7, 17.7),
    "cpu-mono-32-dual": (35.0, 35.0, 35.0, 35.0, 35.0),
}
#: Their table 4.3 as it is printed; the quotients of table 4.2 are rounded elsewhere.
_SPEEDUPS = {
    "gpu-mono-16": (1.6, 5.3, 14.1, 24.0, 22.3),
    "gpu-mono-32": (1.7, 5.2, 14.1, 18.1, 15.5),
    "gpu-colour-16": (2.3, 7.8, 18.8, 24.6, 29.8),
    "gpu-colour-32": (2.3, 7.9, 18.0, 24.6, 24.9),
    "previous-gpu-32": (5.8, 7.3, 6.4, 6.8, 4.5),
    "cpu-mono-32-single": (1.0, 1.0, 1.0, 1.0, 1.0),
    "cpu-mono-32-dual": (2.0, 2.0, 1.9, 2.0, 2.0),
}
_FRAMES = {
    "gpu-mono-16": (1782, 1430, 975, 405, 94),
    "gpu-mono-32": (1801, 1414, 975, 306, 65),
    "gpu-colour-16": (632, 530, 324, 104, 31),
    "gpu-colour-32": (631, 532, 311, 104, 26),
    "previous-gpu-32": (1558, 493, 111, 29, 5),
    "cpu-mono-32-single": (1081, 270, 69, 17, 4),
    "cpu-mono-32-dual": (2162, 541, 138, 34, 8),
}
#: Milliseconds of the parts of gpu-mono-16.
_BREAKDOWN = {
    "forward": (0.113, 0.115, 0.078, 0.147, 0.159),
    "inverse": (0.307, 0.401, 0.694, 1.157, 2.033),
    "filter": (0.085, 0.095, 0.069, 0.111, 0.110),
    "upload": (0.033, 0.058, 0.159, 1.002, 8.295),
}
#: How near the mono programs come to the elements of those in colour.
_EFFICIENCY = {
    "gpu-mono-16": (0.705, 0.675, 0.751, 0.975, 0.746),
    "gpu-mono-32": (0.714, 0.664, 0.784, 0.737, 0.62),
}

PARTS = ("forward", "filter", "inverse", "upload")

#: What is done to a frame.
STAGE = Shrink("cdf97", 3, "soft", 0.05)


@dataclass(frozen=True)
class Program:
    """One of our programs, as theirs are called.

    Attributes
    ----------
    engine : str
        The engine that computes.
    channels : int
        1, or 4 in colour.
    dtype : str
        What frames are stored as.
    threads : int or None
        Of the CPU.

    Examples
    --------
    >>> Program("cpu", 1, "float32", 1).name
    'cpu-mono-32-single'
    """

    engine: str
    channels: int = 1
    dtype: str = "float32"
    threads: int | None = None

    @property
    def name(self) -> str:
        """Engine, channels, bits and threads."""
        count = "" if self.threads is None else "-single" if self.threads == 1 else f"-{self.threads}-threads"
        colours = "mono" if self.channels == 1 else "colour"
        return f"{self.engine.partition(':')[0]}-{colours}-{8 * np.dtype(self.dtype).itemsize}{count}"


def list_programs(engines: Sequence[str]) -> list[Program]:
    """List the programs of some engines: 16 bits on devices, one thread and all of them on the CPU."""
    programs = []
    for engine in engines:
        if engine == "cpu":
            counts = sorted({1, get_threads()})
            programs += [Program(engine, channels, threads=count) for channels in (1, 4) for count in counts]
        else:
            dtypes = ("float16", "float32") if engine.startswith("cuda") else ("float32",)
            programs += [Program(engine, channels, dtype) for channels in (1, 4) for dtype in dtypes]
    return programs


def measure_programs(
    programs: Sequence[Program], sizes: Sequence[int] = SIZES, effort: Effort | None = None
) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Measure the seconds of each part of each program.

    Yields
    ------
    (str, int, dict)
        Name of the program, size, and seconds by part.

    Raises
    ------
    WrongResultError
        If a band is not that of the reference engine, frames do not come back where nothing is filtered, or a band is
        not what the threshold leaves of it.
    """
    effort = effort or Effort(seconds=0.1, fewest=3, most=15)
    for program in programs:
        bench = open_harness(program.engine)
        for size in sizes:
            with use_threads(program.threads):
                yield program.name, size, _measure(program, bench, size, effort)


def _measure(program: Program, bench: Harness, size: int, effort: Effort) -> dict[str, float]:
    shape = (program.channels, size, size)
    planes = bench.draw(shape, program.dtype)
    filters = find_filters(bench.engine)
    roundtrip = Roundtrip(STAGE, shape, bench.engine, filters)
    shrink = make_shrinker(STAGE, program.channels, 2, filters)
    check_transform(bench, roundtrip.plan(shape), planes, f"{program.name} of {size}²")
    _check_shrinking(bench, roundtrip, shrink, planes)
    coefficients = roundtrip.forward(planes)
    calls: dict[str, Any] = {
        "forward": lambda: roundtrip.forward(planes),
        "filter": lambda: shrink(coefficients),
        "inverse": lambda: roundtrip.inverse(coefficients, shape),
    }
    times = take_turns(calls, effort, bench.time_calls)
    times["upload"] = 0.0
    if bench.is_device:
        host = bench.to_host(planes)
        times["upload"] = take_turns({"upload": lambda: bench.upload(host)}, effort, bench.time_calls)["upload"]
    return times


def _check_shrinking(bench: Harness, roundtrip: Roundtrip, shrink: Work, planes: Any) -> None:
    """Compare what the threshold leaves of every detail with what it has to leave."""
    coefficients = roundtrip.forward(planes)
    before = copy_bands(bench, coefficients)
    shrink(coefficients)
    after = copy_bands(bench, coefficients)
    (threshold,) = set(STAGE.spread(1)[0].ravel().tolist())
    expected = {
        name: np.sign(band) * np.maximum(np.abs(band) - threshold, 0) if "d" in name else band
        for name, band in before.items()
    }
    largest = find_largest({name: band for name, band in before.items() if "d" in name})
    tolerance = HALF_TOLERANCE if bench.to_host(planes).dtype == np.float16 else TOLERANCE
    compare_bands(after, expected, "a soft threshold", tolerance * largest)


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Use so many threads of the CPU inside a ``with`` block; as many as before if None."""
    before = get_threads()
    if count is not None:
        set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


def report(times: Mapping[str, Mapping[int, Mapping[str, float]]], programs: Sequence[Program]) -> Report:
    """Write tables 4.2 to 4.5 and 4.7, theirs and ours; `processor_load` measures table 4.6.

    Parameters
    ----------
    times : mapping
        Seconds by name of the program, size and part, as `measure_programs` yields them.
    programs : sequence of Program
        What was measured.
    """
    channels = {program.name: program.channels for program in programs}
    frames = {name: {size: 1 / sum(parts.values()) for size, parts in each.items()} for name, each in times.items()}
    elements = {
        name: {size: channels[name] * size * size * rate / 1e6 for size, rate in each.items()}
        for name, each in frames.items()
    }
    single = next((each for name, each in elements.items() if name.endswith("cpu-mono-32-single")), None)
    monochrome = [name for name in times if channels[name] == 1]
    parts = {
        f"{name}, {part}": {size: 1e3 * each[part] for size, each in times[name].items()}
        for name in monochrome
        for part in PARTS
    }
    their_parts = {f"gpu-mono-16, {part}": _BREAKDOWN[part] for part in PARTS}
    in_colour = {name: elements.get(name.replace("mono", "colour")) for name in monochrome}
    efficiency = {name: _divide(elements[name], other) for name, other in in_colour.items() if other is not None}
    speedups = {name: _divide(each, single) for name, each in elements.items() if single is not None}
    sizes = list(next(iter(times.values())))
    sheets = [
        tabulate_sizes(
            "Table 4.2: elements in a microsecond",
            sizes,
            _ELEMENTS,
            elements,
            ".1f",
            note="Theirs: on a GeForce 8800 GTX; those of the CPU on a Core 2 Duo T7200 of 2 GHz.",
        ),
        tabulate_sizes("Table 4.3: times as fast as one thread of the CPU", sizes, _SPEEDUPS, speedups, ".1f"),
        tabulate_sizes("Table 4.4: frames a second", sizes, _FRAMES, frames, ",.0f"),
        tabulate_sizes("Table 4.5: milliseconds of each part", sizes, their_parts, parts, ".3f"),
        tabulate_sizes(
            "Table 4.7: elements of monochrome frames, by those of frames in colour",
            sizes,
            _EFFICIENCY,
            efficiency,
            ".1%",
        ),
    ]
    figures = {name: {str(size): dict(parts) for size, parts in each.items()} for name, each in times.items()}
    return Report(sheets, (), {"seconds": figures}, drawings={"Frames per second": _draw(times, sizes)})


def tabulate_sizes(
    title: str,
    sizes: Sequence[int],
    theirs: Mapping[str, Sequence[float | None]],
    ours: Mapping[str, Mapping[int, Any]],
    form: str,
    own_form: str | None = None,
    note: str = "",
) -> Sheet:
    """Make a table of programs by the size of their frames, theirs first; ours may be formatted otherwise.

    Examples
    --------
    >>> tabulate_sizes("fps", [128, 512], {"gpu": (9, 8, 7, 6, None)}, {"cpu": {128: 1, 512: 0.5}}, ".1f").rows
    [['theirs: gpu', '9.0', '7.0'], ['cpu', '1.0', '0.5']]
    """
    rows = []
    for name, row in theirs.items():
        numbers = (row[SIZES.index(size)] for size in sizes)
        rows.append([f"theirs: {name}", *("NA" if number is None else format(number, form) for number in numbers)])
    own_form = form if own_form is None else own_form
    rows += [[name, *(format(each[size], own_form) for size in sizes)] for name, each in ours.items()]
    return Sheet(title, ["program", *(f"{size}²" for size in sizes)], rows, note)


def _divide(each: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    return {size: number / other[size] for size, number in each.items()}


def _draw(times: Mapping[str, Mapping[int, Mapping[str, float]]], sizes: Sequence[int]) -> Figure:
    """Draw table 4.4: the best of theirs on both kinds of hardware, and ours in one channel."""
    panel = Panel("monochrome", "rows and columns", "frames per second", is_x_log=True, is_y_log=True)
    for name, colour in (("gpu-mono-32", ORANGE), ("cpu-mono-32-dual", VIOLET)):
        theirs = [_FRAMES[name][SIZES.index(size)] for size in sizes]
        panel.add_curve(sizes, theirs, colour, f"theirs: {name}")
    for number, (name, each) in enumerate((name, each) for name, each in times.items() if "mono" in name):
        rates = [1 / sum(each[size].values()) for size in sizes]
        panel.add_curve(sizes, rates, COLOURS[0 if not number else 1 + number % (len(COLOURS) - 1)], name)
    return Figure("Ultrasound", [[panel]], (720, 420))
