"""What Numba has no name for: two instructions, and addresses."""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.extending import intrinsic

__all__ = ["CHECKS", "OPTIONS", "STORED", "address", "copy_bytes", "count_leading", "count_trailing"]

#: Whether indices are checked, which takes arrays where addresses are faster.
CHECKS = bool(nb.config.BOUNDSCHECK)

#: How functions are compiled that Python calls; code that checks its indices is not mixed up with the stored one.
STORED = {"error_model": "numpy", "nogil": True, "cache": not CHECKS}

#: How functions are compiled that only compiled ones call: without the part that would unpack Python's arguments.
OPTIONS = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

if CHECKS:

    @nb.njit(**OPTIONS)
    def address(array):
        """Return the array itself, whose indices are checked."""
        return array

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


@nb.njit(**OPTIONS)
def copy_bytes(source, first, count, target, at):
    """Copy some bytes; a slice on the left side would be compiled with all that can be wrong with it."""
    source, target = address(source), address(target)
    for k in range(count):
        target[at + k] = source[first + k]
