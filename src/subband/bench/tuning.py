"""Finding the launch parameters that suit a device best, by trying.

A search begins with the parameters of the table and varies one of them after the other, over a grid of values, as long
as that helps. Whatever is tried has to give the right result, and takes turns with the best so far, so that a change of
the device's clock hits both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import subband
from subband.arrays import to_host
from subband.bench.beds import Bed
from subband.bench.checking import WrongResultError, check_result, flatten_bands, judge_on_host, poison_memory
from subband.bench.device_cases import DeviceCase
from subband.bench.measuring import Effort, take_turns
from subband.engines.tuned import classify, measure_span
from subband.errors import ArgumentError, SubbandError
from subband.kernels.dialects import LANES, Dialect
from subband.kernels.launch import Launch, choose_launch
from subband.kernels.numbers import STORAGES
from subband.schedule.axis import AxisProgram, axis_program

__all__ = ["Grid", "Tuning", "TuningCase", "choose_grid", "list_tuning_cases", "select_tuning_cases", "tune_case"]

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
    case : DeviceCase
        One level, called on the engine.
    vertical, horizontal : AxisProgram or None
        What the kernel does down the columns and along the rows.
    """

    case: DeviceCase
    vertical: AxisProgram | None
    horizontal: AxisProgram | None

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return STORAGES[self.case.dtype].size

    @property
    def kernels(self) -> str:
        """The class of kernels."""
        return classify(self.vertical, self.horizontal, self.size, "inverse" if self.case.inverse else "forward")

    @property
    def name(self) -> str:
        """All of it in one line, which `select_tuning_cases` searches."""
        return f"{self.case.wavelet} {self.case.dtype} {self.kernels}"

    def is_possible(self, launch: Launch) -> bool:
        """Say whether kernels of this class, in whatever mode, can be launched so."""
        if 2 * launch.pairs * self.size > _MOST_BYTES:
            return False
        return self.horizontal is None or measure_span(self.horizontal) <= launch.pairs * LANES // 4


@dataclass(frozen=True)
class Tuning:
    """What a search has found.

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
    """Return what is worth trying in a dialect: OpenCL launches single groups, and does not load ahead.

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
    for case in _list_cases(size):
        found = [axis_program(plan, "inverse" if case.inverse else "forward") for plan in case.plan.plans]
        programs = dict(zip(case.transformed, found, strict=True))
        tuning = TuningCase(case, programs.get(0), programs.get(1))
        # several wavelets share a class
        cases.setdefault(tuning.kernels, tuning)
    return tuple(cases.values())


def _list_cases(size: int) -> Iterator[DeviceCase]:
    """List single levels, by how much they are used."""
    shape = (size, size)
    wavelets = [("cdf97", "whole"), ("cdf53", "whole")]
    wavelets += [(name, "periodization") for name in ("haar", "db2", "db4", "db5")]
    for wavelet, mode in wavelets:
        for inverse in (False, True):
            yield DeviceCase(shape, wavelet, mode, inverse=inverse, is_bare=True)
    for wavelet, mode in wavelets[:3:2]:
        for inverse in (False, True):
            yield DeviceCase(shape, wavelet, mode, inverse=inverse, dtype="float16", is_bare=True)
    for axis in (0, 1):
        for inverse in (False, True):
            yield DeviceCase(shape, "cdf97", "whole", inverse=inverse, axes=(axis,), is_bare=True)


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
    bed: Bed,
    grid: Grid,
    effort: Effort,
    show: Callable[[Launch], None] | None = None,
) -> Tuning:
    """Search the best parameters for a class of kernels.

    Parameters
    ----------
    case : TuningCase
        What to measure.
    bed : Bed
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
    search = _Search(case, bed, effort, show or (lambda _: None))
    try:
        return search.run(grid)
    finally:
        bed.engine.launch_override = None
        bed.release()


class _Search:
    """One search, with the data it runs on."""

    def __init__(self, case: TuningCase, bed: Bed, effort: Effort, show: Callable[[Launch], None]) -> None:
        self._case, self._bed, self._effort, self._show = case, bed, effort, show
        self._remarks: list[str] = []
        samples = bed.draw(case.case.shape, case.case.dtype)
        given = case.case.make_input(subband, samples)
        self._call = case.case.bind(subband, given)
        self._judge = judge_on_host(case.case, given)

    def run(self, grid: Grid) -> Tuning:
        case = self._case
        device = self._bed.engine.device
        usual = choose_launch(
            device.dialect,
            case.vertical,
            case.horizontal,
            case.size,
            is_gpu=device.is_gpu,
            is_inverse=case.case.inverse,
        )
        self._check(usual)
        # what was checked in double precision judges the others, in a quarter of the time
        self._judge = [to_host(band) for band in flatten_bands(self._launched(usual)())]
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
        poison_memory(call, self._bed.poison)
        check_result(self._case.case, self._bed.run_poisoned(call), self._judge, None)

    def _time(self, one: Launch, other: Launch) -> tuple[float, float]:
        calls = {"one": self._launched(one), "other": self._launched(other)}
        times = take_turns(calls, self._effort, self._bed.time_calls)
        return times["one"], times["other"]

    def _launched(self, launch: Launch) -> Callable[[], Any]:
        """Return the call with these parameters."""

        def call() -> Any:
            self._bed.engine.launch_override = launch
            return self._call()

        return call
