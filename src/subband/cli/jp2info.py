"""``subband jp2info``: what a JPEG 2000 file is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subband.cli.options import AsJson
from subband.cli.outputs import Reads

if TYPE_CHECKING:
    from rich.tree import Tree

    from subband.codecs.jpeg2000.inspection import Element

app = typer.Typer()


@app.command()
def jp2info(
    source: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="A JP2 file or a codestream."), Reads()
    ],
    as_json: AsJson = False,
) -> None:
    """Show the boxes, markers and tile-parts of a JPEG 2000 file, with their contents.

    Nothing is decoded. Damage is shown where it is; the exit code is then 1.
    """
    import json

    from subband.cli.reporting import open_console
    from subband.codecs.jpeg2000.inspection import inspect
    from subband.media.faults import name_file

    with name_file(source, "JPEG 2000"):
        root = inspect(source)
    if as_json:
        typer.echo(json.dumps({"file": str(source), **root.as_dict()}, indent=2))
    else:
        open_console().print(_grow(root))
    if any(element.kind == "damage" for _, element in root.walk()):
        raise typer.Exit(1)


def _grow(element: Element, onto: Tree | None = None) -> Tree:
    """Make the tree for the screen."""
    from rich.text import Text
    from rich.tree import Tree

    label = Text(element.name, style="bold red" if element.kind == "damage" else "bold")
    label.append(f" {element.kind}, {element.length} bytes at {element.offset}", style="dim")
    said = ", ".join(f"{name} {_format_value(value)}" for name, value in element.fields.items())
    if said:
        label.append(f"  {said}", style="none")
    branch = Tree(label) if onto is None else onto.add(label)
    for child in element.children:
        _grow(child, branch)
    return branch


def _format_value(value: object) -> str:
    """Format a value in short."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_format_value(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {_format_value(each)}" for name, each in value.items()) + "}"
    return str(value)
