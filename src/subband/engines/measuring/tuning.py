"""Autotuning: a search for the fastest launch parameters of a device.

A search begins with the parameters of the table and varies one of them after the other, over a grid of values, as long
as that helps. Whatever is tried has to give the right result, and takes turns with the best so far, so that a change of
the device's clock hits both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from subband.arrays import map_arrays, to_host
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
from subband.engines.tuned import classify, measure_span
from subband.errors import ArgumentError, SubbandError
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.launch import Launch, choose_launch
from subband.kernels.numbers import STORAGES
from subband.plan import TransformPlan, transform_plan
from subband.schedule.axis import AxisProgram, axis_program
from subband.typing import Array, Direction
from subband.wavelets import as_wavelet

__all__ = [
    "Grid",
    "Tuning",
    "TuningCase",
    "choose_grid",
    "list_tuning_cases",
    "plan_level",
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
    """A class of kernels, and the transform that it is measured with.

    Attributes
    ----------
    plan : TransformPlan
        Of one level.
    dtype : str
        Of the samples.
    direction : {"forward", "inverse"}
        Which way.
    """

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
    def kernels(self) -> str:
        """The class of kernels."""
        return classify(*self.programs, self.size, self.direction)

    @property
    def name(self) -> str:
        """All of it in one line, which `select_tuning_cases` searches."""
        return f"{self.plan.wavelets[0].name} {self.dtype} {self.kernels}"

    def is_possible(self, launch: Launch) -> bool:
        """Say whether kernels of this class, in whatever mode, can be launched so."""
        if 2 * launch.pairs * self.size > _MOST_BYTES:
            return False
        horizontal = self.programs[1]
        return horizontal is None or measure_span(horizontal) <= launch.pairs * LANES // 4


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
    return {
        "pairs": (1, 2, 4, 8),
        "ahead": (0, 1, 2, 3, 4),
        "block": (1, 2, 4, 8),
        "chunk": chunks,
        "is_split": (True, False),
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


def plan_level(shape: tuple[int, int], wavelet: str, mode: str, axes: tuple[int, ...] = (0, 1)) -> TransformPlan:
    """Plan one level of some axes."""
    count = len(axes)
    return transform_plan(shape, axes, (as_wavelet(wavelet),) * count, (mode,) * count, 1)


def _list_cases(shape: tuple[int, int]) -> Iterator[TuningCase]:
    """List single levels, by how much they are used."""
    lifted = [("cdf97", "whole"), ("cdf53", "whole")]
    wavelets = [*lifted, *((name, "periodization") for name in ("haar", "db2", "db4", "db5"))]
    plans = [(plan_level(shape, wavelet, mode), "float32") for wavelet, mode in wavelets]
    plans += [(plan, "float16") for plan, _ in plans[:3:2]]
    plans += [(plan_level(shape, "cdf97", "whole", (axis,)), "float32") for axis in (0, 1)]
    for plan, dtype in plans:
        yield TuningCase(plan, dtype, "forward")
        yield TuningCase(plan, dtype, "inverse")


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


def tune_case(
    case: TuningCase,
    bench: Harness,
    grid: Grid,
    effort: Effort,
    show: Callable[[Launch], None] | None = None,
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

    Raises
    ------
    WrongResultError
        If the usual parameters give a wrong result.
    """
    search = _Search(case, bench, effort, show or (lambda _: None))
    try:
        return search.run(grid)
    finally:
        bench.engine.launch_override = None
        bench.release()


class _Search:
    """One search, with the data it runs on."""

    def __init__(self, case: TuningCase, bench: Harness, effort: Effort, show: Callable[[Launch], None]) -> None:
        self._case, self._bench, self._effort, self._show = case, bench, effort, show
        self._remarks: list[str] = []
        (level,) = case.plan.levels
        given = bench.draw(case.plan.shape, case.dtype)
        if case.direction == "inverse":
            given = bench.engine.forward(level, given)
        self._call = partial(getattr(bench.engine, case.direction), level, given)
        judge, own = choose_judge(case.plan)
        doubles = map_arrays(given, lambda x: to_host(x).astype(np.float64))
        self._expected = _number_bands(getattr(judge, case.direction)(own.levels[0], doubles))

    def run(self, grid: Grid) -> Tuning:
        case = self._case
        device = self._bench.engine.device
        usual = choose_launch(
            device.dialect, *case.programs, case.size, is_gpu=device.is_gpu, is_inverse=case.direction == "inverse"
        )
        self._check(usual)
        # what was checked in double precision judges the others, in a quarter of the time
        self._expected = _number_bands(self._launched(usual)())
        best, tried = usual, {usual}
        for _ in range(_MOST_ROUNDS):
            before = best
            for name, values in grid.items():
                for value in values:
                    launch = replace(best, **{name: value})
                    if launch in tried or not case.is_possible(launch):
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
        found = _number_bands(self._bench.run_poisoned(call))
        tolerance = HALF_TOLERANCE if self._case.dtype == "float16" else TOLERANCE
        compare_bands(found, self._expected, self._case.name, tolerance * find_largest(self._expected))

    def _time(self, one: Launch, other: Launch) -> tuple[float, float]:
        calls = {"one": self._launched(one), "other": self._launched(other)}
        times = take_turns(calls, self._effort, self._bench.time_calls)
        return times["one"], times["other"]

    def _launched(self, launch: Launch) -> Callable[[], Any]:
        """Return the call with these parameters."""

        def call() -> Any:
            self._bench.engine.launch_override = launch
            return self._call()

        return call


def _number_bands(result: Any) -> dict[int, Array]:
    """Bring the bands of a level, or the array that they came from, to the host."""
    return dict(enumerate(map(to_host, flatten_bands(result))))
