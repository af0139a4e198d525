"""What a command may write: one rule for all of them, and what says that a parameter names an output.

A parameter that names a file is marked with `Reads` or `Writes` beside what Typer needs of it. Before a command runs,
`check_outputs` looks at the marks and refuses what would be lost: a file that is read, by any name or link; a file that
is there already, without ``--force``; two results under one name; a folder where a file is named; a folder that does
not exist. Commands whose results are planned first, such as those of a folder, ask for each of them
with `check_file`. A test walks over all commands and finds those that do neither.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from subband.errors import ArgumentError

__all__ = [
    "Files",
    "Reads",
    "Writes",
    "check_file",
    "check_outputs",
    "find_kind",
    "find_marks",
    "show_plan",
    "show_result",
]


@dataclass(frozen=True)
class Reads:
    """Marks a parameter that names what a command reads."""


@dataclass(frozen=True)
class Writes:
    """Marks a parameter that names what a command writes.

    Attributes
    ----------
    kind : str
        ``"file"`` for one file. ``"page"`` for one that is there already, and of which a part is replaced. ``"folder"``
        for a folder of files, and ``"results"`` for a file or a folder, as there are one or several: the command plans
        their names, and asks `check_file` for each. ``"last"`` for such a name behind those of what is read.
        ``"store"`` for a Zarr store, whose writer asks whether it is there.
    """

    kind: Literal["file", "page", "folder", "results", "last", "store"] = "file"


class Files:
    """Files compared by identity, not by name: a link to one of them is that one.

    Parameters
    ----------
    paths : iterable of Path
        They need not be there.

    Examples
    --------
    >>> files = Files([Path("photo.png")])
    >>> Path("./folder/../photo.png") in files, Path("other.png") in files
    (True, False)
    """

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._known: set[object] = set()
        for path in paths:
            self.add(path)

    def add(self, path: Path) -> None:
        """Take one more."""
        self._known.update(_identify(path))

    def __contains__(self, path: Path) -> bool:
        return not self._known.isdisjoint(_identify(path))


def find_marks(command: Any) -> dict[str, Reads | Writes]:
    """Return the marks of a command's parameters, by name.

    Parameters
    ----------
    command : callable
        The function of a command, or what Typer has wrapped it in.

    Examples
    --------
    >>> def show(source: Annotated[Path, Reads()], plot: Annotated[Path | None, Writes()] = None, level: int = 3): ...
    >>> find_marks(show)
    {'source': Reads(), 'plot': Writes(kind='file')}
    """
    return {
        name: mark
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if get_origin(parameter.annotation) is Annotated
        for mark in get_args(parameter.annotation)[1:]
        if isinstance(mark, Reads | Writes)
    }


def find_kind(command: Any, name: str) -> type:
    """Return what a parameter of a command takes: a type, without None, lists and marks.

    Examples
    --------
    >>> def show(sources: Annotated[list[Path] | None, Reads()] = None): ...
    >>> find_kind(show, "sources").__name__
    'Path'
    """
    annotation = inspect.signature(command, eval_str=True).parameters[name].annotation
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is UnionType:
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    found: type = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return found


def check_outputs(marks: Mapping[str, Reads | Writes], values: Mapping[str, Any]) -> None:
    """Refuse to run a command that would write what it must not.

    Parameters
    ----------
    marks : mapping
        As `find_marks` gives them.
    values : mapping
        What was given for each parameter; ``force`` among them, for commands that have it.

    Raises
    ------
    ArgumentError
        That says which file, why, and what to do.
    """
    read = Files(path for name, mark in marks.items() for path in _list_read(mark, values.get(name)))
    force = bool(values.get("force", False))
    written = Files()
    for name, mark in marks.items():
        if not isinstance(mark, Writes):
            continue
        for path in _list_written(mark, values.get(name)):
            if mark.kind in ("file", "page"):
                check_file(path, read, force=force or mark.kind == "page")
            elif mark.kind == "folder" and path.exists() and not path.is_dir():
                raise ArgumentError(f"{str(path)!r} is a file, and results need a folder; take another name")
            elif mark.kind == "store":
                _refuse_read(path, read)
            if path in written and not path.is_dir():
                raise ArgumentError(
                    f"two results would go to the same file, {str(path)!r}; give each a name of its own"
                )
            written.add(path)


def check_file(path: Path, read: Files, *, force: bool) -> None:
    """Refuse one file that must not be written.

    Parameters
    ----------
    path : Path
        Where a file is to appear.
    read : Files
        What is read, and so stays, whatever the user says.
    force : bool
        Whether another file of that name may be replaced.

    Raises
    ------
    ArgumentError
        That says why, and what to do.

    Examples
    --------
    >>> check_file(Path("photo.png"), Files([Path("photo.png")]), force=True)
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: 'photo.png' is read, and would be replaced by its own result; take another name
    """
    from subband.media import check_output

    check_output(path, overwrite=True)
    _refuse_read(path, read)
    if path.exists() and not force:
        raise ArgumentError(f"{str(path)!r} is there already; use --force to replace it, or take another name")


def show_plan(sources: Sequence[Path | str], outputs: Iterable[Path | None], *, as_json: bool) -> None:
    """Say what a command would write, instead of writing it.

    Parameters
    ----------
    sources : sequence of Path or str
        What is read; none for a command that measures.
    outputs : iterable of Path or None
        What would be written; None is left out.
    as_json : bool
        Whether programs read it.
    """
    import json

    names = " + ".join(map(str, sources))
    paths = [path for path in outputs if path is not None]
    if as_json:
        entries = [{"source": names or None, "output": str(path), "replaces": path.exists()} for path in paths]
        typer.echo(json.dumps({"dry_run": True, "files": entries}, indent=2))
        return
    for path in paths:
        typer.echo(f"{names} -> {path}".lstrip() + (" (replaced)" if path.exists() else ""))
    if not paths:
        typer.echo("no file would be written")


def show_result(record: Mapping[str, Any], text: str, *, as_json: bool, quiet: bool = False) -> None:
    """Print what a command has done: a record as JSON, or else a text, unless it is to be quiet."""
    import json

    if as_json:
        typer.echo(json.dumps(record, indent=2))
    elif not quiet:
        typer.echo(text)


def _identify(path: Path) -> list[object]:
    """Return what tells a file from others: its name without links, and its number if it is there."""
    names: list[object] = [os.path.normcase(path.resolve())]
    try:
        status = path.stat()
    except OSError:
        # not there, or a camera
        return names
    return [*names, (status.st_dev, status.st_ino)]


def _refuse_read(path: Path, read: Files) -> None:
    if path in read:
        raise ArgumentError(f"{str(path)!r} is read, and would be replaced by its own result; take another name")


def _list_read(mark: Reads | Writes, value: Any) -> Iterator[Path]:
    if isinstance(mark, Reads):
        yield from _list_paths(value)
    elif mark.kind == "last":
        yield from list(_list_paths(value))[:-1]


def _list_written(mark: Writes, value: Any) -> list[Path]:
    paths = list(_list_paths(value))
    # a single name is not yet one of a result
    return paths[1:][-1:] if mark.kind == "last" else paths


def _list_paths(value: Any) -> Iterator[Path]:
    if isinstance(value, str | Path):
        yield Path(value)
    elif isinstance(value, list | tuple):
        yield from map(Path, value)
