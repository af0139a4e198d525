"""``subband decompose``: an image as the mosaic of its bands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import (
    AsJson,
    Boundary,
    DryRun,
    EngineName,
    Force,
    ImageFile,
    Level,
    MostPixels,
    Quiet,
    WaveletName,
)
from subband.cli.outputs import Writes, show_plan, show_result
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
def decompose(
    image: ImageFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The mosaic, an image."), Writes()],
    wavelet: WaveletName = "cdf97",
    level: Level = 3,
    boundary: Boundary = None,
    reversible: Annotated[
        bool, typer.Option("--reversible", help="Integers without loss, for cdf53 and haar.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the coefficients too (.npz or .h5), for `subband reconstruct`."),
        Writes(),
    ] = None,
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    most_pixels: MostPixels = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Transform an image into the classical mosaic: the approximation in a corner, details around mid-grey."""
    import numpy as np

    import subband
    from subband.cli.coefficients import save_coefficients
    from subband.media import Still, read_still, write_still

    _check_outputs(output, save)
    if dry_run:
        show_plan([image], [output, save], as_json=as_json)
        return
    still = read_still(image, most_pixels=most_pixels)
    pixels = still.pixels if reversible else still.pixels.astype(np.float32)
    pyramid = subband.decompose(
        pixels,
        wavelet,
        level,
        boundary,
        axes=(0, 1),
        engine=engine,
        reversible=reversible,
    )
    if save is not None:
        save_coefficients(save, pyramid, still, overwrite=force)
    write_still(output, Still(pyramid.picture()), overwrite=force)
    modes = " and ".join(dict.fromkeys(pyramid.plan.modes))
    rows, columns = pyramid.shape[:2]
    record = {"image": str(image), "output": str(output), "save": None if save is None else str(save)}
    about = {"rows": rows, "columns": columns, "level": pyramid.level, "wavelet": wavelet, "boundary": modes}
    levels = f"{pyramid.level} level{'' if pyramid.level == 1 else 's'}"
    text = f"{output}: {columns} × {rows} pixels, {levels} of {wavelet}, {modes}"
    text += "" if save is None else f"\n{save}: the coefficients"
    show_result({**record, **about}, text, as_json=as_json, quiet=quiet)


def _check_outputs(output: Path, save: Path | None) -> None:
    """Refuse endings that cannot be written before anything is computed or written."""
    from subband.cli.coefficients import check_name
    from subband.media.formats import find_format

    form = find_format(output)
    if form is None or form.write is None:
        raise ArgumentError(f"{output.name!r} does not end like an image; take a name such as image.png")
    if save is not None:
        check_name(save)
