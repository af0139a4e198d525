"""Arguments and options that several commands share, each described once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from subband.cli.outputs import Reads, Writes

__all__ = [
    "AsJson",
    "Boundary",
    "Codec",
    "DryRun",
    "Ending",
    "EngineName",
    "Force",
    "ImageFile",
    "Jobs",
    "KeepPartial",
    "Level",
    "MemoryLimit",
    "MostPixels",
    "NonFinite",
    "Paths",
    "PipeFormatName",
    "Preset",
    "Quality",
    "Quiet",
    "Rate",
    "Recursive",
    "Series",
    "SkipExisting",
    "Sound",
    "Tolerant",
    "TrimPart",
    "View",
    "WaveletName",
    "offer",
]


def offer(*names: str) -> Callable[[str], list[str]]:
    """Return what gives the shell the names to complete a word with.

    Examples
    --------
    >>> offer("soft", "hard")("so")
    ['soft']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _offer_wavelets(incomplete: str) -> list[str]:
    from subband.wavelets import wavelist

    names = dict.fromkeys([*wavelist("cdf"), *wavelist(kind="discrete")])
    return [name for name in names if name.startswith(incomplete)]


ImageFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, readable=True, metavar="IMAGE", help="An image: PNG, TIFF, JPEG, WebP, ..."
    ),
    Reads(),
]

WaveletName = Annotated[
    str,
    typer.Option(
        "--wavelet", "-w", metavar="NAME", autocompletion=_offer_wavelets, help="As `subband wavelets` lists them."
    ),
]

Level = Annotated[int, typer.Option("--level", "-l", min=1, metavar="N", help="Number of levels.")]

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        "-e",
        metavar="NAME",
        autocompletion=offer("cpu", "cuda", "opencl", "reference"),
        help="As `subband devices` lists them.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="IN... OUT",
        help="Files, folders or quoted patterns such as 'scans/*.png'; last, the file or the folder of the results. "
        "Where --format is an option, - is standard input or output.",
    ),
    Writes("last"),
]

Boundary = Annotated[
    str | None,
    typer.Option(
        "--boundary",
        metavar="MODE",
        autocompletion=offer("whole", "symmetric", "reflect", "periodization", "zero", "constant", "smooth"),
        help="How the image is extended beyond its borders; the wavelet's own by default.",
    ),
]

View = Annotated[
    str,
    typer.Option(
        "--view",
        metavar="VIEW",
        autocompletion=offer("synthesis", "analysis", "filtered-analysis"),
        help="synthesis for the result, analysis for its coefficients, filtered-analysis for those after filtering.",
    ),
]

Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there already.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]

Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Files at the same time.")]

SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Leave out files whose result is there already, and do the others.")
]

Recursive = Annotated[
    bool,
    typer.Option(
        "--recursive", "-r", help="Folders with all folders in them; results go to folders of the same names."
    ),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.")]

KeepPartial = Annotated[
    bool,
    typer.Option("--keep-partial", help="Keep what there is of an interrupted video, playable under its .part name."),
]

Ending = Annotated[
    str | None,
    typer.Option(metavar="ENDING", help="Of results in a folder, such as .png; that of each input by default."),
]

MemoryLimit = Annotated[
    float | None,
    typer.Option("--memory", min=0.001, metavar="GIB", help="What a volume may take; half of what is free by default."),
]

MostPixels = Annotated[
    int | None, typer.Option("--most-pixels", min=1, metavar="N", help="Read images of up to so many pixels.")
]

Series = Annotated[
    str | None,
    typer.Option("--series", metavar="ID", help="Of a folder of DICOM files: the number or identifier of a series."),
]

NonFinite = Annotated[
    str | None,
    typer.Option(
        "--nonfinite",
        metavar="refuse|mask",
        autocompletion=offer("refuse", "mask"),
        help="What is done with NaN and infinities: refuse, or mask to leave them as they are; refuse by default.",
    ),
]

Tolerant = Annotated[bool, typer.Option("--tolerant", help="Read damaged video on, as far as that is possible.")]

Codec = Annotated[
    str | None, typer.Option("--codec", metavar="NAME", help="Of video: h264, vp9, ffv1, mpeg2, raw, ...")
]

Quality = Annotated[
    float | None, typer.Option("--quality", min=0, max=100, metavar="Q", help="Of JPEG, WebP and video, up to 100.")
]

Preset = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="Time for size, from ultrafast to veryslow; of video.")
]

Sound = Annotated[bool, typer.Option("--audio/--no-audio", help="Whether the sound of a video is kept.")]

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", min=0.001, metavar="FPS", help="Frames per second: of volumes and series as video (25), or new ones."
    ),
]

TrimPart = Annotated[
    str | None,
    typer.Option(
        "--trim",
        metavar="START:END",
        help="A part of video or a series: in seconds, as 1.5:4, or in frames, as 100f:250f.",
    ),
]

PipeFormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        autocompletion=offer("y4m", "png", "tiff", "npy", "raw:yuv420p:640x480"),
        help="What - holds: y4m or raw:yuv420p:640x480 frame by frame, or the ending of a file, such as png.",
    ),
]
