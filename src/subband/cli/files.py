"""What commands that turn files into files have in common: which become which, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import typer

from subband.errors import ArgumentError, SubbandError

if TYPE_CHECKING:
    from subband.pipeline.relay import Observe, Report

__all__ = ["Job", "Settings", "check_jobs", "plan_jobs", "run_jobs", "split_paths"]

_PATTERN = "*?["
_UNFINISHED = re.compile(r"\.part\d*$")

# What can be read beside what Pillow reads and what can be written.
_MORE_ENDINGS = {
    ".3gp", ".asf", ".dv", ".flv", ".h264", ".h5", ".hdf5", ".m2ts", ".m2v", ".mj2", ".mjpeg", ".mts", ".mxf", ".nii",
    ".npy", ".ogv", ".ts", ".vob", ".y4m", ".exr", ".pam",
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One file that becomes another."""

    source: Path
    output: Path
    makes_folder: bool = False


@dataclass(frozen=True)
class Settings:
    """How files are gone through, as the user said."""

    force: bool = False
    dry_run: bool = False
    as_json: bool = False
    jobs: int = 1


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


def plan_jobs(inputs: Sequence[Path], output: Path, ending: str | None = None) -> list[Job]:
    """Say which file becomes which.

    Parameters
    ----------
    inputs : sequence of Path
        Files; folders, which stand for all pictures, films and volumes in them; patterns.
    output : Path
        A file for a single file; a folder, made when it is needed, for several ones, for a folder, or if it is one
        already or its name has no ending.
    ending : str, optional
        Of the results in a folder.

    Raises
    ------
    ArgumentError
        If there is nothing to do, or two results would have the same name.
    """
    # what is named twice, as a file and by its folder for instance, is done once
    sources = list(dict.fromkeys(source for each in inputs for source in _find_sources(each)))
    is_single = len(sources) == 1 and (_is_one(inputs[0]) or sources[0] == inputs[0])
    if is_single and not output.is_dir() and output.suffix:
        return [Job(sources[0], output)]
    if output.is_file():
        raise ArgumentError(f"{str(output)!r} is a file, and {len(sources)} results need a folder; take another name")
    chosen = "" if ending is None else ending if ending.startswith(".") else f".{ending}"
    names = [_change_ending(source, chosen) if chosen else source.name for source in sources]
    jobs = [Job(source, output / name, makes_folder=True) for source, name in zip(sources, names, strict=True)]
    taken: dict[Path, Path] = {}
    for job in jobs:
        if (other := taken.setdefault(job.output, job.source)) != job.source:
            raise ArgumentError(
                f"{str(other)!r} and {str(job.source)!r} would both become {str(job.output)!r}; give them a folder each"
            )
    return jobs


def check_jobs(jobs: Sequence[Job], settings: Settings) -> None:
    """Refuse what would fail later for a reason that can be seen now, before anything is written."""
    from subband.media import check_output

    for job in jobs:
        output = _strip_dataset(job.output)
        if _is_own_result(job):
            raise ArgumentError(f"{str(job.source)!r} would be replaced by its own result; take another name")
        taken = None if settings.force else _find_taken(job)
        if taken is not None:
            raise ArgumentError(f"{str(taken)!r} is there already; use --force to replace it, or take another name")
        # a folder of results is made when it is needed
        if output.parent.is_dir() or not job.makes_folder:
            check_output(output)


def run_jobs(jobs: Sequence[Job], work: Work, settings: Settings, about: dict[str, Any] | None = None) -> None:
    """Go through files, show how far it is, and tell what came of it.

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

    if settings.dry_run:
        entries: list[dict[str, Any]] = [_describe_job(job) for job in jobs]
        if settings.as_json:
            typer.echo(json.dumps({**(about or {}), "dry_run": True, "files": entries}, indent=2))
            return
        for job in jobs:
            typer.echo(f"{job.source} -> {job.output}" + (" (replaced)" if _find_taken(job) else ""))
        return
    for folder in dict.fromkeys(job.output.parent for job in jobs if job.makes_folder):
        _make_folder(folder)
    with _plain_warnings():
        results = _run_all(jobs, work, settings)
    if settings.as_json:
        entries = [_describe_result(job, result) for job, result in zip(jobs, results, strict=True)]
        typer.echo(json.dumps({**(about or {}), "files": entries}, indent=2))
    failures = [result for result in results if isinstance(result, BaseException)]
    if len(jobs) == 1 and failures:
        raise failures[0]
    for job, result in zip(jobs, results, strict=True):
        if isinstance(result, BaseException):
            _show_error(job, result)
        elif not settings.as_json:
            typer.echo(f"{job.output}: {_spell_report(result)}")
    if failures:
        typer.echo(f"error: {len(failures)} of {len(jobs)} files could not be done", err=True)
        raise typer.Exit(2)


def _run_all(jobs: Sequence[Job], work: Work, settings: Settings) -> list[Report | BaseException]:
    from concurrent.futures import ThreadPoolExecutor, wait

    from subband.cli.progress import watch_progress

    cancelled = Event()
    with watch_progress(is_quiet=settings.as_json) as observe_file:

        def run(job: Job) -> Report | BaseException:
            try:
                return work(job, observe_file(job.source.name), cancelled)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is that of one file
                return error

        if settings.jobs == 1 or len(jobs) == 1:
            return [run(job) for job in jobs]
        with ThreadPoolExecutor(settings.jobs, "subband file") as pool:
            futures = [pool.submit(run, job) for job in jobs]
            try:
                while wait(futures, timeout=0.2).not_done:
                    pass
            except BaseException:
                # those under way clean up after themselves
                cancelled.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            return [future.result() for future in futures]


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as one line, without where in the program they come from."""
    import warnings

    usual = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: typer.echo(f"warning: {message}", err=True)
    try:
        yield
    finally:
        warnings.showwarning = usual


def _find_sources(path: Path) -> list[Path]:
    """Return the files that a name stands for."""
    if path.is_dir():
        return _list_folder(path)
    if _is_one(path):
        return [path]
    if any(sign in str(path) for sign in _PATTERN):
        anchor = Path(path.anchor) if path.anchor else Path()
        pattern = str(path.relative_to(path.anchor)) if path.anchor else str(path)
        matches = sorted(match for match in anchor.glob(pattern) if match.is_file() and not _is_unfinished(match))
        if not matches:
            raise ArgumentError(f"no file is like {str(path)!r}")
        return matches
    raise FileNotFoundError(2, "No such file or directory", str(path))


def _is_one(path: Path) -> bool:
    """Tell whether a name stands for one thing to read, not for as many as there happen to be."""
    from subband.media.camera import is_camera
    from subband.media.pictures import is_numbered

    return path.is_file() or is_numbered(path) or is_camera(str(path)) or _strip_dataset(path).is_file()


def _strip_dataset(path: Path) -> Path:
    """Return the file of a name such as volume.h5:data."""
    from subband.media.volumes import split_dataset

    dataset = split_dataset(str(path))
    return path if dataset is None else Path(dataset[0])


def _list_folder(folder: Path) -> list[Path]:
    """Return what can be read in a folder; one of DICOM slices is a volume by itself."""
    from PIL import Image

    from subband.media.film_formats import CONTAINERS

    pictures = {ending for ending, kind in Image.registered_extensions().items() if kind in Image.OPEN}
    known = pictures | set(CONTAINERS) | _MORE_ENDINGS
    files = sorted(path for path in folder.iterdir() if path.is_file() and not _is_unfinished(path))
    if any(path.suffix.lower() == ".dcm" for path in files):
        return [folder]
    found = [path for path in files if path.suffix.lower() in known or path.name.lower().endswith(".nii.gz")]
    if not found:
        raise ArgumentError(f"the folder {str(folder)!r} holds no picture, film or volume")
    return found


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(".") or _UNFINISHED.search(path.stem) is not None


def _change_ending(path: Path, ending: str) -> str:
    """Return the name of a file with another ending."""
    stem = path.name[: -len(".nii.gz")] if path.name.lower().endswith(".nii.gz") else path.stem
    return f"{stem}{ending}"


def _list_results(job: Job) -> list[tuple[Path, Path]]:
    """List what is known beforehand of the files that become others: one, or the pictures of a series."""
    from subband.media.pictures import is_numbered, list_series

    source, output = _strip_dataset(job.source), _strip_dataset(job.output)
    if not is_numbered(source) or not is_numbered(output):
        return [(source, output)]
    return [(file, output.with_name(output.name % number)) for number, file in list_series(source)]


def _is_own_result(job: Job) -> bool:
    results = _list_results(job)
    sources = {source.resolve() for source, _ in results}
    return any(output.resolve() in sources for _, output in results)


def _find_taken(job: Job) -> Path | None:
    """Return a file that would be replaced, if there is one."""
    return next((output for _, output in _list_results(job) if output.is_file()), None)


def _make_folder(folder: Path) -> None:
    from subband.media.faults import explain_output_error

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_output_error(folder, error) from error


def _describe_job(job: Job) -> dict[str, Any]:
    return {"source": str(job.source), "output": str(job.output), "replaces": _find_taken(job) is not None}


def _describe_result(job: Job, result: Report | BaseException) -> dict[str, Any]:
    entry: dict[str, Any] = {"source": str(job.source), "output": str(job.output)}
    if isinstance(result, BaseException):
        return {**entry, "error": _spell_error(result)}
    stages = {"decode": result.decode, "compute": result.compute, "encode": result.encode}
    return {
        **entry,
        "frames": result.frames,
        "seconds": round(result.seconds, 6),
        "frames_per_second": round(result.rate, 3),
        "stages": {name: round(seconds, 6) for name, seconds in stages.items()},
        "shares": {name: round(share, 4) for name, share in result.shares.items()},
    }


def _spell_report(report: Report) -> str:
    if report.frames == 1:
        return f"{report.seconds:.2f} s"
    shares = ", ".join(f"{name} {share:.0%}" for name, share in report.shares.items())
    return f"{report.frames} frames in {report.seconds:.1f} s, {report.rate:.1f} a second ({shares})"


def _spell_error(error: BaseException) -> str:
    """Say what went wrong; what was not foreseen does not explain itself."""
    is_foreseen = isinstance(error, SubbandError | OSError)
    return str(error) if is_foreseen else f"{type(error).__name__}: {error}"


def _show_error(job: Job, error: BaseException) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(f"error: {job.source}: {_spell_error(error)}", style="bold red"), soft_wrap=True)
