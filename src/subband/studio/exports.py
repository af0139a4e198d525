"""Exports: whole files processed by a tool, in a thread of their own, and recordings of the camera."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any, Literal, TypeAlias

from subband.engines import get_engine
from subband.errors import ArgumentError, SubbandError
from subband.media import Source
from subband.pipeline import CancelledError, Progress
from subband.studio.equivalents import name_result
from subband.studio.library import Item, Library, describe_info
from subband.studio.pages import Page
from subband.studio.preview import Preview
from subband.studio.protocol import format_error
from subband.studio.recording import ENDING, Recording
from subband.studio.settings import Resolved, resolve_settings
from subband.studio.tools.base import Export

__all__ = ["ExportFile", "Exports"]

_log = logging.getLogger("subband.studio")

#: Files that one page may wait for.
_MOST_JOBS = 4
#: Files that are kept for a download.
_MOST_KEPT = 20
#: Seconds between two messages about how far a file is.
_PAUSE = 0.1
#: Seconds that a recording may take to end.
_PATIENCE = 5.0

#: Told how far a file is.
Observe: TypeAlias = Callable[[Progress], None]


@dataclass
class ExportFile:
    """A file that is made.

    Attributes
    ----------
    id : str
        By which it is asked for.
    page : Page
        Who has asked for it.
    name : str
        What it is called.
    path : Path
        Where it will be.
    state : {"waiting", "running", "done", "failed", "cancelled"}
        How far it is.
    progress : Progress or None
        How many frames of it there are.
    error : str or None
        Why it failed.
    """

    id: str
    page: Page
    name: str
    path: Path
    state: str = "waiting"
    progress: Progress | None = None
    error: str | None = None
    cancelled: Event = field(default_factory=Event)

    @property
    def is_open(self) -> bool:
        """Whether it is not there yet."""
        return self.state in ("waiting", "running")

    def describe(self) -> dict[str, Any]:
        """Return what the page is told."""
        newest = self.progress
        left = None if newest is None else newest.seconds_left
        return {
            "id": self.id,
            "state": self.state,
            "name": self.name,
            "error": self.error,
            "frames": 0 if newest is None else newest.frames,
            "count": None if newest is None else newest.count,
            "seconds_left": None if left is None else round(left, 1),
        }


class Exports:
    """The files that are made for all pages, one after the other; recordings of cameras beside them.

    A page that is loaded again finds its files, those that are being made among them; what is made for one that does
    not come back in time is given up.

    Parameters
    ----------
    library : Library
        What can be opened.
    engine : str
        The engine that computes if a page does not say so.
    """

    def __init__(self, library: Library, engine: str) -> None:
        self._library = library
        self._engine = engine
        self._folder = Path(tempfile.mkdtemp(prefix="subband-studio-exports-"))
        self._pool = ThreadPoolExecutor(1, "studio-export")
        self._recorders: list[Thread] = []
        self._jobs: dict[str, ExportFile] = {}
        self._lock = Lock()

    def start(self, body: Any, page: Page | None) -> str:
        """Begin to make a file, and return its id.

        Parameters
        ----------
        body : dict
            ``source``, ``settings`` and ``ending``; ``part``, the first and the last frame, if not all.
        page : Page or None
            Who asks for it.

        Raises
        ------
        ArgumentError
            If something of that makes no sense.
        """
        if not isinstance(body, dict):
            raise ArgumentError("an export is an object with page, source, settings and ending")
        if page is None:
            raise ArgumentError("an export needs the page that asks for it, and that one is not known here")
        resolved = resolve_settings(body.get("settings", {}), engine=self._engine)
        item = self._library.find(body.get("source")) if resolved.tool.needs_source else None
        ending = self._check_ending(body.get("ending"), resolved, item)
        trim = _read_part(body.get("part"))
        stem = PurePath(item.title).stem if item is not None else resolved.tool.name
        job = self._add(page, name_result(f"{stem}{ending}", resolved.tool.result), ending)
        self._pool.submit(self._run, job, partial(self._make, job, item, resolved, trim), item)
        return job.id

    def record(self, page: Page, recording: Recording) -> None:
        """Make a file of what a camera shows, until the recording ends."""
        job = self._add(page, f"camera{ENDING}", ENDING)

        def write(observe: Observe) -> None:
            recording.write(job.path, observe, job.cancelled)

        thread = Thread(target=self._run, args=(job, write, None), name="studio-recording", daemon=True)
        self._recorders = [*filter(Thread.is_alive, self._recorders), thread]
        thread.start()

    def list_files(self, page: Page) -> list[dict[str, Any]]:
        """Return what a page is told about its files that are being made, or ready."""
        with self._lock:
            return [job.describe() for job in self._jobs.values() if job.page is page and job.state != "cancelled"]

    def _add(self, page: Page, name: str, ending: str) -> ExportFile:
        with self._lock:
            if sum(job.page is page and job.is_open for job in self._jobs.values()) >= _MOST_JOBS:
                raise ArgumentError(f"{_MOST_JOBS} files are being made already; wait for one, or cancel it")
            number = secrets.token_urlsafe(16)
            job = ExportFile(number, page, name, self._folder / f"{number}{ending}")
            self._jobs[number] = job
            self._forget_oldest()
        page.tell("export", **job.describe())
        return job

    def _forget_oldest(self) -> None:
        """Remove files that nobody has fetched for long."""
        ended = [job for job in self._jobs.values() if not job.is_open]
        for job in ended[: max(len(ended) - _MOST_KEPT, 0)]:
            del self._jobs[job.id]
            job.path.unlink(missing_ok=True)

    def find(self, number: str) -> ExportFile | None:
        """Return a job."""
        return self._jobs.get(number)

    def remove(self, number: str) -> bool:
        """Cancel a job or remove its file; False if there is none."""
        with self._lock:
            job = self._jobs.pop(number, None)
            if job is None:
                return False
            job.cancelled.set()
            is_complete = job.state == "done"
        if is_complete:
            job.path.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Cancel everything, and remove all files."""
        with self._lock:
            for job in self._jobs.values():
                job.cancelled.set()
        self._pool.shutdown(cancel_futures=True)
        for thread in self._recorders:
            thread.join(_PATIENCE)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _check_ending(self, ending: Any, resolved: Resolved, item: Item | None) -> str:
        known = list(resolved.tool.endings)
        if not known and item is not None:
            with item.open() as source:
                known = describe_info(source.info, item)["endings"]
        if not known:
            raise ArgumentError("volumes are exported outside the studio; copy the command line")
        if ending not in known:
            raise ArgumentError(f"ending={str(ending)[:10]!r} cannot be written; it can be {', '.join(known)}")
        return str(ending)

    def _run(self, job: ExportFile, make: Callable[[Observe], Any], item: Item | None) -> None:
        told = 0.0

        def tell() -> None:
            job.page.tell("export", **job.describe())

        def observe(progress: Progress) -> None:
            nonlocal told
            job.progress = progress
            if job.page.is_gone:
                job.cancelled.set()
            if perf_counter() - told >= _PAUSE:
                told = perf_counter()
                tell()

        try:
            if job.cancelled.is_set() or job.page.is_gone:
                raise CancelledError("cancelled before it began")
            job.state = "running"
            tell()
            make(observe)
            with self._lock:
                # whoever removes the job looks at its state, and leaves the file to this thread until it is complete
                job.state = "cancelled" if job.cancelled.is_set() else "done"
            if job.state == "cancelled":
                job.path.unlink(missing_ok=True)
        except CancelledError:
            job.state = "cancelled"
        except (SubbandError, OSError) as error:
            text = format_error(error).replace(str(job.path), job.name)
            job.state, job.error = "failed", text if item is None else item.hide_path(text)
        except Exception:  # noqa: BLE001 - logged; the thread goes on with the next file
            _log.exception("an export failed")
            job.state, job.error = "failed", "the server failed at that; its log says more"
        tell()

    def _make(self, job: ExportFile, item: Item | None, resolved: Resolved, trim: str | None, observe: Observe) -> None:
        engine = get_engine(str(resolved.settings.get("engine", self._engine)))
        load = self._library.load
        if item is None:
            resolved.tool.export(resolved.settings, Export(None, job.path, engine, load, observe, job.cancelled))
            return
        # as the page shows it, whose first frame says what is black and white
        preview = Preview()
        preview.open(item)
        shape, scale = preview.shape, preview.file_scale
        preview.close()
        settings = resolve_settings(resolved.settings, shape=shape, engine=self._engine).settings

        def open_source(colours: Literal["rgb", "ycbcr"]) -> Source:
            return item.open(quick=False, colours=colours, trim=trim)

        export = Export(open_source, job.path, engine, load, observe, job.cancelled, scale)
        resolved.tool.export(settings, export)


def _read_part(part: Any) -> str | None:
    """Return the frames from a first to a last as a source takes them; None for all."""
    if part is None:
        return None
    is_pair = isinstance(part, list) and len(part) == 2 and all(isinstance(each, int) for each in part)
    if not is_pair or not 0 <= part[0] <= part[1]:
        raise ArgumentError(f"part={str(part)[:40]} is not the first and the last frame of a video")
    return f"{part[0]}f:{part[1] + 1}f"
