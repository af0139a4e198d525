"""``subband bench``: how fast, compared with what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.reporting import (
    check_outputs,
    check_pages,
    open_console,
    watch_results,
    write_pages,
    write_reports,
)

if TYPE_CHECKING:
    from subband.bench.cases import Case
    from subband.bench.machine import Machine
    from subband.bench.measuring import Measurement

app = typer.Typer(no_args_is_help=True)

Quick = Annotated[bool, typer.Option("--quick", help="Some cases only, half a minute in all.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="WORDS", help="Cases whose name holds all these words, such as 'db4 inverse'; repeatable."),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write everything measured as JSON.")]
Markdown = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the table into a page, between its two lines `measured`."),
]


@app.callback()
def bench() -> None:
    """Measure on this machine, side by side with others and with a plain copy."""


@app.command()
def cpu(
    quick: Quick = False,
    only: Only = None,
    memory: Annotated[bool, typer.Option(help="Measure the peak of memory, in processes of their own.")] = True,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure the CPU engine, PyWavelets and np.copyto, taking turns in one run.

    Results are checked. The exit code does not depend on the targets: a busy machine is not an error.
    """
    from subband.bench.cases import CPU_CASES, select_cases
    from subband.bench.machine import describe_machine
    from subband.bench.measuring import Effort, measure_cases
    from subband.bench.memory import measure_peak
    from subband.bench.peers import load_peer

    cases = select_cases(CPU_CASES, is_quick=quick, patterns=only or ())
    load_peer()
    check_outputs(as_json, markdown, "cpu")
    effort = Effort(seconds=0.1, fewest=2, most=11) if quick else Effort()
    measurements = _measure(cases, lambda case: measure_cases([case], effort, memory=measure_peak if memory else None))
    _write(measurements, describe_machine(), as_json, markdown, "cpu")


@app.command()
def gpu(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS", help="Cases whose name holds all these words, such as 'db5 inverse'; all by default."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cuda, opencl, or one device such as opencl:0.")
    ] = "cuda",
    quick: Annotated[bool, typer.Option("--quick", help="Most of the cases, each for a moment.")] = False,
    peers: Annotated[bool, typer.Option(help="Compare with PDWT, ptwt and pytorch_wavelets, if installed.")] = True,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure an engine on its device, a copy there, and other libraries for GPUs, taking turns in one run.

    Times are those of the device. Results are checked. The exit code does not depend on the targets.
    """
    from subband.bench import device_cases
    from subband.bench.beds import open_bed
    from subband.bench.cases import select_cases
    from subband.bench.devices import describe_device
    from subband.bench.machine import describe_machine
    from subband.bench.measuring import Effort, measure_on_device
    from subband.bench.peers import find_peers

    family = engine.partition(":")[0]
    cases = select_cases(device_cases.list_device_cases(family), is_quick=quick, patterns=patterns or ())
    # The pages have one part for each kind of engine.
    check_outputs(as_json, markdown, family)
    bed = open_bed(engine)
    found, remarks = find_peers() if peers and family == "cuda" else ([], [])
    effort = Effort(seconds=0.05, fewest=3, most=11) if quick else Effort(seconds=0.3, fewest=5)
    measurements = _measure(cases, lambda case: measure_on_device([case], effort, bed, found))
    _write(measurements, describe_machine(describe_device(bed.engine_name)), as_json, markdown, family, remarks)


@app.command()
def enhance(
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device such as opencl:0.")
    ] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Each case for a moment.")] = False,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure how many frames of film a second are enhanced, beside scikit-image and a plain copy.

    Results are checked. The exit code does not depend on the targets.
    """
    from subband.bench import enhance as speed
    from subband.bench.beds import open_bed
    from subband.bench.devices import describe_device
    from subband.bench.machine import describe_machine
    from subband.bench.measuring import Effort
    from subband.bench.photographs import load_skimage

    family = engine.partition(":")[0]
    part = f"enhance {family}"
    check_outputs(as_json, markdown, part)
    frame = speed.make_frame(speed.SHAPE)
    if family == "cpu":
        load_skimage()
        effort = Effort(seconds=0.3, fewest=2, most=11) if quick else Effort(seconds=2.0, fewest=5)
        speeds = watch_results(speed.measure_on_host(speed.CASES, effort, frame, engine), len(speed.CASES))
        report = speed.report(speeds, frame.shape)
    else:
        bed = open_bed(engine)
        effort = Effort(seconds=0.05, fewest=3, most=11) if quick else Effort(seconds=0.3, fewest=5)
        speeds = watch_results(speed.measure_on_device(speed.CASES, effort, frame, bed), len(speed.CASES))
        report = speed.report(speeds, frame.shape, describe_machine(describe_device(bed.engine_name)))
    write_reports({part: report}, as_json, markdown)


@app.command()
def papers(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="ultrasound, video, denoising or frame-buffer; repeatable, all by default."),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device; repeatable."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller pictures, each for a moment: two minutes.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with tables and drawings.")] = None,
    hdf5: Annotated[Path | None, typer.Option(metavar="FILE", help="Write everything measured as HDF5.")] = None,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Compute the tables of five papers on wavelets and graphics hardware anew: theirs beside ours.

    The exit code does not depend on the targets.
    """
    from subband.bench.papers.collection import CHAPTERS, choose_chapters, measure_chapters
    from subband.engines import get_engine

    chapters = CHAPTERS if only is None else choose_chapters(only)
    check_outputs(as_json, markdown, "papers")
    check_pages(html, hdf5)
    engines = engine or [get_engine().name]
    reports = dict(watch_results(measure_chapters(chapters, engines, quick), None))
    write_reports(reports, as_json, markdown, "papers")
    write_pages("The papers' tables, theirs and ours", reports, html, hdf5)


@app.command()
def quality(
    quick: Annotated[bool, typer.Option("--quick", help="Small pictures and few settings; nothing is judged.")] = False,
    pictures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write what became of the scan as speckle.png.")
    ] = None,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure how well noise and speckle are removed, beside scikit-image and SciPy.

    All pictures have noise from fixed seeds. The exit code does not depend on the targets.
    """
    from subband.bench import photographs, speckle
    from subband.data.phantom import ultrasound
    from subband.media import Still, check_output, write_still

    photographs.load_skimage()
    for part in ("photographs", "speckle"):
        check_outputs(as_json, markdown, part)
    if pictures is not None:
        check_output(pictures / "speckle.png")
    size, sigmas = (128, photographs.SIGMAS[1:2]) if quick else (None, photographs.SIGMAS)
    loaded = photographs.load_greys(size)
    greys = watch_results(photographs.measure_greys(loaded, sigmas), len(loaded) * len(sigmas))
    loaded = photographs.load_colours(size)
    colours = watch_results(photographs.measure_colours(loaded), len(loaded))
    phantom = ultrasound((size, size)) if size else ultrasound()
    peers = [replace(peer, settings=peer.settings[:2]) for peer in speckle.PEERS] if quick else speckle.PEERS
    found = watch_results(speckle.measure_filters(phantom, peers), len(peers) + 2)
    reports = {
        "photographs": photographs.report(greys, colours, is_whole=not quick),
        "speckle": speckle.report(found, is_whole=not quick),
    }
    write_reports(reports, as_json, markdown)
    if pictures is not None:
        write_still(pictures / "speckle.png", Still(speckle.join_pictures(phantom, found)))


@app.command()
def video(
    film: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, metavar="FILM", help="In colour; the bundled clip by default."),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device such as opencl:0.")
    ] = "cpu",
    frames: Annotated[int, typer.Option(min=2, metavar="N", help="Frames in each direction.")] = 100,
    files: Annotated[bool, typer.Option(help="Measure from file to file, too.")] = True,
    quick: Annotated[bool, typer.Option("--quick", help="A few frames only.")] = False,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure film in real time: 1920 × 1080 there and back, and 1280 × 720 from file to file.

    Beside it stand the figures of a GPU of 2012. The exit code does not depend on the targets.
    """
    from subband.cli.enhancing import calm_threads

    calm_threads()

    from subband.bench import video as speed
    from subband.data import clip_path

    family = engine.partition(":")[0]
    part = f"video {family}"
    check_outputs(as_json, markdown, part)
    chosen = clip_path() if film is None else film
    passes = speed.measure_transform(chosen, engine, min(frames, 10) if quick else frames)
    runs = watch_results(speed.measure_files(chosen, engine, is_quick=quick), len(speed.CASES)) if files else []
    write_reports({part: speed.report(passes, runs, engine, chosen)}, as_json, markdown)


@app.command()
def studio(
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl, or one device such as opencl:0.")
    ] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="The small film only, and not for long.")] = False,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure the studio in a real browser: frames a second from file to screen, and how soon a slider shows.

    It needs Playwright and a Chromium, of its own or named in SUBBAND_CHROMIUM. The exit code does not depend on the
    targets.
    """
    from subband.bench import studio as live

    check_outputs(as_json, markdown, "studio")
    cases = [case for case in live.CASES if case.shape == live.SMALL] if quick else live.CASES
    seconds, changes = (2.0, 10) if quick else (8.0, 30)
    found = watch_results(live.measure(cases, engine, seconds=seconds, changes=changes), len(cases))
    write_reports({"studio": live.report(found, engine)}, as_json, markdown)


@app.command()
def jpeg2000(
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", "-e", metavar="NAME", help="cpu, cuda, opencl; repeatable, all at hand by default."),
    ] = None,
    quality: Annotated[bool, typer.Option("--quality", help="Compare errors at equal sizes instead of times.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small pictures only; nothing is judged.")] = False,
    as_json: Json = None,
    markdown: Markdown = None,
) -> None:
    """Measure JPEG 2000 beside OpenJPEG: the parts of encoding by size, and speed or errors at equal sizes.

    Every file is decoded and checked. The exit code does not depend on the targets.
    """
    from subband.bench import jpeg2000 as codec

    part = "jpeg2000 quality" if quality else "jpeg2000 speed"
    check_outputs(as_json, markdown, part)
    if quality:
        pictures = codec.load_photographs(192 if quick else None)
        rates = codec.RATES[1:3] if quick else codec.RATES
        found = watch_results(codec.measure_quality(pictures, rates), len(pictures) * len(rates))
        write_reports({part: codec.report_quality(found, is_whole=not quick)}, as_json, markdown)
        return
    sizes, engines = codec.QUICK_SIZES if quick else codec.SIZES, engine or codec.list_engines()
    breakdown = watch_results(codec.measure_breakdown(sizes, engines), len(sizes) * len(engines))
    duels = [] if quick or codec.load_peer() is None else watch_results(codec.measure_duels(), 4)
    write_reports({part: codec.report_speed(breakdown, duels)}, as_json, markdown)


def _measure(cases: Sequence[Case], measure: Callable[[Any], Iterable[Measurement]]) -> list[Measurement]:
    """Measure cases one after the other, and show how far it is.

    What goes wrong with one is told at the end, so that an hour of measuring is not lost with it.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from subband.bench.machine import describe_machine
    from subband.errors import SubbandError

    measurements: list[Measurement] = []
    failures: list[SubbandError] = []
    columns = (SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    errors = Console(stderr=True)
    # Not refreshed by itself: a display that moves would take time from what is measured.
    with Progress(
        *columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(cases))
        for number, case in enumerate(cases):
            progress.update(task, description=case.name, completed=number, refresh=True)
            try:
                measurements += measure(case)
            except SubbandError as error:
                errors.print(f"{case.name}: {error}", style="bold red", markup=False, soft_wrap=True)
                failures.append(error)
    if failures:
        if measurements:
            _show(measurements, describe_machine())
        raise failures[0]
    return measurements


def _write(
    measurements: Sequence[Measurement],
    machine: Machine,
    as_json: Path | None,
    markdown: Path | None,
    part: str,
    remarks: Sequence[str] = (),
) -> None:
    """Show the table, and write what was asked for."""
    import json

    from subband.bench.report import insert_section, to_json, to_markdown
    from subband.media import place_output

    _show(measurements, machine, remarks)
    if as_json is not None:
        with place_output(as_json) as unfinished:
            unfinished.write_text(json.dumps(to_json(measurements, machine), indent=2) + "\n", encoding="utf-8")
    if markdown is not None:
        text = insert_section(markdown, to_markdown(measurements, machine, remarks), part)
        with place_output(markdown) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def _show(measurements: Sequence[Measurement], machine: Machine, remarks: Sequence[str] = ()) -> None:
    """Print the table, what could not be measured, and how many targets were met."""
    from subband.bench.report import summarise, to_table

    open_console().print(to_table(measurements, machine))
    for remark in (*remarks, *dict.fromkeys(remark for entry in measurements for remark in entry.remarks)):
        typer.echo(remark)
    typer.echo(summarise(measurements))
