"""What all pages share: what can be opened, the engines, what was uploaded and what is being made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from subband import __version__
from subband.engines import get_engine
from subband.errors import ArgumentError
from subband.studio.exports import Exports
from subband.studio.hardware import describe_hardware, list_engines
from subband.studio.library import MOST_PIXELS, Item, Library
from subband.studio.pages import Page, Pages
from subband.studio.presets import PRESETS
from subband.studio.rendering import Renderer
from subband.studio.session import Session
from subband.studio.tools.lookup import TOOLS
from subband.studio.uploads import MOST_UPLOAD, Uploads
from subband.studio.workers import Workers

__all__ = ["Studio"]

#: Pages at the same time.
_MOST_SESSIONS = 64


class Studio:
    """The inside of the server.

    Parameters
    ----------
    media : sequence of Path or Item
        What can be opened besides the samples.
    engine : str
        The engine that computes if a page does not say so.
    most_upload : int
        Bytes of an upload.
    most_pixels : int
        Rows × columns of a frame.
    """

    def __init__(
        self,
        media: Sequence[Path | Item] = (),
        *,
        engine: str | None = None,
        most_upload: int = MOST_UPLOAD,
        most_pixels: int = MOST_PIXELS,
    ) -> None:
        self.engine = _check_engine(engine)
        self.library = Library(media, most_pixels)
        self.workers = Workers()
        self.uploads = Uploads(self.library, most_upload)
        self.pages = Pages()
        self.exports = Exports(self.library, self.engine)
        self._sessions: dict[Session, Page] = {}
        self._lock = Lock()

    def open_session(
        self, emit: Callable[[str | bytes, str], None], *, is_near: bool, key: str | None = None
    ) -> Session:
        """Begin to serve a page; its key is one that an earlier session has told it, if there was one.

        Raises
        ------
        ArgumentError
            If there are too many.
        """
        with self._lock:
            if len(self._sessions) >= _MOST_SESSIONS:
                raise ArgumentError(f"{_MOST_SESSIONS} pages are open already; close one")
            page = self.pages.enter(key)
            session = Session(
                emit,
                render=Renderer(self.library.load).render,
                submit=self.workers.submit,
                library=self.library,
                engine=self.engine,
                is_near=is_near,
                record=partial(self.exports.record, page),
            )
            self.pages.join(page, session)
            self._sessions[session] = page
            return session

    def close_session(self, session: Session) -> None:
        """End a connection; what was begun for its page goes on for a while, since pages come back."""
        with self._lock:
            page = self._sessions.get(session)
        if page is not None:
            self.pages.leave(page, session)
        session.close()
        with self._lock:
            self._sessions.pop(session, None)

    def count_sessions(self) -> int:
        """Return how many pages are open."""
        return len(self._sessions)

    def describe(self, session: Session) -> dict[str, Any]:
        """Return what a page is told first, with what it had if it has come back."""
        page = self._sessions[session]
        uploads = [each for each in page.uploads if self.library.has_upload(each["id"])]
        tools = [tool.describe() for tool in TOOLS.values()]
        for tool in tools:
            for control in tool["controls"]:
                if control["name"] == "engine":
                    control["default"] = self.engine
        return {
            "type": "hello",
            "page": page.key,
            "kept": {**page.recall(), "uploads": uploads, "exports": self.exports.list_files(page)},
            "version": __version__,
            "hardware": describe_hardware(),
            "engines": [{"name": engine.name, "title": engine.title} for engine in list_engines()],
            "engine": self.engine,
            "samples": self.library.list_samples(),
            "media": self.library.list_media(),
            "problems": self.library.list_problems(),
            "tools": tools,
            "presets": PRESETS,
            "limits": {"upload": self.uploads.most_bytes},
        }

    def close(self) -> None:
        """End all sessions and threads, and remove all files."""
        with self._lock:
            sessions = list(self._sessions)
            self._sessions.clear()
        for session in sessions:
            session.close()
        self.exports.close()
        self.workers.close()
        self.uploads.close()


def _check_engine(name: str | None) -> str:
    """Return the name of an engine that can be used here."""
    known = [engine.name for engine in list_engines()]
    if name is None:
        current = get_engine().name
        return current if current in known else "cpu"
    if name not in known:
        # raises what is wrong with it, if it is an engine at all
        get_engine(name)
        raise ArgumentError(f"engine={name!r} is not one that the studio offers; take one of {', '.join(known)}")
    return name
