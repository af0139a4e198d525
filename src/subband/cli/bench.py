"""``subband bench``: benchmarks, beside other libraries and a plain copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from subband.cli.outputs import Files, Reads, Writes, check_file
from subband.cli.reporting import Outputs, watch_cases, watch_results, with_outputs

app = typer.Typer(no_args_is_help=True)

Quick = Annotated[bool, typer.Option("--quick", help="Some cases only, half a minute in all.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Cases whose name holds all these words, such as 'db4 inverse'; repeatable."),
]
EngineName = Annotated[
    str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device such as opencl:0.")
]


@app.callback()
def bench() -> None:
    """Measure on this machine, side by side with others and with a plain copy."""


@app.command()
@with_outputs
def cpu(
    outputs: Outputs,
    quick: Quick = False,
    only: Only = None,
    peak_memory: Annotated[bool, typer.Option(help="Measure the peak of memory, in processes of their own.")] = True,
    busy: Annotated[int, typer.Option(min=0, metavar="N", help="Keep N other processes at work meanwhile.")] = 0,
) -> None:
    """Measure the CPU engine, PyWavelets and np.copyto, taking turns in one run.

    Results are checked. The exit code does not depend on the targets: a busy machine is not an error.
    """
    from subband.bench.cases import CPU_CASES, select_cases
    from subband.bench.libraries import load_library
    from subband.bench.load import keep_busy
    from subband.bench.measuring import measure_cases
    from subband.bench.memory import measure_peak
    from subband.bench.report import report
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.timing import Effort

    cases = select_cases(CPU_CASES, is_quick=quick, patterns=only or ())
    load_library("PyWavelets")
    outputs.check("cpu", is_partial=only is not None)
    effort = Effort(seconds=0.1, fewest=2, most=11) if quick else Effort()
    with keep_busy(busy):
        measurements = watch_cases(
            cases, lambda case: measure_cases([case], effort, memory=measure_peak if peak_memory else None)
        )
    outputs.write("Transforms on the CPU", {"cpu": report(measurements, describe_machine())})


@app.command()
@with_outputs
def gpu(
    outputs: Outputs,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS", help="Cases whose name holds all these words, such as 'db5 inverse'; all by default."
        ),
    ] = None,
    only: Only = None,
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cuda, opencl, or one device such as opencl:0.")
    ] = "cuda",
    quick: Annotated[bool, typer.Option("--quick", help="Most of the cases, each for a moment.")] = False,
    peers: Annotated[bool, typer.Option(help="Compare with PDWT, ptwt and pytorch_wavelets, if installed.")] = True,
) -> None:
    """Measure an engine on its device, a copy there, and other libraries for GPUs, taking turns in one run.

    Times are those of the device. Results are checked. The exit code does not depend on the targets.
    """
    from subband.bench import device_cases
    from subband.bench.cases import select_cases
    from subband.bench.measuring import measure_cases
    from subband.bench.peers import DEVICE_PEERS, find_peers
    from subband.bench.report import report
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_device
    from subband.engines.measuring.timing import Effort

    family = engine.partition(":")[0]
    cases = select_cases(
        device_cases.list_device_cases(family), is_quick=quick, patterns=[*(patterns or ()), *(only or ())]
    )
    # The pages have one part for each kind of engine.
    outputs.check(family, is_partial=bool(patterns or only))
    bench = open_device(engine)
    found, remarks = find_peers(DEVICE_PEERS) if peers and family == "cuda" else ([], [])
    effort = Effort(seconds=0.05, fewest=3, most=11) if quick else Effort(seconds=0.3, fewest=5)
    measurements = watch_cases(cases, lambda case: measure_cases([case], effort, bench, found))
    outputs.write(f"Transforms by {family}", {family: report(measurements, describe_machine(bench.name), remarks)})


@app.command()
@with_outputs
def peers(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="Some cases only, each for a moment.")] = False,
    only: Only = None,
    engine: EngineName = "cpu",
) -> None:
    """Measure every other library that is installed on the same work: transforms, and what is done with images.

    PyWavelets, ptwt, pytorch_wavelets, jaxwt, PDWT, scikit-image and OpenCV; those that are missing are named, with how
    to install them. A result that is not ours is not timed. The exit code does not depend on who is faster.
    """
    from subband.cli.enhancing import calm_threads

    # else the threads of one library go on turning while another is measured
    calm_threads()

    from subband.bench.cases import select_cases
    from subband.bench.peers import comparison, find_peers
    from subband.bench.peers.cases import PEER_CASES, ImageCase
    from subband.engines.measuring.harness import open_harness
    from subband.engines.measuring.timing import Effort

    family = engine.partition(":")[0]
    part = f"peers {family}"
    cases = select_cases(PEER_CASES, is_quick=quick, patterns=only or ())
    outputs.check(part, is_partial=only is not None)
    bench = open_harness(engine)
    if bench.is_device:
        # what is done with images begins and ends on the host
        cases = tuple(case for case in cases if not isinstance(case, ImageCase))
    found, remarks = find_peers(comparison.PEERS)
    effort = Effort(seconds=0.1, fewest=2, most=9) if quick else Effort(seconds=0.5, fewest=3)
    measured = watch_cases(cases, lambda case: comparison.measure_peers([case], effort, bench, found))
    outputs.write("Other libraries on the same work", {part: comparison.report(measured, bench, remarks)})


@app.command()
@with_outputs
def calls(
    outputs: Outputs,
    quick: Annotated[
        bool, typer.Option("--quick", help="One size only, each for a moment; nothing is judged.")
    ] = False,
    only: Only = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the ratios."), Writes()] = None,
) -> None:
    """Measure every function of PyWavelets from 16 samples to 512 × 512, beside PyWavelets, taking turns in one run.

    A result that is not PyWavelets' ends the run. The exit code does not depend on the targets.
    """
    from subband.bench import calls as functions
    from subband.bench.call_cases import CALL_CASES
    from subband.bench.cases import select_cases
    from subband.bench.libraries import load_library
    from subband.engines.measuring.timing import Effort

    cases = select_cases(CALL_CASES, is_quick=quick, patterns=only or ())
    for library in ("PyWavelets", *(["matplotlib"] if plot is not None else [])):
        load_library(library)
    others = [] if plot is None else [plot]
    for path in others:
        check_file(path, Files(), force=outputs.force)
    outputs.check("calls", is_partial=only is not None, others=others)
    effort = Effort(seconds=0.01, fewest=3, most=5, turn=1e-3) if quick else Effort(seconds=0.3, fewest=5)
    measured = watch_results(functions.measure_calls(cases, effort), len(cases))
    report = functions.report_calls(measured, is_whole=not quick and only is None)
    outputs.write("Calls beside PyWavelets", {"calls": report})
    if plot is not None:
        functions.draw_ratios(measured).save(plot, overwrite=outputs.force)


@app.command()
@with_outputs
def enhance(
    outputs: Outputs,
    engine: EngineName = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Each case for a moment.")] = False,
) -> None:
    """Measure at how many fps video is enhanced, beside scikit-image and a plain copy.

    Results are checked. The exit code does not depend on the targets.
    """
    from subband.bench import enhance as speed
    from subband.bench.libraries import load_library
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_harness
    from subband.engines.measuring.timing import Effort

    family = engine.partition(":")[0]
    part = f"enhance {family}"
    outputs.check(part)
    if family == "cpu":
        load_library("scikit-image")
        effort = Effort(seconds=0.3, fewest=2, most=11) if quick else Effort(seconds=2.0, fewest=5)
    else:
        effort = Effort(seconds=0.05, fewest=3, most=11) if quick else Effort(seconds=0.3, fewest=5)
    frame, bench = speed.make_frame(speed.SHAPE), open_harness(engine, has_plain_copies=True)
    speeds = watch_results(speed.measure_speeds(speed.CASES, effort, frame, bench), len(speed.CASES))
    report = speed.report(speeds, frame.shape, describe_machine(bench.name) if bench.is_device else None)
    outputs.write("Frames enhanced", {part: report})


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
    """Compute the tables of five papers on wavelets and graphics hardware anew: theirs beside ours.

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


@app.command()
@with_outputs
def temporal(
    outputs: Outputs,
    quick: Annotated[
        bool, typer.Option("--quick", help="One strength of noise, few frames; nothing is judged.")
    ] = False,
) -> None:
    """Measure how well noise is removed from video over time, beside frame by frame and filters of FFmpeg.

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
    rates = clips.measure_speed(frames, (180, 320) if quick else (720, 1280))
    outputs.write("Video over time", {"temporal": clips.report(found, rates, is_whole=not quick)})


@app.command()
@with_outputs
def quality(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="Small images and few settings; nothing is judged.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Take the images of a folder."),
        Reads(),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Write crops as denoised.png, and the scan as speckle.png."),
        Writes("folder"),
    ] = None,
) -> None:
    """Measure how well noise and speckle are removed, beside scikit-image and SciPy, and BM3D and OpenCV if installed.

    All images have noise from fixed seeds. The exit code does not depend on the targets.
    """
    from subband.bench import photographs, speckle
    from subband.bench.libraries import load_library
    from subband.data.phantom import ultrasound
    from subband.media import Still, write_still

    load_library("scikit-image")
    others = [] if images is None else [images / "speckle.png", images / "denoised.png"]
    for path in others:
        check_file(path, Files(), force=outputs.force)
    outputs.check("photographs", "speckle", others=others)
    size, sigmas = (128, photographs.SIGMAS[1:2]) if quick else (None, photographs.SIGMAS)
    if folder is None:
        grey, coloured = photographs.load_greys(size), photographs.load_colours(size)
    else:
        grey, coloured = photographs.load_folder(folder, size)
    greys = watch_results(photographs.measure_greys(grey, sigmas), len(grey) * len(sigmas))
    colours = watch_results(photographs.measure_colours(coloured), len(coloured))
    phantom = ultrasound((size, size)) if size else ultrasound()
    peers = [replace(peer, settings=peer.settings[:2]) for peer in speckle.PEERS] if quick else speckle.PEERS
    found = watch_results(speckle.measure_filters(phantom, peers), len(peers) + 2)
    reports = {
        "photographs": photographs.report(greys, colours, is_whole=not quick),
        "speckle": speckle.report(found, is_whole=not quick),
    }
    outputs.write("Noise and speckle removed", reports)
    if images is not None:
        crops = photographs.join_crops(next(iter((coloured or grey).values())))
        for path, pixels in zip(others, (speckle.join_images(phantom, found), crops), strict=True):
            write_still(path, Still(pixels), overwrite=outputs.force)


@app.command()
@with_outputs
def video(
    outputs: Outputs,
    source: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, metavar="VIDEO", help="In colour; the bundled clip by default."),
        Reads(),
    ] = None,
    engine: EngineName = "cpu",
    frames: Annotated[int, typer.Option(min=2, metavar="N", help="Frames in each direction.")] = 100,
    files: Annotated[bool, typer.Option(help="Measure from file to file, too.")] = True,
    quick: Annotated[bool, typer.Option("--quick", help="A few frames only.")] = False,
) -> None:
    """Measure video in real time: 1920 × 1080 there and back, and 1280 × 720 from file to file.

    Beside it stand the figures of a GPU of 2012. The exit code does not depend on the targets.
    """
    from subband.cli.enhancing import calm_threads

    calm_threads()

    from subband.bench import video as speed
    from subband.data import clip_path

    family = engine.partition(":")[0]
    part = f"video {family}"
    outputs.check(part)
    chosen = clip_path() if source is None else source
    passes = speed.measure_transform(chosen, engine, min(frames, 10) if quick else frames)
    runs = watch_results(speed.measure_files(chosen, engine, is_quick=quick), len(speed.CASES)) if files else []
    outputs.write("Video in real time", {part: speed.report(passes, runs, engine, chosen)})


@app.command()
@with_outputs
def studio(
    outputs: Outputs,
    engine: EngineName = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="The small video only, and not for long.")] = False,
) -> None:
    """Measure the studio in a real browser: fps from file to screen, how soon sliders show, seeks, pages and memory.

    It needs Playwright and a Chromium, of its own or named in SUBBAND_CHROMIUM. The exit code does not depend on the
    targets.
    """
    from subband.bench import studio as live
    from subband.bench import studio_waits as pages

    outputs.check("studio", "studio waits")
    cases = [case for case in live.CASES if case.shape == live.SMALL] if quick else [*live.CASES, *live.FULL_CASES]
    seconds, changes = (2.0, 10) if quick else (8.0, 30)
    found = watch_results(live.measure(cases, engine, seconds=seconds, changes=changes), len(cases))
    waits = watch_results(pages.measure_waits(engine, pages.QUICK if quick else pages.Effort()), None)
    reports = {"studio": live.report(found, engine), "studio waits": pages.report(waits, engine)}
    outputs.write("The studio in a browser", reports)


@app.command()
@with_outputs
def jpeg2000(
    outputs: Outputs,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl; repeatable, all at hand by default."),
    ] = None,
    equal_sizes: Annotated[
        bool, typer.Option("--equal-sizes", help="Compare errors at equal sizes instead of times.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small images only; nothing is judged.")] = False,
) -> None:
    """Measure JPEG 2000 beside OpenJPEG: the parts of encoding by size, and speed or errors at equal sizes.

    Every file is decoded and checked. The exit code does not depend on the targets.
    """
    from subband.bench import jpeg2000 as codec

    part = "jpeg2000 quality" if equal_sizes else "jpeg2000 speed"
    outputs.check(part)
    if equal_sizes:
        images = codec.load_photographs(192 if quick else None)
        rates = codec.RATES[1:3] if quick else codec.RATES
        found = watch_results(codec.measure_quality(images, rates), len(images) * len(rates))
        outputs.write("JPEG 2000 at equal sizes", {part: codec.report_quality(found, is_whole=not quick)})
        return
    sizes, engines = codec.QUICK_SIZES if quick else codec.SIZES, engine or codec.list_engines()
    breakdown = watch_results(codec.measure_breakdown(sizes, engines), len(sizes) * len(engines))
    duels = [] if quick or codec.load_peer() is None else watch_results(codec.measure_duels(), 4)
    outputs.write("How fast JPEG 2000 is", {part: codec.report_speed(breakdown, duels)})


@app.command()
@with_outputs
def pipeline(
    outputs: Outputs,
    engine: EngineName = "cuda",
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="1080p, 4K or 8K; repeatable, all by default.")
    ] = None,
    in_flight: Annotated[int, typer.Option(min=0, metavar="N", help="Frames under way at the same time.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="A few frames of each size.")] = False,
) -> None:
    """Measure frames from the host through an engine and back, beside what the bus can carry.

    Every pixel is checked. The exit code does not depend on the targets.
    """
    from subband.bench import streaming
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_harness

    sizes = streaming.choose_sizes(only)
    outputs.check("pipeline", is_partial=only is not None)
    bench = open_harness(engine)
    count, turns = (8, 1) if quick else (None, 5)
    measured = (
        streaming.measure_pipeline(name, bench.engine, in_flight=in_flight, count=count, turns=turns) for name in sizes
    )
    found = watch_results(measured, len(sizes))
    report = streaming.report(found, engine, in_flight, describe_machine(bench.name))
    outputs.write("Frames host to host", {"pipeline": report})


@app.command()
@with_outputs
def dask(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="A small array; nothing is judged.")] = False,
) -> None:
    """Measure what chunks cost: transforms of arrays of Dask beside those of the same arrays in memory.

    Results are compared. The exit code does not depend on the targets.
    """
    from subband.bench import dask as chunks

    outputs.check("dask")
    cases = chunks.QUICK_CASES if quick else chunks.CASES
    found = watch_results(chunks.measure_overhead(cases, is_quick=quick), 2 * len(cases))
    outputs.write("What chunks cost", {"dask": chunks.report_overhead(found, is_whole=not quick)})


@app.command()
@with_outputs
def torch(
    outputs: Outputs,
    device: Annotated[str, typer.Option(metavar="NAME", help="As Torch calls it: cpu, cuda, or cuda:1.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="One small batch; nothing is judged.")] = False,
) -> None:
    """Measure transforms of Torch's tensors and their gradients, beside ptwt and pytorch_wavelets.

    Bands and gradients are compared first. The exit code does not depend on the targets.
    """
    from subband.bench import gradients
    from subband.bench.peers import find_peers
    from subband.engines.measuring.timing import Effort

    family = device.partition(":")[0]
    part = f"torch {family}"
    outputs.check(part)
    shapes = gradients.QUICK_SHAPES if quick else gradients.SHAPES.get(family, gradients.SHAPES["cuda"])
    effort = Effort(seconds=0.05, fewest=2, most=5) if quick else Effort(seconds=0.5, fewest=5)
    _, remarks = find_peers(gradients.PEERS)
    found = watch_results(gradients.measure_gradients(shapes, effort, device), len(shapes))
    outputs.write("Gradients of Torch", {part: gradients.report(found, remarks, is_whole=not quick)})


@app.command()
@with_outputs
def edges(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="Two strengths of noise only.")] = False,
) -> None:
    """Measure how well edges of phantoms are found under noise, beside Canny's filter tuned to the truth."""
    from subband.bench import edges as phantoms

    outputs.check("edges")
    noises = phantoms.NOISES[1:3] if quick else phantoms.NOISES
    found = watch_results(phantoms.measure_phantoms(noises), 2 * len(noises))
    outputs.write("Edges under noise", {"edges": phantoms.report(found)})
