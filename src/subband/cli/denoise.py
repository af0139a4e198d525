"""``subband denoise``: pictures, film and volumes without noise."""

from __future__ import annotations

import typer

from subband.cli.options import (
    AsJson,
    Codec,
    Colour,
    DryRun,
    Ending,
    EngineName,
    Force,
    Jobs,
    KeepPartial,
    MemoryLimit,
    MethodName,
    MostPixels,
    NoiseName,
    Paths,
    Preset,
    Quality,
    Sigma,
    Sound,
    StageForm,
    StageLevel,
    Strength,
    Tolerant,
    View,
    WaveletName,
)

app = typer.Typer()


@app.command()
def denoise(
    paths: Paths = None,
    method: MethodName = "bivariate",
    wavelet: WaveletName = "cdf97",
    level: StageLevel = None,
    noise: NoiseName = None,
    sigma: Sigma = None,
    strength: Strength = 1.0,
    form: StageForm = None,
    colour: Colour = None,
    view: View = "synthesis",
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    jobs: Jobs = 1,
    keep_partial: KeepPartial = False,
    ending: Ending = None,
    memory: MemoryLimit = None,
    codec: Codec = None,
    quality: Quality = None,
    preset: Preset = None,
    audio: Sound = True,
    most_pixels: MostPixels = None,
    tolerant: Tolerant = False,
) -> None:
    """Remove noise from pictures, film and volumes.

    `subband denoise noisy.png clean.png` does the usual; `subband denoise scans/ clean/` does a folder.
    """
    from subband.cli.chain import make_enhancer
    from subband.cli.enhancing import Reading, Writing, enhance_files
    from subband.cli.files import Settings
    from subband.enhance import Denoise

    enhancer = make_enhancer(
        [Denoise(method, wavelet, level, strength=strength, form=form)], noise=noise, sigma=sigma, colour=colour
    )
    enhance_files(
        paths,
        enhancer,
        Settings(force, dry_run, as_json, jobs),
        Reading(most_pixels, tolerant),
        Writing(ending, keep_partial, codec, quality, preset, audio),
        view=view,
        engine=engine,
        memory=memory,
    )
