"""One thread for each engine, which all pages share.

Engines use all cores, or a whole device, for one frame; two frames at the same time would only make both late. A page
has at most one frame here at any time, so that first come, first served is fair to all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

__all__ = ["Workers"]

_log = logging.getLogger("subband.studio")


class Workers:
    """The threads of all engines, each started when it is first needed.

    Examples
    --------
    >>> done = []
    >>> workers = Workers()
    >>> workers.submit("cpu", lambda: done.append(1))
    True
    >>> workers.close()
    >>> done, workers.submit("cpu", lambda: done.append(2))
    ([1], False)
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._workers: dict[str, tuple[SimpleQueue[Callable[[], None] | None], Thread]] = {}
        self._is_closed = False

    def submit(self, engine: str, task: Callable[[], None]) -> bool:
        """Do something in the thread of an engine, after all that came before; False if all threads have ended."""
        with self._lock:
            if self._is_closed:
                return False
            if engine not in self._workers:
                tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
                thread = Thread(target=_work, args=(tasks,), name=f"studio-{engine}", daemon=True)
                self._workers[engine] = (tasks, thread)
                thread.start()
            self._workers[engine][0].put(task)
            return True

    def close(self, patience: float = 10.0) -> None:
        """Do what is waiting, and end all threads."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers.values())
        for tasks, thread in workers:
            tasks.put(None)
            thread.join(patience)


def _work(tasks: SimpleQueue[Callable[[], None] | None]) -> None:
    """Do one task after the other, until there is none any more."""
    while (task := tasks.get()) is not None:
        try:
            task()
        except Exception:  # noqa: BLE001 - logged below
            # jobs tell their page what goes wrong; what comes here is a fault of ours, and the others go on
            _log.exception("a frame could not be computed")
        # a task holds its page, which may have been closed long before the next one comes
        del task
