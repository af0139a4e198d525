"""``subband stylise``: the bumps of one picture on another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    StageLevel,
    Tolerant,
    WaveletName,
    offer,
)
from subband.cli.outputs import Reads, Writes

app = typer.Typer()


@app.command()
def stylise(
    picture: Annotated[
        Path, typer.Argument(metavar="A", help="A picture or a film; a folder or a pattern of them."), Reads()
    ],
    texture: Annotated[Path, typer.Argument(metavar="B", help="The picture whose bumps are carried over."), Reads()],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file, or the folder, of the result."), Writes("results")
    ],
    rule: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            autocompletion=offer("max", "add", "mix"),
            help="How two coefficients become one: max, the larger; add, their sum; mix, some of each.",
        ),
    ] = "max",
    strength: Annotated[
        float, typer.Option("--strength", "-s", metavar="X", help="How much of the texture; 0 for nothing.")
    ] = 1.0,
    wavelet: WaveletName = "cdf97",
    level: StageLevel = None,
    levels: Annotated[
        str | None, typer.Option(metavar="N,N-N,...", help="Levels that take part, the finest is 1; as in 1,2 or 1-3.")
    ] = None,
    orientations: Annotated[
        str,
        typer.Option(metavar="LETTERS", help="Details that take part: h, v and d for horizontal, vertical, diagonal."),
    ] = "hvd",
    colour: Annotated[
        str,
        typer.Option(
            metavar="SPACE",
            autocompletion=offer("ycbcr", "opponents", "rgb"),
            help="ycbcr or opponents for brightness alone, rgb for each channel.",
        ),
    ] = "ycbcr",
    fit: Annotated[
        str,
        typer.Option(
            metavar="FIT",
            autocompletion=offer("tile", "mirror", "stretch", "crop"),
            help="What is done with a texture of another size: tile, mirror, stretch or crop.",
        ),
    ] = "tile",
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
) -> None:
    """Carry the bumps of one picture onto another, or onto every frame of a film.

    `subband stylise photo.jpg wall.jpg bumpy.png` keeps the colours of the photo.
    """
    from dataclasses import asdict

    from subband.cli.editing import edit_files, read_levels, read_picture
    from subband.cli.enhancing import Reading, Writing
    from subband.cli.files import Settings, plan_jobs
    from subband.edit import Style, Stylist
    from subband.engines import get_engine

    style = Style(
        rule, strength, wavelet, level, levels=read_levels(levels), orientations=orientations, colour=colour, fit=fit
    )
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
