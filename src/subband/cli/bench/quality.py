"""``subband bench``: how good results are, beside other methods and published figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from subband.cli.bench.options import EngineName
from subband.cli.outputs import Files, Reads, Writes, check_file
from subband.cli.reporting import Outputs, watch_results, with_outputs

app = typer.Typer()


@app.command()
@with_outputs
def quality(
    outputs: Outputs,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small images and few settings; targets are not judged.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Use the images of a folder."),
        Reads(),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Write crops as denoised.png, and the scan as speckle.png."),
        Writes("folder"),
    ] = None,
    engine: EngineName = "cpu",
) -> None:
    """Measure denoising and despeckling quality, beside scikit-image, and BM3D, BM4D and OpenCV if installed.

    All images have noise from fixed seeds. The exit code does not depend on the targets.
    """
    from subband.bench import photographs, speckle, volumes
    from subband.bench.libraries import load_library
    from subband.data.phantom import ultrasound
    from subband.media import Still, write_still

    load_library("scikit-image")
    others = [] if images is None else [images / "speckle.png", images / "denoised.png"]
    for path in others:
        check_file(path, Files(), force=outputs.force)
    # other engines have figures of their own; speckle is that of any
    names = [name if engine == "cpu" else f"{name} {engine}" for name in ("photographs", "volumes")]
    outputs.check(*names, "speckle", others=others)
    size, sigmas = (128, photographs.SIGMAS[1:2]) if quick else (None, photographs.SIGMAS)
    if folder is None:
        grey, coloured = photographs.load_greys(size), photographs.load_colours(size)
    else:
        grey, coloured = photographs.load_folder(folder, size)
    greys = watch_results(photographs.measure_greys(grey, sigmas, engine), len(grey) * len(sigmas))
    colours = watch_results(photographs.measure_colours(coloured, sigmas, engine), len(coloured) * len(sigmas))
    side, noises = (24, volumes.SIGMAS[1:2]) if quick else (volumes.SIZE, volumes.SIGMAS)
    whole = volumes.measure_volume(side, noises, engine)
    phantom = ultrasound((size, size)) if size else ultrasound()
    peers = [replace(peer, settings=peer.settings[:2]) for peer in speckle.PEERS] if quick else speckle.PEERS
    found = watch_results(speckle.measure_filters(phantom, peers), len(peers) + 2)
    reports = {
        names[0]: photographs.report(greys, colours, is_whole=not quick, is_gpu=engine != "cpu"),
        names[1]: volumes.report(whole, is_whole=not quick),
        "speckle": speckle.report(found, is_whole=not quick),
    }
    outputs.write("Noise and speckle removed", reports)
    if images is not None:
        crops = photographs.join_crops(next(iter((coloured or grey).values())))
        for path, pixels in zip(others, (speckle.join_images(phantom, found), crops), strict=True):
            write_still(path, Still(pixels), overwrite=outputs.force)


@app.command()
@with_outputs
def temporal(
    outputs: Outputs,
    quick: Annotated[
        bool, typer.Option("--quick", help="One noise level, few frames; targets are not judged.")
    ] = False,
) -> None:
    """Measure temporal denoising of video, beside frame-by-frame denoising and filters of FFmpeg.

    All clips have noise from fixed seeds. The exit code does not depend on the targets.
    """
    from subband.bench import temporal as clips

    outputs.check("temporal")
    sigmas, count, frames = (clips.SIGMAS[1:2], 6, 4) if quick else (clips.SIGMAS, 20, 60)
    peers = {name: settings[:1] for name, settings in clips.PEERS.items()} if quick else clips.PEERS
    measured = (
        each for name in clips.CLIPS for each in clips.measure_clip(clips.make_clip(name, count), sigmas, peers)
    )
    found = watch_results(measured, len(clips.CLIPS) * len(sigmas))
    shape = (180, 320) if quick else (720, 1280)
    rates = clips.measure_speed(frames, shape) | {clips.FILES: clips.measure_files(frames, shape)}
    outputs.write("Video over time", {"temporal": clips.report(found, rates, is_whole=not quick)})


@app.command()
@with_outputs
def edges(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="Two noise levels only.")] = False,
) -> None:
    """Measure edge detection on noisy phantoms, beside a Canny detector tuned to the ground truth."""
    from subband.bench import edges as phantoms

    outputs.check("edges")
    noises = phantoms.NOISES[1:3] if quick else phantoms.NOISES
    found = watch_results(phantoms.measure_phantoms(noises), 2 * len(noises))
    outputs.write("Edges under noise", {"edges": phantoms.report(found)})


@app.command()
@with_outputs
def papers(
    outputs: Outputs,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="ultrasound, processor-load, precision, worked-model, video, acceptance, denoising, frame-buffer or "
            "jpeg2000; repeatable.",
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device; repeatable."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller images, each for a moment: a few minutes.")] = False,
) -> None:
    """Reproduce the tables of five papers on wavelets and graphics hardware: theirs beside ours.

    The exit code does not depend on the targets.
    """
    from subband.bench.papers.collection import CHAPTERS, choose_chapters, measure_chapters
    from subband.engines import get_engine

    chapters = CHAPTERS if only is None else choose_chapters(only)
    engines = engine or [get_engine().name]
    # other engines have a part of the page of their own
    part = " ".join(["papers", *(name for name in engines if name != "cpu")])
    outputs.check(part)
    reports = dict(watch_results(measure_chapters(chapters, engines, quick), None))
    outputs.write("The papers' tables, theirs and ours", reports, part, is_partial=only is not None)
