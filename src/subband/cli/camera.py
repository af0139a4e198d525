"""``subband camera``: a camera, denoised on its way into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.enhancing import Writing
from subband.cli.files import Settings
from subband.cli.options import (
    EngineName,
)
from subband.cli.outputs import Reads, Writes
from subband.cli.settings import pick_settings, take_files, take_settings
from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
@take_settings(Enhancer, "noise sigma colour temporal", noise=None, colour=None, temporal=None)
@take_settings(Denoise, "method wavelet level strength form", level=3, form="decimated")
@take_files("force dry_run as_json quiet keep_partial", writing="codec quality preset", preset="ultrafast")
def camera(
    output: Annotated[Path | None, typer.Argument(metavar="OUT", help="The video to write."), Writes("results")] = None,
    device: Annotated[
        str, typer.Option("--device", "-d", metavar="NAME", help="A number, /dev/video0, or test: for a pattern.")
    ] = "0",
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Duration of the recording; until Ctrl-C by default.")
    ] = None,
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of frames.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Frame size to request from the camera.")] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.1, metavar="FPS", help="Frame rate to request from the camera.")
    ] = None,
    chain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A chain as TOML instead of denoising; see `subband filter`."),
        Reads(),
    ] = None,
    engine: EngineName = None,
    *,
    settings: Settings,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Record a camera through an enhancer.

    Ctrl-C ends the recording, and what was recorded until then is a complete video.
    """
    from subband.cli.chain import make_enhancer
    from subband.cli.enhancing import calm_threads, read_chain
    from subband.cli.files import Job, check_jobs, run_jobs
    from subband.cli.recording import end_by_interrupt, open_camera, record_camera

    if output is None:
        raise ArgumentError(
            "for a live view use `subband studio`; to record, give the video, such as "
            "`subband camera video.mp4 --seconds 10`"
        )
    calm_threads()
    base = Enhancer((Denoise(**pick_settings(Denoise, chosen)),)) if chain is None else read_chain(chain)
    enhancer = make_enhancer(base, pick_settings(Enhancer, chosen))
    job = Job(Path(device), output)
    check_jobs([job], settings)
    # here, because Ctrl-C comes to the main thread, and files are written in others
    with end_by_interrupt() as enough:
        run_jobs(
            [job],
            lambda job, observe, cancelled: record_camera(
                lambda colours: open_camera(device, size, rate, colours),
                lambda info: writing.open(job.output, info, settings),
                enhancer,
                seconds=seconds,
                frames=frames,
                engine=engine,
                on_progress=observe,
                cancelled=cancelled,
                enough=enough,
            ),
            settings,
            {"chain": enhancer.to_dict(), "device": device},
        )
