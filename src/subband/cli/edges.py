"""``subband edges``: edge detection in images, video and volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.enhancing import Reading, Writing
from subband.cli.files import Settings
from subband.cli.options import (
    EngineName,
    Paths,
)
from subband.cli.settings import take_files, take_settings
from subband.edit.edges import EdgeFinder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from subband.cli.files import Job
    from subband.engines import Engine
    from subband.media import SourceInfo
    from subband.pipeline.relay import Observe, Report, Work
    from subband.typing import Array

app = typer.Typer()


@app.command()
@take_settings(EdgeFinder, "threshold level finest contrast sigma wavelet fade")
@take_files(reading="most_pixels tolerant series")
def edges(
    paths: Paths = None,
    each_channel: Annotated[
        bool, typer.Option("--colours", help="Use each colour channel, not the brightness alone.")
    ] = False,
    edges_only: Annotated[
        bool, typer.Option("--edges-only", help="Write white edges on black, not the image with edges.")
    ] = False,
    engine: EngineName = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Draw the edges of images and video over them; volumes become masks, 255 where there is an edge.

    `subband edges photo.png edges.png` finds what stands out from the noise at several scales.
    """
    from dataclasses import replace

    from subband.cli.enhancing import calm_threads
    from subband.cli.files import check_jobs, plan_jobs, run_jobs, split_paths

    calm_threads()
    from subband.engines import get_engine
    from subband.pipeline.relay import relay_frames
    from subband.pipeline.units import WHITE

    finder = EdgeFinder(**chosen, channels="strongest" if each_channel else "brightness")
    inputs, output = split_paths(paths)
    planned = plan_jobs(inputs, output, writing.ending, recursive=settings.recursive)
    check_jobs(planned, settings)
    running = get_engine(engine)

    def work(job: Job, observe: Observe, cancelled: Event) -> Report:
        with reading.open(job.source) as source:
            info = source.info
            own = replace(finder, white=None if info.kind == "volume" else WHITE)
            sink = writing.open(job.output, _describe_result(info, mask=edges_only), settings)
            # a mask with the holes of its image would hide edges
            frames = (replace(frame, alpha=None) for frame in source) if edges_only else source
            return relay_frames(
                frames,
                _find_work(info, own, running, mask=edges_only),
                sink,
                count=info.count,
                on_progress=observe,
                cancelled=cancelled,
            )

    run_jobs(planned, work, settings, {"threshold": finder.threshold, "level": finder.level})


def _describe_result(info: SourceInfo, *, mask: bool) -> SourceInfo:
    """Say what a sink will have to hold."""
    from dataclasses import replace

    import numpy as np

    if info.kind == "volume" or mask:
        shape, dtype = info.shape[:2], np.dtype(np.uint8)
        return replace(info, shape=shape, dtype=dtype, colours="grey", bits=8, has_alpha=False, pixel_format="")
    # video of one channel, and images of it, get colours for the edges
    return replace(info, shape=(*info.shape[:2], 3), colours="rgb", pixel_format="")


def _find_work(info: SourceInfo, finder: EdgeFinder, engine: Engine, *, mask: bool) -> Work:
    """Return what turns frames into frames; a volume is looked at as a whole."""
    from itertools import islice

    import numpy as np

    def find_in_volume(frames: Iterator[Array]) -> Iterator[Array]:
        # what a file holds of times or channels is looked at apart
        depth = None if info.groups == 1 else (info.count or 0) // info.groups
        while group := list(islice(frames, depth)):
            slices = np.stack(group)
            if slices.ndim == 4:
                slices = slices.astype(np.float32).mean(axis=3)
            yield from finder.find(slices, volume=True, engine=engine).mask.astype(np.uint8) * np.uint8(255)

    def find_in_frames(frames: Iterator[Array]) -> Iterator[Array]:
        for frame in frames:
            found = finder.find(frame, volume=False, engine=engine)
            if mask:
                yield found.mask.astype(np.uint8) * np.uint8(255)
            else:
                yield found.overlay(frame, finder.colour, finder.opacity, finder.fade)

    return find_in_volume if info.kind == "volume" else find_in_frames
