"""``subband reshape``: surfaces with their bands scaled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson, DryRun, EngineName, Force, MostPixels, Quiet, WaveletName, offer
from subband.cli.outputs import Reads, Writes, show_plan, show_result
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.edit.surfaces import Surface

#: Points or pixels that are made at most; each takes up to a hundred bytes.
_MOST = 2**25

app = typer.Typer()


@app.command()
def reshape(
    surface: Annotated[
        str,
        typer.Argument(
            metavar="SURFACE",
            autocompletion=offer("head", "ring", "terrain"),
            help="A grid as OBJ, PLY or JSON; an image of heights; or one of head, ring and terrain.",
        ),
        Reads(),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="An OBJ, PLY or JSON file, or an image of the surface."), Writes()
    ],
    gains: Annotated[
        str,
        typer.Option(
            "--band-gains",
            "-g",
            metavar="GAINS",
            help="Level:gain, the finest level is 1, as in 1:1.5,2:0.3; with h, v or d for one orientation, as in "
            "3d:0; a:1.1 for the approximation.",
        ),
    ] = "",
    wavelet: WaveletName = "cdf97",
    level: Annotated[
        int | None, typer.Option("--level", "-l", min=1, metavar="N", help="Number of levels; up to 5 by default.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--boundary",
            metavar="MODE",
            help="Boundary mode, or two with a comma for rows and columns; chosen by whether the surface is closed.",
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(metavar="RxC", help="Rows and columns of points at which a control mesh is evaluated."),
    ] = None,
    rows: Annotated[int | None, typer.Option(min=2, metavar="N", help="Rows of a point cloud without faces.")] = None,
    turn: Annotated[
        float | None,
        typer.Option(metavar="DEGREES", help="Viewing direction of an image: rotation about the vertical axis."),
    ] = None,
    tilt: Annotated[
        float | None, typer.Option(metavar="DEGREES", help="Viewing direction of an image: elevation.")
    ] = None,
    shape: Annotated[
        str | None, typer.Option(metavar="RxC", help="Rows and columns of an image; 720x720 by default.")
    ] = None,
    transparent: Annotated[bool, typer.Option("--transparent", help="Draw no background.")] = False,
    engine: EngineName = None,
    most_pixels: MostPixels = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Scale the bands of a surface: fine levels hold wrinkles, coarse ones the shape.

    `subband reshape head caricature.png --band-gains 2:1.8,3:1.5` draws a bundled head with stronger features.
    """
    from subband.edit.surfaces import Reshaper, parse_gains, write_surface
    from subband.edit.surfaces.files import ENDINGS
    from subband.media.formats import find_format

    is_drawing, form = output.suffix.lower() not in ENDINGS, find_format(output)
    if is_drawing and (form is None or form.write is None or "uint8" not in form.dtypes):
        raise ArgumentError(
            f"{output.name!r} ends neither like a surface nor like an image; use {', '.join(ENDINGS)}, or .png"
        )
    if transparent and (form is None or "alpha" not in form.keeps):
        raise ArgumentError(f"{output.name!r} has no transparency; use .png, .webp or .tif")
    given = _open_surface(surface, rows, most_pixels)
    grid = None if points is None else _read_size("--points", points)
    modes = None if mode is None else mode.split(",") if "," in mode else mode
    reshaper = Reshaper(given, wavelet, level, modes, engine)
    details, approximation = parse_gains(gains, reshaper.level) if gains.strip() else (1.0, 1.0)
    size = _read_size("--shape", shape or "720x720")
    if dry_run:
        show_plan([surface], [output], as_json=as_json)
        return
    made = reshaper.reshape(details, approximation)
    if is_drawing:
        _write_image(output, made, given, grid, _choose_view(given, turn, tilt), size, transparent, force)
    else:
        write_surface(output, made, points=grid)
    is_evaluated = made.is_net and output.suffix.lower() != ".json"
    written = grid if grid is not None and is_evaluated else made.shape
    record = {
        "surface": surface,
        "output": str(output),
        "rows": written[0],
        "columns": written[1],
        "levels": reshaper.level,
        "closed": list(made.closed),
    }
    text = f"{output}: {written[0]} × {written[1]} points, {reshaper.level} levels"
    show_result(record, text, as_json=as_json, quiet=quiet)


def _open_surface(name: str, rows: int | None, most_pixels: int | None) -> Surface:
    """Return a surface by its file or its name; a file of that name comes first."""
    from subband.edit.surfaces import Surface, make_shape, read_surface
    from subband.edit.surfaces.files import ENDINGS
    from subband.edit.surfaces.shapes import SHAPES

    path = Path(name)
    if rows is not None and path.suffix.lower() not in (".obj", ".ply"):
        raise ArgumentError(f"--rows is for OBJ and PLY files without faces, and {name!r} is none; leave it out")
    if not path.is_file() and (name in SHAPES or not path.suffix):
        return make_shape(name)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", name)
    if path.suffix.lower() in ENDINGS:
        return read_surface(path, rows=rows)
    from subband.media import read_still

    still = read_still(path, most_pixels=most_pixels)
    if still.is_colour:
        raise ArgumentError(f"{name!r} is an image in colour, and heights are grey; convert it first")
    # an image as high as a quarter of its width
    height = 0.25 * max(still.pixels.shape) / still.peak
    return Surface.from_heights(still.pixels.astype("float64") * height, name=path.stem)


def _choose_view(surface: Surface, turn: float | None, tilt: float | None) -> Any:
    from dataclasses import replace

    from subband.edit.surfaces.drawing import choose_view

    view = choose_view(surface)
    return replace(view, turn=view.turn if turn is None else turn, tilt=view.tilt if tilt is None else tilt)


def _write_image(
    path: Path,
    surface: Surface,
    frame: Surface,
    grid: tuple[int, int] | None,
    view: Any,
    size: tuple[int, int],
    transparent: bool,
    force: bool,
) -> None:
    from subband.edit.surfaces import draw
    from subband.media import Still, write_still

    background = None if transparent else (255, 255, 255)
    pixels = draw(surface, size, view, background=background, points=grid, frame=frame)
    if transparent:
        write_still(path, Still(pixels[..., :3], pixels[..., 3]), overwrite=force)
    else:
        write_still(path, Still(pixels), overwrite=force)


def _read_size(option: str, text: str) -> tuple[int, int]:
    first, _, second = text.lower().partition("x")
    if not (first.isdecimal() and second.isdecimal() and len(text) < 20 and min(int(first), int(second)) >= 2):
        raise ArgumentError(f"{option} {text} is not rows and columns; write 256x256")
    size = int(first), int(second)
    if size[0] * size[1] > _MOST:
        raise ArgumentError(f"{option} {text} is more than can be made, {_MOST} in all; write less, such as 2048x2048")
    return size
