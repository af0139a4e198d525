"""What Numba has no name for: some instructions, and addresses."""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "CHECKS",
    "OPTIONS",
    "STORED",
    "address",
    "choose",
    "copy_bytes",
    "count_leading",
    "count_ones",
    "count_shift",
    "count_trailing",
    "hold",
    "is_rare",
    "look_up",
    "point_to",
    "skip",
]

#: Whether indices are checked, which takes arrays where addresses are faster.
CHECKS = bool(nb.config.BOUNDSCHECK)

#: How functions are compiled that Python calls.
STORED = {"error_model": "numpy", "nogil": True}

#: How functions are compiled that only compiled ones call: without the part that would unpack Python's arguments.
OPTIONS = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

if CHECKS:

    @nb.njit(**OPTIONS)
    def address(array):
        """Return the array itself, whose indices are checked."""
        return array

    @nb.njit(**OPTIONS)
    def skip(array, count):
        """Return what lies behind some elements of an array."""
        return array[count:]

    @nb.njit(**OPTIONS)
    def point_to(array, index):
        """Return where an element of an array of 64 bits is, as a number: its index."""
        return nb.int64(index)

    @nb.njit(**OPTIONS)
    def look_up(array, where, index):
        """Return the element of an array so many behind the one that `point_to` gave."""
        return array[where + index]

else:

    @intrinsic
    def address(typingctx, array):
        """Return the address of an array, which whoever calls keeps alive.

        Passing an array on counts its references, which takes longer than decoding a symbol.
        """

        def codegen(context, builder, signature, args):
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return nb.types.CPointer(array.dtype)(array), codegen

    @intrinsic
    def skip(typingctx, pointer, count):
        """Return the address of what lies behind some elements of an array."""

        def codegen(context, builder, signature, args):
            return builder.gep(args[0], [args[1]])

        return pointer(pointer, nb.types.int64), codegen

    @intrinsic
    def point_to(typingctx, array, index):
        """Return where an element of an array of 64 bits is, as a number: its address."""

        def codegen(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return builder.ptrtoint(builder.gep(data, [args[1]]), ir.IntType(64))

        return nb.types.int64(array, nb.types.int64), codegen

    @intrinsic
    def look_up(typingctx, array, where, index):
        """Return the element of an array so many behind the one of `point_to`, which takes no register for it."""

        def codegen(context, builder, signature, args):
            pointer = builder.inttoptr(args[1], ir.IntType(64).as_pointer())
            return builder.load(builder.gep(pointer, [args[2]]))

        return nb.types.int64(array, nb.types.int64, nb.types.int64), codegen


@intrinsic
def count_shift(typingctx, value):
    """Return the number of zeros above the highest one of 32 bits; `value` must not be zero."""

    def codegen(context, builder, signature, args):
        half = builder.trunc(args[0], ir.IntType(32))
        return builder.zext(builder.ctlz(half, ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return nb.types.int64(nb.types.int64), codegen


@intrinsic
def count_leading(typingctx, value):
    """Return the number of zeros above the highest one of 64 bits; `value` must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return nb.types.int64(nb.types.int64), codegen


@intrinsic
def count_trailing(typingctx, value):
    """Return the number of zeros below the lowest one of 64 bits; `value` must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return nb.types.int64(nb.types.int64), codegen


@intrinsic
def count_ones(typingctx, value):
    """Return how many of 64 bits are ones."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return nb.types.int64(nb.types.int64), codegen


@intrinsic
def choose(typingctx, condition, chosen, other):
    """Return one of two numbers without a branch, whatever the compiler thinks: the condition is as good as random."""

    def codegen(context, builder, signature, args):
        selected = builder.select(*args)
        selected.set_metadata("unpredictable", builder.module.add_metadata([]))
        return selected

    return nb.types.int64(nb.types.boolean, nb.types.int64, nb.types.int64), codegen


@nb.njit(**OPTIONS)
def hold(*arrays):
    """Keep arrays up to here: Numba frees an array where it is named last, whoever still has its address."""


@intrinsic
def is_rare(typingctx, condition):
    """Return a condition that seldom holds, so that what happens then takes no registers from what happens always."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(1), (ir.IntType(1), ir.IntType(1)))
        expect = cgutils.get_or_insert_function(builder.module, kind, "llvm.expect.i1")
        return builder.call(expect, (args[0], ir.Constant(ir.IntType(1), 0)))

    return nb.types.boolean(nb.types.boolean), codegen


@nb.njit(**OPTIONS)
def copy_bytes(source, first, count, target, at):
    """Copy some bytes; a slice on the left side would be compiled with all that can be wrong with it."""
    source, target = address(source), address(target)
    for k in range(count):
        target[at + k] = source[first + k]
