"""A few threads that share the tasks of a sweep.

The kernels hold no lock while they run, so ordinary Python threads are enough, and unlike OpenMP they survive a
``fork``: a child process simply starts its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from subband.errors import ArgumentError

__all__ = ["get_threads", "run_tasks", "set_threads"]

_count: int | None = None
_pool: tuple[int, int, ThreadPoolExecutor] | None = None


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
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ArgumentError(f"count={count!r} is not a number of threads; use 1 or more, or None for the default")
    _count = count


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


def run_tasks(work: Callable[..., object], tasks: Iterable[tuple[int, ...]]) -> None:
    """Call `work(*task)` for every task, in this thread and its helpers, and wait for all of them."""
    waiting = iter(tuple(tasks))
    helpers = [_executor().submit(_drain, work, waiting) for _ in range(get_threads() - 1)]
    _drain(work, waiting)
    for helper in helpers:
        helper.result()


def _drain(work: Callable[..., object], waiting: Iterator[tuple[int, ...]]) -> None:
    for task in waiting:
        work(*task)


def _executor() -> ThreadPoolExecutor:
    """Return the pool of this process, made anew after a fork or when more threads are asked for."""
    global _pool
    wanted = max(get_threads() - 1, 1)
    if _pool is None or _pool[0] != os.getpid() or _pool[1] < wanted:
        _pool = os.getpid(), wanted, ThreadPoolExecutor(wanted, thread_name_prefix="subband")
    return _pool[2]
