"""Counters by which threads take tasks from a table, one after the other, without Python in between.

A kernel of this kind gets a table of tasks and two counters: how many were taken, and how many are done. Any number of
threads may call it at once; each returns when no task is left.
"""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

from subband.compiled.compiling import stored
from subband.engines.cpu.loops import data, shift

__all__ = ["DONE", "await_tasks", "finish_task", "take_task"]

#: Where the second counter is: in another line of the cache, so that the two do not slow each other down.
DONE = 16


@intrinsic
def _add_one(typingctx, counter):
    """Return the number at an address and add one to it, atomically."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", args[0], ir.Constant(ir.IntType(64), 1), "acq_rel")

    return nb.types.int64(counter), codegen


@intrinsic
def _look(typingctx, counter):
    """Load the number at an address atomically, with acquire ordering."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(args[0], "acquire", 8)

    return nb.types.int64(counter), codegen


@nb.njit(nogil=True)
def take_task(turns):
    """Return the number of a task that nobody else has taken; there may be fewer."""
    return _add_one(data(turns))


@nb.njit(nogil=True)
def finish_task(turns):
    """Count a task as done."""
    _add_one(shift(data(turns), DONE))


@stored(nogil=True)
def await_tasks(turns, count, looks):
    """Return whether so many tasks are done, after a bounded wait."""
    done = shift(data(turns), DONE)
    for _ in range(looks):  # noqa: SIM110 - Numba compiles no generator in any()
        if _look(done) >= count:
            return True
    return False
