"""What commands that write Zarr have in common: their options, how far they are, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subband.cli.outputs import show_plan, show_result
from subband.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from subband.enhance import Enhancer
    from subband.integrations.dask import JobReport

__all__ = [
    "StoreOptions",
    "denoise_into_store",
    "is_store",
    "read_chunks",
    "refuse_stores",
    "require_dask",
    "show_report",
    "watch_chunks",
]


@dataclass(frozen=True)
class StoreOptions:
    """How a store is written, as the user said."""

    chunks: str | None = None
    scheduler: str | None = None
    resume: bool = False
    force: bool = False
    dry_run: bool = False
    as_json: bool = False
    mask: Path | None = None
    nonfinite: str = "refuse"
    quiet: bool = False


def is_store(path: Path) -> bool:
    """Tell whether a result is to be a Zarr store, by its name.

    Examples
    --------
    >>> is_store(Path("clean.zarr")), is_store(Path("clean.tiff"))
    (True, False)
    """
    from subband.media.formats import find_format

    form = find_format(path)
    return form is not None and form.is_store


def read_chunks(text: str | None) -> tuple[int, ...] | None:
    """Read lengths of chunks.

    Raises
    ------
    ArgumentError
        If they are not positive numbers.

    Examples
    --------
    >>> read_chunks("64,128,128")
    (64, 128, 128)
    """
    if text is None:
        return None
    try:
        lengths = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        lengths = (0,)
    if min(lengths) < 1:
        raise ArgumentError(f"--chunks {text} are no lengths; use one number for all axes, or 64,128,128")
    return lengths


def refuse_stores(paths: Sequence[Path] | None, given: Mapping[str, Any]) -> None:
    """Refuse stores to read, and options that only stores have, where none is written."""
    for path in paths or ():
        if is_store(path):
            raise ArgumentError(f"{str(path)!r} is a Zarr store, and becomes one; give the result the ending .zarr")
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} is for results in Zarr; give the result a name that ends in .zarr")


def require_dask(task: str) -> None:
    """See that Dask and Zarr are installed."""
    from importlib.util import find_spec

    if any(find_spec(library) is None for library in ("dask", "zarr")):
        raise MissingExtraError(task, "dask")


@contextmanager
def watch_chunks(name: str, *, is_quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many chunks are done, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=is_quiet or not console.is_terminal) as display:
        task = display.add_task(name, total=None)
        yield lambda done, total: display.update(task, completed=done, total=total)


def denoise_into_store(
    paths: Sequence[Path],
    enhancer: Enhancer,
    options: StoreOptions,
    *,
    engine: str | None,
    refused: Mapping[str, bool],
) -> None:
    """Apply an enhancer, whose numbers are in the units of the array, to one array."""
    for name, is_given in refused.items():
        if is_given:
            raise ArgumentError(f"{name} is not there for results in Zarr; leave it out")
    if len(paths) != 2:
        raise ArgumentError("an array to read and a store to write are needed, in this order: IN OUT.zarr")
    require_dask("writing Zarr")
    from subband.integrations.dask import denoise_store

    source, output = paths
    chunks = read_chunks(options.chunks)
    if options.dry_run:
        show_plan([source], [output], as_json=options.as_json)
        return
    with watch_chunks(source.name, is_quiet=options.as_json or options.quiet) as observe:
        report = denoise_store(
            source,
            output,
            enhancer,
            chunks=chunks,
            scheduler=options.scheduler,
            resume=options.resume,
            overwrite=options.force,
            mask=options.mask,
            nonfinite=options.nonfinite,
            engine=engine,
            on_progress=observe,
        )
    show_report(source, output, report, as_json=options.as_json, quiet=options.quiet)


def show_report(source: Path, output: Path, report: JobReport, *, as_json: bool, quiet: bool = False) -> None:
    """Say what came of a job."""
    entry = {
        "source": str(source),
        "output": str(output),
        "chunks": report.chunks,
        "computed": report.computed,
        "seconds": round(report.seconds, 6),
        "peak_bytes": report.peak,
    }
    kept = f", {report.kept} were there already" if report.kept else ""
    text = (
        f"{output}: {report.computed} of {report.chunks} chunks computed{kept}, in {report.seconds:.1f} s, "
        f"{report.peak / 2**20:.0f} MiB at most"
    )
    show_result({"files": [entry]}, text, as_json=as_json, quiet=quiet)
