"""``subband decompose``: a picture as the mosaic of its bands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import EngineName, Level, ModeOption, PictureFile, WaveletName
from subband.errors import ArgumentError

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
        Path | None,
        typer.Option(metavar="FILE", help="Write the coefficients too (.npz or .h5), for `subband reconstruct`."),
    ] = None,
    engine: EngineName = None,
) -> None:
    """Transform a picture into the classical mosaic: the approximation in a corner, details around mid-grey."""
    import numpy as np

    import subband
    from subband.cli.coefficients import save_coefficients
    from subband.media import Still, read_still, write_still

    _check_outputs(output, save)
    still = read_still(image)
    pixels = still.pixels if reversible else still.pixels.astype(np.float32)
    pyramid = subband.decompose(
        pixels,
        wavelet,
        level,
        mode,
        axes=(0, 1),
        engine=engine,
        reversible=reversible,
    )
    if save is not None:
        save_coefficients(save, pyramid, still)
    write_still(output, Still(pyramid.picture()))
    modes = " and ".join(dict.fromkeys(pyramid.plan.modes))
    rows, columns = pyramid.shape[:2]
    levels = f"{pyramid.level} level{'' if pyramid.level == 1 else 's'}"
    typer.echo(f"{output}: {columns} × {rows} pixels, {levels} of {wavelet}, {modes}")
    if save is not None:
        typer.echo(f"{save}: the coefficients")


def _check_outputs(output: Path, save: Path | None) -> None:
    """Refuse names that cannot be written to before anything is computed or written."""
    from PIL import Image

    from subband.cli.coefficients import check_name
    from subband.media import check_output

    if output.suffix.lower() not in Image.registered_extensions():
        raise ArgumentError(f"{output.name!r} does not end like a picture; take a name such as picture.png")
    check_output(output)
    if save is None:
        return
    check_name(save)
    check_output(save)
