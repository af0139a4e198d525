"""Tasks in several threads, which an interrupt cancels.

Work runs in threads that do not hold the end of the program, and the main thread only waits: so Ctrl-C is seen at once,
however long a kernel takes. Whoever is at work then is asked to stop, and has a moment to clean up. Who does not answer
in time is left, what it has written so far is removed, and the program ends around it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import NoReturn, TypeVar

__all__ = ["end_program", "has_left_threads", "run_together"]

Result = TypeVar("Result")

# Seconds between two looks at whether somebody wants to end.
_PATIENCE = 0.1
# Seconds to clean up in: a frame is written to its end, a file is removed; or a video is made playable first.
_GRACE, _GRACE_TO_KEEP = 0.7, 10.0

_LEFT: list[Thread] = []


def run_together(
    tasks: Sequence[Callable[[], Result]],
    workers: int,
    cancelled: Event,
    on_done: Callable[[int, Result], None],
    *,
    keep_partial: bool = False,
) -> list[Result]:
    """Run tasks, some at the same time, in threads.

    Parameters
    ----------
    tasks : sequence of callable
        They look at `cancelled` from time to time; what one raises is raised here, and ends the others.
    workers : int
        How many at the same time.
    cancelled : threading.Event
        Is set if this thread is interrupted.
    on_done : callable
        Called in this thread with the number of a task and its result, in the order in which they end.
    keep_partial : bool
        Whether what is left of tasks that do not stop in time stays under its ``.part`` name.

    Returns
    -------
    list
        The results, in the order of the tasks.

    Examples
    --------
    >>> run_together([lambda: "a", lambda: "b"], 2, Event(), lambda number, result: None)
    ['a', 'b']
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(tasks)):
        waiting.put(number)
    done: SimpleQueue[tuple[int, Result] | BaseException] = SimpleQueue()

    def work() -> None:
        while not cancelled.is_set():
            try:
                number = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((number, tasks[number]()))
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits, which would wait forever
                done.put(error)

    threads = [Thread(target=work, name=f"subband file {n}", daemon=True) for n in range(min(workers, len(tasks)))]
    results: dict[int, Result] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(tasks):
            try:
                thing = done.get(timeout=_PATIENCE)
            except Empty:
                continue
            if isinstance(thing, BaseException):
                raise thing
            number, result = thing
            results[number] = result
            on_done(number, result)
    except BaseException:
        cancelled.set()
        _leave(threads, keep_partial=keep_partial)
        raise
    return [results[number] for number in range(len(tasks))]


def has_left_threads() -> bool:
    """Tell whether threads are still running that did not stop when asked to."""
    return any(thread.is_alive() for thread in _LEFT)


def end_program(code: int) -> NoReturn:
    """End the program around threads that are still at work, whose libraries would be torn down under them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave(threads: Sequence[Thread], *, keep_partial: bool) -> None:
    """Wait a moment for threads that were asked to stop, and clean up after those that have not."""
    from subband.outputs import remove_unfinished

    deadline = monotonic() + (_GRACE_TO_KEEP if keep_partial else _GRACE)
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, deadline - monotonic()))
    left = [thread for thread in threads if thread.is_alive()]
    _LEFT.extend(left)
    if left and not keep_partial:
        remove_unfinished()
