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
            metavar="NAME", help="Kernels whose name holds all these words, such as 'cdf97 forward'; repeatable."
        ),
    ] = None,
    side: Annotated[int, typer.Option(min=16, metavar="N", help="Rows and columns of the image.")] = 8192,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do not remember what is found.")] = False,
) -> None:
    """Measure how kernels run best on this device, and remember it in the user's cache folder.

    Later programs use what was found. To forget it, delete the file that the last line names.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from subband.engines.measuring import tuning
    from subband.engines.measuring.harness import open_device
    from subband.engines.measuring.timing import Effort
    from subband.engines.tuned import identify, save_tuned

    cases = tuning.select_tuning_cases(tuning.list_tuning_cases(side), only or ())
    bench = open_device(engine)
    device = bench.engine.device
    grid = tuning.choose_grid(device.dialect)
    effort = Effort(seconds=0.05, fewest=5, most=9, turn=3e-3)
    found: list[Tuning] = []
    errors = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    path = None
    # Not refreshed by itself: a display that moves would take time from what is measured.
    with Progress(
        *columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(cases))
        for number, case in enumerate(cases):

            def show(launch: Launch, name: str = case.name, number: int = number) -> None:
                progress.update(task, description=f"{name}: {_spell(launch)}", completed=number, refresh=True)

            found.append(tuning.tune_case(case, bench, grid, effort, show))
            if not errors.is_terminal:
                errors.print(f"{number + 1}/{len(cases)} {case.name}: {_spell(found[-1].best)}", soft_wrap=True)
            if not dry_run:
                # at once, so that what was found stays found if a later class fails
                path = save_tuned(identify(device), {case.kernels: found[-1].best})
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(_tabulate(found, f"{identify(device)}, {side}×{side}"))
    for remark in dict.fromkeys(remark for entry in found for remark in entry.remarks):
        typer.echo(remark)
    typer.echo("nothing is remembered" if path is None else f"remembered in {path}")


def _tabulate(found: Sequence[Tuning], title: str) -> Table:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAVY, title_justify="left")
    for column in ("kernels", "usual", "best"):
        table.add_column(column, overflow="fold")
    for column in ("tried", "usual ms", "best ms", "gain"):
        table.add_column(column, justify="right")
    for entry in found:
        times = (f"{seconds * 1e3:.4f}" for seconds in (entry.usual_seconds, entry.best_seconds))
        table.add_row(
            entry.case.name,
            _spell(entry.usual),
            "the same" if entry.best == entry.usual else _spell(entry.best),
            str(entry.tried),
            *times,
            f"{entry.gain:.2f}",
        )
    return table


def _spell(launch: Launch) -> str:
    """Write the parameters in a few words."""
    return (
        f"{launch.pairs} pairs, {launch.ahead} ahead, chunks of {launch.chunk}, blocks of {launch.block}"
        f"{', split' if launch.is_split else ''}"
    )
