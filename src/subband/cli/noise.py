"""``subband noise``: noise added to images, video and volumes, to try things on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.enhancing import Reading, Writing, process_files
from subband.cli.files import Settings
from subband.cli.options import (
    Paths,
    PipeFormatName,
)
from subband.cli.settings import take_files, take_settings
from subband.enhance import Enhancer
from subband.errors import ArgumentError
from subband.settings import name_option

if TYPE_CHECKING:
    from threading import Event

    from subband.cli.files import Job
    from subband.enhance.models import NoiseModel
    from subband.pipeline.files import OpenSink, OpenSource
    from subband.pipeline.relay import Observe, Report

app = typer.Typer()


@app.command("noise")
@take_settings(Enhancer, "noise")
@take_files()
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
        float | None, typer.Option(metavar="L", help="Speckle: number of looks that are averaged; 1 by default.")
    ] = None,
    gain: Annotated[
        float | None, typer.Option(metavar="G", help="Poisson: grey levels (of 255) per count; 1 by default.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Seed: the same number gives the same noise; random by default."),
    ] = None,
    pipe_format: PipeFormatName = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Add noise to images, video and volumes."""
    from subband.enhance import Gaussian
    from subband.enhance.description import describe
    from subband.pipeline.files import add_noise_to_file

    model = _make_model(chosen["noise"], sigma=sigma, looks=looks, gain=gain)

    def work(_job: Job, opens: OpenSource, sink: OpenSink, observe: Observe, cancelled: Event) -> Report:
        # noise of a camera's sensor is in the planes that it records; the other models are about light
        with opens("ycbcr" if isinstance(model, Gaussian) else "rgb") as source:
            return add_noise_to_file(
                source, sink(source.info), model, seed=seed, on_progress=observe, cancelled=cancelled
            )

    about = {"model": describe(model), "seed": seed}
    process_files(paths, pipe_format, work, settings, reading, writing, about)


def _make_model(name: str, **given: float | None) -> NoiseModel:
    """Return a model of noise, with the settings that are given and that it has."""
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
    # every model is a dataclass, which their protocol cannot say
    made: NoiseModel = replace(model, **{key: value for key, value in changes.items() if key in known})  # type: ignore[type-var]
    return made
