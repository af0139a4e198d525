"""Files through editing tools, frame by frame, with what the options of commands say about reading and writing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from subband.cli.enhancing import Reading, Writing, calm_threads
from subband.cli.files import Job, Settings, check_jobs, run_jobs
from subband.cli.outputs import Files
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.media import SourceInfo
    from subband.pipeline.relay import Observe, Report
    from subband.typing import Array

__all__ = ["edit_files", "read_image", "read_levels"]

#: Turns a frame into another of the same shape and dtype.
Change = Callable[["Array"], "Array"]


def edit_files(
    jobs: Sequence[Job],
    make_change: Callable[[Job, SourceInfo], Change],
    settings: Settings,
    reading: Reading,
    writing: Writing,
    about: dict[str, Any],
    others: Sequence[Path] = (),
) -> None:
    """Apply an editing tool to every frame of images and videos, and write the results.

    Parameters
    ----------
    jobs : sequence of Job
        As `subband.cli.files.plan_jobs` plans them.
    make_change : callable
        Returns what is done to the frames of a source for a job.
    settings, reading, writing
        As the user said.
    about : dict
        More for the JSON.
    others : sequence of Path
        What else is read, and so not replaced.

    Raises
    ------
    ArgumentError
        If a result would replace what is read.
    """
    calm_threads()
    from subband.pipeline.relay import relay_frames

    check_jobs(jobs, settings)
    read = Files(others)
    for job in jobs:
        if job.output in read:
            raise ArgumentError(f"{str(job.output)!r} is read, and would be replaced by a result; take another name")

    def work(job: Job, observe: Observe, cancelled: Event) -> Report:
        with reading.open(job.source) as source:
            if source.info.kind == "volume":
                raise ArgumentError(f"{str(job.source)!r} is a volume; this works on images and video")
            change = make_change(job, source.info)

            def each(frames: Iterator[Array]) -> Iterator[Array]:
                return (change(frame) for frame in frames)

            sink = writing.open(job.output, source.info, settings)
            return relay_frames(source, each, sink, count=source.info.count, on_progress=observe, cancelled=cancelled)

    run_jobs(jobs, work, settings, about)


def read_image(path: Path, reading: Reading) -> Array:
    """Return the pixels of an image, or of the first frame of a video."""
    with reading.open(path) as source:
        frame = next(iter(source), None)
    if frame is None:
        raise ArgumentError(f"{str(path)!r} holds no image")
    return frame.pixels


def read_levels(text: str | None) -> tuple[int, ...] | None:
    """Read numbers of levels from a list, such as 1,2,4 or 1-3.

    Examples
    --------
    >>> read_levels("1-3,5")
    (1, 2, 3, 5)
    """
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        # no image has a hundred levels, and a list of more might not fit into memory
        found = re.fullmatch(r"\s*([0-9]{1,2})(?:-([0-9]{1,2}))?\s*", part)
        chosen = range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)
        if not chosen or chosen[0] < 1:
            raise ArgumentError(f"--levels {text!r} is not a list of levels; the finest is 1: use such as 1,2 or 1-3")
        numbers += chosen
    return tuple(numbers)
