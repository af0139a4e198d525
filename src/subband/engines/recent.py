"""A bounded cache of prepared plans and programs, least recently used first out.

A program that never comes back to a shape would otherwise grow for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from subband.engines.memory import on_release

__all__ = ["Recent"]

T = TypeVar("T")


class Recent(Generic[T]):
    """A thread-safe LRU cache, which `subband.release_memory` clears.

    Parameters
    ----------
    capacity : int
        How many there are at most.
    is_recording : callable, optional
        Tells whether the work of the caller is being recorded as a graph. What it uses then stays for good, because
        the graph knows it by its address.
    is_released : bool
        Whether `subband.release_memory` forgets it: not what takes seconds to make again.

    Examples
    --------
    >>> recent = Recent[int](2)
    >>> for number in (1, 2, 3):
    ...     found = recent.find(number, lambda: 10 * number)
    >>> len(recent), recent.find(3, lambda: 0)
    (2, 30)
    """

    def __init__(
        self, capacity: int, is_recording: Callable[[], bool] | None = None, *, is_released: bool = True
    ) -> None:
        self._capacity = capacity
        self._is_recording = is_recording
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._recorded: dict[Hashable, T] = {}
        #: Returns what belongs to a key, or None; that does not count as a use, and takes no lock.
        self.look: Callable[[Hashable], T | None] = self._kept.get
        if is_released:
            _all.add(self)

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what belongs to a key, made if need be; two threads may both make it, and one is then kept."""
        with self._lock:
            found: Any = self._kept.get(key, _MISSING)
            if found is not _MISSING:
                self._kept.move_to_end(key)
        if found is _MISSING:
            found = self._recorded.get(key, _MISSING)
            found = make() if found is _MISSING else found
            with self._lock:
                found = self._kept.setdefault(key, found)
                while len(self._kept) > self._capacity:
                    self._kept.popitem(last=False)
        if self._is_recording is not None and self._is_recording():
            self._recorded[key] = found
        kept: T = found
        return kept

    def clear(self) -> None:
        """Forget everything but what is part of a recording."""
        with self._lock:
            self._kept.clear()


_MISSING = object()
_all: WeakSet[Recent[Any]] = WeakSet()


def _clear_all() -> None:
    for recent in list(_all):
        recent.clear()


on_release(_clear_all)
