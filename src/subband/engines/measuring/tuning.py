"""Autotuning: a search for the fastest launch parameters of a device.

A search begins with the parameters of the table and varies one of them after the other, over a grid of values, as long
as that helps. Whatever is tried has to give the right result, and takes turns with the best so far, so that a change of
the device's clock hits both. On devices that record calls the recording is timed, so that the kernels of small images
do not wait for Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from subband.arrays import map_arrays, to_host
from subband.engines.abilities import abilities_of_device
from subband.engines.device import Device
from subband.engines.layout import can_cascade
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import (
    HALF_TOLERANCE,
    TOLERANCE,
    WrongResultError,
    choose_judge,
    compare_bands,
    find_largest,
    flatten_bands,
    poison_memory,
)
from subband.engines.measuring.timing import Effort, take_turns
from subband.engines.tuned import classify, classify_cascade, measure_span
from subband.errors import ArgumentError, SubbandError
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.launch import Launch, choose_cascade_launch, choose_launch, suits_one_level
from subband.kernels.numbers import STORAGES
from subband.plan import TransformPlan, transform_plan
from subband.schedule.axis import AxisProgram, axis_program
from subband.schedule.sweeps import schedule_level
from subband.typing import Array, Direction
from subband.wavelets import as_wavelet

__all__ = [
    "CascadeCase",
    "Grid",
    "Tuning",
    "TuningCase",
    "choose_grid",
    "keep_run_cases",
    "list_tuning_cases",
    "plan_levels",
    "select_tuning_cases",
    "tune_case",
]

#: Values to try of each parameter of a `Launch`, in the order in which parameters are varied.
Grid = Mapping[str, Sequence[Any]]

# What is not faster by as much is the noise of the measurement.
_LEAST_GAIN = 1.01

# A lane loads and stores 32 bytes at once, at most.
_MOST_BYTES = 32

_MOST_ROUNDS = 3


@dataclass(frozen=True)
class TuningCase:
    """A class of sweeps, and the transform that it is measured with.

    Attributes
    ----------
    plan : TransformPlan
        Of one level.
    dtype : str
        Of the samples.
    direction : {"forward", "inverse"}
        Which way.
    """

    #: What sets these parameters on a `DeviceEngine`.
    override: ClassVar[str] = "launch_override"

    plan: TransformPlan
    dtype: str = "float32"
    direction: Direction = "forward"

    @property
    def programs(self) -> tuple[AxisProgram | None, AxisProgram | None]:
        """What the kernel does down the columns and along the rows."""
        programs = [axis_program(plan, self.direction) for plan in self.plan.levels[0].plans]
        found = dict(zip(self.plan.axes, programs, strict=True))
        return found.get(0), found.get(1)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return STORAGES[self.dtype].size

    @property
    def channels(self) -> int:
        """Channels of a pixel."""
        return prod(self.plan.shape[2:])

    @property
    def kernels(self) -> str:
        """The class of kernels."""
        return classify(*self.programs, self.size, self.direction, self.channels)

    @property
    def name(self) -> str:
        """All of it in one line, which `select_tuning_cases` searches."""
        return f"{self.plan.wavelets[0].name} {self.dtype} {self.kernels}"

    def __str__(self) -> str:
        return self.name

    def is_possible(self, launch: Launch) -> bool:
        """Say whether kernels of this class, in whatever mode, can be launched so."""
        # what a sweep keeps in local memory is declared by its text
        if launch.resident or 2 * launch.pairs * self.size > _MOST_BYTES:
            return False
        horizontal = self.programs[1]
        return horizontal is None or measure_span(horizontal) <= launch.pairs * LANES // 4

    def is_run_by(self, engine: Any) -> bool:  # noqa: ARG002 - all devices have sweeps
        """Say whether an engine transforms this array by a kernel of this class."""
        return True

    def choose_usual(self, device: Device) -> Launch:
        """Return the parameters of the table."""
        return choose_launch(
            device.dialect,
            *self.programs,
            self.size,
            is_gpu=device.is_gpu,
            is_inverse=self.direction == "inverse",
            channels=self.channels,
        )

    def make_input(self, engine: Any, x: Any) -> Any:
        """Return what the kernel reads: samples, or what becomes of them."""
        return x if self.direction == "forward" else engine.forward(self.plan.levels[0], x)

    def run(self, engine: Any, given: Any) -> Any:
        """Return what an engine makes of it."""
        return getattr(engine, self.direction)(self.plan.levels[0], given)


@dataclass(frozen=True)
class CascadeCase(TuningCase):
    """A class of kernels of two levels, or of one, that see what lies beyond the borders in what they hold."""

    override: ClassVar[str] = "cascade_override"

    @property
    def kernels(self) -> str:
        """The class of kernels."""
        vertical, horizontal = self.programs
        assert vertical is not None
        assert horizontal is not None
        return classify_cascade(
            vertical,
            horizontal,
            self.size,
            self.direction,
            levels=self.plan.level,
            channels=self.channels,
            elements=prod(self.plan.shape),
        )

    def is_possible(self, launch: Launch) -> bool:
        """Say whether kernels of this class can be launched so, for this array at least."""
        if launch.is_split or launch.pairs % 2 or 2 * launch.pairs * self.size > _MOST_BYTES:
            return False
        abilities = abilities_of_device(None)
        sweeps = [sweep for level in self.plan.levels for sweep in schedule_level(level, abilities).sweeps]
        return can_cascade(sweeps, self.plan.shape, self.direction, launch.pairs, self.size)

    def is_run_by(self, engine: Any) -> bool:
        """Say whether an engine transforms this array by a kernel of this class."""
        elements = prod(self.plan.shape)
        if engine.least_cascade is None or elements < engine.least_cascade:
            return False
        is_joined = self.plan.level == 2 or suits_one_level(engine.device.dialect, self.size, elements)
        return is_joined and self.is_possible(self.choose_usual(engine.device))

    def choose_usual(self, device: Device) -> Launch:
        """Return the parameters of the table."""
        return choose_cascade_launch(
            device.dialect,
            self.size,
            prod(self.plan.shape),
            is_inverse=self.direction == "inverse",
            channels=self.channels,
            levels=self.plan.level,
        )

    def make_input(self, engine: Any, x: Any) -> Any:
        """Return samples, or the approximation and the details."""
        return x if self.direction == "forward" else engine.forward_all(self.plan, x)

    def run(self, engine: Any, given: Any) -> Any:
        """Return what an engine makes of it."""
        if self.direction == "forward":
            return engine.forward_all(self.plan, given)
        return engine.inverse_all(self.plan, *given)


@dataclass(frozen=True)
class Tuning:
    """The result of a search for launch parameters.

    Attributes
    ----------
    case : TuningCase
        Of what.
    usual, best : Launch
        The parameters of the table, and the best ones.
    usual_seconds, best_seconds : float
        What a call takes with these.
    tried : int
        How many others were measured.
    remarks : tuple of str
        What could not be tried, and why.
    """

    case: TuningCase
    usual: Launch
    best: Launch
    usual_seconds: float
    best_seconds: float
    tried: int
    remarks: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """How many times as fast."""
        return self.usual_seconds / self.best_seconds


def choose_grid(dialect: Dialect) -> Grid:
    """Return the candidate launch parameters of a dialect: OpenCL launches single groups, and does not load ahead.

    Examples
    --------
    >>> from subband.kernels.dialects import OPENCL
    >>> choose_grid(OPENCL)["block"]
    (1,)
    """
    chunks = (5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 160)
    if not dialect.is_staging:
        return {"pairs": (1, 2, 4), "chunk": chunks, "ahead": (0,), "block": (1,), "is_split": (False, True)}
    # chunks first, because they need no other kernel
    return {
        "chunk": chunks,
        "ahead": (0, 1, 2, 3, 4),
        "block": (1, 2, 4, 8),
        "pairs": (1, 2, 4, 8),
        "is_split": (True, False),
        "resident": (0, 2, 3, 4, 5) if dialect.name == "cuda" else (0,),
    }


def list_tuning_cases(size: int = 8192) -> tuple[TuningCase, ...]:
    """List the classes of kernels that people use most, each on an image of `size` rows and columns.

    Examples
    --------
    >>> list_tuning_cases()[0].name
    'cdf97 float32 forward 2-D lifting4 depth4 span4 size4'
    """
    cases: dict[str, TuningCase] = {}
    for case in _list_cases((size, size)):
        # several wavelets share a class
        cases.setdefault(case.kernels, case)
    return tuple(cases.values())


def plan_levels(
    shape: tuple[int, ...], wavelet: str, mode: str, axes: tuple[int, ...] = (0, 1), level: int = 1
) -> TransformPlan:
    """Plan levels of some axes."""
    count = len(axes)
    return transform_plan(shape, axes, (as_wavelet(wavelet),) * count, (mode,) * count, level)


def _list_cases(shape: tuple[int, int]) -> Iterator[TuningCase]:
    """List single levels, by how much they are used, and what kernels of two levels do."""
    lifted = [("cdf97", "whole"), ("cdf53", "whole")]
    wavelets = [*lifted, *((name, "periodization") for name in ("haar", "db2", "db4", "db5"))]
    plans = [(plan_levels(shape, wavelet, mode), "float32") for wavelet, mode in wavelets]
    plans += [(plan, "float16") for plan, _ in plans[:3:2]]
    plans += [(plan_levels(shape, "cdf97", "whole", (axis,)), "float32") for axis in (0, 1)]
    frame = min(shape[0], 1080), min(shape[1], 1920)
    plans.append((plan_levels((*frame, 3), "cdf97", "whole"), "float32"))
    for plan, dtype in plans:
        yield TuningCase(plan, dtype, "forward")
        yield TuningCase(plan, dtype, "inverse")
    joined: list[tuple[tuple[int, ...], str, int]] = [
        (shape, "float32", 2),
        (frame, "float32", 2),
        ((*frame, 3), "float32", 2),
        (shape, "float16", 2),
        (shape, "float32", 1),
        (shape, "float16", 1),
    ]
    for own, dtype, level in joined:
        plan = plan_levels(own, "cdf97", "whole", level=level)
        yield CascadeCase(plan, dtype, "forward")
        yield CascadeCase(plan, dtype, "inverse")


def select_tuning_cases(cases: Sequence[TuningCase], patterns: Sequence[str]) -> tuple[TuningCase, ...]:
    """Choose those whose name holds all words of at least one pattern; all if there is no pattern.

    Raises
    ------
    ArgumentError
        If none is left.
    """
    wanted = [pattern.split() for pattern in patterns] or [[]]
    chosen = tuple(case for case in cases if any(all(word in case.name for word in words) for words in wanted))
    if not chosen:
        raise ArgumentError(
            f"no class has a name with the words {' or '.join(map(repr, patterns))}; names look like {cases[0].name!r}"
        )
    return chosen


def keep_run_cases(cases: Sequence[TuningCase], engine: Any) -> tuple[TuningCase, ...]:
    """Choose those whose kernels an engine uses.

    Raises
    ------
    ArgumentError
        If none is left.
    """
    chosen = tuple(case for case in cases if case.is_run_by(engine))
    if not chosen:
        raise ArgumentError(f"engine={engine.name!r} does not use these kernels: {', '.join(map(str, cases[:3]))}")
    return chosen


def tune_case(
    case: TuningCase,
    bench: Harness,
    grid: Grid,
    effort: Effort,
    show: Callable[[Launch], None] | None = None,
    seconds: float = inf,
) -> Tuning:
    """Search the best parameters for a class of kernels.

    Parameters
    ----------
    case : TuningCase
        What to measure.
    bench : Harness
        Where.
    grid : dict
        Values to try of each parameter.
    effort : Effort
        How long to measure each.
    show : callable, optional
        Called with whatever is tried next.
    seconds : float
        Time after which nothing else is tried.

    Raises
    ------
    WrongResultError
        If the usual parameters give a wrong result.
    """
    end = perf_counter() + seconds
    search = _Search(case, bench, effort, show or (lambda _: None))
    try:
        return search.run(grid, end)
    finally:
        setattr(bench.engine, case.override, None)
        bench.release()


class _Search:
    """One search, with the data it runs on."""

    def __init__(self, case: TuningCase, bench: Harness, effort: Effort, show: Callable[[Launch], None]) -> None:
        self._case, self._bench, self._effort, self._show = case, bench, effort, show
        self._remarks: list[str] = []
        given = case.make_input(bench.engine, bench.draw(case.plan.shape, case.dtype))
        self._call = partial(case.run, bench.engine, given)
        judge, own = choose_judge(case.plan)
        doubles = map_arrays(given, lambda x: to_host(x).astype(np.float64))
        self._expected = _number_bands(replace(case, plan=own).run(judge, doubles))
        tolerance = HALF_TOLERANCE * case.plan.level if case.dtype == "float16" else TOLERANCE
        self._limit = tolerance * find_largest(self._expected)

    def run(self, grid: Grid, end: float) -> Tuning:
        case = self._case
        usual = case.choose_usual(self._bench.engine.device)
        self._check(usual)
        # what was checked in double precision judges the others, on the device
        self._expected = dict(enumerate(flatten_bands(self._launched(usual)())))
        best, tried = usual, {usual}
        for _ in range(_MOST_ROUNDS):
            before = best
            for name, values in grid.items():
                for value in values:
                    launch = replace(best, **{name: value})
                    if launch in tried or not case.is_possible(launch) or perf_counter() >= end:
                        continue
                    tried.add(launch)
                    self._show(launch)
                    if self._is_faster(launch, best):
                        best = launch
            if best == before:
                break
        usual_seconds, best_seconds = self._time(usual, best)
        if best_seconds * _LEAST_GAIN >= usual_seconds:
            # what seemed to help has helped by chance
            best, best_seconds = usual, usual_seconds
        return Tuning(case, usual, best, usual_seconds, best_seconds, len(tried) - 1, tuple(self._remarks))

    def _is_faster(self, launch: Launch, best: Launch) -> bool:
        """Try parameters; those that do not run, or give a wrong result, are never faster."""
        try:
            self._check(launch)
        except WrongResultError as error:
            self._remarks.append(f"{launch} gives a wrong result: {error}")
            return False
        except Exception as error:  # noqa: BLE001 - each driver refuses a launch in its own way
            if isinstance(error, SubbandError):
                error = SubbandError(str(error).splitlines()[0])
            self._remarks.append(f"{launch} does not run: {error}")
            return False
        current, other = self._time(best, launch)
        return other * _LEAST_GAIN < current

    def _check(self, launch: Launch) -> None:
        call = self._launched(launch)
        poison_memory(call, self._bench.poison)
        found = dict(enumerate(flatten_bands(self._bench.run_poisoned(call))))
        compare_bands(found, self._expected, self._case.name, self._limit, find_deviation=self._bench.find_deviation)

    def _time(self, one: Launch, other: Launch) -> tuple[float, float]:
        calls = {"one": self._launched(one), "other": self._launched(other)}
        replays = {name: self._bench.capture(call) for name, call in calls.items()}
        calls |= {name: replay.launch for name, replay in replays.items() if replay is not None}
        times = take_turns(calls, self._effort, self._bench.time_calls)
        return times["one"], times["other"]

    def _launched(self, launch: Launch) -> Callable[[], Any]:
        """Return the call with these parameters."""

        def call() -> Any:
            setattr(self._bench.engine, self._case.override, launch)
            return self._call()

        return call


def _number_bands(result: Any) -> dict[int, Array]:
    """Bring the bands of a level, or the array that they came from, to the host."""
    return dict(enumerate(map(to_host, flatten_bands(result))))
