"""A few threads that share the tasks of a sweep.

The kernels hold no lock while they run, so ordinary Python threads are enough, and unlike OpenMP they survive a
``fork``: a child process simply starts its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from queue import SimpleQueue
from threading import Lock, Thread

from subband.errors import ArgumentError

__all__ = ["get_threads", "run_tasks", "set_threads"]

_count: int | None = None


def set_threads(count: int | None) -> None:
    """Set how many threads the CPU engine uses; ``None`` goes back to the default.

    The default is the environment variable ``SUBBAND_NUM_THREADS``, else the number of cores this process may use.

    Examples
    --------
    >>> set_threads(1)
    >>> get_threads()
    1
    >>> set_threads(None)
    """
    global _count
    if count is not None and (isinstance(count, bool) or not hasattr(count, "__index__") or index(count) < 1):
        raise ArgumentError(f"count={count!r} is not a number of threads; use 1 or more, or None for the default")
    _count = None if count is None else index(count)


def get_threads() -> int:
    """Return how many threads the CPU engine uses."""
    global _count
    if _count is None:
        _count = _read_environment() or _count_cores()
    return _count


def _read_environment() -> int:
    text = os.environ.get("SUBBAND_NUM_THREADS", "").strip()
    if not text:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(f"SUBBAND_NUM_THREADS={text!r} is not a number of threads; use 1 or more")
    return int(text)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_tasks(work: Callable[..., object], tasks: Sequence[tuple[int, ...]]) -> None:
    """Call `work(*task)` for every task, in this thread and its helpers, and wait until all are done.

    A helper that wakes up late finds nothing left and is not waited for.
    """
    if not tasks:
        return
    job = _Job(work, tasks)
    queue = _helpers(get_threads() - 1)
    for _ in range(min(get_threads(), len(tasks)) - 1):
        queue.put(job)
    job.work_off()
    job.wait()


class _Job:
    """Tasks that several threads take from one list."""

    def __init__(self, work: Callable[..., object], tasks: Sequence[tuple[int, ...]]) -> None:
        self._work = work
        self._waiting = iter(tasks)
        self._left = len(tasks)
        self._counting = Lock()
        self._done = Lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def work_off(self) -> None:
        for task in self._waiting:
            try:
                self._work(*task)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the thread that waits must get it
                self._error = error
            with self._counting:
                self._left -= 1
                if self._left == 0:
                    self._done.release()

    def wait(self) -> None:
        self._done.acquire()
        if self._error is not None:
            raise self._error


def _helpers(count: int) -> SimpleQueue[_Job]:
    """Return the queue that at least `count` threads of this process listen to."""
    global _pool
    with _starting:
        if _pool is None or _pool.process != os.getpid():
            _pool = _Pool(os.getpid(), SimpleQueue(), 0)
        for number in range(_pool.count, count):
            Thread(target=_listen, args=(_pool.queue,), name=f"subband-{number}", daemon=True).start()
            _pool.count += 1
        return _pool.queue


def _listen(queue: SimpleQueue[_Job]) -> None:
    while True:
        queue.get().work_off()


def _forget_lock() -> None:
    global _starting
    _starting = Lock()


@dataclass
class _Pool:
    process: int
    queue: SimpleQueue[_Job]
    count: int


_pool: _Pool | None = None
_starting = Lock()
# a child would inherit the lock as it was in the middle of the fork
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
