"""``subband reconstruct``: the picture that saved coefficients were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import EngineName

app = typer.Typer()


@app.command()
def reconstruct(
    coefficients: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, readable=True, metavar="COEFFS", help="What `subband decompose --save` wrote."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The picture.")],
    engine: EngineName = None,
) -> None:
    """Turn saved coefficients back into the picture, in its own size, depth and transparency."""
    import subband
    from subband.cli.coefficients import load_coefficients
    from subband.media import write_still

    pyramid, empty = load_coefficients(coefficients)
    write_still(output, empty.replace_pixels(subband.reconstruct(pyramid, engine=engine)))
    rows, columns = pyramid.shape[:2]
    typer.echo(f"{output}: {columns} × {rows} pixels, {empty.pixels.dtype.itemsize * 8} bits")
