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
        "--wavelet",
        "-w",
        metavar="NAME",
        autocompletion=_offer_wavelets,
        help="Wavelet; `subband wavelets` lists them.",
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
        help="Engine or device to compute on; `subband devices` lists them.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="IN... OUT",
        help="Input files, folders or quoted patterns such as 'scans/*.png'; last, the output file or folder. "
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
        help="What to write: synthesis (the result), analysis (the coefficients) or filtered-analysis (those after "
        "filtering).",
    ),
]

Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and write nothing.")]

Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of files to process in parallel.")]

SkipExisting = Annotated[bool, typer.Option("--skip-existing", help="Skip files whose result already exists.")]

Recursive = Annotated[
    bool,
    typer.Option("--recursive", "-r", help="Include subfolders; results go to subfolders of the same names."),
]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.")]

KeepPartial = Annotated[
    bool,
    typer.Option(
        "--keep-partial", help="Keep the part of an interrupted video that is written, as a playable .part file."
    ),
]

Ending = Annotated[
    str | None,
    typer.Option(
        metavar="ENDING", help="File extension of results in a folder, such as .png; that of each input by default."
    ),
]

MemoryLimit = Annotated[
    float | None,
    typer.Option(
        "--memory", min=0.001, metavar="GIB", help="Memory that a volume may take; half of the free memory by default."
    ),
]

MostPixels = Annotated[
    int | None,
    typer.Option("--most-pixels", min=1, metavar="N", help="Largest number of pixels of an image that is read."),
]

Series = Annotated[
    str | None,
    typer.Option(
        "--series", metavar="ID", help="Which series of a folder of DICOM files, by its number or identifier."
    ),
]

NonFinite = Annotated[
    str | None,
    typer.Option(
        "--nonfinite",
        metavar="refuse|mask",
        autocompletion=offer("refuse", "mask"),
        help="NaN and infinities: refuse the file, or mask them, which leaves them as they are; refuse by default.",
    ),
]

Tolerant = Annotated[bool, typer.Option("--tolerant", help="Read damaged video as far as possible.")]

Codec = Annotated[
    str | None, typer.Option("--codec", metavar="NAME", help="Video codec: h264, vp9, ffv1, mpeg2, raw, ...")
]

Quality = Annotated[
    float | None,
    typer.Option("--quality", min=0, max=100, metavar="Q", help="Quality of JPEG, WebP and video, from 0 to 100."),
]

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Effort of the video encoder, from ultrafast to veryslow; slower makes smaller files.",
    ),
]

Sound = Annotated[bool, typer.Option("--audio/--no-audio", help="Keep the audio of a video, or drop it.")]

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        min=0.001,
        metavar="FPS",
        help="Frame rate: of volumes and series as video (25 by default), or of a video instead of its own.",
    ),
]

TrimPart = Annotated[
    str | None,
    typer.Option(
        "--trim",
        metavar="START:END",
        help="Part of a video or series: in seconds, as in 1.5:4, or in frames, as in 100f:250f.",
    ),
]

PipeFormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        autocompletion=offer("y4m", "png", "tiff", "npy", "raw:yuv420p:640x480"),
        help="Format of - (standard input or output): y4m or raw:yuv420p:640x480 frame by frame, or a file extension, "
        "such as png.",
    ),
]
