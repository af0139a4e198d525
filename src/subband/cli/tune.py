"""``subband tune``: the launch parameters that suit a device best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from subband.engines.measuring.tuning import Tuning
    from subband.kernels.launch import Launch

app = typer.Typer()


@app.command()
def tune(
    engine: Annotated[
        str, typer.Option("--engine", "-e", metavar="NAME", help="cuda, opencl, or one device such as opencl:0.")
    ] = "cuda",
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only kernels whose name contains all these words, such as 'haar forward'; repeatable. Else cdf97.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Kernels of all wavelets.")] = False,
    seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="Time for all kernels together; then the best so far are stored.")
    ] = 150,
    side: Annotated[int, typer.Option(min=16, metavar="N", help="Rows and columns of the image.")] = 8192,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do not store the results.")] = False,
) -> None:
    """Tune the launch parameters of kernels for this device, and store them in the user's cache folder.

    Later programs use them. To reset them, delete the file that the last line of the output names.
    """
    from time import perf_counter

    from subband.cli.reporting import open_console, open_progress
    from subband.engines.measuring import tuning
    from subband.engines.measuring.harness import open_device
    from subband.engines.measuring.timing import Effort
    from subband.engines.tuned import identify, save_tuned

    end = perf_counter() + seconds
    cases = tuning.select_tuning_cases(tuning.list_tuning_cases(side), () if everything else only or ("cdf97",))
    bench = open_device(engine)
    cases = tuning.keep_run_cases(cases, bench.engine)
    device = bench.engine.device
    grid = tuning.choose_grid(device.dialect)
    effort = Effort(seconds=0.05, fewest=5, most=9, turn=3e-3)
    found: list[Tuning] = []
    path = None
    with open_progress() as progress:
        errors = progress.console
        task = progress.add_task("", total=len(cases))
        for number, case in enumerate(cases):

            def show(launch: Launch, name: str = case.name, number: int = number) -> None:
                progress.update(task, description=f"{name}: {_format(launch)}", completed=number, refresh=True)

            # what one does not use the next ones may
            share = max(0.0, end - perf_counter()) / (len(cases) - number)
            found.append(tuning.tune_case(case, bench, grid, effort, show, share))
            if not errors.is_terminal:
                errors.print(f"{number + 1}/{len(cases)} {case.name}: {_format(found[-1].best)}", soft_wrap=True)
            if not dry_run:
                # at once, so that what was found stays found if a later class fails
                path = save_tuned(identify(device), {case.kernels: found[-1].best})
    open_console().print(_tabulate(found, f"{identify(device)}, {side}×{side}"))
    for remark in dict.fromkeys(remark for entry in found for remark in entry.remarks):
        typer.echo(remark)
    typer.echo("nothing is remembered" if path is None else f"remembered in {path}")


def _tabulate(found: Sequence[Tuning], title: str) -> Table:
    """Make the table for the screen."""
    from subband.bench.tables import Cell, Sheet

    columns: dict[str, Cell] = {
        "kernels": "{.case.name}",
        "usual": lambda entry: _format(entry.usual),
        "best": lambda entry: "the same" if entry.best == entry.usual else _format(entry.best),
        "tried": "{.tried}",
        "usual ms": lambda entry: f"{entry.usual_seconds * 1e3:.4f}",
        "best ms": lambda entry: f"{entry.best_seconds * 1e3:.4f}",
        "gain": "{.gain:.2f}",
    }
    return Sheet.from_records(title, found, columns, texts=3).to_table()


def _format(launch: Launch) -> str:
    """Write the parameters in a few words."""
    return (
        f"{launch.pairs} pairs, {launch.ahead} ahead, chunks of {launch.chunk}, blocks of {launch.block}"
        f"{', split' if launch.is_split else ''}"
    )
