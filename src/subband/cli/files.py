"""Jobs of commands that turn files into files: planned, checked and run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import typer

from subband.cli.options import AsJson, DryRun, Force, Jobs, KeepPartial, Quiet, Recursive, SkipExisting
from subband.cli.outputs import Files, check_file
from subband.cli.results import describe_result, format_error, format_report, show_error
from subband.errors import ArgumentError, SubbandError

if TYPE_CHECKING:
    from subband.pipeline.relay import Observe, Report

__all__ = ["Job", "Settings", "check_jobs", "find_sources", "plan_jobs", "run_jobs", "split_paths"]

_PATTERN = "*?["

_ADDRESS = re.compile(r"(https?|s?ftp|rts?p|s3|gs):/")


@dataclass(frozen=True)
class Job:
    """One file that becomes another."""

    source: Path
    output: Path
    makes_folder: bool = False


@dataclass(frozen=True)
class Settings:
    """How files are gone through, as the user said."""

    force: Force = False
    dry_run: DryRun = False
    as_json: AsJson = False
    jobs: Jobs = 1
    skip_existing: SkipExisting = False
    quiet: Quiet = False
    recursive: Recursive = False
    keep_partial: KeepPartial = False


#: Turns one file into the other.
Work = Callable[[Job, "Observe", Event], "Report"]


def split_paths(paths: Sequence[Path] | None) -> tuple[list[Path], Path]:
    """Return what goes in and what comes out.

    Raises
    ------
    ArgumentError
        If there are fewer than two names.
    """
    if not paths or len(paths) < 2:
        raise ArgumentError("a file to read and one to write are needed, in this order: IN... OUT")
    return list(paths[:-1]), paths[-1]


def find_sources(inputs: Iterable[Path], *, recursive: bool = False, besides: Path | None = None) -> list[Path]:
    """Return the files that names, folders and patterns stand for, each once.

    Parameters
    ----------
    inputs : iterable of Path
        As the user gave them.
    recursive : bool
        Whether folders stand for what is in all folders below them, too.
    besides : Path, optional
        A folder that is left out: that of the results.
    """
    return [source for source, _ in _find_folders(inputs, recursive=recursive, besides=besides)]


def plan_jobs(inputs: Sequence[Path], output: Path, ending: str | None = None, *, recursive: bool = False) -> list[Job]:
    """Plan which file becomes which.

    Parameters
    ----------
    inputs : sequence of Path
        Files; folders, which stand for all images, videos and volumes in them; patterns.
    output : Path
        A file for a single file; a folder, made when it is needed, for several ones, for a folder, or if it is one
        already or its name has no ending.
    ending : str, optional
        Of the results in a folder.
    recursive : bool
        Whether folders stand for what is in all folders below them, too; results go to folders of the same names.

    Raises
    ------
    ArgumentError
        If there is nothing to do, or two results would have the same name.
    """
    if any(str(path) == "-" for path in (*inputs, output)):
        raise ArgumentError("- for standard input or output is known to denoise, filter and noise; give names of files")
    placed = _find_folders(inputs, recursive=recursive, besides=output)
    sources = [source for source, _ in placed]
    is_single = len(sources) == 1 and (_is_one(inputs[0]) or sources[0] == inputs[0])
    is_dataset = _strip_dataset(output) != output
    if is_single and not output.is_dir() and (output.suffix or is_dataset):
        return [Job(sources[0], output)]
    if is_dataset:
        raise ArgumentError(f"{str(output)!r} names a dataset, which holds one volume, and {len(sources)} were given")
    if output.is_file():
        raise ArgumentError(f"{str(output)!r} is a file, and {len(sources)} results need a folder; take another name")
    chosen = "" if ending is None else ending if ending.startswith(".") else f".{ending}"
    jobs = [
        Job(source, output / folder / (_change_ending(source, chosen) if chosen else source.name), makes_folder=True)
        for source, folder in placed
    ]
    taken: dict[Path, Path] = {}
    for job in jobs:
        if (other := taken.setdefault(job.output, job.source)) != job.source:
            raise ArgumentError(
                f"{str(other)!r} and {str(job.source)!r} would both become {str(job.output)!r}; give them a folder each"
            )
    return jobs


def check_jobs(jobs: Sequence[Job], settings: Settings) -> None:
    """Refuse what would fail later for a reason that can be seen now, before anything is written.

    Of several files, those that are refused are told about by `run_jobs`, and do not keep the others from being done.
    """
    if settings.force and settings.skip_existing:
        raise ArgumentError("--force replaces files that --skip-existing leaves; use one of them")
    if len(jobs) == 1:
        for refusal in _find_refusals(jobs, settings).values():
            raise refusal


def run_jobs(jobs: Sequence[Job], work: Work, settings: Settings, about: dict[str, Any] | None = None) -> None:
    """Run jobs with progress, and report their results.

    What goes wrong with one of several files is told, and does not keep the others from being done; the exit code is
    then 2.

    Parameters
    ----------
    jobs : sequence of Job
        As planned and checked.
    work : callable
        Turns one file into the other.
    settings : Settings
        How.
    about : dict, optional
        More for the JSON.
    """
    import json

    refusals = _find_refusals(jobs, settings)
    skipped = {job for job in jobs if settings.skip_existing and job not in refusals and _find_taken(job) is not None}
    doing = [job for job in jobs if job not in refusals and job not in skipped]
    if len(jobs) > 1:
        for job, refusal in refusals.items():
            show_error(job, refusal)
    if settings.dry_run:
        _show_plan(jobs, skipped, refusals, settings, about)
    else:
        results = {**refusals, **_run_all(doing, work, settings)}
        if settings.as_json:
            entries = [describe_result(job, results.get(job)) for job in jobs]
            typer.echo(json.dumps({**(about or {}), "files": entries}, indent=2))
        refusals = {job: result for job, result in results.items() if isinstance(result, BaseException)}
    if len(jobs) == 1 and refusals:
        raise refusals[jobs[0]]
    if skipped and not settings.as_json and not settings.quiet:
        typer.echo(f"{len(skipped)} of {len(jobs)} results are there already, and were left out")
    if refusals:
        typer.echo(f"error: {len(refusals)} of {len(jobs)} files could not be done", err=True)
        raise typer.Exit(2)


def _show_plan(
    jobs: Sequence[Job],
    skipped: Set[Job],
    refusals: Mapping[Job, BaseException],
    settings: Settings,
    about: dict[str, Any] | None,
) -> None:
    """Say which file would become which."""
    import json

    if settings.as_json:
        entries = [
            {**_describe_job(job), "error": format_error(refusals[job])}
            if job in refusals
            else {**_describe_job(job), **({"skipped": True} if job in skipped else {})}
            for job in jobs
        ]
        typer.echo(json.dumps({**(about or {}), "dry_run": True, "files": entries}, indent=2))
        return
    for job in jobs:
        if job in skipped or job in refusals:
            continue
        typer.echo(f"{job.source} -> {job.output}" + (" (replaced)" if _find_taken(job) else ""))


def _run_all(jobs: Sequence[Job], work: Work, settings: Settings) -> dict[Job, Report | BaseException]:
    """Do all files, and tell of each when it is done."""
    from subband.cli.interruption import run_together
    from subband.cli.progress import watch_progress

    cancelled = Event()
    is_silent = settings.as_json or settings.quiet
    done = 0
    if len(folders := {job.output.parent for job in jobs if job.makes_folder}) == 1:
        # where nothing can be written, that is one error and not one for each file
        _make_folder(folders.pop())
    with watch_progress(is_quiet=is_silent, files=len(jobs)) as watch:

        def run(job: Job) -> Report | BaseException:
            observe = watch(job.source.name)
            try:
                if job.makes_folder:
                    _make_folder(job.output.parent)
                return work(job, observe, cancelled)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is that of one file
                return error
            finally:
                watch.end(observe)

        def tell(number: int, result: Report | BaseException) -> None:
            nonlocal done
            done += 1
            if isinstance(result, BaseException):
                if len(jobs) > 1:
                    show_error(jobs[number], result)
            elif not is_silent:
                count = f"{done} of {len(jobs)}: " if len(jobs) > 1 else ""
                typer.echo(f"{count}{jobs[number].output}: {format_report(result)}")

        tasks = [partial(run, job) for job in jobs]
        results = run_together(tasks, settings.jobs, cancelled, tell, keep_partial=settings.keep_partial)
    return dict(zip(jobs, results, strict=True))


def _find_folders(inputs: Iterable[Path], *, recursive: bool, besides: Path | None) -> list[tuple[Path, Path]]:
    """Return files, each with its folder relative to the one that was named."""
    # what is named twice, as a file and by its folder for instance, is done once
    placed: dict[Path, Path] = {}
    for each in inputs:
        if recursive and each.is_dir():
            found = list(_walk_folder(each, besides))
            if not found:
                raise ArgumentError(f"the folder {str(each)!r} holds no image, video or volume, nor does one in it")
        else:
            found = [(source, Path()) for source in _find_sources(each)]
        for source, folder in found:
            placed.setdefault(source, folder)
    return list(placed.items())


def _walk_folder(folder: Path, besides: Path | None) -> Iterator[tuple[Path, Path]]:
    """Find what can be read in a folder and in those below it; hidden ones and that of the results are left out."""
    from subband.media import list_sources

    left_out = None if besides is None else besides.resolve()
    for name, folders, _ in os.walk(folder):
        here = Path(name)
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        if left_out is not None and here.resolve() == left_out and here != folder:
            folders.clear()
            continue
        try:
            found = list_sources(here)
        except ArgumentError:
            continue
        # a folder that is a volume by itself becomes a file beside it
        below = here.parent if found == [here] else here
        for source in found:
            yield source, Path() if here == folder else below.relative_to(folder)


def _find_sources(path: Path) -> list[Path]:
    """Return the files that a name stands for."""
    from subband.media.registry import is_unfinished, list_sources

    if path.is_dir():
        return list_sources(path)
    if _is_one(path):
        return [path]
    if any(sign in str(path) for sign in _PATTERN):
        anchor = Path(path.anchor) if path.anchor else Path()
        pattern = str(path.relative_to(path.anchor)) if path.anchor else str(path)
        matches = sorted(match for match in anchor.glob(pattern) if match.is_file() and not is_unfinished(match))
        if not matches:
            raise ArgumentError(f"no file is like {str(path)!r}")
        return matches
    if path.exists():
        raise ArgumentError(
            f"{str(path)!r} is no file but a pipe or a device; use - for standard input, or copy it to a file first"
        )
    if _ADDRESS.match(str(path)):
        # a path has lost one of the two slashes
        address = str(path).replace(":/", "://", 1)
        raise ArgumentError(f"{address!r} is an address, and files are read; copy it to a file first")
    raise FileNotFoundError(2, "No such file or directory", str(path))


def _is_one(path: Path) -> bool:
    """Tell whether a name stands for one thing to read, not for as many as there happen to be."""
    from subband.media.camera import is_camera
    from subband.media.images import is_numbered

    return path.is_file() or is_numbered(path) or is_camera(str(path)) or _strip_dataset(path).is_file()


def _strip_dataset(path: Path) -> Path:
    """Return the file of a name such as ``volume.h5:scan/data``."""
    from subband.media.formats import split_dataset

    dataset = split_dataset(str(path))
    return path if dataset is None else Path(dataset[0])


def _change_ending(path: Path, ending: str) -> str:
    """Return the name of a file with another ending."""
    from subband.media.formats import split_ending

    return f"{split_ending(path)[0]}{ending}"


def _list_results(job: Job) -> list[tuple[Path, Path]]:
    """List what is known beforehand of the files that become others: one, or the images of a series."""
    from subband.media.images import is_numbered, list_series

    source, output = _strip_dataset(job.source), _strip_dataset(job.output)
    if not is_numbered(source) or not is_numbered(output):
        return [(source, output)]
    return [(file, output.with_name(output.name % number)) for number, file in list_series(source)]


def _find_refusals(jobs: Sequence[Job], settings: Settings) -> dict[Job, BaseException]:
    """Return which results must not be written, and why."""
    read = Files(source for job in jobs for source, _ in _list_results(job))
    refusals: dict[Job, BaseException] = {}
    for job in jobs:
        try:
            _check_job(job, read, settings)
        except SubbandError as error:
            refusals[job] = error
    return refusals


def _check_job(job: Job, read: Files, settings: Settings) -> None:
    own = Files(source for source, _ in _list_results(job))
    for _, output in _list_results(job):
        if output in own:
            raise ArgumentError(f"{str(job.source)!r} would be replaced by its own result; take another name")
        if output.parent.is_dir() or not job.makes_folder:
            check_file(output, read, force=settings.force or settings.skip_existing)
        # a folder of results is made when it is needed


def _find_taken(job: Job) -> Path | None:
    """Return a file that would be replaced, if there is one."""
    return next((output for _, output in _list_results(job) if output.exists()), None)


def _make_folder(folder: Path) -> None:
    from subband.media.faults import explain_output_error

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_output_error(folder, error) from error


def _describe_job(job: Job) -> dict[str, Any]:
    return {"source": str(job.source), "output": str(job.output), "replaces": _find_taken(job) is not None}
