"""``subband bench``: how fast transforms are, beside other libraries and a plain copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.bench.options import EngineName
from subband.cli.outputs import Files, Writes, check_file
from subband.cli.reporting import Outputs, watch_cases, watch_results, with_outputs
from subband.errors import ArgumentError

app = typer.Typer()

Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Only cases whose name contains all these words, such as 'db4 inverse'; repeatable."
    ),
]


@app.command()
@with_outputs
def cpu(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases, half a minute in total.")] = False,
    only: Only = None,
    peak_memory: Annotated[bool, typer.Option(help="Measure peak memory, in separate processes.")] = True,
    busy: Annotated[int, typer.Option(min=0, metavar="N", help="Keep N other processes busy meanwhile.")] = 0,
) -> None:
    """Measure the CPU engine, PyWavelets and np.copyto, in turns in one run.

    Five levels are compared with one, and calls under load with those on idle cores. Results are checked. The exit
    code does not depend on the targets: a busy machine is not an error.
    """
    from subband.bench.cases import CPU_CASES, select_cases
    from subband.bench.libraries import load_library
    from subband.bench.load import keep_busy
    from subband.bench.measuring import measure_cases
    from subband.bench.memory import measure_peak
    from subband.bench.ratios import measure_levels, measure_load
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
        ratios = watch_results(measure_levels(effort, cases), None)
    if not busy:
        ratios += watch_results(measure_load(effort, cases), None)
    outputs.write("Transforms on the CPU", {"cpu": report(measurements, describe_machine(), ratios=ratios)})


@app.command()
@with_outputs
def gpu(
    outputs: Outputs,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help="Only cases whose name contains all these words, such as 'db5 inverse'; all by default.",
        ),
    ] = None,
    only: Only = None,
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cuda, opencl, or one device such as opencl:0.")
    ] = "cuda",
    quick: Annotated[bool, typer.Option("--quick", help="Most of the cases, each for a moment.")] = False,
    peers: Annotated[bool, typer.Option(help="Compare with PDWT, ptwt and pytorch_wavelets, if installed.")] = True,
) -> None:
    """Measure an engine on its device, a copy there, and other GPU libraries, in turns in one run.

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
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases, each for a moment.")] = False,
    only: Only = None,
    engine: EngineName = "cpu",
) -> None:
    """Measure every other installed library on the same work: transforms and image processing.

    PyWavelets, ptwt, pytorch_wavelets, jaxwt, PDWT, scikit-image and OpenCV; missing ones are listed with how to
    install them. A library whose result differs from ours is not timed. The exit code does not depend on who is faster.
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
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cpu, or cuda for the host time of GPU calls.")
    ] = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="One size only, each for a moment; targets are not judged.")
    ] = False,
    only: Only = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Plot the ratios."), Writes()] = None,
) -> None:
    """Measure every function of PyWavelets from 16 samples to 512 × 512, beside PyWavelets, in turns in one run.

    A result that differs from PyWavelets' ends the run. The exit code does not depend on the targets. With --engine
    cuda, transforms of a 1080p image on the GPU are called, and the host time is compared with an empty launch.
    """
    from subband.bench import calls as functions
    from subband.bench.call_cases import CALL_CASES
    from subband.bench.cases import select_cases
    from subband.bench.libraries import load_library
    from subband.engines.measuring.timing import Effort

    if engine.partition(":")[0] == "cuda":
        if only is not None or plot is not None:
            raise ArgumentError("--only and --plot apply to --engine cpu only; leave them out")
        _measure_host_calls(outputs, engine, is_quick=quick)
        return
    if engine != "cpu":
        raise ArgumentError(f"--engine {engine} is not measured; use cpu or cuda")
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


def _measure_host_calls(outputs: Outputs, engine: str, *, is_quick: bool) -> None:
    from subband.bench import host_calls
    from subband.engines.measuring.timing import Effort

    outputs.check("calls cuda")
    card = host_calls.open_card(engine)
    # a turn ends before the queue of the GPU is full, where a launch would wait
    effort = (
        Effort(seconds=0.02, fewest=3, most=5, turn=2e-3) if is_quick else Effort(seconds=0.5, fewest=11, turn=2e-3)
    )
    found = watch_results(host_calls.measure_host_calls(card, effort), 8)
    report = host_calls.report_host_calls(found, card, is_whole=not is_quick)
    outputs.write("Calls of a GPU", {"calls cuda": report})


@app.command()
@with_outputs
def dask(
    outputs: Outputs,
    quick: Annotated[bool, typer.Option("--quick", help="A small array; targets are not judged.")] = False,
) -> None:
    """Measure the overhead of chunks: transforms of Dask arrays beside those of the same arrays in memory.

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
    device: Annotated[str, typer.Option(metavar="NAME", help="Torch device: cpu, cuda, or cuda:1.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="One small batch; targets are not judged.")] = False,
) -> None:
    """Measure transforms of Torch tensors and their gradients, beside ptwt and pytorch_wavelets.

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
