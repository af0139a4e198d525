"""``subband devices``: what there is to compute on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson

if TYPE_CHECKING:
    from subband.bench.machine import Machine

app = typer.Typer()


@app.command()
def devices(
    measure: Annotated[bool, typer.Option("--measure", help="Measure how fast memory is copied, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the engines, and what each runs on."""
    import json

    from rich.console import Console

    from subband.bench.machine import describe_machine, measure_copy
    from subband.engines import ENGINES, get_engine

    machine = describe_machine()
    chosen = get_engine().name
    speed = measure_copy() if measure else None
    records = [{"engine": name, "is_default": name == chosen, **_describe(name, machine)} for name in ENGINES]
    if speed is not None:
        for record in records:
            record["copy_bytes_per_second"] = speed
    if as_json:
        typer.echo(json.dumps({"engines": records, "machine": machine.to_dict()}, indent=2))
        return
    Console().print(_tabulate(records))


def _describe(name: str, machine: Machine) -> dict[str, Any]:
    """Collect what an engine runs on."""
    common = {"device": machine.processor, "memory": machine.memory}
    if name == "cpu":
        runtime = f"Numba {machine.versions['numba']}"
        return {**common, "cores": machine.cores, "threads": machine.threads, "runtime": runtime}
    return {**common, "cores": machine.cores, "threads": 1, "runtime": f"NumPy {machine.versions['numpy']}"}


def _tabulate(records: list[dict[str, Any]]) -> Any:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAVY)
    table.add_column("engine", style="bold")
    table.add_column("runs on")
    for column in ("cores", "threads", "memory"):
        table.add_column(column, justify="right")
    table.add_column("by")
    is_measured = "copy_bytes_per_second" in records[0]
    if is_measured:
        table.add_column("copy, 1 thread", justify="right")
    for record in records:
        memory = record["memory"]
        cells = [
            record["engine"] + (" (default)" if record["is_default"] else ""),
            record["device"],
            str(record["cores"]),
            str(record["threads"]),
            "" if memory is None else f"{memory / 2**30:.1f} GiB",
            record["runtime"],
        ]
        if is_measured:
            cells.append(f"{record['copy_bytes_per_second'] / 1e9:.1f} GB/s")
        table.add_row(*cells)
    return table
