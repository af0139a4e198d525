"""Tasks of a kernel that threads share, and primitives of all kernels: scratch memory, runs, mirroring."""

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from subband.compiled.compiling import gathering, pointed
from subband.engines.cpu.loops import OPTIONS, data, keep, keep_apart, shift
from subband.engines.cpu.pool_loops import address_of, pointer_to, share
from subband.engines.filters.tables import ARRAYS, CALL, NUMBERS, SIZES

__all__ = [
    "add_run",
    "add_scaled_run",
    "cast_like",
    "copy_run",
    "mirror",
    "reflect",
    "run_task",
    "scale_run",
    "stand_alone",
    "work_off",
]


@intrinsic
def _call_kernel(typingctx, kernel, out, x, y, numbers, sizes, task):
    """Call a kernel by its address; those of the arrays are numbers too, for they may hold anything."""

    def codegen(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        values = [builder.inttoptr(value, byte) for value in args[1:4]]
        values += [builder.bitcast(value, byte) for value in args[4:]]
        kind = ir.FunctionType(ir.VoidType(), [byte] * len(values))
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), values)
        return context.get_dummy_value()

    return nb.types.none(kernel, out, x, y, numbers, sizes, task), codegen


@pointed(nogil=True)
def run_task(shared, number):
    """Run a kernel for one of many tasks; everything is given by its address, but how long tasks and calls are."""
    addresses, numbers, calls = pointer_to(shared[1]), pointer_to(shared[2]), pointer_to(shared[3])
    task = shift(pointer_to(shared[5]), number * shared[6])
    # tasks of a single call do not say that they are of that
    call = shift(calls, shared[4] * task[CALL]) if shared[6] > CALL else calls
    out, x, y = addresses[call[ARRAYS]], addresses[call[ARRAYS + 1]], addresses[call[ARRAYS + 2]]
    _call_kernel(shared[0], out, x, y, shift(numbers, call[NUMBERS]), shift(call, SIZES), task)


@gathering(nogil=True)
def work_off(board, threads, run, kernel, numbers, calls, tasks, addresses):
    """Run all tasks of the calls of a kernel by several threads, each by `run`, the address of `run_task`."""
    shared = np.empty(7, np.int64)
    shared[0], shared[1], shared[2] = kernel, address_of(data(addresses)), address_of(data(numbers))
    shared[3], shared[4] = address_of(data(calls)), calls.shape[1]
    shared[5], shared[6] = address_of(data(tasks)), tasks.shape[1]
    share(board, run, data(shared), tasks.shape[0], threads)
    keep(shared)


@intrinsic
def cast_like(typingctx, address, number):
    """Return a number as the kind that is at an address; a literal would turn single precision into double."""

    def codegen(context, builder, signature, args):
        return context.cast(builder, args[1], signature.args[1], signature.return_type)

    return address.dtype(address, number), codegen


@intrinsic
def stand_alone(typingctx):
    """Let the calling function be compiled by itself: inlined copies of a loop cost registers and seconds."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return nb.types.none(), codegen


@nb.njit(**OPTIONS)
def copy_run(y, x, n):
    """Copy so many samples, by themselves, so that LLVM makes one loop of wide instructions of it."""
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = x[k]


@nb.njit(**OPTIONS)
def add_run(y, x, n):
    """Add so many samples to others."""
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += x[k]


@nb.njit(**OPTIONS)
def scale_run(y, x, weight, n):
    """Write so many samples times a weight."""
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] = weight * x[k]


@nb.njit(**OPTIONS)
def add_scaled_run(y, x, weight, n):
    """Add so many samples times a weight to others."""
    stand_alone()
    keep_apart()
    for k in range(n):
        y[k] += weight * x[k]


@nb.njit(**OPTIONS)
def mirror(index, length):
    """Return the index inside a row for one outside: symmetric extension, the last sample repeated."""
    # a division only for what lies further away than all there is
    if index < -length or index >= 2 * length:
        index %= 2 * length
    if index < 0:
        return -1 - index
    return index if index < length else 2 * length - 1 - index


@nb.njit(**OPTIONS)
def reflect(index, length):
    """Return the index inside a row for one outside: reflection about the outermost samples."""
    if 0 <= index < length:
        return index
    if length == 1:
        return 0
    index %= 2 * (length - 1)
    return index if index < length else 2 * (length - 1) - index
