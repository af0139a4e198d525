"""The thread pool of the CPU engine, which shares the tasks of a sweep.

Its threads are those of Python. Unlike OpenMP's they sleep when they have nothing to do, and they survive a ``fork``: a
child process simply starts its own. They wait, and take the tasks of compiled loops (`share_tasks`), without Python's
lock (`subband.engines.cpu.pool_loops`); for tasks written in Python (`run_tasks`) they come back to it.

The thread that calls works too, and only ever waits for a helper that is in the middle of a task. Where more time is
lost than is spent computing, other programs have the cores: then calls are left to one thread for a while
(`_Sharing`). Threads that call at the same time have fewer helpers, so that no more compute than `get_threads` says.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from functools import cache
from operator import index
from queue import SimpleQueue
from threading import Lock, Thread
from time import get_clock_info, perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from subband.engines.board import HELPERS, LOOKS, MOST, make_board
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.compiled import Kernels
    from subband.typing import Array

__all__ = ["count_threads", "get_threads", "run_tasks", "run_together", "set_threads", "share_tasks"]

#: Seconds that a call may lose, to helpers that wake late and do the last task, before it counts as held up.
_PATIENCE = 2e-4

#: So many calls of Python in a row have to be held up: the first ones of a kernel are, by whoever loads or compiles it.
#: Compiled tasks wait for other programs only.
_SUSPICION = 4

#: After that, calls are left to one thread for so many times as long: what waiting costs stays a ninth of all.
_PAUSE = 8

#: Nobody knows how busy the machine is after so many seconds.
_LONGEST_PAUSE = 0.3

#: What tells how long a thread has computed. Some systems count that in hundredths of a second only; there it seems to
#: compute as long as it does not wait for its helpers.
_busy_clock = thread_time if get_clock_info("thread_time").resolution < 1e-5 else perf_counter

#: Seconds that a thread looks for news before it falls asleep: about what it takes to fall asleep and wake up again,
#: and more than lies between two levels of a transform, or two calls in a row.
_SPIN = 1e-4

#: Looks that are timed, some microseconds of them, and how often: the shortest time is that of a thread that ran.
_TIMED_LOOKS, _TIMINGS = 200, 5

#: Seconds that a thread has to end when the program does.
_FAREWELL = 0.1

#: Helpers that each thread of a job calls, so that many are awake soon, and nobody spends long calling.
_CALLS = 2

_count: int | None = None


def set_threads(count: int | None) -> None:
    """Set how many threads the CPU engine uses; ``None`` goes back to the default.

    The default is the environment variable ``SUBBAND_NUM_THREADS``, else the number of cores this process may use.

    Examples
    --------
    >>> from subband import get_threads, set_threads
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


def count_threads() -> int:
    """Return how many threads a call should use now: one while other programs have the cores."""
    return 1 if _sharing.is_paused() else get_threads()


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


def run_tasks(work: Callable[..., object], tasks: Sequence[tuple[int, ...]], *, is_even: bool = False) -> None:
    """Call `work(*task)` for every task, in this thread and its helpers, and wait until all are done.

    A helper that wakes up late finds nothing left and is not waited for. If a task fails, no further ones are begun.

    Parameters
    ----------
    work : callable
        Called by several threads at once.
    tasks : sequence of tuple
        What it is called with.
    is_even : bool
        Whether tasks take about the same time; see `run_together`.
    """
    waiting = iter(tasks)
    has_failed = False

    def take_tasks() -> None:
        nonlocal has_failed
        for task in waiting:
            if has_failed:
                return
            try:
                work(*task)
            except BaseException:
                has_failed = True
                raise

    run_together(take_tasks, min(get_threads(), len(tasks)), is_even=is_even)


def run_together(work: Callable[[], object], threads: int, *, is_even: bool = False) -> None:
    """Call `work`, which takes tasks from somewhere until there are none left, in so many threads at once.

    Parameters
    ----------
    work : callable
        Called in this thread, and in those helpers that wake up in time.
    threads : int
        How many there should be, this one included.
    is_even : bool
        Whether tasks take about the same time, so that a helper that takes much longer has been held up: by other
        programs, or by other threads of this one.
    """
    if threads <= 1 or (is_even and _sharing.is_paused()):
        work()
        return
    pool = _find_pool(threads - 1)
    start = perf_counter()
    busy = _Job(work, threads - 1, pool).lead()
    if is_even:
        _sharing.note(perf_counter() - start, busy)


def share_tasks(kernel: Callable[..., object], threads: int, *arguments: Any) -> object:
    """Call a compiled function that shares tasks of about the same size among threads, and return what it does.

    Parameters
    ----------
    kernel : callable
        Called as ``kernel(board, threads, *arguments)``, which it hands to `subband.engines.cpu.pool_loops.share`.
    threads : int
        How many threads there should be, this one included, and those that call at the same time.
    """
    if threads <= 1:
        return kernel(_pool.board, 1, *arguments)
    pool = _find_pool(threads - 1)
    start, begin = perf_counter(), _busy_clock()
    outcome = kernel(pool.board, threads, *arguments)
    busy = _busy_clock() - begin
    _sharing.note(perf_counter() - start, busy, suspicion=1)
    return outcome


class _Job:
    """Work that the thread which asks for it and several helpers do together."""

    def __init__(self, work: Callable[[], object], helpers: int, pool: _Pool) -> None:
        self._work: Callable[[], object] | None = work
        self._wanted = helpers
        self._pool = pool
        self._inside = 0  # helpers that are at work
        self._state = Lock()
        self._last_left = Lock()
        self._last_left.acquire()
        self._error: BaseException | None = None

    def lead(self) -> float:
        """Do the work with those helpers who come, wait for them, and return how long this thread computed."""
        work = self._work
        assert work is not None
        start = _busy_clock()
        self._call_helpers()
        try:
            work()
        finally:
            busy = _busy_clock() - start
            with self._state:
                # whoever comes now finds nothing to do, and keeps no array alive
                self._work = None
                is_alone = self._inside == 0
            if not is_alone:
                self._await_helpers()
        if self._error is not None:
            raise self._error
        return busy

    def _await_helpers(self) -> None:
        """Wait until no helper is at work, even if interrupted: it would go on writing to arrays that are gone."""
        interruption = None
        while True:
            try:
                self._last_left.acquire()
            except KeyboardInterrupt as error:
                interruption = error
            else:
                break
        if interruption is not None:
            raise interruption

    def help(self) -> None:
        """Do the work beside others, if there is any left."""
        with self._state:
            work = self._work
            if work is None:
                return
            self._inside += 1
        try:
            self._call_helpers()
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the thread that waits must get it
            self._error = error
        with self._state:
            self._inside -= 1
            if self._work is None and self._inside == 0:
                self._last_left.release()

    def _call_helpers(self) -> None:
        with self._state:
            count = min(_CALLS, self._wanted)
            self._wanted -= count
        for _ in range(count):
            self._pool.call(self)


class _Sharing:
    """Whether helpers are worth calling: not for a while after calls that lost more time than they computed."""

    def __init__(self) -> None:
        self._resumption = 0.0
        self._held_up = 0

    def is_paused(self) -> bool:
        return perf_counter() < self._resumption

    def note(self, elapsed: float, busy: float, suspicion: int = _SUSPICION) -> None:
        """Take into account how long a call took, and how long its thread computed.

        So many have to be held up in a row. After a pause, one that is held up again is enough for the next.
        """
        lost = elapsed - busy
        self._held_up = self._held_up + 1 if lost > max(_PATIENCE, busy) else 0
        if self._held_up >= suspicion:
            self._resumption = perf_counter() + min(_PAUSE * lost, _LONGEST_PAUSE)

    def resume(self) -> None:
        self._resumption, self._held_up = 0.0, 0


class _Pool:
    """The helper threads of a process, which sleep until there is work."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._calls: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._starting = Lock()
        #: Where its threads find the tasks of compiled loops.
        self.board = make_board()

    @property
    def is_own(self) -> bool:
        """Whether its threads are in this process: a fork does not copy them."""
        return self._process == os.getpid()

    def grow(self, count: int) -> None:
        """Start threads until there are `count`, or the system gives no more."""
        if len(self._threads) >= min(count, MOST):
            return
        with self._starting:
            if not self._threads:
                self.board[LOOKS] = _count_looks(self.board)
            while (number := len(self._threads)) < min(count, MOST):
                try:
                    thread = Thread(target=self._listen, args=(number,), name=f"subband-{number}", daemon=True)
                    thread.start()
                except RuntimeError:
                    return
                self._threads.append(thread)
                self.board[HELPERS] = number + 1

    def call(self, job: _Job) -> None:
        # helpers that have not even answered earlier calls will not come in time for this one
        if self._calls.qsize() < len(self._threads):
            self._put(job)

    def end(self) -> None:
        """Let all threads end that are not in the middle of a task: what they run is about to go."""
        for _ in self._threads:
            self._put(None)
        for thread in self._threads:
            thread.join(_FAREWELL)

    def _put(self, job: _Job | None) -> None:
        self._calls.put(job)
        _find_loops().post_errand(self.board)

    def _listen(self, number: int) -> None:
        while True:
            _find_loops().serve(self.board, number)
            job = self._calls.get()
            if job is None:
                return
            job.help()


@cache
def _find_loops() -> Kernels:
    """Return the compiled half of the pool, which takes more modules than are loaded with the package."""
    from subband.compiled import Kernels

    return Kernels("subband.engines.cpu.pool_loops")


def _count_looks(board: Array) -> int:
    """Return how often a thread looks for news in `_SPIN`: processors differ tenfold in the pause between looks."""
    look, shortest = _find_loops().look_often, _SPIN
    for _ in range(_TIMINGS):
        start = perf_counter()
        look(board, _TIMED_LOOKS)
        shortest = min(shortest, perf_counter() - start)
    return int(_TIMED_LOOKS * _SPIN / max(shortest, 1e-7))


def _find_pool(helpers: int) -> _Pool:
    global _pool
    if not _pool.is_own:
        _pool = _Pool()
    _pool.grow(helpers)
    return _pool


@atexit.register
def _end_pool() -> None:
    global _pool
    pool, _pool = _pool, _Pool()
    if pool.is_own:
        pool.end()


_pool = _Pool()
_sharing = _Sharing()
