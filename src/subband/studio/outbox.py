"""Messages for a page that wait for its link: as few as can be, so that a slow link shows what is new."""

from __future__ import annotations

import asyncio

__all__ = ["NEWEST", "Outbox"]

#: Messages of which only the newest means something; it replaces one that is still waiting.
NEWEST = ("resolved", "state", "histogram")

#: Messages that may wait; a page that has not taken so many reads nothing at all.
_MOST_WAITING = 500


class Outbox:
    """What a page has not been sent yet; everything here happens in the thread of the server.

    Examples
    --------
    >>> outbox = Outbox()
    >>> for text, kind in (("a", "resolved"), ("b", "error"), ("c", "error"), ("d", "resolved")):
    ...     outbox.put(text, kind)
    >>> async def take():
    ...     return [await outbox.take() for _ in range(3)]
    >>> asyncio.run(take())
    ['b', 'c', 'd']
    """

    def __init__(self) -> None:
        self._waiting: dict[str | int, str | bytes] = {}
        self._number = 0
        self._has_some = asyncio.Event()

    @property
    def is_overfull(self) -> bool:
        """Whether more waits than a page that reads can ever leave."""
        return len(self._waiting) > _MOST_WAITING

    def put(self, message: str | bytes, kind: str) -> None:
        """Add a message behind all others."""
        key: str | int = kind
        if kind in NEWEST:
            self._waiting.pop(kind, None)
        else:
            self._number += 1
            key = self._number
        self._waiting[key] = message
        self._has_some.set()

    async def take(self) -> str | bytes:
        """Return the oldest message, as soon as there is one."""
        while not self._waiting:
            self._has_some.clear()
            await self._has_some.wait()
        return self._waiting.pop(next(iter(self._waiting)))
