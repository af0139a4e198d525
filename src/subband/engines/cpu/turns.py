"""Sharing the tasks of a compiled loop among threads; see `subband.engines.cpu.turn_loops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subband.compiled import Kernels
from subband.engines.threads import run_together
from subband.typing import Array

__all__ = ["share_tasks"]

_loops = Kernels("subband.engines.cpu.turn_loops")

#: How many numbers the two counters take, each in a line of the cache of its own.
_COUNTERS = 32

#: How often the counter is read before the last helper is waited for in earnest: some 50 µs. Less than a task takes,
#: and less than it takes to fall asleep and wake up again.
_LOOKS = 20_000


def share_tasks(kernel: Callable[..., object], arguments: tuple[Any, ...], tasks: Array, threads: int) -> None:
    """Run all tasks of a kernel, in this thread and its helpers.

    Parameters
    ----------
    kernel : callable
        Compiled; called as ``kernel(*arguments, tasks, turns)``.
    arguments : tuple
        Its first arguments.
    tasks : ndarray
        One task, of about the same size as the others, in each row.
    threads : int
        How many threads there should be, this one included.
    """
    turns = np.zeros(_COUNTERS, np.int64)
    count = len(tasks)
    run_together(
        lambda: kernel(*arguments, tasks, turns),
        min(threads, count),
        is_even=True,
        has_finished=lambda: _loops.await_tasks(turns, count, _LOOKS),
    )
