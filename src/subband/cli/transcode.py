"""``subband transcode``: from JPEG 2000 to HTJ2K and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import AsJson, DryRun, Force, Quiet
from subband.cli.outputs import Reads, Writes, show_plan, show_result
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
def transcode(
    source: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="IN", help="A JP2 or JPH file or a codestream."),
        Reads(),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help=".jph, .jp2, or as IN for a codestream: .j2c, .j2k or .jpc."), Writes()
    ],
    ht: Annotated[
        bool | None,
        typer.Option(
            "--ht/--no-ht", help="High-throughput block coder, or that of Part 1; by the extension of OUT, else --ht."
        ),
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Transcode a JPEG 2000 file to HTJ2K, or back, without loss.

    `subband transcode scan.jp2 scan.jph` makes a file that decodes many times as fast, and `subband transcode scan.jph
    scan.jp2` one for readers without HTJ2K. Only the block coding changes; all samples stay the same.
    """
    from time import perf_counter

    from subband.codecs.jpeg2000 import transcode as transcode_file
    from subband.codecs.jpeg2000.files import ENDINGS, choose_form
    from subband.codecs.jpeg2000.header import read_header
    from subband.media import place_output
    from subband.media.faults import name_file

    ending = output.suffix.lower()
    if ending not in ENDINGS:
        raise ArgumentError(f"{output.name!r} does not end like JPEG 2000; take one of {', '.join(ENDINGS)}")
    form = choose_form(ending)
    wanted = form != "jp2" if ht is None else ht
    if form != "j2k" and wanted != (form == "jph"):
        raise ArgumentError(f"{output.name!r} does not go with {'--ht' if wanted else '--no-ht'}; .jph is for --ht")
    if dry_run:
        show_plan([source], [output], as_json=as_json)
        return
    with name_file(source, "JPEG 2000"):
        header = read_header(source)
    if (form == "j2k") == bool(header.boxes):
        what = "a file with boxes" if form == "j2k" else "a codestream without boxes"
        raise ArgumentError(f"{source.name!r} is {what}, which {output.name!r} is not; both have to be alike")
    begin = perf_counter()
    with name_file(source, "JPEG 2000"):
        data = transcode_file(source, ht=wanted)
    seconds = perf_counter() - begin
    with place_output(output, overwrite=force) as unfinished:
        unfinished.write_bytes(data)
    before = source.stat().st_size
    record = {"source": str(source), "output": str(output), "bytes": len(data), "seconds": round(seconds, 6)}
    text = f"{output}: {len(data)} bytes, {len(data) / before - 1:+.1%} of {before}, {seconds:.2f} s"
    show_result(record, text, as_json=as_json, quiet=quiet)
