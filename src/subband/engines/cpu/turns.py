"""Compiled loops that several threads take tasks from, one after the other, without Python in between.

A kernel of this kind gets a table of tasks and two counters: how many were taken, and how many are done. Any number of
threads may call it at once; each returns when no task is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from subband.engines.compiling import stored
from subband.engines.cpu.loops import data, shift
from subband.engines.threads import run_together
from subband.typing import Array

__all__ = ["finish_task", "share_tasks", "take_task"]

#: Where the second counter is: in another line of the cache, so that the two do not slow each other down.
_DONE = 16

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
    turns = np.zeros(2 * _DONE, np.int64)
    count = len(tasks)
    run_together(
        lambda: kernel(*arguments, tasks, turns),
        min(threads, count),
        is_even=True,
        has_finished=lambda: _await_tasks(turns, count, _LOOKS),
    )


@intrinsic
def _add_one(typingctx, counter):
    """Return the number at an address and add one to it, as if in one moment."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", args[0], ir.Constant(ir.IntType(64), 1), "acq_rel")

    return nb.types.int64(counter), codegen


@intrinsic
def _look(typingctx, counter):
    """Return the number at an address, and see all that was written before it."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(args[0], "acquire", 8)

    return nb.types.int64(counter), codegen


@nb.njit(nogil=True)
def take_task(turns):
    """Return the number of a task that nobody else has taken; there may be fewer."""
    return _add_one(data(turns))


@nb.njit(nogil=True)
def finish_task(turns):
    """Say that a task is done."""
    _add_one(shift(data(turns), _DONE))


@stored(nogil=True)
def _await_tasks(turns, count, looks):
    """Tell whether so many tasks are done, after a moment at the latest."""
    done = shift(data(turns), _DONE)
    for _ in range(looks):  # noqa: SIM110 - Numba compiles no generator in any()
        if _look(done) >= count:
            return True
    return False
