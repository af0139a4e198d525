"""``subband noise``: noise added to pictures, film and volumes, to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
    NoiseName,
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
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from threading import Event

    from subband.cli.files import Job
    from subband.enhance.models import NoiseModel
    from subband.pipeline.relay import Observe, Report

app = typer.Typer()

_MODELS = ("gaussian", "speckle", "log-speckle", "poisson")


@app.command("noise")
def add_noise(
    paths: Paths = None,
    noise: NoiseName = "gaussian",
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
) -> None:
    """Add noise to pictures, film and volumes."""
    from subband.cli.enhancing import Reading, Writing
    from subband.cli.files import Settings, check_jobs, plan_jobs, run_jobs, split_paths
    from subband.cli.pipes import Pipes
    from subband.enhance import Gaussian
    from subband.enhance.description import describe
    from subband.pipeline.files import add_noise_to_file

    chosen = _make_model(noise or "gaussian", sigma, looks, gain)
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
            with reading.open(job.source, colours="ycbcr" if isinstance(chosen, Gaussian) else "rgb") as source:
                sink = writing.open(job.output, source.info, force=force)
                return add_noise_to_file(source, sink, chosen, seed=seed, on_progress=observe, cancelled=cancelled)

        run_jobs(planned, work, settings, {"model": describe(chosen), "seed": seed})


def _make_model(name: str, sigma: float | None, looks: float | None, gain: float | None) -> NoiseModel:
    from subband.enhance import Gaussian, LogSpeckle, PoissonGaussian, Speckle
    from subband.enhance.models import find_model
    from subband.errors import suggest_names

    if name.partition(":")[0] not in _MODELS:
        raise ArgumentError(
            f"--noise {name} is not known{suggest_names(name, _MODELS)}; use one of {', '.join(_MODELS)}"
        )
    if ":" in name:
        for option, value in (("--sigma", sigma), ("--looks", looks), ("--gain", gain)):
            if value is not None:
                raise ArgumentError(f"--noise {name} has its settings already; leave {option} out, or write it there")
        return find_model(name)
    looks, gain = 1.0 if looks is None else looks, 1.0 if gain is None else gain
    if sigma is not None and "speckle" in name:
        raise ArgumentError(f"--sigma {sigma:g} means nothing for {name}; say with --looks how strong it is")
    if name == "gaussian":
        return Gaussian(20.0 if sigma is None else sigma)
    if name == "poisson":
        return PoissonGaussian(gain, sigma=0.0 if sigma is None else sigma)
    return Speckle(looks) if name == "speckle" else LogSpeckle(looks=looks)
