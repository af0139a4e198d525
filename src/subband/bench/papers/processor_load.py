"""Load of the CPU while a stream of frames is filtered, 2007: table 4.6, measured.

A frame of one channel is transformed by three levels of CDF 9/7, its details are thresholded, and it is transformed
back; on a device it is uploaded before, and stays there, as on their screen. Frames are due twenty times a second, and
the program sleeps in between. What counts is the processor time of all threads of the process. Their load of the CPU
programs is computed from the frames that they reach (table 4.4), and that of their GPU was read off the task manager.

References
----------
Real-time wavelet filtering on the GPU, NTNU, 2007, table 4.6 and figure 4.3 (GeForce 8800 GTX beside a Pentium 4 of
3.2 GHz; the programs of the CPU on a Core 2 Duo T7200 of 2 GHz).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter, process_time, sleep
from typing import Any

from subband.bench.figures import BarChart, draw_bars
from subband.bench.papers.judging import check_filtering
from subband.bench.papers.ultrasound import SIZES, STAGE, Program, list_programs, tabulate_sizes, use_threads
from subband.bench.tables import Goal, Report
from subband.engines.filters import find_filters
from subband.engines.measuring.harness import Harness, draw_on_host, open_harness
from subband.engines.registry import is_device_engine
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import make_shrinker

__all__ = ["IDLE", "RATE", "THEIRS", "Load", "Loads", "list_load_programs", "measure_loads", "report", "run_stream"]

#: Frames per second that their transducers deliver.
RATE = 20.0

#: Load of their CPU at that rate, by program and size.
THEIRS = {
    "gpu-mono-16": (0.01, 0.01, 0.01, 0.03, 0.08),
    "cpu-mono-32-single": (0.018, 0.074, 0.29, 1.184, 4.736),
    "cpu-mono-32-dual": (0.009, 0.037, 0.145, 0.592, 2.368),
}

#: What the program is called that only sleeps.
IDLE = "nothing filtered"

#: Seconds of a stream at the rate, and at full speed.
_SECONDS, _QUICK_SECONDS = 1.5, 0.5
# Frames in the memory of the host that take turns, so that none is still in a cache because it was the last one.
_DIFFERENT = 4
# The size that their text speaks of.
_TYPICAL = 512


@dataclass(frozen=True)
class Load:
    """What a stream of frames took.

    Attributes
    ----------
    frames : int
        How many.
    wall, processor : float
        Seconds by the clock, and seconds of all threads of the process together.
    late : int
        Frames that were not done when the next one was due.

    Examples
    --------
    >>> load = Load(frames=40, wall=2.0, processor=0.1)
    >>> load.rate, load.share, round(1e3 * load.per_frame, 3)
    (20.0, 0.05, 2.5)
    """

    frames: int
    wall: float
    processor: float
    late: int = 0

    @property
    def rate(self) -> float:
        """Frames per second."""
        return self.frames / self.wall

    @property
    def share(self) -> float:
        """Load of one core; more than 1 where several threads work."""
        return self.processor / self.wall

    @property
    def per_frame(self) -> float:
        """Seconds of the processor for each frame."""
        return self.processor / self.frames


@dataclass(frozen=True)
class Loads:
    """A program with frames of one size: at the rate of the transducers, and as fast as it can."""

    paced: Load
    full: Load


def run_stream(
    step: Callable[[int], Any],
    count: int,
    rate: float | None = None,
    finish: Callable[[], Any] | None = None,
    *,
    clock: Callable[[], float] = perf_counter,
    processor: Callable[[], float] = process_time,
    wait: Callable[[float], object] = sleep,
) -> Load:
    """Run a stream of frames, and measure what the processor does meanwhile.

    Parameters
    ----------
    step : callable
        Filters the frame of a number; on a device it may return before that is done.
    count : int
        Frames.
    rate : float, optional
        How many are due in a second; as fast as it goes if left out.
    finish : callable, optional
        Returns when everything is done.
    clock, processor, wait : callable
        Seconds gone by, seconds of the processor, and how to sleep.

    Examples
    --------
    >>> run_stream(lambda number: None, 4, rate=1000.0).frames
    4
    """
    late = 0
    begin, spent = clock(), processor()
    for number in range(count):
        step(number)
        if rate is None:
            continue
        left = begin + (number + 1) / rate - clock()
        if left > 0:
            wait(left)
        else:
            late += 1
    if finish is not None:
        finish()
    return Load(count, clock() - begin, processor() - spent, late)


def list_load_programs(engines: Sequence[str]) -> list[Program]:
    """List the programs of one channel: those of the engines, and of the CPU beside them in any case.

    Examples
    --------
    >>> [program.name for program in list_load_programs(["cuda"])][:3]
    ['cuda-mono-16', 'cuda-mono-32', 'cpu-mono-32-single']
    """
    names = [*engines, *(["cpu"] if "cpu" not in engines else [])]
    return [program for program in list_programs(names) if program.channels == 1]


def measure_loads(
    programs: Sequence[Program], sizes: Sequence[int] = SIZES, *, is_quick: bool = False, rate: float = RATE
) -> Iterator[tuple[str, int, Loads]]:
    """Measure the load of each program with frames of each size; `IDLE` comes first.

    Yields
    ------
    (str, int, Loads)
        Name of the program, rows and columns of a frame, and its loads.

    Raises
    ------
    WrongResultError
        If bands or filtered frames are not those of the reference engine.
    """
    seconds = _QUICK_SECONDS if is_quick else _SECONDS
    idle = run_stream(lambda _: None, max(1, round(rate * seconds)), rate)
    for size in sizes:
        yield IDLE, size, Loads(idle, idle)
    for program in programs:
        bench = open_harness(program.engine)
        for size in sizes:
            with use_threads(program.threads):
                yield program.name, size, _measure(program, bench, size, seconds, rate)


def _measure(program: Program, bench: Harness, size: int, seconds: float, rate: float) -> Loads:
    shape = (program.channels, size, size)
    frames = [draw_on_host(shape, program.dtype, seed) for seed in range(_DIFFERENT)]
    filters = find_filters(bench.engine)
    roundtrip = Roundtrip(STAGE, shape, bench.engine, filters)
    shrink = make_shrinker(STAGE, program.channels, 2, filters)
    check_filtering(bench, STAGE, bench.upload(frames[0]))

    def step(number: int) -> Any:
        coefficients = roundtrip.forward(bench.upload(frames[number % _DIFFERENT]))
        shrink(coefficients)
        return roundtrip.inverse(coefficients, shape)

    finish = _choose_finish(bench)
    # compiles and allocates everything, and tells how many frames a while at full speed is
    once = run_stream(step, _DIFFERENT, finish=finish)
    count = max(_DIFFERENT, round(seconds / 2 * once.rate))
    paced = run_stream(step, max(1, round(rate * seconds)), rate, finish)
    return Loads(paced, run_stream(step, count, finish=finish))


def _choose_finish(bench: Harness) -> Callable[[], Any] | None:
    """Return a call that waits for the device: its clock, which stops when all queued work is done."""
    return (lambda: bench.time_calls(lambda: None, 1)) if bench.is_device else None


def is_host(engine: str) -> bool:
    """Tell whether an engine computes on the CPU: the CPU's own, and OpenCL with PoCL."""
    if not is_device_engine(engine):
        return True
    return not getattr(open_harness(engine).engine.device, "is_gpu", True)


def report(loads: Mapping[str, Mapping[int, Loads]], programs: Sequence[Program]) -> Report:
    """Write table 4.6, theirs and ours, and what the processor does at full speed.

    Parameters
    ----------
    loads : mapping
        By name of the program and size, as `measure_loads` yields them.
    programs : sequence of Program
        What was measured.
    """
    sizes = list(next(iter(loads.values())))
    threads = {program.name: program.threads or 1 for program in programs} | {IDLE: 1}
    paced = {
        name: {size: _write_share(own.paced, threads[name]) for size, own in each.items()}
        for name, each in loads.items()
    }
    full = {name: {size: own.full for size, own in each.items()} for name, each in loads.items() if name != IDLE}
    per_frame = {name: {size: 1e3 * own.per_frame for size, own in each.items()} for name, each in full.items()}
    speeds = {
        name: {size: f"{own.rate:,.0f}, {own.share:.0%}" for size, own in each.items()} for name, each in full.items()
    }
    note = (
        "Time of the processor by the time of the clock, as a part of the threads that a program has; a program of a "
        f"device has one. Ours are measured; * could not keep up with {RATE:g} fps."
    )
    sheets = [
        tabulate_sizes(f"Table 4.6: load of the CPU at {RATE:g} fps", sizes, THEIRS, paced, ".1%", "", note),
        tabulate_sizes(
            "At full speed: milliseconds of the processor for each frame",
            sizes,
            {},
            per_frame,
            ".3f",
            note="Of all threads together.",
        ),
        tabulate_sizes("At full speed: fps, and load of one core", sizes, {}, speeds, ""),
    ]
    on_host = {program.name: is_host(program.engine) for program in programs}
    remarks = [
        f"{program.name}: the device is the CPU itself, so that its load is that of the transform"
        for program in programs
        if on_host[program.name] and program.engine != "cpu"
    ]
    goals = _judge(loads, [program.name for program in programs if not on_host[program.name]])
    figures = {
        "fps": RATE,
        "theirs": {name: list(row) for name, row in THEIRS.items()},
        "loads": {
            name: {str(size): asdict(each[size]) | {"threads": threads[name]} for size in sizes}
            for name, each in loads.items()
        },
    }
    return Report(sheets, goals, figures, drawings={"Load of the CPU": _draw(loads, sizes)}, remarks=remarks)


def _write_share(load: Load, threads: int) -> str:
    return f"{load.share / threads:.1%}{' *' if load.late else ''}"


def _judge(loads: Mapping[str, Mapping[int, Loads]], names: Sequence[str]) -> list[Goal]:
    """Judge devices by the finding of the paper: less work for the CPU than if it filtered itself."""
    single = next((each for name, each in loads.items() if name == "cpu-mono-32-single"), None)
    if single is None:
        return []
    goals = []
    for name in names:
        for size in (size for size in loads[name] if size >= _TYPICAL):
            own, other = loads[name][size].paced, single[size].paced
            text = f"{name}: less work for the CPU than if one thread of it filtered, {size}² at {RATE:g} fps"
            goals.append(Goal(text, f"{own.share:.1%} and {other.share:.1%}", own.share < other.share))
    return goals


def _draw(loads: Mapping[str, Mapping[int, Loads]], sizes: Sequence[int]) -> Any:
    """Draw figure 4.3 for each size: the load of one core at the rate."""
    charts = []
    for size in sizes:
        index = SIZES.index(size)
        bars = {f"theirs: {name}": row[index] for name, row in THEIRS.items() if not name.endswith("dual")}
        bars |= {name: each[size].paced.share for name, each in loads.items() if name != IDLE}
        charts.append(
            BarChart(f"{size}²", "percent of one core", list(bars), {"load": [100 * bar for bar in bars.values()]})
        )
    return draw_bars(f"Load of the CPU at {RATE:g} fps", *charts)
