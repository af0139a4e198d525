"""``subband model``: what a transform should take on this machine, and what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import AsJson, DryRun, EngineName, Force
from subband.cli.outputs import Writes
from subband.cli.reporting import JsonFile, Markdown

app = typer.Typer()

# What is measured in a moment: no larger images, and none for calibration.
_QUICK_SIZE = 2**21
_QUICK_SIDES = (32, 96, 320, 1024)

Shape = Annotated[
    str | None,
    typer.Option(
        metavar="RxC", help="Size of a transform of your own, such as 1080x1920, instead of those of the table."
    ),
]


@app.command()
def model(
    shape: Shape = None,
    wavelet: Annotated[
        str, typer.Option("--wavelet", "-w", metavar="NAME", help="Wavelet of your own transform.")
    ] = "cdf97",
    level: Annotated[int, typer.Option("--level", "-l", min=1, metavar="N", help="Levels of your own transform.")] = 3,
    engine: EngineName = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small images only, a few seconds in total.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Plot the roofline."), Writes()] = None,
    output: JsonFile = None,
    markdown: Markdown = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Predict the run time of transforms on this machine and what limits it, and measure them.

    The model counts memory traffic and operations. Bandwidth, arithmetic throughput, launch overhead and transfer rate
    of the device are measured first.
    """
    from subband.bench.model.cases import MODEL_CASES, TRAVELLING_CASES, list_own_cases, vary_cases
    from subband.bench.model.comparison import Study, report_comparison
    from subband.bench.model.roofline import draw_roofline
    from subband.cli.reporting import Outputs, watch_results
    from subband.engines.measuring.devices import describe_machine
    from subband.engines.measuring.harness import open_harness
    from subband.engines.measuring.timing import Effort

    chosen = engine or "cpu"
    part = f"model {chosen.partition(':')[0]}"
    outputs = Outputs(output, None, None, markdown, force, dry_run, as_json)
    outputs.check(part, is_partial=shape is not None, others=[] if plot is None else [plot])
    bench = open_harness(chosen)
    cases = list_own_cases(shape, wavelet, level) if shape is not None else list(MODEL_CASES)
    if quick:
        cases = [case for case in cases if shape is not None or case.size <= _QUICK_SIZE]
    cases = vary_cases(cases, ("call", "graph", "host") if shape is not None else ("call", "graph"))
    if shape is None and not quick:
        cases += TRAVELLING_CASES
    # the clock of a device has to be outweighed by what it times
    turn = 5e-3 if bench.is_device else 1e-3
    effort = Effort(seconds=20.0 if bench.is_device else 40.0, fewest=6, most=300, turn=turn)
    if quick or shape is not None:
        effort = Effort(seconds=2.0 if quick else 15.0, fewest=3, most=60, turn=turn / 2)
    machine = describe_machine(bench.name)
    study = Study(bench, cases, effort, _QUICK_SIDES if quick else None)
    watch_results(study.run(), None)
    device, comparisons = study.conclude(machine.device or machine.processor)
    report = report_comparison(device, comparisons, machine, is_whole=shape is None and not quick)
    outputs.write("", {part: report})
    if plot is not None:
        draw_roofline(device, comparisons).save(plot, overwrite=force)
