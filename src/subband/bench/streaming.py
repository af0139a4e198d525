"""Throughput of frames from the host through an engine and back, beside the bandwidth of the bus.

The limit is measured in the same run: a frame has to be uploaded and downloaded, and whichever of the two takes longer
is the least that a frame can take when everything overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from statistics import median
from time import perf_counter

import numpy as np

from subband.bench.figures import BarChart, Lengths, draw_bars
from subband.bench.tables import Cell, Goal, Report, Sheet, as_record, write_number
from subband.engines import Engine
from subband.engines.measuring.devices import Machine, describe_machine
from subband.engines.measuring.judging import WrongResultError
from subband.enhance import Enhancer, Shrink
from subband.enhance.stages import Stage
from subband.errors import ArgumentError
from subband.pipeline import Pipeline
from subband.typing import Array

__all__ = ["SIZES", "Streaming", "choose_sizes", "measure_pipeline", "report"]

#: Frames of video, rows × columns.
SIZES = {"1080p": (1080, 1920), "4K": (2160, 3840), "8K": (4320, 7680)}

#: What is done to each frame.
OPERATION = Shrink("cdf97", 3, "soft", threshold=8.0)

#: The part of the limit that is to be reached, by size.
TARGETS = {"4K": 0.8, "8K": 0.8}

#: Different frames that take turns.
_SOURCES = 4

# Rows and columns of the parts by which the CPU engine is compared with the reference engine.
_JUDGED = 256

#: Bytes of frames that one turn carries, so that small frames are measured as long as large ones.
_BYTES = 4 << 30


@dataclass(frozen=True)
class Streaming:
    """The measurements of frames of one size.

    Attributes
    ----------
    name : str
        Of the size.
    shape : tuple of int
        Of a frame.
    seconds : float
        From one frame to the next, for frames that lie in buffers of the pipeline.
    ordinary : float
        The same for frames in ordinary memory, which have to be copied first.
    stages : dict of str to float
        Seconds that each stage takes by itself, as `Pipeline.measure_stages` has it.
    deviation : int
        The largest difference of a pixel from what the CPU computes.
    is_repeatable : bool
        Whether overlapped frames were bit for bit those that were computed one at a time.
    """

    name: str
    shape: tuple[int, ...]
    seconds: float
    ordinary: float
    stages: dict[str, float]
    deviation: int
    is_repeatable: bool

    @property
    def rate(self) -> float:
        """Frames per second."""
        return 1 / self.seconds

    @property
    def limit(self) -> float | None:
        """Frames per second that the slower direction of the bus can carry."""
        return 1 / max(self.stages["upload"], self.stages["download"]) if self.stages else None

    @property
    def fraction(self) -> float | None:
        """Which part of the limit was reached."""
        return None if self.limit is None else self.rate / self.limit

    @property
    def is_right(self) -> bool:
        """Whether the results were those of the CPU, but for what rounds the other way."""
        return self.deviation <= 1 and self.is_repeatable

    @property
    def is_met(self) -> bool | None:
        """Whether the target was met, where there is one."""
        if self.fraction is None or self.name not in TARGETS:
            return None
        return self.fraction >= TARGETS[self.name] and self.is_right


def measure_pipeline(
    name: str,
    engine: str | Engine | None = None,
    *,
    operation: Shrink = OPERATION,
    in_flight: int = 3,
    count: int | None = None,
    turns: int = 5,
    shape: tuple[int, int] | None = None,
) -> Streaming:
    """Measure frames of red, green and blue bytes, host to host.

    Parameters
    ----------
    name : str
        One of `SIZES`, or any name if `shape` is given.
    engine : str, optional
        The engine that computes.
    operation : Shrink
        What is done to each frame.
    in_flight : int
        As `process_frames` takes it.
    count : int, optional
        Frames in one turn; enough for some gigabytes if left out.
    turns : int
        The median of so many is taken.
    shape : tuple of int, optional
        Rows × columns.

    Examples
    --------
    >>> measured = measure_pipeline("tiny", "cpu", count=3, turns=1, shape=(48, 64))
    >>> measured.is_right, measured.rate > 0, measured.fraction
    (True, True, None)
    """
    rows, columns = SIZES[name] if shape is None else shape
    pipeline = Pipeline(operation, engine=engine, in_flight=in_flight)
    frames = [_make_frame(pipeline, (rows, columns, 3), seed) for seed in range(_SOURCES)]
    if count is None:
        count = max(40, _BYTES // frames[0].nbytes)
    deviation, is_repeatable = _check(pipeline, frames)
    stages = pipeline.measure_stages(frames[0].shape)
    _run(pipeline, frames, 4 * (in_flight + 1))
    seconds = median(_run(pipeline, frames, count) for _ in range(turns))
    plain = [frame.copy() for frame in frames]
    fewer = max(in_flight + 1, count // 8)
    _run(pipeline, plain, in_flight + 1)
    ordinary = median(_run(pipeline, plain, fewer) for _ in range(min(turns, 3)))
    return Streaming(name, frames[0].shape, seconds, ordinary, stages, deviation, is_repeatable)


def choose_sizes(names: Sequence[str] | None = None) -> list[str]:
    """Return names of sizes as they are written in `SIZES`, all of them if none is given.

    Raises
    ------
    ArgumentError
        If there is no such size.

    Examples
    --------
    >>> choose_sizes(["4k"])
    ['4K']
    """
    known = {name.lower(): name for name in SIZES}
    for name in names or ():
        if name.lower() not in known:
            raise ArgumentError(f"size={name!r} is none of {', '.join(SIZES)}")
    return [known[name.lower()] for name in names] if names else list(SIZES)


def report(measured: Sequence[Streaming], engine: str, in_flight: int, machine: Machine | None = None) -> Report:
    """Make a report of measurements.

    Parameters
    ----------
    measured : sequence of Streaming
        From `measure_pipeline`.
    engine : str
        The engine that computed.
    in_flight : int
        Frames under way at the same time.
    machine : Machine, optional
        Where; this one if left out.

    Examples
    --------
    >>> measured = measure_pipeline("tiny", "cpu", count=3, turns=1, shape=(48, 64))
    >>> report([measured], "cpu", 3).sheets[0].columns[:4]
    ['frame', 'frames/s', 'limit', 'fraction']
    """
    columns: dict[str, Cell] = {
        "frame": "{.name}",
        "frames/s": "{.rate:.1f}",
        "limit": lambda each: write_number(each.limit, 1),
        "fraction": lambda each: write_number(each.fraction),
        "from ordinary memory": lambda each: f"{1 / each.ordinary:.1f}",
        "ms": lambda each: f"{each.seconds * 1e3:.3f}",
    }
    for stage in ("upload", "compute", "download", "both"):
        columns[f"{stage} ms"] = partial(_write_stage, stage)
    note = (
        "Limit: frames per second that the slower direction of the bus carries, measured with pinned memory; both: "
        "upload and download at the same time; from ordinary memory: frames per second that are not in the pipeline's "
        "buffers. Every pixel was compared with the CPU's, and overlapped frames with frames one at a time."
    )
    title = (
        f"Frames host to host: {engine}, {OPERATION.level} levels of {OPERATION.wavelet}, {OPERATION.mode} threshold, "
        f"{in_flight} frames in flight"
    )
    goals = [
        Goal(f"{each.name}: pixels are those of the CPU, give or take one", f"{each.deviation} apart", each.is_right)
        for each in measured
    ]
    goals += [
        Goal(f"{each.name}: at least {TARGETS[each.name]:g} of the limit", f"{each.fraction:.2f}", each.is_met)
        for each in measured
        if each.is_met is not None
    ]
    figures = {
        "engine": engine,
        "operation": repr(OPERATION),
        "in_flight": in_flight,
        "measurements": [as_record(each, "rate", "limit", "fraction", "is_right", "is_met") for each in measured],
    }
    names = [each.name for each in measured]
    series: dict[str, Lengths] = {
        "reached": [each.rate for each in measured],
        "from ordinary memory": [1 / each.ordinary for each in measured],
        "limit of the bus": [each.limit for each in measured],
    }
    drawing = draw_bars("Frames host to host", BarChart("", "fps", names, series))
    sheet = Sheet.from_records(title, measured, columns, note)
    return Report([sheet], goals, figures, machine or describe_machine(), {"Frames host to host": drawing})


def _write_stage(stage: str, each: Streaming) -> str:
    return write_number(each.stages[stage] * 1e3 if each.stages else None, 3)


def _make_frame(pipeline: Pipeline, shape: tuple[int, ...], seed: int) -> Array:
    """Fill a buffer of the pipeline with a smooth image under noise."""
    frame = pipeline.buffer(shape)
    rows, columns, _ = shape
    smooth = 100 + 80 * np.sin(np.arange(rows)[:, np.newaxis] / 40 + seed) * np.cos(np.arange(columns) / 60)
    frame[...] = smooth[..., np.newaxis]
    frame += np.random.default_rng(seed).integers(0, 40, shape, np.uint8)
    return frame


def _check(pipeline: Pipeline, frames: Sequence[Array]) -> tuple[int, bool]:
    """Compare frames with the CPU's, and frames that overlap with frames one at a time.

    The CPU, which would judge itself else, is compared with the reference engine on parts of the frames first.
    """
    parts = [frame[:_JUDGED, :_JUDGED].copy() for frame in frames]
    own, judge = (_process(pipeline.operation, parts, engine) for engine in ("cpu", "reference"))
    if (doubt := _measure_deviation(own, judge)) > 1:
        raise WrongResultError(f"the CPU engine's frames are {doubt} of 255 away from the reference engine's")
    expected = _process(pipeline.operation, frames, "cpu")
    alone = Pipeline(pipeline.operation, engine=pipeline.engine, in_flight=0)
    single = list(alone.process(frames))
    deviation = _measure_deviation(single, expected)
    count = 3 * len(frames)
    overlapped = zip(pipeline.process(_repeat(frames, count)), _repeat(single, count), strict=True)
    return deviation, all(np.array_equal(frame, own) for frame, own in overlapped)


def _process(operation: Enhancer | Stage, frames: Sequence[Array], engine: str) -> list[Array]:
    """Carry frames through one at a time, and keep them."""
    return [frame.copy() for frame in Pipeline(operation, engine=engine, in_flight=0).process(frames)]


def _measure_deviation(ones: Sequence[Array], others: Sequence[Array]) -> int:
    """Return the largest difference of a pixel."""
    return max(int(np.abs(one.astype(np.int16) - other).max()) for one, other in zip(ones, others, strict=True))


def _repeat(frames: Iterable[Array], count: int) -> Iterator[Array]:
    return islice(cycle(frames), count)


def _run(pipeline: Pipeline, frames: Sequence[Array], count: int) -> float:
    """Carry frames through, dropping the results, and return the seconds from one to the next."""
    start = perf_counter()
    for _ in pipeline.process(_repeat(frames, count)):
        pass
    return (perf_counter() - start) / count
