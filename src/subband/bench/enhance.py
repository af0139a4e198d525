"""Speed of enhancing frames of RGB bytes in memory.

On the CPU, scikit-image's wavelet denoiser and a plain copy of the frame as float32 take turns with ours. On a device
the frame lies there already, and the clock is the device's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subband import data
from subband.arrays import to_host
from subband.bench.figures import BarChart, Lengths, draw_bars
from subband.bench.libraries import load_library
from subband.bench.measuring import capture_call
from subband.bench.tables import Cell, Goal, Report, Sheet, as_record, write_number
from subband.engines import Engine
from subband.engines.measuring.devices import Machine, describe_machine
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort, take_turns
from subband.enhance import Denoise, Enhancer, Shrink
from subband.pipeline import Pipeline
from subband.typing import Array

__all__ = ["CASES", "SHAPE", "Case", "Speed", "make_frame", "measure_speeds", "report"]

#: Of a frame of video.
SHAPE = (1080, 1920, 3)

#: Copies that 10 milliseconds hold, where one takes 1.5 milliseconds: 100 frames per second there.
MOST_COPIES = 10 / 1.5

#: Grey levels that results may differ by: what lies between two may be rounded either way.
_LARGEST_DEVIATION = 1


@dataclass(frozen=True)
class Case:
    """A way to enhance a frame, and its speed targets.

    Attributes
    ----------
    name : str
        In the table.
    enhancer : Enhancer
        What is done.
    speedup : float or None
        How many times as fast as scikit-image it should be.
    copies : float or None
        How many copies it should take at most.
    rate : float or None
        Frames per second that a large GPU should reach.
    """

    name: str
    enhancer: Enhancer
    speedup: float | None = None
    copies: float | None = None
    rate: float | None = None

    def bind_on_host(self, frame: Array, engine: str | Engine | None) -> Callable[[], Array]:
        """Return a call that enhances a frame of video in the host's memory."""
        pipeline = Pipeline(self.enhancer, engine=engine)

        def enhance() -> Array:
            (result,) = pipeline.process([frame])
            return result

        return enhance


@dataclass(frozen=True)
class Speed:
    """One case, measured.

    Attributes
    ----------
    case : Case
        What was measured.
    seconds : float
        For one frame.
    copy : float
        For a copy of the frame as float32.
    peer : float or None
        For scikit-image, where it was measured.
    graph : float or None
        For one frame where the call was recorded once and is repeated without Python.
    deviation : int
        The largest difference of a pixel from what the reference engine computes.
    remarks : tuple of str
        What could not be measured, and why.
    """

    case: Case
    seconds: float
    copy: float
    deviation: int
    peer: float | None = None
    graph: float | None = None
    remarks: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Frames per second."""
        return 1 / self.seconds

    @property
    def copies(self) -> float:
        """How many plain copies it takes."""
        return self.seconds / self.copy

    @property
    def speedup(self) -> float | None:
        """How many times as fast as scikit-image."""
        return None if self.peer is None else self.peer / self.seconds

    def judge(self, *, is_on_device: bool) -> Iterator[Goal]:
        """Yield the goals of the case, as far as it was measured."""
        case = self.case
        if is_on_device:
            if case.rate is not None:
                best = max(self.rate, 0.0 if self.graph is None else 1 / self.graph)
                graph = "" if self.graph is None else f", {1 / self.graph:,.0f} as a graph"
                text = f"{case.name}: at least {case.rate:,.0f} fps on the device"
                yield Goal(text, f"{self.rate:,.0f}{graph}", best >= case.rate)
            return
        if case.speedup is not None and self.speedup is not None:
            text = f"{case.name}: at least {case.speedup:g} times as fast as scikit-image"
            yield Goal(text, f"{self.speedup:.1f} times", self.speedup >= case.speedup)
        if case.copies is not None:
            text = f"{case.name}: at most {case.copies:.2f} copies, 100 fps where a copy takes 1.5 ms"
            yield Goal(text, f"{self.copies:.2f} copies", self.copies <= case.copies)


#: Three levels of a soft threshold, the default, and what there is beside it.
CASES = (
    Case(
        "soft threshold, cdf97, 3 levels",
        Enhancer((Shrink("cdf97", 3, "soft", 8.0),), colour="ycbcr"),
        speedup=20,
        copies=MOST_COPIES,
        rate=3000,
    ),
    Case("default (bivariate)", Enhancer(), speedup=3),
    Case("bayes", Enhancer((Denoise("bayes"),))),
    Case("wiener", Enhancer((Denoise("wiener"),))),
)


def make_frame(shape: tuple[int, ...] = SHAPE, seed: int = 0) -> Array:
    """Return the bundled photograph, repeated and under noise, as a frame of bytes.

    Examples
    --------
    >>> make_frame((48, 64, 3)).dtype
    dtype('uint8')
    """
    pixels = data.photograph()
    times = [-(-length // own) for length, own in zip(shape, pixels.shape, strict=True)]
    frame = np.tile(pixels, times)[tuple(slice(length) for length in shape)]
    noise = np.random.default_rng(seed).normal(0, 10, shape)
    return np.clip(np.rint(frame + noise), 0, 255).astype(np.uint8)


def measure_speeds(cases: Sequence[Case], effort: Effort, frame: Array, bench: Harness) -> Iterator[Speed]:
    """Measure cases with a plain copy taking turns, and on the host scikit-image, too.

    To a device the frame is uploaded before.

    Yields
    ------
    Speed
        One for each case.

    Raises
    ------
    MissingExtraError
        If scikit-image is not installed, which it has to be for the host.
    WrongResultError
        If a result is not that of the reference engine.
    """
    peer = None if bench.is_device else load_library("scikit-image").restoration.denoise_wavelet
    # its result stays as numbers: turning them into bytes is not what is compared
    usual = {"method": "BayesShrink", "convert2ycbcr": True, "wavelet_levels": 3, "channel_axis": -1}
    pixels = bench.upload(frame)
    copy = bench.prepare_copy(bench.upload(frame.astype(np.float32)))
    for case in cases:
        enhance: Callable[[], Any] = (
            partial(case.enhancer.apply, pixels, engine=bench.name)
            if bench.is_device
            else case.bind_on_host(frame, bench.engine)
        )
        deviation = _check(case, to_host(enhance()), frame)
        contenders: dict[str, Callable[[], Any]] = {"ours": enhance, "copy": copy}
        if peer is not None:
            contenders["peer"] = partial(peer, frame, rescale_sigma=True, **usual)
        remarks: list[str] = []
        if (replay := capture_call(case.name, bench, enhance, remarks)) is not None:
            replay.launch()
            _check(case, to_host(replay.result), frame)
            contenders["graph"] = replay.launch
        times = take_turns(contenders, effort, bench.time_calls)
        yield Speed(
            case, times["ours"], times["copy"], deviation, times.get("peer"), times.get("graph"), tuple(remarks)
        )
        bench.release()


def _check(case: Case, result: Array, frame: Array) -> int:
    """Return how far a result is from that of the reference engine, and refuse one that is wrong."""
    expected = case.bind_on_host(frame, "reference")()
    if result.shape != expected.shape or result.dtype != expected.dtype:
        raise WrongResultError(
            f"{case.name} returns {result.dtype} of shape {result.shape}, not {expected.dtype} of {expected.shape}"
        )
    deviation = int(np.abs(result.astype(np.int16) - expected).max())
    if deviation > _LARGEST_DEVIATION:
        raise WrongResultError(f"{case.name} is {deviation} of 255 away from the reference engine's result")
    return deviation


def report(speeds: Sequence[Speed], shape: tuple[int, ...], device: Machine | None = None) -> Report:
    """Make a report of measurements.

    Parameters
    ----------
    speeds : sequence of Speed
        From `measure_speeds`.
    shape : tuple of int
        Of the frame.
    device : Machine, optional
        Where, if it was on a device.
    """
    is_on_device = device is not None
    has_graphs = any(speed.graph is not None for speed in speeds)
    columns: dict[str, Cell] = {
        "case": "{.case.name}",
        "ms": lambda speed: f"{speed.seconds * 1e3:.3f}",
        "frames/s": "{.rate:,.1f}",
        "copy ms": lambda speed: f"{speed.copy * 1e3:.3f}",
        "copies": "{.copies:.2f}",
    }
    if has_graphs:
        columns["graph ms"] = lambda speed: "" if speed.graph is None else f"{speed.graph * 1e3:.3f}"
        columns["graph frames/s"] = lambda speed: "" if speed.graph is None else f"{1 / speed.graph:,.1f}"
    if not is_on_device:
        columns["scikit-image ms"] = lambda speed: "" if speed.peer is None else f"{speed.peer * 1e3:.1f}"
        columns["× scikit-image"] = lambda speed: write_number(speed.speedup, 1)
    note = (
        "Copies: how many plain copies of the frame as float32 it takes. Every result was compared with that of the "
        "reference engine, and is the same but for what rounds the other way."
    )
    if is_on_device:
        note += " The frame lies on the device already; times are the device's."
    else:
        note += " scikit-image: denoise_wavelet, BayesShrink, Y'CbCr, 3 levels; without turning its result into bytes."
    note = " ".join([note, *(f"{remark}." for speed in speeds for remark in speed.remarks)])
    rows_columns = " × ".join(map(str, shape))
    sheet = Sheet.from_records(f"Frames of {rows_columns} bytes", speeds, columns, note)
    goals = [goal for speed in speeds for goal in speed.judge(is_on_device=is_on_device)]
    figures = {
        "shape": list(shape),
        "speeds": [as_record(speed, "rate", "copies", "speedup") | {"case": speed.case.name} for speed in speeds],
    }
    series: dict[str, Lengths] = {"subband": [speed.rate for speed in speeds]}
    if has_graphs:
        series["subband, graph"] = [None if speed.graph is None else 1 / speed.graph for speed in speeds]
    if not is_on_device:
        series["scikit-image"] = [None if speed.peer is None else 1 / speed.peer for speed in speeds]
    chart = BarChart(f"frames of {rows_columns}", "fps", [s.case.name for s in speeds], series, is_log=True)
    drawings = {"Frames enhanced": draw_bars("Frames enhanced", chart)}
    return Report([sheet], goals, figures, device or describe_machine(libraries=["scikit-image"]), drawings)
