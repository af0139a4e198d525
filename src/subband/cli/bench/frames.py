"""``subband bench``: how many frames per second are filtered, shown, encoded and decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.bench.options import EngineName
from subband.cli.outputs import Reads
from subband.cli.reporting import Outputs, watch_results, with_outputs

app = typer.Typer()


@app.command()
@with_outputs
def enhance(
    outputs: Outputs,
    engine: EngineName = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Each case for a moment.")] = False,
) -> None:
    """Measure at how many fps frames are denoised, beside scikit-image and a plain copy.

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
def video(
    outputs: Outputs,
    source: Annotated[
        Path | None,
        typer.Argument(
            exists=True, dir_okay=False, metavar="VIDEO", help="A colour video; the bundled clip by default."
        ),
        Reads(),
    ] = None,
    engine: EngineName = "cpu",
    frames: Annotated[int, typer.Option(min=2, metavar="N", help="Frames in each direction.")] = 100,
    files: Annotated[bool, typer.Option(help="Measure from file to file, too.")] = True,
    quick: Annotated[bool, typer.Option("--quick", help="A few frames only.")] = False,
) -> None:
    """Measure real-time video: round trips of 1920 × 1080, and 1280 × 720 from file to file.

    Published figures of a GPU of 2012 are shown beside them. The exit code does not depend on the targets.
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
def pipeline(
    outputs: Outputs,
    engine: EngineName = "cuda",
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="1080p, 4K or 8K; repeatable, all by default.")
    ] = None,
    in_flight: Annotated[int, typer.Option(min=0, metavar="N", help="Number of frames in flight.")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="A few frames of each size.")] = False,
) -> None:
    """Measure frames from the host through an engine and back, beside the bandwidth of the bus.

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
def studio(
    outputs: Outputs,
    engine: EngineName = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="The small video only, for a short time.")] = False,
) -> None:
    """Measure the studio in a real browser: fps from file to screen, latency of sliders and seeks, and memory.

    It needs Playwright and Chromium: Playwright's own, or the one that SUBBAND_CHROMIUM names. The exit code
    does not depend on the targets.
    """
    from subband.bench import studio as live
    from subband.bench import studio_waits as pages

    outputs.check("studio", "studio waits")
    cases = [case for case in live.CASES if case.shape == live.SMALL] if quick else [*live.CASES, *live.FULL_CASES]
    seconds, changes = (2.0, 10) if quick else (5.0, 20)
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
        typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl; repeatable, all available by default."),
    ] = None,
    equal_sizes: Annotated[
        bool, typer.Option("--equal-sizes", help="Compare errors at equal file sizes instead of times.")
    ] = False,
    video: Annotated[
        bool, typer.Option("--video", help="Measure frames per second of HTJ2K on a device instead.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small images only; targets are not judged.")] = False,
) -> None:
    """Measure JPEG 2000 beside OpenJPEG and OpenJPH: the stages of encoding, and speed or errors at equal file sizes.

    Every file is decoded and checked. The exit code does not depend on the targets.
    """
    from subband.bench import jpeg2000 as codec

    part = "jpeg2000 quality" if equal_sizes else "jpeg2000 video" if video else "jpeg2000 speed"
    has_peers = part == "jpeg2000 speed" and codec.load_peer() is not None
    outputs.check(part, *(["jpeg2000 peers"] if has_peers else []))
    if video:
        from subband.bench import jpeg2000_video as live

        name = (engine or ["cuda"])[0]
        frames = live.QUICK_SIZES if quick else live.SIZES
        speeds = live.measure_video(name, frames, live.STEPS[:1] if quick else live.STEPS, 6 if quick else 60)
        found_speeds = watch_results(speeds, len(frames) * (1 if quick else len(live.STEPS)))
        outputs.write("HTJ2K video on a device", {part: live.report_video(found_speeds, name)})
        return
    if equal_sizes:
        images = codec.load_photographs(192 if quick else None)
        rates = codec.RATES[1:3] if quick else codec.RATES
        found = watch_results(codec.measure_quality(images, rates), len(images) * len(rates))
        outputs.write("JPEG 2000 at equal sizes", {part: codec.report_quality(found, is_whole=not quick)})
        return
    sizes, engines = codec.QUICK_SIZES if quick else codec.SIZES, engine or codec.list_engines()
    breakdown = watch_results(codec.measure_breakdown(sizes, engines), len(sizes) * len(engines))
    reports = {part: codec.report_speed(breakdown)}
    if has_peers:
        from subband.bench import jpeg2000_peers as peers

        cases = peers.QUICK_CASES if quick else peers.CASES
        duels = watch_results(peers.measure_duels(cases), None)
        window = None if quick else peers.measure_window()
        reports["jpeg2000 peers"] = peers.report_peers(duels, window)
    outputs.write("How fast JPEG 2000 is", reports)


@app.command()
@with_outputs
def vc2(
    outputs: Outputs,
    engine: EngineName = "cuda",
    quick: Annotated[bool, typer.Option("--quick", help="One small frame; targets are not judged.")] = False,
) -> None:
    """Measure VC-2's transform and quantiser on a device: frames per second of 4:2:2 in 10 bits.

    Everything is compared with the CPU first. The exit code does not depend on the targets.
    """
    from subband.bench import vc2 as codec
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_device

    outputs.check("vc2")
    bench = open_device(engine)
    cases = codec.QUICK_CASES if quick else codec.CASES
    found = watch_results(codec.measure_device(bench, cases, turns=1 if quick else 5), len(cases))
    outputs.write("VC-2 on a device", {"vc2": codec.report(found, engine, describe_machine(bench.name))})
