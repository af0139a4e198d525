"""Exports: whole files processed by a tool, in a thread of their own."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from threading import Event, Lock
from time import perf_counter
from typing import Any, Literal

from subband.engines import get_engine
from subband.errors import ArgumentError, SubbandError
from subband.media import Source
from subband.pipeline import CancelledError, Progress
from subband.studio.equivalents import name_result
from subband.studio.library import Item, Library, describe_info
from subband.studio.preview import Preview
from subband.studio.protocol import format_error
from subband.studio.session import Session
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


@dataclass
class ExportFile:
    """A file that is made.

    Attributes
    ----------
    id : str
        By which it is asked for.
    page : str
        Who has asked for it.
    name : str
        What it is called.
    path : Path
        Where it will be.
    state : {"running", "done", "failed", "cancelled"}
        How far it is.
    """

    id: str
    page: str
    name: str
    path: Path
    state: str = "running"
    cancelled: Event = field(default_factory=Event)


class Exports:
    """The files that are made for all pages, one after the other.

    Parameters
    ----------
    library : Library
        What can be opened.
    engine : str
        The engine that computes if a page does not say so.
    find_session : callable
        Returns the session of a page, which is told how far its files are; None if there is none.
    """

    def __init__(self, library: Library, engine: str, find_session: Callable[[Any], Session | None]) -> None:
        self._library = library
        self._engine = engine
        self._find_session = find_session
        self._folder = Path(tempfile.mkdtemp(prefix="subband-studio-exports-"))
        self._pool = ThreadPoolExecutor(1, "studio-export")
        self._jobs: dict[str, ExportFile] = {}
        self._lock = Lock()

    def start(self, body: Any) -> str:
        """Begin to make a file, and return its id.

        Parameters
        ----------
        body : dict
            ``page``, ``source``, ``settings`` and ``ending``; ``part``, the first and the last frame, if not all.

        Raises
        ------
        ArgumentError
            If something of that makes no sense.
        """
        if not isinstance(body, dict):
            raise ArgumentError("an export is an object with page, source, settings and ending")
        session = self._find_session(body.get("page"))
        if session is None:
            raise ArgumentError("an export needs the page that asks for it, and that one is not connected")
        resolved = resolve_settings(body.get("settings", {}), engine=self._engine)
        item = self._library.find(body.get("source")) if resolved.tool.needs_source else None
        ending = self._check_ending(body.get("ending"), resolved, item)
        trim = _read_part(body.get("part"))
        with self._lock:
            running = [job for job in self._jobs.values() if job.page == session.id and job.state == "running"]
            if len(running) >= _MOST_JOBS:
                raise ArgumentError(f"{_MOST_JOBS} files are being made already; wait for one, or cancel it")
            number = secrets.token_urlsafe(16)
            stem = PurePath(item.title).stem if item is not None else resolved.tool.name
            name = name_result(f"{stem}{ending}", resolved.tool.result)
            job = ExportFile(number, session.id, name, self._folder / f"{number}{ending}")
            self._jobs[number] = job
            self._forget_oldest()
        self._pool.submit(self._run, job, item, resolved, session, trim)
        return number

    def _forget_oldest(self) -> None:
        """Remove files that nobody has fetched for long."""
        ended = [job for job in self._jobs.values() if job.state != "running"]
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

    def cancel_page(self, page: str) -> None:
        """Cancel what a page waits for that has gone; files that are complete stay for a download that goes on."""
        with self._lock:
            for job in self._jobs.values():
                if job.page == page:
                    job.cancelled.set()

    def close(self) -> None:
        """Cancel everything, and remove all files."""
        with self._lock:
            for job in self._jobs.values():
                job.cancelled.set()
        self._pool.shutdown(cancel_futures=True)
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

    def _run(self, job: ExportFile, item: Item | None, resolved: Resolved, session: Session, trim: str | None) -> None:
        told = 0.0
        newest: Progress | None = None

        def tell(error: str | None = None) -> None:
            left = newest.seconds_left if newest is not None else None
            session.tell(
                "export",
                id=job.id,
                state=job.state,
                name=job.name,
                error=error,
                frames=newest.frames if newest is not None else 0,
                count=newest.count if newest is not None else None,
                seconds_left=None if left is None else round(left, 1),
            )

        def observe(progress: Progress) -> None:
            nonlocal told, newest
            newest = progress
            if perf_counter() - told >= _PAUSE:
                told = perf_counter()
                tell()

        try:
            if job.cancelled.is_set():
                raise CancelledError("cancelled before it began")
            tell()
            self._make(job, item, resolved, observe, trim)
            with self._lock:
                # whoever removes the job looks at its state, and leaves the file to this thread until it is complete
                job.state = "cancelled" if job.cancelled.is_set() else "done"
            if job.state == "cancelled":
                job.path.unlink(missing_ok=True)
            tell()
        except CancelledError:
            job.state = "cancelled"
            tell()
        except (SubbandError, OSError) as error:
            job.state = "failed"
            text = format_error(error).replace(str(job.path), job.name)
            tell(text if item is None else item.hide_path(text))
        except Exception:  # noqa: BLE001 - logged; the thread goes on with the next file
            job.state = "failed"
            _log.exception("an export failed")
            tell("the server failed at that; its log says more")

    def _make(self, job: ExportFile, item: Item | None, resolved: Resolved, observe: Any, trim: str | None) -> None:
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
