"""Pages that come back: a reload, or a lost connection, finds what the page had before."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

from subband.studio.session import Session

__all__ = ["Page", "Pages"]

#: Seconds for which something is done for a page that has gone, and pages that are remembered after that.
PATIENCE = 600.0
_MOST_KEPT = 200


@dataclass
class Page:
    """A page, whether it is connected or not.

    Attributes
    ----------
    key : str
        By which it comes back; nobody can guess it.
    sessions : list of Session
        Its connections: more than one while it is loaded again, or if it was copied into another tab.
    uploads : list of dict
        What it has uploaded.
    memory : dict
        What its last session showed.
    left : float
        When that ended.
    """

    key: str
    sessions: list[Session] = field(default_factory=list)
    uploads: list[dict[str, Any]] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)
    left: float = 0.0

    @property
    def is_gone(self) -> bool:
        """Whether it has left, and not come back in time."""
        return not self.sessions and monotonic() - self.left > PATIENCE

    def tell(self, kind: str, **content: Any) -> None:
        """Send a message to all its connections."""
        for session in tuple(self.sessions):
            session.tell(kind, **content)

    def recall(self) -> dict[str, Any]:
        """Return what it showed: an older connection may not have ended yet."""
        return self.sessions[0].remember() if len(self.sessions) > 1 else self.memory


class Pages:
    """All pages that are there, and the last of those that were.

    Examples
    --------
    >>> pages = Pages()
    >>> page = pages.enter(None)
    >>> pages.enter(page.key) is page, pages.enter("of another server") is page
    (True, False)
    """

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._lock = Lock()

    def enter(self, key: str | None) -> Page:
        """Return the page of a key that was given out here, or a new one."""
        with self._lock:
            page = self._pages.pop(key or "", None) or Page(secrets.token_urlsafe(16))
            # the last that came is forgotten last
            self._pages[page.key] = page
            gone = [each for each in self._pages.values() if not each.sessions and each is not page]
            for each in gone[: max(len(gone) - _MOST_KEPT, 0)]:
                del self._pages[each.key]
            return page

    def join(self, page: Page, session: Session) -> None:
        """Note that a page has a further connection."""
        with self._lock:
            page.sessions.append(session)

    def leave(self, page: Page, session: Session) -> None:
        """Note that a connection of a page ends."""
        with self._lock:
            if session in page.sessions:
                page.sessions.remove(session)
                page.memory, page.left = session.remember(), monotonic()

    def find(self, key: Any) -> Page | None:
        """Return a page that is known."""
        return self._pages.get(key) if isinstance(key, str) else None
