"""``subband demo``: the main job in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from subband.typing import Array

app = typer.Typer()

# Strong enough to see at a glance: what a camera adds in poor light.
_SIGMA, _SEED = 20.0, 7
_GAP = 8


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the pictures go; out by default.")
    ] = Path("out"),
) -> None:
    """Denoise the bundled photograph on the CPU: pictures before and after, and a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    import subband
    from subband.bench.measuring import Effort, take_turns
    from subband.bench.quality import measure_psnr, measure_ssim
    from subband.enhance import denoise
    from subband.media import Still, write_still

    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    engine = subband.get_engine("cpu")
    with console.status("reading the photograph") as progress:
        original = Still(subband.data.photograph())
        noisy = original.replace_pixels(_add_noise(original.pixels))
        progress.update("compiling, the first time only, and denoising")
        denoised = original.replace_pixels(denoise(noisy.pixels, engine=engine))
        progress.update("measuring")
        seconds = take_turns({"ours": lambda: denoise(noisy.pixels, engine=engine)}, Effort())["ours"]
        pictures = {"original": original, "noisy": noisy, "denoised": denoised}
        pictures["side-by-side"] = Still(_join([still.pixels for still in (noisy, denoised, original)]))
        progress.update("writing the pictures")
        for name, still in pictures.items():
            write_still(output / f"photograph-{name}.png", still)
        quality = {
            measure: [measure(still.pixels, original.pixels, original.peak) for still in (noisy, denoised)]
            for measure in (measure_psnr, measure_ssim)
        }

    rows, columns = original.pixels.shape[:2]
    table = Table(title=f"photograph, {columns} × {rows}, colour, noise of {_SIGMA:g}/255", box=box.SIMPLE_HEAVY)
    for heading in ("", "before", "after"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("PSNR", *(f"{value:.2f} dB" for value in quality[measure_psnr]))
    table.add_row("SSIM", *(f"{value:.3f}" for value in quality[measure_ssim]))
    table.add_section()
    table.add_row("frames per second", "", f"{1 / seconds:.1f}")
    table.add_row("engine", "", f"{engine.name}, {subband.get_threads()} threads")
    console.print(table)
    for name in pictures:
        typer.echo(output / f"photograph-{name}.png")


def _add_noise(pixels: Array) -> Array:
    """Add white Gaussian noise, the same at each call."""
    import numpy as np

    return pixels + np.random.default_rng(_SEED).normal(0, _SIGMA, pixels.shape)


def _join(pictures: list[Array]) -> Array:
    """Put pictures of one size side by side, white between them."""
    import numpy as np

    gap = np.full((pictures[0].shape[0], _GAP, *pictures[0].shape[2:]), 255, pictures[0].dtype)
    parts = [part for picture in pictures for part in (gap, picture)]
    return np.concatenate(parts[1:], axis=1)
