"""``subband stylise``: transfer the texture of one image to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.enhancing import Reading, Writing
from subband.cli.files import Settings
from subband.cli.options import (
    EngineName,
)
from subband.cli.outputs import Reads, Writes
from subband.cli.settings import take_files, take_settings
from subband.edit import Style

app = typer.Typer()


@app.command()
@take_settings(Style, "rule strength wavelet level levels orientations colour fit")
@take_files(reading="most_pixels tolerant")
def stylise(
    image: Annotated[
        Path, typer.Argument(metavar="A", help="An image or a video; a folder or a pattern of them."), Reads()
    ],
    texture: Annotated[Path, typer.Argument(metavar="B", help="The image whose texture is transferred."), Reads()],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The output file or folder."), Writes("results")],
    engine: EngineName = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Transfer the texture of one image to another, or to every frame of a video.

    `subband stylise photo.jpg wall.jpg bumpy.png` keeps the colours of the photo.
    """
    from dataclasses import asdict

    from subband.cli.editing import edit_files, read_image
    from subband.cli.files import plan_jobs
    from subband.edit import Stylist
    from subband.engines import get_engine

    style = Style(**chosen)
    stylist = Stylist(read_image(texture, reading), style, engine=get_engine(engine))
    edit_files(
        plan_jobs([image], output, writing.ending, recursive=settings.recursive),
        lambda job, info: stylist.apply,  # noqa: ARG005 - the same for all
        settings,
        reading,
        writing,
        {"texture": str(texture), "style": asdict(style)},
        [texture],
    )
