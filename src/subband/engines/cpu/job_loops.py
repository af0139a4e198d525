"""Jobs one after the other, or shared by threads, without Python in between; `subband.engines.cpu.jobs` makes them."""

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from subband.compiled.compiling import gathering, pointed
from subband.engines.cpu.loops import data, keep, shift
from subband.engines.cpu.pool_loops import address_of, pointer_to, share
from subband.engines.cpu.program import ARRAYS, BOX, BOX_COUNT, BOXES, JOB, KERNEL, OFFSETS, SIZES, TABLES

__all__ = ["run_box", "run_jobs", "share_jobs"]

#: Numbers of a box.
_BOX = 6


@intrinsic
def _call_kernel(typingctx, job, addresses, box):
    """Call the kernel of a job with the arrays at some addresses, for a box."""

    def codegen(context, builder, signature, args):
        job, addresses, box = args
        word = ir.IntType(64)

        def read(table, index):
            return builder.load(builder.gep(table, [index], source_etype=word), typ=word)

        def find_array(k):
            return builder.add(read(addresses, read(job, word(ARRAYS + k))), read(job, word(OFFSETS + k)))

        byte = ir.IntType(8).as_pointer()
        values = [find_array(k) for k in range(5)] + [read(job, word(TABLES + k)) for k in range(4)]
        values = [builder.inttoptr(value, byte) for value in values]
        sizes = builder.gep(job, [word(SIZES)], source_etype=word)
        values += [builder.bitcast(sizes, byte), builder.bitcast(box, byte)]
        kind = ir.FunctionType(ir.VoidType(), [byte] * len(values))
        builder.call(builder.inttoptr(read(job, word(KERNEL)), kind.as_pointer()), values)
        return context.get_dummy_value()

    return nb.types.none(job, addresses, box), codegen


@gathering(nogil=True)
def run_jobs(jobs, addresses):
    """Run jobs in turn, each over the whole box that its table has."""
    for k in range(jobs.shape[0]):
        job = shift(data(jobs), k * JOB)
        _call_kernel(job, data(addresses), shift(job, BOX))


@pointed(nogil=True)
def run_box(shared, number):
    """Run a job over one of many boxes; all three are given by their addresses."""
    job, addresses, boxes = pointer_to(shared[0]), pointer_to(shared[1]), pointer_to(shared[2])
    _call_kernel(job, addresses, shift(boxes, number * _BOX))


@gathering(nogil=True)
def share_jobs(board, threads, run, jobs, addresses):
    """Run jobs in turn, those of many boxes by several threads; each box by `run`, the address of `run_box`."""
    shared = np.empty(3, np.int64)
    for k in range(jobs.shape[0]):
        job = shift(data(jobs), k * JOB)
        if job[BOX_COUNT]:
            shared[0], shared[1], shared[2] = address_of(job), address_of(data(addresses)), job[BOXES]
            share(board, run, data(shared), job[BOX_COUNT], threads)
        else:
            _call_kernel(job, data(addresses), shift(job, BOX))
    keep(shared)
