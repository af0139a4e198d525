"""``subband demo``: denoise the bundled photograph and clip."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subband.cli.options import DryRun, Force
from subband.cli.outputs import Files, Writes, check_file, show_plan

if TYPE_CHECKING:
    from rich.console import Console

    from subband.typing import Array

app = typer.Typer()

# Strong enough to see at a glance: what a camera adds in poor light.
_SIGMA, _SEED = 20.0, 7
_GAP = 8
_IMAGES = ("original", "noisy", "denoised", "side-by-side")


@app.command()
def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder for images and videos; out by default."),
        Writes("folder"),
    ] = Path("out"),
    clip: Annotated[bool, typer.Option(help="Process the clip, too.")] = True,
    force: Force = False,
    dry_run: DryRun = False,
) -> None:
    """Denoise the bundled photograph and the bundled clip on the CPU: before, after, and a table of each."""
    from rich.console import Console

    from subband.cli.enhancing import calm_threads
    from subband.errors import MissingExtraError

    made = [*(output / f"photograph-{name}.png" for name in _IMAGES), *(_name_clips(output) if clip else ())]
    for path in made if output.is_dir() else ():
        check_file(path, Files(), force=force)
    if dry_run:
        show_plan([], made, as_json=False)
        return
    calm_threads()
    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    paths = _show_photograph(output, console)
    if clip:
        try:
            paths += _show_clip(output, console)
        except MissingExtraError as error:
            typer.echo(f"the clip is left out: {error}")
    for path in paths:
        typer.echo(path)


def _show_photograph(output: Path, console: Console) -> list[Path]:
    """Denoise the photograph, print a table, and return the images."""
    import subband
    from subband.engines.measuring.timing import Effort, take_turns
    from subband.enhance import denoise
    from subband.media import Still, write_still
    from subband.quality import measure_psnr, measure_ssim

    engine = subband.get_engine("cpu")
    with console.status("reading the photograph") as progress:
        original = Still(subband.data.photograph())
        noisy = original.replace_pixels(_add_noise(original.pixels))
        progress.update("compiling, the first time only, and denoising")
        denoised = original.replace_pixels(denoise(noisy.pixels, engine=engine))
        progress.update("measuring")
        seconds = take_turns({"ours": lambda: denoise(noisy.pixels, engine=engine)}, Effort())["ours"]
        joined = Still(_join([still.pixels for still in (noisy, denoised, original)]))
        images = dict(zip(_IMAGES, (original, noisy, denoised, joined), strict=True))
        progress.update("writing the images")
        for name, still in images.items():
            write_still(output / f"photograph-{name}.png", still, overwrite=True)
        quality = {
            measure: [measure(still.pixels, original.pixels, original.peak) for still in (noisy, denoised)]
            for measure in (measure_psnr, measure_ssim)
        }
    rows, columns = original.pixels.shape[:2]
    _print_table(
        console,
        f"photograph, {columns} × {rows}, colour, noise of {_SIGMA:g}/255",
        [
            ("PSNR", *(f"{value:.2f} dB" for value in quality[measure_psnr])),
            ("SSIM", *(f"{value:.3f}" for value in quality[measure_ssim])),
        ],
        [
            ("frames per second", "", f"{1 / seconds:.1f}"),
            ("engine", "", f"{engine.name}, {subband.get_threads()} threads"),
        ],
    )
    return [output / f"photograph-{name}.png" for name in images]


def _show_clip(output: Path, console: Console) -> list[Path]:
    """Denoise the clip from file to file, print a table, and return the videos."""
    from subband.data import clip_path
    from subband.enhance import Denoise, Enhancer, Gaussian
    from subband.media import open_sink, open_source
    from subband.pipeline import add_noise_to_file, enhance_file
    from subband.pipeline.comparison import compare_sources

    noisy, denoised = _name_clips(output)
    with console.status("adding noise to the clip") as progress:
        with open_source(clip_path()) as source:
            info = source.info
            sink = open_sink(noisy, info, overwrite=True, quality=90)
            add_noise_to_file(source, sink, Gaussian(_SIGMA), seed=_SEED)
        progress.update("denoising the clip")
        report = enhance_file(noisy, denoised, Enhancer((Denoise(),)), engine="cpu", overwrite=True)
        progress.update("comparing it with the original")
        before, after = (
            compare_sources(partial(open_source, clip_path()), partial(open_source, path), ssim=False)
            for path in (noisy, denoised)
        )
    rows, columns = info.shape[:2]
    _print_table(
        console,
        f"clip, {columns} × {rows}, {report.frames} frames, noise of {_SIGMA:g}/255",
        [("PSNR", f"{before.psnr:.2f} dB", f"{after.psnr:.2f} dB")],
        [
            ("frames per second, file to file", "", f"{report.rate:.1f}"),
            *((f"  of it {name}", "", f"{share:.0%}") for name, share in report.shares.items()),
        ],
    )
    return [noisy, denoised]


def _name_clips(output: Path) -> tuple[Path, Path]:
    return output / "clip-noisy.mp4", output / "clip-denoised.mp4"


def _print_table(console: Console, title: str, quality: list[tuple[str, ...]], speed: list[tuple[str, ...]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAVY, title_justify="left")
    for heading in ("", "before", "after"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in quality:
        table.add_row(*row)
    table.add_section()
    for row in speed:
        table.add_row(*row)
    console.print(table)


def _add_noise(pixels: Array) -> Array:
    """Add white Gaussian noise, the same at each call."""
    import numpy as np

    return pixels + np.random.default_rng(_SEED).normal(0, _SIGMA, pixels.shape)


def _join(images: list[Array]) -> Array:
    """Put images of one size side by side, white between them."""
    import numpy as np

    gap = np.full((images[0].shape[0], _GAP, *images[0].shape[2:]), 255, images[0].dtype)
    parts = [part for image in images for part in (gap, image)]
    return np.concatenate(parts[1:], axis=1)
