"""``subband denoise``: pictures, film and volumes without noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.options import (
    AsJson,
    Codec,
    DryRun,
    Ending,
    EngineName,
    Force,
    Jobs,
    KeepPartial,
    MemoryLimit,
    MostPixels,
    NonFinite,
    Paths,
    PipeFormatName,
    Preset,
    Quality,
    Quiet,
    Rate,
    Recursive,
    Series,
    SkipExisting,
    Sound,
    Tolerant,
    TrimPart,
    View,
)
from subband.cli.outputs import Reads
from subband.cli.settings import pick_settings, take_settings
from subband.enhance import Denoise, Enhancer

app = typer.Typer()


@app.command()
@take_settings(Enhancer, "noise sigma colour precision")
@take_settings(Denoise, "method wavelet level strength form mode boundary level_weights")
def denoise(
    paths: Paths = None,
    view: View = "synthesis",
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    jobs: Jobs = 1,
    skip_existing: SkipExisting = False,
    recursive: Recursive = False,
    quiet: Quiet = False,
    keep_partial: KeepPartial = False,
    ending: Ending = None,
    memory: MemoryLimit = None,
    codec: Codec = None,
    quality: Quality = None,
    preset: Preset = None,
    audio: Sound = True,
    most_pixels: MostPixels = None,
    tolerant: Tolerant = False,
    series: Series = None,
    rate: Rate = None,
    trim: TrimPart = None,
    pipe_format: PipeFormatName = None,
    chunks: Annotated[
        str | None,
        typer.Option("--chunks", metavar="N,N,...", help="Into Zarr: lengths of a chunk, one for all axes or each."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Into Zarr: of Dask, such as tcp://host:8786.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Into Zarr: go on with an interrupted job.")] = False,
    mask: Annotated[
        Path | None,
        typer.Option("--mask", metavar="PATH", help="Into Zarr: an array, not 0 where voxels are known."),
        Reads(),
    ] = None,
    nonfinite: NonFinite = None,
    **chosen: Any,
) -> None:
    """Remove noise from pictures, film and volumes.

    `subband denoise noisy.png clean.png` does the usual; `subband denoise scans/ clean/` does a folder.
    `subband denoise volume.zarr clean.zarr` goes chunk by chunk, with Dask.
    """
    from subband.cli.enhancing import Reading, Writing, enhance_files
    from subband.cli.files import Settings
    from subband.cli.pipes import Pipes
    from subband.cli.stores import StoreOptions, denoise_into_store, is_store, refuse_stores

    stage = Denoise(**pick_settings(Denoise, chosen))
    enhancer = Enhancer((stage,), **pick_settings(Enhancer, chosen))
    if paths is not None and is_store(paths[-1]):
        denoise_into_store(
            paths,
            enhancer,
            StoreOptions(chunks, scheduler, resume, force, dry_run, as_json, mask, nonfinite or "refuse", quiet),
            engine=engine,
            refused={
                "--view": view != "synthesis",
                "--memory": memory is not None,
                "--recursive": recursive,
                "--skip-existing": skip_existing,
            },
        )
        return
    for_stores = {"--chunks": chunks, "--scheduler": scheduler, "--resume": resume or None}
    refuse_stores(paths, {**for_stores, "--mask": mask})
    with Pipes(paths, pipe_format) as pipes:
        enhance_files(
            pipes.paths,
            enhancer,
            Settings(force, dry_run, as_json, jobs, skip_existing, quiet),
            Reading(most_pixels, tolerant, series, rate, trim, pipes),
            Writing(ending, keep_partial, codec, quality, preset, audio, pipes),
            view=view,
            engine=engine,
            memory=memory,
            recursive=recursive,
            nonfinite=nonfinite or "refuse",
        )
