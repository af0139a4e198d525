"""``subband stylise``: the bumps of one picture on another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.options import (
    AsJson,
    Codec,
    DryRun,
    Ending,
    EngineName,
    Force,
    Jobs,
    KeepPartial,
    MostPixels,
    Preset,
    Quality,
    Quiet,
    Recursive,
    SkipExisting,
    Sound,
    Tolerant,
)
from subband.cli.outputs import Reads, Writes
from subband.cli.settings import take_settings
from subband.edit import Style

app = typer.Typer()


@app.command()
@take_settings(Style, "rule strength wavelet level levels orientations colour fit")
def stylise(
    picture: Annotated[
        Path, typer.Argument(metavar="A", help="A picture or a film; a folder or a pattern of them."), Reads()
    ],
    texture: Annotated[Path, typer.Argument(metavar="B", help="The picture whose bumps are carried over."), Reads()],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file, or the folder, of the result."), Writes("results")
    ],
    engine: EngineName = None,
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
    **chosen: Any,
) -> None:
    """Carry the bumps of one picture onto another, or onto every frame of a film.

    `subband stylise photo.jpg wall.jpg bumpy.png` keeps the colours of the photo.
    """
    from dataclasses import asdict

    from subband.cli.editing import edit_files, read_picture
    from subband.cli.enhancing import Reading, Writing
    from subband.cli.files import Settings, plan_jobs
    from subband.edit import Stylist
    from subband.engines import get_engine

    style = Style(**chosen)
    reading = Reading(most_pixels, tolerant)
    stylist = Stylist(read_picture(texture, reading), style, engine=get_engine(engine))
    edit_files(
        plan_jobs([picture], output, ending, recursive=recursive),
        lambda job, info: stylist.apply,  # noqa: ARG005 - the same for all
        Settings(force, dry_run, as_json, jobs, skip_existing, quiet),
        reading,
        Writing(ending, keep_partial, codec, quality, preset, audio),
        {"texture": str(texture), "style": asdict(style)},
        [texture],
    )
