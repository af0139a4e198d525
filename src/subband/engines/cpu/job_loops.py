"""Jobs one after the other, or shared by threads, without Python in between; `subband.engines.cpu.jobs` makes them."""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

from subband.compiled.compiling import gathering
from subband.engines.cpu.loops import data, shift
from subband.engines.cpu.program import ARRAYS, BOX, JOB, KERNEL, OFFSETS, SIZES, TABLES
from subband.engines.cpu.turn_loops import finish_task, take_task

__all__ = ["run_jobs", "share_job"]


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


@gathering(nogil=True)
def share_job(jobs, tasks, turns, addresses):
    """Take tasks of a job until there are none left; any number of threads may do so at once."""
    while True:
        turn = take_task(turns)
        if turn >= tasks.shape[0]:
            return
        _call_kernel(data(jobs), data(addresses), shift(data(tasks), turn * tasks.shape[1]))
        finish_task(turns)
