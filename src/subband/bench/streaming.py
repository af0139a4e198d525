"""How fast frames go from the host through an engine and back, and how near that is to what the bus can carry.

The limit is measured in the same run: a frame has to be uploaded and downloaded, and whichever of the two takes longer
is the least that a frame can take when everything overlaps.

``python -m subband.bench.streaming --engine cuda`` prints a table and writes ``streaming.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from subband.bench.devices import describe_device
from subband.bench.machine import Machine, describe_machine
from subband.bench.report import insert_section
from subband.engines import Engine, get_engine
from subband.enhance import Shrink
from subband.media import place_output
from subband.pipeline import Pipeline
from subband.typing import Array

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["SIZES", "Streaming", "measure_pipeline", "to_json", "to_markdown", "to_table"]

#: Frames of film, rows × columns.
SIZES = {"1080p": (1080, 1920), "4K": (2160, 3840), "8K": (4320, 7680)}

#: What is done to each frame.
OPERATION = Shrink("cdf97", 3, "soft", threshold=8.0)

#: The part of the limit that is to be reached, by size.
TARGETS = {"4K": 0.8, "8K": 0.8}

#: Different frames that take turns.
_SOURCES = 4

#: Bytes of frames that one turn carries, so that small frames are measured as long as large ones.
_BYTES = 4 << 30


@dataclass(frozen=True)
class Streaming:
    """What was measured for frames of one size.

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
        """Frames a second."""
        return 1 / self.seconds

    @property
    def limit(self) -> float | None:
        """Frames a second that the slower direction of the bus can carry."""
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
        Who computes.
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
    seconds = _find_median(_run(pipeline, frames, count) for _ in range(turns))
    plain = [frame.copy() for frame in frames]
    fewer = max(in_flight + 1, count // 8)
    _run(pipeline, plain, in_flight + 1)
    ordinary = _find_median(_run(pipeline, plain, fewer) for _ in range(min(turns, 3)))
    return Streaming(name, frames[0].shape, seconds, ordinary, stages, deviation, is_repeatable)


def to_table(measured: Sequence[Streaming], engine: str, in_flight: int) -> Table:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    caption = (
        "limit: the slower direction of the bus, measured with pinned memory; both: upload and download at the same "
        "time; ordinary: frames that are not in the pipeline's buffers. Times in milliseconds for a frame."
    )
    title = f"{engine}, {OPERATION.level} levels of {OPERATION.wavelet}, {OPERATION.mode}, {in_flight} frames in flight"
    table = Table(title=title, caption=caption, box=box.SIMPLE_HEAVY, title_justify="left")
    stages = ("upload", "compute", "download", "both")
    for column in ("frame", "frames/s", "limit", "fraction", "ordinary", "ms", *stages, "right", "met"):
        table.add_column(column, justify="left" if column == "frame" else "right")
    for each in measured:
        table.add_row(
            each.name,
            f"{each.rate:.1f}",
            _write(each.limit, ".1f"),
            _write(each.fraction, ".2f"),
            f"{1 / each.ordinary:.1f}",
            f"{each.seconds * 1e3:.3f}",
            *(_write(each.stages[stage] * 1e3 if each.stages else None, ".3f") for stage in stages),
            "yes" if each.is_right else "no",
            {None: "", True: "yes", False: "no"}[each.is_met],
        )
    return table


def to_json(
    measured: Sequence[Streaming], engine: str, in_flight: int, machine: Machine | None = None
) -> dict[str, Any]:
    """Return everything as what JSON can hold; times are in seconds."""
    rows = [
        {
            **asdict(each),
            "rate": each.rate,
            "limit": each.limit,
            "fraction": each.fraction,
            "target": TARGETS.get(each.name),
            "is_right": each.is_right,
            "is_met": each.is_met,
        }
        for each in measured
    ]
    return {
        "machine": (machine or describe_machine()).to_dict(),
        "engine": engine,
        "operation": repr(OPERATION),
        "in_flight": in_flight,
        "measurements": rows,
    }


def to_markdown(report: Mapping[str, Any]) -> str:
    """Return the section of a page that tells what `to_json` holds.

    Examples
    --------
    >>> measured = measure_pipeline("tiny", "cpu", count=3, turns=1, shape=(48, 64))
    >>> to_markdown(to_json([measured], "cpu", 3)).splitlines()[2]
    '| frame | frames/s | limit | fraction | from ordinary memory | right | target | met |'
    """
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    place = f"{report['engine']}; {machine['processor']}; {versions}; {machine['date']}"
    lines = [
        f"Measured on: {place}. {report['operation']}, {report['in_flight']} frames in flight.",
        "",
        "| frame | frames/s | limit | fraction | from ordinary memory | right | target | met |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- | --- |",
    ]
    for row in report["measurements"]:
        cells = (
            row["name"],
            f"{row['rate']:.0f}",
            _write(row["limit"], ".0f"),
            _write(row["fraction"], ".2f"),
            f"{1 / row['ordinary']:.0f}",
            "yes" if row["is_right"] else "no",
            "" if row["target"] is None else f"≥ {row['target']} of the limit",
            {None: "", True: "yes", False: "no"}[row["is_met"]],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _write(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _make_frame(pipeline: Pipeline, shape: tuple[int, ...], seed: int) -> Array:
    """Fill a buffer of the pipeline with a smooth picture under noise."""
    frame = pipeline.buffer(shape)
    rows, columns, _ = shape
    smooth = 100 + 80 * np.sin(np.arange(rows)[:, np.newaxis] / 40 + seed) * np.cos(np.arange(columns) / 60)
    frame[...] = smooth[..., np.newaxis]
    frame += np.random.default_rng(seed).integers(0, 40, shape, np.uint8)
    return frame


def _check(pipeline: Pipeline, frames: Sequence[Array]) -> tuple[int, bool]:
    """Compare one frame with the CPU's, and frames that overlap with frames one at a time."""
    expected = next(iter(Pipeline(pipeline.operation, engine="cpu").process(frames[:1])))
    alone = Pipeline(pipeline.operation, engine=pipeline.engine, in_flight=0)
    single = list(alone.process(frames))
    deviation = int(np.abs(single[0].astype(np.int16) - expected).max())
    count = 3 * len(frames)
    overlapped = zip(pipeline.process(_repeat(frames, count)), _repeat(single, count), strict=True)
    return deviation, all(np.array_equal(frame, own) for frame, own in overlapped)


def _repeat(frames: Iterable[Array], count: int) -> Iterator[Array]:
    return islice(cycle(frames), count)


def _run(pipeline: Pipeline, frames: Sequence[Array], count: int) -> float:
    """Carry frames through, dropping the results, and return the seconds from one to the next."""
    start = perf_counter()
    for _ in pipeline.process(_repeat(frames, count)):
        pass
    return (perf_counter() - start) / count


def _find_median(times: Iterable[float]) -> float:
    return float(np.median(list(times)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="python -m subband.bench.streaming", description="Frames host to host.")
    parser.add_argument("--engine", default="cuda", help="who computes")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="which frames")
    parser.add_argument("--in-flight", type=int, default=3, help="frames under way at the same time")
    parser.add_argument("--count", type=int, help="frames in one turn")
    parser.add_argument("--turns", type=int, default=5, help="the median of so many is taken")
    parser.add_argument("--output", type=Path, default=Path("streaming.json"), help="where the figures go")
    parser.add_argument("--markdown", type=Path, help="a page whose part `pipeline` is to tell them too")
    parser.add_argument("--recorded", type=Path, help="write the page from an --output of before, and measure nothing")
    options = parser.parse_args(arguments)
    if options.recorded is None:
        engine = get_engine(options.engine)
        device = getattr(engine, "device", None)
        name = engine.name if device is None else f"{engine.name}: {device.name}"
        measured = [
            measure_pipeline(size, engine, in_flight=options.in_flight, count=options.count, turns=options.turns)
            for size in options.sizes
        ]
        Console(width=140).print(to_table(measured, name, options.in_flight))
        number = getattr(device, "number", 0)
        machine = describe_machine(None if device is None else describe_device(f"{engine.name}:{number}"))
        report = to_json(measured, name, options.in_flight, machine)
        with place_output(options.output) as unfinished:
            unfinished.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    else:
        report = json.loads(options.recorded.read_text(encoding="utf-8"))
    if options.markdown is not None:
        page = insert_section(options.markdown, to_markdown(report), "pipeline")
        with place_output(options.markdown) as unfinished:
            unfinished.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
