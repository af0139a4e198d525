"""What the host does for a transform of an array on a GPU: until the call returns, not until the GPU has computed.

Kernels of a small image take less time than a slow host takes to launch them, so that these microseconds are how fast
such images are transformed. An empty kernel, launched by the host in the same run, says how slow the host is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import subband
from subband.bench.tables import Cell, Goal, Report, Sheet, as_record
from subband.engines.measuring.devices import describe_machine
from subband.engines.measuring.judging import TOLERANCE, compare_bands, find_largest, flatten_bands
from subband.engines.measuring.timing import Effort, take_turns, time_calls
from subband.media.faults import require
from subband.typing import Array

__all__ = ["Card", "HostCall", "measure_host_calls", "open_card", "report_host_calls"]

#: What video has, in single precision.
SHAPE = (1080, 1920)

#: Wavelets and boundary modes: the default of images, and what networks use.
_TRANSFORMS = (("cdf97", "whole"), ("bior4.4", "symmetric"))

_LEVEL = 3

#: Microseconds that a call may take.
_MOST = {"wavedec2": 30.0, "waverec2": 30.0, "dwt2": 15.0}

_EMPTY = 'extern "C" __global__ void empty() {}'


@dataclass(frozen=True)
class Card:
    """Whose arrays are transformed.

    Attributes
    ----------
    engine : str
        Such as ``cuda:0``.
    put, fetch : callable
        Copy an array there, and back.
    wait : callable
        Returns when all kernels have run.
    launch : callable
        Launches a kernel that does nothing.
    """

    engine: str
    put: Callable[[Array], Any]
    fetch: Callable[[Any], Array]
    wait: Callable[[], None]
    launch: Callable[[], Any]


def open_card(engine: str = "cuda") -> Card:
    """Return the GPU of an engine's name, through CuPy.

    Raises
    ------
    MissingExtraError
        If CuPy is not installed.
    NoDeviceError
        If there is no GPU.
    """
    cupy = require("cupy", "measuring calls of a GPU", "cuda")
    subband.get_engine(engine)  # says what is wrong if there is none
    number = int(engine.partition(":")[2] or 0)
    cupy.cuda.Device(number).use()
    kernel = cupy.RawKernel(_EMPTY, "empty")
    wait = cupy.cuda.Device(number).synchronize
    return Card(f"cuda:{number}", cupy.asarray, cupy.asnumpy, wait, lambda: kernel((1,), (32,), ()))


@dataclass(frozen=True)
class HostCall:
    """One call, measured.

    Attributes
    ----------
    function, wavelet, mode : str
        What was called.
    seconds : float
        That the host took, the median of turns.
    empty : float
        Seconds of the launch of an empty kernel, in the same run.
    error : float
        Largest difference from the CPU's result in double precision, as a fraction of the largest number.
    """

    function: str
    wavelet: str
    mode: str
    seconds: float
    empty: float
    error: float

    @property
    def is_met(self) -> bool | None:
        """Whether it takes as little as is expected; None if nothing is."""
        return self.seconds * 1e6 <= _MOST[self.function] if self.function in _MOST else None


def measure_host_calls(card: Card, effort: Effort, shape: tuple[int, int] = SHAPE) -> Iterator[HostCall]:
    """Time what the host does for transforms of one image, function after function.

    Parameters
    ----------
    card : Card
        Where the image is.
    effort : Effort
        How long to measure.
    shape : tuple of int
        Of the image.

    Raises
    ------
    WrongResultError
        If a result is not that of the CPU in double precision.

    Examples
    --------
    >>> host = Card("cpu", np.asarray, np.asarray, lambda: None, lambda: None)
    >>> found = list(measure_host_calls(host, Effort(0.001, most=3, turn=1e-4), (96, 128)))
    >>> [each.function for each in found[:4]], all(each.error < 1e-5 for each in found)
    (['dwt2', 'idwt2', 'wavedec2', 'waverec2'], True)
    """
    image = np.random.default_rng(0).random(shape)
    x = card.put(image.astype(np.float32))
    for wavelet, mode in _TRANSFORMS:
        bands, levels = subband.dwt2(x, wavelet, mode), subband.wavedec2(x, wavelet, mode, _LEVEL)
        calls: dict[str, Callable[..., Any]] = {
            "dwt2": partial(subband.dwt2, x, wavelet, mode),
            "idwt2": partial(subband.idwt2, bands, wavelet, mode),
            "wavedec2": partial(subband.wavedec2, x, wavelet, mode, _LEVEL),
            "waverec2": partial(subband.waverec2, levels, wavelet, mode),
        }
        expected = {
            "dwt2": subband.dwt2(image, wavelet, mode),
            "wavedec2": subband.wavedec2(image, wavelet, mode, _LEVEL),
        }
        contenders = {**calls, "empty": card.launch}
        times = take_turns(contenders, effort, partial(_time_host, card))
        for name, call in calls.items():
            # once more at the end, after many calls have reused each other's memory
            error = _compare(card, f"{name} {wavelet} {mode}", call(), expected.get(name, image))
            yield HostCall(name, wavelet, mode, times[name], times["empty"], error)


def _time_host(card: Card, call: Callable[[], Any], count: int) -> float:
    """Return the seconds until some calls have returned; the GPU begins with nothing to do."""
    card.wait()
    return time_calls(call, count)


def _compare(card: Card, what: str, found: Any, expected: Any) -> float:
    own = dict(enumerate(map(card.fetch, flatten_bands(found))))
    other = dict(enumerate(flatten_bands(expected)))
    largest = find_largest(other)
    return compare_bands(own, other, what, TOLERANCE * largest, "CPU") / largest


def report_host_calls(found: Sequence[HostCall], card: Card, *, is_whole: bool = True) -> Report:
    """Make the table of what calls take of the host.

    Parameters
    ----------
    found : sequence of HostCall
        From `measure_host_calls`.
    card : Card
        Where it was measured.
    is_whole : bool
        Whether it is enough to judge.

    Examples
    --------
    >>> host = Card("cpu", np.asarray, np.asarray, lambda: None, lambda: None)
    >>> report = report_host_calls([HostCall("dwt2", "haar", "whole", 1.2e-5, 4e-6, 0.0)], host)
    >>> report.sheets[0].rows, str(report.goals[0])
    ([['dwt2', 'haar', 'whole', '12.0', '4.0', '3.0']], 'met: dwt2 haar whole: at most 15 µs of the host (12.0 µs)')
    """
    columns: dict[str, Cell] = {
        "function": "{.function}",
        "wavelet": "{.wavelet}",
        "mode": "{.mode}",
        "host µs": lambda each: f"{each.seconds * 1e6:.1f}",
        "empty launch µs": lambda each: f"{each.empty * 1e6:.1f}",
        "× empty launch": lambda each: f"{each.seconds / each.empty:.1f}",
    }
    height, width = SHAPE
    note = (
        f"{height} × {width}, float32, {_LEVEL} levels where there are several; microseconds until a call returns, "
        "medians of turns, beside the launch of an empty kernel. Results were compared with those of the CPU in double "
        "precision."
    )
    missed = [number for number, each in enumerate(found) if each.is_met is False]
    goals = [
        Goal(
            f"{each.function} {each.wavelet} {each.mode}: at most {_MOST[each.function]:g} µs of the host",
            f"{each.seconds * 1e6:.1f} µs",
            each.is_met,
        )
        for each in found
        if each.is_met is not None
    ]
    title = "What a transform of an array on the GPU takes of the host"
    sheet = Sheet.from_records(title, found, columns, note, texts=3, missed=missed if is_whole else ())
    records = {"host": [as_record(each, "is_met") for each in found]}
    return Report([sheet], goals if is_whole else (), records, describe_machine(card.engine))
