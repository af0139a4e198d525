"""``subband decompose``: a picture as the mosaic of its bands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import EngineName, Level, ModeOption, PictureFile, WaveletName

app = typer.Typer()


@app.command()
def decompose(
    image: PictureFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The mosaic, a picture.")],
    wavelet: WaveletName = "cdf97",
    level: Level = 3,
    mode: ModeOption = None,
    reversible: Annotated[
        bool, typer.Option("--reversible", help="Integers without loss, for cdf53 and haar.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the coefficients too (.npz), for `subband reconstruct`.")
    ] = None,
    engine: EngineName = None,
) -> None:
    """Transform a picture into the classical mosaic: the approximation in a corner, details around mid-grey."""
    import numpy as np

    import subband
    from subband.cli.coefficients import save_coefficients
    from subband.media import Still, read_still, write_still

    still = read_still(image)
    pixels = still.pixels if reversible else still.pixels.astype(np.float32)
    pyramid = subband.decompose(
        pixels,
        wavelet,
        level,
        mode,  # type: ignore[arg-type]
        axes=(0, 1),
        engine=engine,
        reversible=reversible,
    )
    if save is not None:
        save_coefficients(save, pyramid, still)
    write_still(output, Still(pyramid.picture()))
    modes = " and ".join(dict.fromkeys(pyramid.plan.modes))
    rows, columns = pyramid.shape[:2]
    typer.echo(f"{output}: {columns} × {rows} pixels, {pyramid.level} levels of {wavelet}, {modes}")
    if save is not None:
        typer.echo(f"{save}: the coefficients")
