"""One thread for each engine, which all pages share.

Engines use all cores, or a whole device, for one frame; two frames at the same time would only make both late. A page
has at most one frame here at any time, so that first come, first served is fair to all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

__all__ = ["Worker", "Workers"]

_log = logging.getLogger("subband.studio")


class Worker:
    """A thread that does one thing after the other.

    Examples
    --------
    >>> done = []
    >>> worker = Worker("cpu")
    >>> worker.submit(lambda: done.append(1))
    >>> worker.close()
    >>> done
    [1]
    """

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"studio-{name}", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        """Do something when all that came before is done."""
        self._queue.put(job)

    def close(self, patience: float = 10.0) -> None:
        """Do what is waiting, and end the thread."""
        self._queue.put(None)
        self._thread.join(patience)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                job()
            except Exception:  # noqa: BLE001 - logged below
                # jobs tell their page what goes wrong; what comes here is a fault of ours, and the others go on
                _log.exception("a frame could not be computed")
            # a job holds its page, which may have been closed long before the next one comes
            del job


class Workers:
    """The threads of all engines, each started when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._workers: dict[str, Worker] = {}
        self._closed = False

    def submit(self, engine: str, job: Callable[[], None]) -> bool:
        """Do something in the thread of an engine; False if all threads have ended."""
        with self._lock:
            if self._closed:
                return False
            if engine not in self._workers:
                self._workers[engine] = Worker(engine)
            self._workers[engine].submit(job)
            return True

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            self._closed = True
            workers = list(self._workers.values())
        for worker in workers:
            worker.close()
