"""What commands that measure share: outputs tried before the work, progress, and reports written where they belong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from subband.bench.tables import Report

__all__ = ["check_outputs", "check_pages", "open_console", "watch_results", "write_pages", "write_reports"]

_PAPER_WIDTH = 220

Result = TypeVar("Result")


def check_outputs(as_json: Path | None, markdown: Path | None, part: str) -> None:
    """Try now what would fail at the end."""
    from subband.bench.report import insert_section
    from subband.media import check_output

    if markdown is not None:
        insert_section(markdown, "", part)
    for path in filter(None, (as_json, markdown)):
        check_output(path)


def check_pages(html: Path | None, hdf5: Path | None) -> None:
    """Try now what would fail at the end."""
    from subband.media import check_output

    for path in filter(None, (html, hdf5)):
        check_output(path)


def watch_results(results: Iterable[Result], count: int | None) -> list[Result]:
    """Collect results, and show how many there are; `count` is None where nobody knows how many will come."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    errors = Console(stderr=True)
    columns = (SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=count)
        found = []
        for result in results:
            found.append(result)
            progress.update(task, advance=1, refresh=True)
    return found


def write_reports(
    reports: Mapping[str, Report], as_json: Path | None, markdown: Path | None, whole: str | None = None
) -> None:
    """Show reports, and write each into its part of the page, or all of them into the part called `whole`."""
    import json

    from subband.bench.report import insert_section
    from subband.media import place_output

    console = open_console()
    for report in reports.values():
        for sheet in report.sheets:
            console.print(sheet.to_table())
        for goal in report.goals:
            typer.echo(goal)
        typer.echo(report.summarise())
    if as_json is not None:
        record: dict[str, Any] = {part: report.to_json() for part, report in reports.items()}
        with place_output(as_json) as unfinished:
            unfinished.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if markdown is None:
        return
    sections = {part: report.to_markdown() for part, report in reports.items()}
    if whole is not None:
        sections = {whole: "\n\n".join(f"### {part.capitalize()}\n\n{text}" for part, text in sections.items())}
    if not markdown.exists():
        text = "\n".join(insert_section(markdown, section, part) for part, section in sections.items())
        markdown.write_text(text, encoding="utf-8")
        return
    for part, section in sections.items():
        text = insert_section(markdown, section, part)
        with place_output(markdown) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def write_pages(title: str, reports: Mapping[str, Report], html: Path | None, hdf5: Path | None) -> None:
    """Write reports as a page, and everything measured as HDF5."""
    from subband.bench.pages import to_html, write_hdf5
    from subband.media import place_output

    if html is not None:
        with place_output(html) as unfinished:
            unfinished.write_text(to_html(title, reports), encoding="utf-8")
    if hdf5 is not None:
        with place_output(hdf5) as unfinished:
            write_hdf5(unfinished, reports)


def open_console() -> Console:
    """Return where tables are printed; where nobody looks at a screen, they keep their lines whole."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_PAPER_WIDTH)
