"""Enhancing files, with what the options of commands say about reading and writing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from subband.cli.files import Job, Settings, check_jobs, plan_jobs, run_jobs, split_paths
from subband.cli.options import (
    Codec,
    Ending,
    MostPixels,
    Preset,
    Quality,
    Rate,
    Series,
    Sound,
    Tolerant,
    TrimPart,
)
from subband.cli.pipes import Pipes
from subband.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from subband.enhance import Enhancer
    from subband.media import Sink, Source, SourceInfo
    from subband.pipeline.files import OpenSink, OpenSource
    from subband.pipeline.relay import Observe, Report

__all__ = ["Reading", "Writing", "calm_threads", "enhance_files", "process_files", "read_chain"]


def calm_threads() -> None:
    """Let threads of other libraries that wait for work sleep, unless the user wants it otherwise; ours do.

    OpenMP's go on turning for a while, which takes the cores from those that decode and encode. It reads this when it
    is loaded, so that it has to be said before anything is computed.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def read_chain(path: Path) -> Enhancer:
    """Read a chain from a file of TOML.

    Raises
    ------
    FormatError
        If it holds none.
    """
    from subband.enhance import Enhancer

    try:
        return Enhancer.from_toml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FormatError(f"{str(path)!r} is not a text, and so no chain") from None
    except FormatError as error:
        # as it is written there, and not as options are
        message = re.sub(r"\b([a-z_]+)=(?=\S)", r"\1 = ", str(error))
        raise FormatError(f"{str(path)!r}: {message}") from error


@dataclass(frozen=True)
class Reading:
    """How files are read, as the user said."""

    most_pixels: MostPixels = None
    tolerant: Tolerant = False
    series: Series = None
    rate: Rate = None
    trim: TrimPart = None

    def open(self, path: Path, pipes: Pipes | None = None, *, colours: Literal["rgb", "ycbcr"] = "rgb") -> Source:
        """Open a file, which may stand for standard input."""
        from subband.media import open_source

        part: dict[str, Any] = {"rate": self.rate, "trim": self.trim, "most_pixels": self.most_pixels}
        if pipes is not None and pipes.streams_from(path):
            return pipes.open_source(colours=colours, **part)
        return open_source(path, colours=colours, tolerant=self.tolerant, series=self.series, **part)


@dataclass(frozen=True)
class Writing:
    """How files are written, as the user said."""

    ending: Ending = None
    codec: Codec = None
    quality: Quality = None
    preset: Preset = None
    audio: Sound = True

    def open(self, path: Path, info: SourceInfo, settings: Settings, pipes: Pipes | None = None) -> Sink:
        """Open a file for frames, which may stand for standard output."""
        from subband.media import open_sink

        options: dict[str, Any] = {"codec": self.codec, "quality": self.quality, "preset": self.preset}
        if not self.audio:
            options["audio"] = False
        given = {name: value for name, value in options.items() if value is not None}
        if pipes is not None and pipes.streams_to(path):
            given.pop("audio", None)
            return pipes.open_sink(info, **given)
        return open_sink(path, info, overwrite=settings.force, keep_partial=settings.keep_partial, **given)


def process_files(
    paths: Sequence[Path] | None,
    pipe_format: str | None,
    work: Callable[[Job, OpenSource, OpenSink, Observe, Event], Report],
    settings: Settings,
    reading: Reading,
    writing: Writing,
    about: dict[str, Any],
) -> None:
    """Run some work on each file of a command, or from standard input to standard output.

    Parameters
    ----------
    paths, pipe_format, settings, reading, writing
        As the user said.
    work : callable
        Takes a job, what opens its source and its sink, an observer, and an event that cancels it.
    about : dict
        More for the JSON.
    """
    with Pipes(paths, pipe_format) as pipes:
        settings = pipes.calm(settings)
        inputs, output = split_paths(pipes.paths)
        jobs = plan_jobs(inputs, output, writing.ending, recursive=settings.recursive)
        check_jobs(jobs, settings)

        def run(job: Job, observe: Observe, cancelled: Event) -> Report:
            return work(
                job,
                lambda colours: reading.open(job.source, pipes, colours=colours),
                lambda info: writing.open(job.output, info, settings, pipes),
                observe,
                cancelled,
            )

        run_jobs(jobs, run, settings, about)


def enhance_files(
    paths: Sequence[Path] | None,
    enhancer: Enhancer,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    *,
    pipe_format: str | None,
    view: str,
    engine: str | None,
    memory: float | None,
    part_of_white: str | None = None,
    nonfinite: str = "refuse",
) -> None:
    """Apply an enhancer, whose numbers are those of 8 bits, to all files.

    Volumes have no white, and are refused if an option is named whose threshold is a part of it.
    """
    calm_threads()
    from subband.engines import get_engine
    from subband.pipeline.files import check_view, enhance_file

    check_view(view)
    if nonfinite not in ("refuse", "mask"):
        raise ArgumentError(f"--nonfinite {nonfinite} is not known; use refuse or mask")
    chosen = get_engine(engine)
    most = None if memory is None else int(memory * 2**30)

    def work(job: Job, source: OpenSource, sink: OpenSink, observe: Observe, cancelled: Event) -> Report:
        def open_result(info: SourceInfo) -> Sink:
            if part_of_white is not None and info.kind == "volume":
                raise ArgumentError(
                    f"{part_of_white} is a part of white, and {str(job.source)!r} is a volume, which has none; write "
                    "the threshold in the units of the file into a chain, and give that with --chain"
                )
            return sink(info)

        return enhance_file(
            source,
            open_result,
            enhancer,
            engine=chosen,
            view=view,
            memory=most,
            nonfinite=nonfinite,
            on_progress=observe,
            cancelled=cancelled,
        )

    process_files(paths, pipe_format, work, settings, reading, writing, {"chain": enhancer.to_dict()})
