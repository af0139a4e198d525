"""``subband noise``: noise added to pictures, film and volumes, to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import (
    AsJson,
    Codec,
    DryRun,
    Ending,
    Force,
    Jobs,
    KeepPartial,
    MostPixels,
    Paths,
    PipeFormatName,
    Preset,
    Quality,
    Quiet,
    Rate,
    Recursive,
    Series,
    SkipExisting,
    Sound,
    Tolerant,
    TrimPart,
)
from subband.cli.settings import take_settings
from subband.enhance import Enhancer
from subband.errors import ArgumentError
from subband.settings import name_option

if TYPE_CHECKING:
    from threading import Event

    from subband.cli.files import Job
    from subband.enhance.models import NoiseModel
    from subband.pipeline.relay import Observe, Report

app = typer.Typer()


@app.command("noise")
@take_settings(Enhancer, "noise")
def add_noise(
    paths: Paths = None,
    sigma: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Standard deviation where samples go to 255, in red, green and blue or in each plane of video: 20 for "
            "gaussian, 0 beside the counts of poisson.",
        ),
    ] = None,
    looks: Annotated[
        float | None, typer.Option(metavar="L", help="Of speckle: how many each pixel is the mean of; 1 by default.")
    ] = None,
    gain: Annotated[
        float | None, typer.Option(metavar="G", help="Of poisson: steps of 255 for each count; 1 by default.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="The same number gives the same noise; another each time.")
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    jobs: Jobs = 1,
    skip_existing: SkipExisting = False,
    recursive: Recursive = False,
    quiet: Quiet = False,
    keep_partial: KeepPartial = False,
    ending: Ending = None,
    codec: Codec = None,
    quality: Quality = None,
    preset: Preset = None,
    audio: Sound = True,
    most_pixels: MostPixels = None,
    tolerant: Tolerant = False,
    series: Series = None,
    rate: Rate = None,
    trim: TrimPart = None,
    pipe_format: PipeFormatName = None,
    **chosen: Any,
) -> None:
    """Add noise to pictures, film and volumes."""
    from subband.cli.enhancing import Reading, Writing
    from subband.cli.files import Settings, check_jobs, plan_jobs, run_jobs, split_paths
    from subband.cli.pipes import Pipes
    from subband.enhance import Gaussian
    from subband.enhance.description import describe
    from subband.pipeline.files import add_noise_to_file

    model = _make_model(chosen["noise"], sigma=sigma, looks=looks, gain=gain)
    settings = Settings(force, dry_run, as_json, jobs, skip_existing, quiet, keep_partial)
    with Pipes(paths, pipe_format) as pipes:
        settings = pipes.calm(settings)
        inputs, output = split_paths(pipes.paths)
        planned = plan_jobs(inputs, output, ending, recursive=recursive)
        check_jobs(planned, settings)
        reading = Reading(most_pixels, tolerant, series, rate, trim, pipes)
        writing = Writing(ending, keep_partial, codec, quality, preset, audio, pipes)

        def work(job: Job, observe: Observe, cancelled: Event) -> Report:
            # noise of a camera's sensor is in the planes that it records; the other models are about light
            with reading.open(job.source, colours="ycbcr" if isinstance(model, Gaussian) else "rgb") as source:
                sink = writing.open(job.output, source.info, force=force)
                return add_noise_to_file(source, sink, model, seed=seed, on_progress=observe, cancelled=cancelled)

        run_jobs(planned, work, settings, {"model": describe(model), "seed": seed})


def _make_model(name: str, **given: float | None) -> NoiseModel:
    """Return a model of noise, with the settings that are given and that it has."""
    from dataclasses import replace

    from subband.enhance.models import find_model
    from subband.settings import list_settings

    model = find_model(name)
    changes = {key: value for key, value in given.items() if value is not None}
    known = list_settings(model)
    if ":" in name and changes:
        option = name_option(next(iter(changes)))
        raise ArgumentError(f"--noise {name} has its settings already; leave {option} out, or write it there")
    if "sigma" in changes and "sigma" not in known:
        raise ArgumentError(f"--sigma {changes['sigma']:g} applies to noise with a normal part; use --looks for {name}")
    if model == find_model("gaussian"):
        changes.setdefault("sigma", 20.0)
    # mypy cannot know that every model is a dataclass
    made: NoiseModel = replace(model, **{key: value for key, value in changes.items() if key in known})  # type: ignore[type-var]
    return made
