"""``subband verify``: an engine against the reference engine, on an image of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson, Boundary, EngineName, ImageFile, Level, MostPixels, WaveletName

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer()


@app.command()
def verify(
    image: ImageFile,
    wavelet: WaveletName = "cdf97",
    level: Level = 3,
    boundary: Boundary = None,
    engine: EngineName = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="X", help="Largest error allowed, relative to the largest value of a band or image."
        ),
    ] = None,
    most_pixels: MostPixels = None,
    as_json: AsJson = False,
) -> None:
    """Compare each band of each level with the reference engine, with and without a border of 5 pixels.

    The exit code is 1 if an error is larger than what float32 explains, or than --tolerance.
    """
    import json

    import numpy as np
    from rich.console import Console

    from subband.media import read_still
    from subband.testing.verification import verify_engine

    still = read_still(image, most_pixels=most_pixels)
    verification = verify_engine(
        still.pixels.astype(np.float32), still.peak, wavelet, level, boundary, engine, tolerance=tolerance
    )
    if as_json:
        typer.echo(json.dumps({"image": str(image), **verification.to_dict()}, indent=2))
    else:
        console = Console()
        console.print(_tabulate(verification, f"{image.name}: {wavelet}, {verification.mode}, {verification.engine}"))
        verdict = "all errors are" if verification.is_within else "some errors are not"
        console.print(f"{verdict} within {verification.tolerance:g} of the largest value", highlight=False)
    if not verification.is_within:
        raise typer.Exit(1)


def _tabulate(verification: Any, title: str) -> Table:
    """Make the table: a block of rows for each level, then the reconstruction."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    border = verification.border
    table = Table(title=Text(title), box=box.SIMPLE_HEAVY, title_justify="left")
    table.add_column("what", style="bold")
    for column in ("PSNR", "max error", f"PSNR without {border} px border", "max error without"):
        table.add_column(column, justify="right")
    table.add_column("")
    previous = None
    for row in verification.comparisons:
        if previous is not None and row.level != previous:
            table.add_section()
        previous = row.level
        table.add_row(
            row.name,
            _format_psnr(row.psnr),
            f"{row.error:.2e}",
            "" if row.inner_psnr is None else _format_psnr(row.inner_psnr),
            "" if row.inner_error is None else f"{row.inner_error:.2e}",
            "ok" if row.is_within else "too large",
            style=None if row.is_within else "red",
        )
    return table


def _format_psnr(value: float) -> str:
    """Format decibels; equal arrays have infinitely many."""
    return "equal" if value == float("inf") else f"{value:.2f} dB"
