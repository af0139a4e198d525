"""``subband filter``: any chain of filters, applied to images, video and volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.chain import CHAIN_KEY, ChainCommand, take_chain
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
from subband.cli.outputs import Reads, Writes
from subband.cli.settings import pick_settings, take_files, take_settings
from subband.enhance import Denoise, Enhancer

app = typer.Typer()


@app.command(cls=ChainCommand)
@take_settings(
    Enhancer, "noise sigma colour precision temporal", noise=None, colour=None, precision=None, temporal=None
)
@take_settings(Denoise, "wavelet level boundary form")
@take_chain
@take_files()
def filter(  # noqa: A001 - the name of the command
    ctx: typer.Context,
    paths: Paths = None,
    chain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A chain as TOML, where white is 255; the options below are appended to it."),
        Reads(),
    ] = None,
    save_chain: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the chain as TOML, for --chain."), Writes()
    ] = None,
    show_chain: Annotated[bool, typer.Option("--show-chain", help="Print the chain as TOML.")] = False,
    view: View = "synthesis",
    engine: EngineName = None,
    memory: MemoryLimit = None,
    nonfinite: NonFinite = None,
    pipe_format: PipeFormatName = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Apply a chain of filters to images, video and volumes, in the order of the options.

    `subband filter in.png out.png --soft 0.05 --level-weights 1,0.7,0.4 --sharpen 0.3` shrinks, then sharpens.
    """
    from subband.cli.chain import build_stages, find_part_of_white, make_enhancer
    from subband.cli.enhancing import enhance_files, read_chain
    from subband.media import place_output

    base = Enhancer(()) if chain is None else read_chain(chain)
    stages = build_stages(ctx.meta[CHAIN_KEY], **pick_settings(Denoise, chosen))
    enhancer = make_enhancer(base, pick_settings(Enhancer, chosen), stages)
    if save_chain is not None and not settings.dry_run:
        with place_output(save_chain, overwrite=settings.force) as unfinished:
            unfinished.write_text(enhancer.to_toml(), encoding="utf-8")
    elif save_chain is not None:
        typer.echo(f"-> {save_chain}", err=settings.as_json)
    if show_chain:
        typer.echo(enhancer.to_toml(), nl=False, err=settings.as_json)
    if not paths and (show_chain or save_chain is not None):
        return
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
        part_of_white=find_part_of_white(ctx.meta[CHAIN_KEY]),
    )
