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
        bool, typer.Option("--reversible", help="Lossless integer transform, for cdf53 and haar.")
    ] = False,
    bits: Annotated[
        int | None,
        typer.Option(
            min=8,
            max=16,
            metavar="N",
            help="Fixed point: coefficients are integers of N bits.",
        ),
    ] = None,
    back: Annotated[
        bool, typer.Option("--back", help="With --bits: write the reconstructed image, not the mosaic.")
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
    _check_bits(bits, back, reversible)
    if dry_run:
        show_plan([image], [output, save], as_json=as_json)
        return
    still = read_still(image, most_pixels=most_pixels)
    if bits is not None:
        from subband.enhance.fixed import FixedPoint, draw_bands

        fixed = FixedPoint(wavelet, bits, boundary)
        pyramid = fixed.forward(still.pixels, level, (0, 1), engine)
        drawn = fixed.inverse(pyramid, engine) if back else draw_bands(pyramid)
    else:
        pixels = still.pixels if reversible else still.pixels.astype(np.float32)
        pyramid = subband.decompose(pixels, wavelet, level, boundary, axes=(0, 1), engine=engine, reversible=reversible)
        drawn = pyramid.picture()
    if save is not None:
        save_coefficients(save, pyramid, still, bits=bits, overwrite=force)
    write_still(output, still.replace_pixels(drawn) if back else Still(drawn), overwrite=force)
    modes = " and ".join(dict.fromkeys(pyramid.plan.modes))
    rows, columns = pyramid.shape[:2]
    record = {"image": str(image), "output": str(output), "save": None if save is None else str(save)}
    about = {"rows": rows, "columns": columns, "level": pyramid.level, "wavelet": wavelet, "boundary": modes}
    levels = f"{pyramid.level} level{'' if pyramid.level == 1 else 's'}"
    text = f"{output}: {columns} × {rows} pixels, {levels} of {wavelet}, {modes}"
    text += "" if save is None else f"\n{save}: the coefficients"
    show_result({**record, **about}, text, as_json=as_json, quiet=quiet)


def _check_bits(bits: int | None, back: bool, reversible: bool) -> None:
    """Refuse options that do not go together."""
    if back and bits is None:
        raise ArgumentError("--back is for --bits N; use `subband reconstruct` on what --save wrote")
    if bits is not None and reversible:
        raise ArgumentError("--bits and --reversible are two kinds of integers; leave one out")


def _check_outputs(output: Path, save: Path | None) -> None:
    """Refuse endings that cannot be written before anything is computed or written."""
    from subband.cli.coefficients import check_name
    from subband.media.formats import find_format

    form = find_format(output)
    if form is None or form.write is None:
        raise ArgumentError(f"{output.name!r} does not end like an image; take a name such as image.png")
    if save is not None:
        check_name(save)
