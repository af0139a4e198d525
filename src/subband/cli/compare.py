"""``subband compare``: PSNR and SSIM of two images, videos or volumes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson, DryRun, Force, MostPixels, Series, Tolerant
from subband.cli.outputs import Reads, Writes, show_plan

if TYPE_CHECKING:
    from subband.pipeline.comparison import Comparison

app = typer.Typer()

# Frames whose figures are shown one by one; JSON has all of them.
_MOST_ROWS = 20


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="An image, a video or a volume."), Reads()],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one of the same size."), Reads()],
    image: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Write both and their difference side by side; for video, the frame where they differ most.",
        ),
        Writes(),
    ] = None,
    ssim: Annotated[bool, typer.Option("--ssim/--no-ssim", help="Measure SSIM, too, which takes longest.")] = True,
    force: Force = False,
    dry_run: DryRun = False,
    most_pixels: MostPixels = None,
    tolerant: Tolerant = False,
    series: Series = None,
    as_json: AsJson = False,
) -> None:
    """Measure PSNR, SSIM and the largest difference between two files, frame by frame.

    Differences are in the units of A, and PSNR counts from its white: 255, 65535 or 1; for volumes, from their range.
    """
    import json

    from rich.console import Console

    from subband.cli.enhancing import Reading
    from subband.cli.progress import watch_progress
    from subband.media import Still, write_still
    from subband.pipeline.comparison import compare_sources, join_images

    if dry_run:
        show_plan([first, second], [image], as_json=as_json)
        return
    reading = Reading(most_pixels, tolerant, series)
    with watch_progress(is_quiet=as_json) as observe_file:
        comparison = compare_sources(
            lambda: reading.open(first), lambda: reading.open(second), ssim=ssim, on_progress=observe_file(first.name)
        )
    if image is not None:
        write_still(image, Still(join_images(comparison)), overwrite=force)
    if as_json:
        typer.echo(json.dumps({"first": str(first), "second": str(second), **comparison.to_dict()}, indent=2))
        return
    Console().print(_tabulate(comparison, first, second))
    if comparison.remark:
        typer.echo(comparison.remark)


def _tabulate(comparison: Comparison, first: Path, second: Path) -> Any:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    table = Table(title=f"{first} and {second}", box=box.SIMPLE_HEAVY, title_justify="left")
    for heading in ("frame", "PSNR", "SSIM", "largest difference"):
        table.add_column(heading, justify="right")

    def write(psnr: float, ssim: float | None, largest: float) -> tuple[str, str, str]:
        same = "identical" if comparison.is_same_elsewhere else "no difference"
        decibels = same if psnr == float("inf") else f"{psnr:.2f} dB"
        return decibels, "" if ssim is None else f"{ssim:.4f}", f"{largest:g}"

    frames = comparison.frames
    if 1 < len(frames) <= _MOST_ROWS:
        for number, frame in enumerate(frames):
            table.add_row(str(number), *write(frame.psnr, frame.ssim, frame.largest))
        table.add_section()
    label = "" if len(frames) == 1 else f"all {len(frames)}"
    table.add_row(label, *write(comparison.psnr, comparison.ssim, comparison.largest))
    return table
