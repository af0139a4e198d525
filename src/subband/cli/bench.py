"""``subband bench``: how fast, compared with what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)

_PAPER_WIDTH = 180


@app.callback()
def bench() -> None:
    """Measure on this machine, side by side with others and with a plain copy."""


@app.command()
def cpu(
    quick: Annotated[bool, typer.Option("--quick", help="Some cases only, half a minute in all.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORDS", help="Cases whose name holds all these words, such as 'db4 inverse'; repeatable."
        ),
    ] = None,
    memory: Annotated[bool, typer.Option(help="Measure the peak of memory, in processes of their own.")] = True,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything measured as JSON.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table into a page, between its two lines `measured`."),
    ] = None,
) -> None:
    """Measure the CPU engine, PyWavelets and np.copyto, taking turns in one run.

    Results are checked. The exit code does not depend on the targets: a busy machine is not an error.
    """
    import json

    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from subband.bench.cases import CPU_CASES, select_cases
    from subband.bench.machine import describe_machine
    from subband.bench.measuring import Effort, Measurement, load_peer, measure_cases
    from subband.bench.memory import measure_peak
    from subband.bench.report import insert_section, summarise, to_json, to_markdown, to_table
    from subband.media import check_output, place_output

    cases = select_cases(CPU_CASES, is_quick=quick, patterns=only or ())
    # What would fail at the end is tried now.
    load_peer()
    if markdown is not None:
        insert_section(markdown, "")
    for path in filter(None, (as_json, markdown)):
        check_output(path)
    effort = Effort(seconds=0.1, fewest=2, most=11) if quick else Effort()
    measurements: list[Measurement] = []
    columns = (SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    errors = Console(stderr=True)
    # Not refreshed by itself: a display that moves would take time from what is measured.
    with Progress(
        *columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(cases))
        for number, case in enumerate(cases):
            progress.update(task, description=case.name, completed=number, refresh=True)
            measurements += measure_cases([case], effort, memory=measure_peak if memory else None)

    machine = describe_machine()
    console = Console()
    if not console.is_terminal:
        # Where nobody looks at a screen, the table keeps its lines whole.
        console = Console(width=_PAPER_WIDTH)
    console.print(to_table(measurements, machine))
    typer.echo(summarise(measurements))
    if as_json is not None:
        with place_output(as_json) as unfinished:
            unfinished.write_text(json.dumps(to_json(measurements, machine), indent=2) + "\n", encoding="utf-8")
    if markdown is not None:
        text = insert_section(markdown, to_markdown(measurements, machine))
        with place_output(markdown) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
