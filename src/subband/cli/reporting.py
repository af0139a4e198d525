"""What commands that measure share: outputs tried before the work, progress, and reports written where they belong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from subband.cli.options import AsJson, DryRun, Force
from subband.cli.outputs import Writes, show_plan

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from subband.bench.cases import Case
    from subband.bench.measuring import Measurement
    from subband.bench.tables import Report

__all__ = [
    "Hdf5",
    "Html",
    "JsonFile",
    "Markdown",
    "Outputs",
    "open_console",
    "open_progress",
    "watch_cases",
    "watch_results",
    "with_outputs",
]

JsonFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write everything measured as JSON."), Writes()
]
Hdf5 = Annotated[
    Path | None, typer.Option("--hdf5", metavar="FILE", help="Write everything measured as HDF5."), Writes()
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a page with tables and drawings."), Writes()
]
Markdown = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Write the tables into a page, between its two lines `measured`."),
    Writes("page"),
]

#: What `with_outputs` adds, in the order of the fields of `Outputs`, each with its default.
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "output": (JsonFile, None),
    "hdf5": (Hdf5, None),
    "html": (Html, None),
    "markdown": (Markdown, None),
    "force": (Force, False),
    "dry_run": (DryRun, False),
    "as_json": (AsJson, False),
}

_PAPER_WIDTH = 220

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outputs:
    """Files that a command was asked to write what it found out to, each in its form.

    Attributes
    ----------
    json, hdf5, html, markdown : Path or None
        Everything measured, twice; a page that stands by itself; and a page that has a section for it.
    force : bool
        Whether files that are there may be replaced.
    dry_run : bool
        Whether nothing is measured, and only told what would be written.
    as_json : bool
        Whether everything measured is printed as JSON, instead of tables.
    """

    json: Path | None = None
    hdf5: Path | None = None
    html: Path | None = None
    markdown: Path | None = None
    force: bool = False
    dry_run: bool = False
    as_json: bool = False

    def check(self, *parts: str, is_partial: bool = False, others: Sequence[Path] = ()) -> Outputs:
        """Try now what would fail at the end: a library that is not there, a page without a section for a part.

        Parameters
        ----------
        *parts : str
            What will be written to a page of Markdown.
        is_partial : bool
            Whether only some of the cases of a table are measured, which would replace all of them.
        others : sequence of Path
            What else the command would write, to be told of.

        Raises
        ------
        FormatError
            If the page has no section for one of the parts.
        MissingExtraError
            If HDF5 is asked for and h5py is not installed, or drawings and matplotlib is not.
        ArgumentError
            If some cases would replace all.
        typer.Exit
            If it is only to be told what would be written.
        """
        from subband.bench.libraries import load_library
        from subband.bench.records import read_section
        from subband.errors import ArgumentError

        if self.markdown is not None:
            for part in parts:
                if read_section(self.markdown, part) and is_partial:
                    raise ArgumentError(
                        f"{str(self.markdown)!r} has a table of all cases, and only some of them would replace it; "
                        "measure all of them, or name a page that is not there yet"
                    )
        if self.hdf5 is not None:
            load_library("h5py")
        if self.html is not None:
            load_library("matplotlib")
        if self.dry_run:
            show_plan([], (self.json, self.hdf5, self.html, self.markdown, *others), as_json=self.as_json)
            raise typer.Exit
        return self

    def write(
        self, title: str, reports: Mapping[str, Report], whole: str | None = None, *, is_partial: bool = False
    ) -> None:
        """Show reports, and write them wherever it was asked for.

        Parameters
        ----------
        title : str
            What the page of HTML is called.
        reports : mapping of str to Report
            By the name of each part.
        whole : str, optional
            A part of the page of Markdown that takes all of them as chapters; each has its own part if left out.
        is_partial : bool
            Whether other chapters of that part stay as they are.
        """
        from subband.bench.records import write_page
        from subband.bench.rendering import show_report, to_html, to_json, write_hdf5
        from subband.outputs import place_output

        if self.as_json:
            typer.echo(to_json(reports))
        else:
            for report in reports.values():
                show_report(report, open_console())
        writers: list[tuple[Path | None, Callable[[Path], object]]] = [
            (self.json, lambda path: path.write_text(to_json(reports) + "\n", encoding="utf-8")),
            (self.hdf5, lambda path: write_hdf5(path, reports)),
            (self.html, lambda path: path.write_text(to_html(title, reports), encoding="utf-8")),
        ]
        for path, write in writers:
            if path is not None:
                with place_output(path, overwrite=self.force) as unfinished:
                    write(unfinished)
        if self.markdown is not None:
            chapters = {name.capitalize(): report for name, report in reports.items()}
            write_page(self.markdown, reports if whole is None else {whole: chapters}, keeps=is_partial)


def with_outputs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that measures the options of `Outputs`, which it takes as its parameter `outputs`."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _OPTIONS.items()
    ]

    def run(**given: Any) -> None:
        outputs = Outputs(*(given.pop(name) for name in _OPTIONS))
        command(outputs=outputs, **given)

    functools.update_wrapper(run, command)
    parameters = [*(parameter for parameter in own if parameter.name != "outputs"), *options]
    # instead of what the wrapped function has
    # Typer reads the signature, which functions have without their type saying so
    del run.__wrapped__  # type: ignore[attr-defined]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def watch_results(results: Iterable[Result], count: int | None) -> list[Result]:
    """Collect results, and show how many there are; `count` is None where nobody knows how many will come."""
    found = []
    with open_progress() as progress:
        task = progress.add_task("", total=count)
        for result in results:
            found.append(result)
            progress.update(task, advance=1, refresh=True)
    return found


def watch_cases(cases: Sequence[Case], measure: Callable[[Any], Iterable[Measurement]]) -> list[Measurement]:
    """Measure cases one after the other, and show how far it is.

    What goes wrong with one is told at the end, so that an hour of measuring is not lost with it.
    """
    from subband.bench.rendering import show_report
    from subband.bench.report import report
    from subband.engines.measuring.devices import describe_machine
    from subband.errors import SubbandError

    measurements: list[Measurement] = []
    failures: list[SubbandError] = []
    with open_progress() as progress:
        task = progress.add_task("", total=len(cases))
        for number, case in enumerate(cases):
            progress.update(task, description=case.name, completed=number, refresh=True)
            try:
                measurements += measure(case)
            except SubbandError as error:
                progress.console.print(f"{case.name}: {error}", style="bold red", markup=False, soft_wrap=True)
                failures.append(error)
    if failures:
        if measurements:
            show_report(report(measurements, describe_machine()), open_console())
        raise failures[0]
    return measurements


def open_progress() -> Progress:
    """Return a display that is not refreshed by itself: one that moves would take time from what is measured."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    errors = Console(stderr=True)
    columns = (SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal)


def open_console() -> Console:
    """Return where tables are printed; where nobody looks at a screen, they keep their lines whole."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_PAPER_WIDTH)
