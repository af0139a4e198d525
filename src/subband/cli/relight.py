"""``subband relight``: separate an image into texture and light, or change the light."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.enhancing import Reading, Writing
from subband.cli.files import Settings
from subband.cli.options import (
    EngineName,
)
from subband.cli.outputs import Reads, Writes
from subband.cli.settings import take_files, take_settings
from subband.edit import Lighting
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.cli.files import Job
    from subband.edit import Relighter
    from subband.media import SourceInfo

app = typer.Typer()


@app.command()
@take_settings(Lighting, "strength wavelet level gamma colour floor exposure")
@take_files("force dry_run as_json quiet keep_partial", "most_pixels tolerant", "codec quality preset audio")
def relight(
    image: Annotated[Path, typer.Argument(metavar="IN", help="An image or a video."), Reads()],
    decal: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the evenly lit texture (albedo), for texture mapping."),
        Writes("results"),
    ] = None,
    light: Annotated[Path | None, typer.Option(metavar="OUT", help="Write the lighting."), Writes("results")] = None,
    lit: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the image under the lighting of --under."),
        Writes("results"),
    ] = None,
    under: Annotated[
        Path | None,
        typer.Option(metavar="LIGHT", help="An image of another lighting; stretched to the size of IN."),
        Reads(),
    ] = None,
    engine: EngineName = None,
    *,
    settings: Settings,
    reading: Reading,
    writing: Writing,
    **chosen: Any,
) -> None:
    """Remove the lighting from an image or from every frame of a video, or replace it.

    `subband relight wall.jpg --decal texture.png --light light.png` writes two images whose product is the first.
    """
    from dataclasses import asdict

    from subband.cli.editing import edit_files, read_image
    from subband.cli.files import plan_jobs
    from subband.edit import Relighter
    from subband.engines import get_engine

    outputs = {"decal": decal, "light": light, "lit": lit}
    wanted = {name: path for name, path in outputs.items() if path is not None}
    if not wanted:
        raise ArgumentError("nothing is to be written; use --decal OUT, --light OUT, or --under LIGHT with --lit OUT")
    if (lit is None) != (under is None):
        raise ArgumentError("--under names the light and --lit where the image under it goes; use both together")
    lighting = Lighting(**chosen)
    relighter = Relighter(lighting, engine=get_engine(engine))
    falling = None if under is None else read_image(under, reading)
    # one job for each result, all of the same source
    planned = [(job, name) for name, path in wanted.items() for job in plan_jobs([image], path)]
    if len({job.output.resolve() for job, _ in planned}) < len(planned):
        raise ArgumentError("two results would go to the same file; give each a name of its own")
    names = dict(planned)

    def make_change(job: Job, info: SourceInfo) -> Any:
        name = names[job]
        return _make_relighting(relighter, falling, info) if name == "lit" else relighter.adjust(output=name).apply

    edit_files(
        list(names),
        make_change,
        settings,
        reading,
        writing,
        {"lighting": asdict(lighting)},
        [] if under is None else [under],
    )


def _make_relighting(relighter: Relighter, light: Any, info: SourceInfo) -> Any:
    """Return what puts frames under a light, which may be of another depth than they are."""
    import numpy as np

    if light.ndim == 3 and not info.is_colour:
        raise ArgumentError("the light is in colour and the image in grey; give a light in grey")
    if (light.dtype.kind == "f") != (info.dtype.kind == "f"):
        white = np.iinfo(light.dtype).max if light.dtype.kind in "iu" else 1.0
        scaled = light / white * info.peak
        if not np.isfinite(scaled).all():
            raise ArgumentError("the light has pixels that are NaN or infinite; replace them, as with numpy.nan_to_num")
        light = (
            scaled.astype(np.float32)
            if info.dtype.kind == "f"
            else np.rint(scaled.clip(0, info.peak)).astype(info.dtype)
        )
    return lambda frame: relighter.relight(frame, light)
