"""``subband filter``: any chain of filters over pictures, film and volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.chain import CHAIN_KEY, ChainCommand
from subband.cli.options import (
    AsJson,
    Boundary,
    Codec,
    Colour,
    DryRun,
    Ending,
    EngineName,
    Force,
    Jobs,
    KeepPartial,
    MemoryLimit,
    MostPixels,
    NoiseName,
    NonFinite,
    Paths,
    PipeFormatName,
    Precision,
    Preset,
    Quality,
    Quiet,
    Rate,
    Recursive,
    Series,
    Sigma,
    SkipExisting,
    Sound,
    StageForm,
    StageLevel,
    Tolerant,
    TrimPart,
    View,
    WaveletName,
)
from subband.cli.outputs import Reads, Writes

app = typer.Typer()

# Stages are read in the order of the command line, which these lists of values do not keep.
_Values = list[str] | None
_THRESHOLD = "threshold as a part of white, from 0 to 1"


@app.command(cls=ChainCommand)
def filter(  # noqa: A001 - the name of the command
    ctx: typer.Context,
    paths: Paths = None,
    chain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A chain as TOML, where white is 255; the options below are added behind."),
        Reads(),
    ] = None,
    soft: Annotated[_Values, typer.Option(metavar="T", help=f"Shrink by a soft {_THRESHOLD}.")] = None,
    hard: Annotated[_Values, typer.Option(metavar="T", help=f"Shrink by a hard {_THRESHOLD}.")] = None,
    garrote: Annotated[_Values, typer.Option(metavar="T", help=f"Shrink by a garrote {_THRESHOLD}.")] = None,
    firm: Annotated[_Values, typer.Option(metavar="LOW,HIGH", help="Shrink between two thresholds.")] = None,
    level_weights: Annotated[
        _Values, typer.Option(metavar="W,W,...", help="For the threshold or --denoise before: of each level.")
    ] = None,
    gains: Annotated[
        _Values, typer.Option(metavar="G,G,...", help="What details are multiplied by, the finest level first.")
    ] = None,
    blur: Annotated[_Values, typer.Option(metavar="S", help="Blur by a Gaussian of so many pixels.")] = None,
    sharpen: Annotated[_Values, typer.Option(metavar="A", help="Sharpen by so much of the Laplacian.")] = None,
    denoise: Annotated[_Values, typer.Option(metavar="METHOD", help="As `subband denoise --method`.")] = None,
    strength: Annotated[list[float] | None, typer.Option(metavar="X", help="For the --denoise before.")] = None,
    mode: Annotated[
        _Values, typer.Option(metavar="MODE", help="For the --denoise before: soft, hard or garrote, where it matters.")
    ] = None,
    at: Annotated[
        _Values,
        typer.Option(
            metavar="WHERE",
            help="For the --blur or --sharpen before: on the picture, or in the transform before it, on details, "
            "approximation, or between its levels.",
        ),
    ] = None,
    levels: Annotated[
        _Values, typer.Option(metavar="N,N-N,...", help="For the --at details before: which levels; all by default.")
    ] = None,
    kernel: Annotated[
        _Values, typer.Option(metavar="KERNEL", help="For the --sharpen before: cross or diagonal neighbours.")
    ] = None,
    wavelet: WaveletName = "cdf97",
    level: StageLevel = None,
    boundary: Boundary = None,
    form: StageForm = None,
    noise: NoiseName = None,
    sigma: Sigma = None,
    colour: Colour = None,
    precision: Precision = None,
    save_chain: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the chain as TOML, for --chain."), Writes()
    ] = None,
    show_chain: Annotated[bool, typer.Option("--show-chain", help="Print the chain as TOML.")] = False,
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
    nonfinite: NonFinite = None,
    series: Series = None,
    rate: Rate = None,
    trim: TrimPart = None,
    pipe_format: PipeFormatName = None,
) -> None:
    """Carry pictures, film and volumes through a chain of filters, in the order of the options.

    `subband filter in.png out.png --soft 0.05 --level-weights 1,0.7,0.4 --sharpen 0.3` shrinks, then sharpens.
    """
    from subband.cli.chain import build_stages, find_part_of_white, make_enhancer
    from subband.cli.enhancing import Reading, Writing, enhance_files, read_chain
    from subband.cli.files import Settings
    from subband.cli.pipes import Pipes
    from subband.media import place_output

    # what they hold is in the context, in order
    del soft, hard, garrote, firm, level_weights, gains, blur, sharpen, denoise, strength, mode, at, levels, kernel
    base = None if chain is None else read_chain(chain)
    if base is None and colour is None:
        # given thresholds are meant for brightness and colours as film has them
        colour = "ycbcr"
    stages = build_stages(ctx.meta[CHAIN_KEY], wavelet, level, boundary, form)
    enhancer = make_enhancer(stages, noise=noise, sigma=sigma, colour=colour, precision=precision, base=base)
    if save_chain is not None and not dry_run:
        with place_output(save_chain, overwrite=force) as unfinished:
            unfinished.write_text(enhancer.to_toml(), encoding="utf-8")
    if show_chain:
        typer.echo(enhancer.to_toml(), nl=False, err=as_json)
    if not paths and (show_chain or save_chain is not None):
        return
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
            part_of_white=find_part_of_white(ctx.meta[CHAIN_KEY]),
        )
