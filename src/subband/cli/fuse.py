"""``subband fuse``: one image from several of the same scene."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from subband.cli.options import (
    AsJson,
    DryRun,
    EngineName,
    Force,
    MostPixels,
    Paths,
    Quality,
    Quiet,
)
from subband.cli.outputs import Files, check_file, show_plan, show_result
from subband.cli.settings import take_settings
from subband.edit import Fusion
from subband.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer()


@app.command()
@take_settings(Fusion, "rule wavelet level window consistency strength")
def fuse(
    paths: Paths = None,
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    quality: Quality = None,
    most_pixels: MostPixels = None,
    **chosen: Any,
) -> None:
    """Fuse several images into one that is in focus, or well exposed, everywhere.

    `subband fuse near.jpg far.jpg sharp.png`; a folder or a quoted pattern stands for all images in it.
    """
    from dataclasses import asdict
    from time import perf_counter

    from subband.cli.enhancing import calm_threads
    from subband.cli.files import find_sources, split_paths
    from subband.edit import Fuser
    from subband.engines import get_engine
    from subband.media import read_still, write_still

    fusion = Fusion(**chosen)
    inputs, output = split_paths(paths)
    sources = find_sources(inputs)
    if output.resolve() in {source.resolve() for source in sources}:
        raise ArgumentError(f"{str(output)!r} is one of the images to fuse; take another name")
    check_file(output, Files(sources), force=force)
    if len(sources) < 2:
        raise ArgumentError(f"{len(sources)} image is not enough to fuse; give two or more of the same scene")
    if dry_run:
        show_plan(sources, [output], as_json=as_json)
        return
    calm_threads()
    begin = perf_counter()
    stills = [read_still(source, most_pixels=most_pixels) for source in sources]
    fuser = Fuser(fusion, engine=get_engine(engine))
    try:
        pixels = fuser.apply([still.pixels for still in stills])
    except (ArgumentError, ArgumentTypeError) as error:
        raise ArgumentError(_name_files(str(error), sources)) from None
    write_still(output, stills[0].replace_pixels(pixels), overwrite=force, quality=quality)
    seconds = perf_counter() - begin
    record = {"fusion": asdict(fusion), "sources": [str(source) for source in sources], "output": str(output)}
    text = f"{output}: {len(stills)} images in {seconds:.2f} s"
    show_result({**record, "seconds": round(seconds, 6)}, text, as_json=as_json, quiet=quiet)


def _name_files(message: str, sources: list[Path]) -> str:
    """Say of files what a message says of numbered images."""
    return re.sub(r"pictures\[(\d+)\]", lambda found: repr(str(sources[int(found[1])])), message)
