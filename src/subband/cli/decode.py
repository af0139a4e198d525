"""``subband decode``: a JPEG 2000 image, or a part of it, as another kind of image; VC-2 as another kind of video."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from subband.cli.group import explain
from subband.cli.options import AsJson, DryRun, EngineName, Force, MostPixels, Quiet
from subband.cli.outputs import Reads, Writes, show_plan, show_result
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
def decode(
    source: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="IN", help="JP2 or a codestream; VC-2 in .vc2 or .mkv."),
        Reads(),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="An image, or .npy for the samples as they are; a video."), Writes()
    ],
    reduce: Annotated[int, typer.Option(min=0, metavar="N", help="How many times rows and columns are halved.")] = 0,
    region: Annotated[
        str | None,
        typer.Option(metavar="T,L,B,R", help="Region: first row and column, and end row and column (exclusive)."),
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of quality layers; all by default.")
    ] = None,
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    most_pixels: MostPixels = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Decode a JPEG 2000 image, smaller or in part if that is enough; or a video of VC-2 or JPEG 2000.

    `subband decode scan.jp2 scan.png --reduce 2 --region 0,0,1024,1024` reads only what it needs. What is damaged is
    decoded as far as possible, with a warning.
    """
    import warnings
    from time import perf_counter

    from subband.cli.video import copy_video, may_hold_jpeg2000, may_hold_vc2
    from subband.codecs.jpeg2000 import CodecWarning
    from subband.codecs.jpeg2000 import decode as decode_image
    from subband.media import place_output, write_still
    from subband.media.jpeg2000 import read_jpeg2000
    from subband.media.limits import choose_most_pixels

    if may_hold_vc2(source) or may_hold_jpeg2000(source):
        if reduce or region is not None or layers is not None:
            raise ArgumentError("--reduce, --region and --layers are for JPEG 2000, not for video")
        copy_video(source, output, {}, force, dry_run, most_pixels, as_json, quiet)
        return
    options: dict[str, Any] = {
        "reduce": reduce,
        "region": split_region("--region", region),
        "layers": layers,
        "engine": engine,
    }
    if dry_run:
        show_plan([source], [output], as_json=as_json)
        return
    most = choose_most_pixels(most_pixels)
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CodecWarning)
        if output.suffix.lower() == ".npy":
            import numpy as np

            samples = decode_image(source, most_pixels=most, **options).upsample()
            seconds = perf_counter() - begin
            with place_output(output, overwrite=force) as unfinished:
                np.save(unfinished, samples)
        else:
            still = read_jpeg2000(source, most, **options)
            seconds = perf_counter() - begin
            samples = still.pixels
            write_still(output, still, overwrite=force)
    for warning in caught:
        typer.echo(f"warning: {explain(str(warning.message))}", err=True)
    rows, columns = samples.shape[:2]
    record = {"source": str(source), "output": str(output), "rows": rows, "columns": columns}
    record |= {"dtype": str(samples.dtype), "seconds": round(seconds, 6)}
    text = f"{output}: {columns} × {rows}, {samples.dtype}, {seconds:.2f} s"
    show_result(record, text, as_json=as_json, quiet=quiet)


def split_region(name: str, text: str | None) -> tuple[int, ...] | None:
    """Read four numbers between commas, of the option of that name."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 4 or not all(part.isdecimal() for part in parts):
        raise ArgumentError(f"{name} {text!r} is not four numbers between commas: top,left,bottom,right")
    return tuple(int(part) for part in parts)
