"""``subband denoise``: images, video and volumes without noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from subband.cli.enhancing import Reading, Writing
from subband.cli.files import Settings
from subband.cli.options import (
    EngineName,
    MemoryLimit,
    NonFinite,
    Paths,
    PipeFormatName,
    View,
)
from subband.cli.outputs import Reads
from subband.cli.settings import pick_settings, take_files, take_settings
from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
@take_settings(Enhancer, "noise sigma colour precision temporal")
@take_settings(Denoise, "method wavelet level strength form mode boundary level_weights")
@take_files()
def denoise(
    paths: Paths = None,
    view: View = "synthesis",
    engine: EngineName = None,
    memory: MemoryLimit = None,
    pipe_format: PipeFormatName = None,
    chunks: Annotated[
        str | None,
        typer.Option("--chunks", metavar="N,N,...", help="Zarr output: chunk lengths, one for all axes or one each."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", metavar="ADDRESS", help="Zarr output: address of a Dask scheduler, such as tcp://host:8786."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Zarr output: continue an interrupted job.")] = False,
    mask: Annotated[
        Path | None,
        typer.Option("--mask", metavar="PATH", help="Zarr output: an array that is not 0 where voxels are known."),
        Reads(),
    ] = None,
    nonfinite: NonFinite = None,
    dark: Annotated[
        Path | None,
        typer.Option(
            "--dark",
            metavar="PATH",
            help="A frame of pure noise, from which the strength of correlated noise in each band is measured.",
        ),
        Reads(),
    ] = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Remove noise from images, video and volumes.

    `subband denoise noisy.png clean.png` denoises a file; `subband denoise scans/ clean/` denoises a folder.
    `subband denoise volume.zarr clean.zarr` goes chunk by chunk, with Dask.
    """
    from subband.cli.enhancing import enhance_files
    from subband.cli.stores import StoreOptions, denoise_into_store, is_store, refuse_stores

    stage = Denoise(**pick_settings(Denoise, chosen))
    enhancer = Enhancer((stage,), **pick_settings(Enhancer, chosen))
    if dark is not None:
        enhancer = _take_dark_frame(enhancer, dark)
    if paths is not None and is_store(paths[-1]):
        denoise_into_store(
            paths,
            enhancer,
            StoreOptions(
                chunks,
                scheduler,
                resume,
                settings.force,
                settings.dry_run,
                settings.as_json,
                mask,
                nonfinite or "refuse",
                settings.quiet,
            ),
            engine=engine,
            refused={
                "--view": view != "synthesis",
                "--memory": memory is not None,
                "--recursive": settings.recursive,
                "--skip-existing": settings.skip_existing,
                "--temporal": enhancer.temporal,
            },
        )
        return
    for_stores = {"--chunks": chunks, "--scheduler": scheduler, "--resume": resume or None}
    refuse_stores(paths, {**for_stores, "--mask": mask})
    enhance_files(
        paths,
        enhancer,
        settings,
        reading,
        writing,
        pipe_format=pipe_format,
        view=view,
        engine=engine,
        memory=memory,
        nonfinite=nonfinite or "refuse",
    )


def _take_dark_frame(enhancer: Enhancer, path: Path) -> Enhancer:
    """Return the chain with the noise of a frame that has nothing else; its white counts 255, as everywhere."""
    from subband.enhance import Correlated, Gaussian
    from subband.media import read_still
    from subband.pipeline.units import WHITE

    if not isinstance(enhancer.model, Correlated | Gaussian):
        raise ArgumentError(f"--dark measures correlated noise, and --noise is {enhancer.model.name}; leave one out")
    pixels = read_still(path).pixels
    white = np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else 1.0
    return replace(enhancer, noise=Correlated.from_dark(pixels * (WHITE / white)))
