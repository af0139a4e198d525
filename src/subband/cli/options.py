"""Arguments and options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "EngineName", "Level", "ModeOption", "PictureFile", "WaveletName"]

PictureFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, readable=True, metavar="IMAGE", help="A picture: PNG, TIFF, JPEG, WebP, ..."
    ),
]

WaveletName = Annotated[str, typer.Option("--wavelet", "-w", metavar="NAME", help="As `subband wavelets` lists them.")]

Level = Annotated[int, typer.Option("--level", "-l", min=1, metavar="N", help="Number of levels.")]

ModeOption = Annotated[
    str | None,
    typer.Option("--mode", "-m", metavar="MODE", help="How the picture goes on outside; the wavelet's own by default."),
]

EngineName = Annotated[
    str | None, typer.Option("--engine", "-e", metavar="NAME", help="As `subband devices` lists them.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
