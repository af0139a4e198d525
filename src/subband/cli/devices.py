"""``subband devices``: the engines and devices of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer()


@app.command()
def devices(
    measure: Annotated[bool, typer.Option("--measure", help="Measure the memory bandwidth, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the engines, their devices and what they support, and what is missing for the others."""
    import json

    from rich.console import Console

    from subband.engines import get_engine
    from subband.engines.measuring import devices as inventory
    from subband.engines.measuring.devices import describe_machine

    records = inventory.list_records()
    if measure:
        records = [inventory.measure_record(record) for record in records]
    try:
        chosen = get_engine().name
    except (ImportError, RuntimeError, ValueError):
        # what SUBBAND_ENGINE names may be what is missing
        chosen = ""
    default = next((record for record in records if record.engine.partition(":")[0] == chosen), None)
    entries = [{**record.to_dict(), "is_default": record is default} for record in records]
    if as_json:
        typer.echo(json.dumps({"engines": entries, "machine": describe_machine().to_dict()}, indent=2))
        return
    console = Console()
    console.print(_tabulate([entry for entry in entries if not entry["missing"]], is_measured=measure))
    for entry in entries:
        if entry["missing"]:
            console.print(f"{entry['engine']}: {entry['missing']}", highlight=False, markup=False, soft_wrap=True)


def _tabulate(entries: list[dict[str, Any]], *, is_measured: bool) -> Table:
    """Make the table for the screen."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAVY)
    table.add_column("engine", style="bold")
    table.add_column("runs on")
    table.add_column("memory", justify="right")
    table.add_column("by")
    table.add_column("takes")
    if is_measured:
        table.add_column("copy", justify="right")
    for entry in entries:
        memory, copy = entry["memory"], entry["copy_bytes_per_second"]
        cells = [
            entry["engine"] + (" (default)" if entry["is_default"] else ""),
            entry["device"],
            "" if memory is None else f"{memory / 2**30:.1f} GiB",
            entry["runtime"],
            ", ".join(entry["dtypes"]),
        ]
        if is_measured:
            cells.append("" if copy is None else f"{copy / 1e9:.1f} GB/s")
        table.add_row(*cells)
    return table
