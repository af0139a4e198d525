"""``subband pyramid``: an array and its approximations as an OME-Zarr image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import AsJson, DryRun, Force, Quiet, WaveletName
from subband.cli.outputs import Reads, Writes, show_plan

app = typer.Typer()


@app.command()
def pyramid(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="Zarr, OME-Zarr, HDF5 (file.h5:name) or a TIFF stack."), Reads()
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT.ome.zarr", help="The store to write."), Writes("store")],
    wavelet: WaveletName = "cdf97",
    levels: Annotated[
        int | None,
        typer.Option(
            "--level",
            "-l",
            min=0,
            metavar="N",
            help="Number of levels besides the array; until 256 samples are left by default.",
        ),
    ] = None,
    chunks: Annotated[
        str | None, typer.Option("--chunks", metavar="N,N,...", help="Chunk lengths, one for all axes or one each.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler, such as tcp://host:8786."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted job.")] = False,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write an array and its approximations as the levels of an OME-Zarr image.

    Viewers load the level that fits the screen. Approximations are in the units of the array.
    """
    from subband.cli.stores import is_store, read_chunks, require_dask, show_report, watch_chunks
    from subband.errors import ArgumentError

    if not is_store(output):
        raise ArgumentError(f"{str(output)!r} does not end in .zarr, and a pyramid is a Zarr store; use .ome.zarr")
    require_dask("writing Zarr")
    from subband.integrations.dask import write_pyramid

    lengths = read_chunks(chunks)
    if dry_run:
        show_plan([source], [output], as_json=as_json)
        return
    with watch_chunks(source.name, is_quiet=as_json or quiet) as observe:
        report = write_pyramid(
            source,
            output,
            wavelet,
            levels=levels,
            chunks=lengths,
            scheduler=scheduler,
            resume=resume,
            overwrite=force,
            on_progress=observe,
        )
    show_report(source, output, report, as_json=as_json, quiet=quiet)
