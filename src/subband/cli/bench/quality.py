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
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_harness
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
    if engine != "cpu":
        # theirs were computed on the host, and ours on this device
        machine = describe_machine(open_harness(engine).name, ["scikit-image", "scipy"])
        reports |= {name: replace(reports[name], machine=machine) for name in names}
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
    engine: EngineName = "cpu",
) -> None:
    """Measure temporal denoising of video, beside frame-by-frame denoising and filters of FFmpeg.

    All clips have noise from fixed seeds. The exit code does not depend on the targets. With `--engine` of a device:
    frames of 1080p per second there, and results beside those of the CPU.
    """
    if engine != "cpu":
        _compare_over_time(outputs, engine, is_quick=quick)
        return
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


def _compare_over_time(outputs: Outputs, engine: str, *, is_quick: bool) -> None:
    """Measure a device beside the CPU."""
    from subband.bench import temporal_device as device
    from subband.bench.temporal import make_clip

    part = f"temporal {engine}"
    outputs.check(part)
    names, count = (device.CLIPS[:1], 3) if is_quick else (device.CLIPS, 20)
    found = watch_results((device.compare_clip(make_clip(name, count), engine) for name in names), len(names))
    rates = device.measure_rates(engine, 3, (96, 128)) if is_quick else device.measure_rates(engine)
    outputs.write(f"Video over time on {engine}", {part: device.report(found, rates, engine, is_whole=not is_quick)})


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
