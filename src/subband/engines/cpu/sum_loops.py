"""Sums of arrays, three at a time so that they are read once and the sum seldom; see `subband.engines.sums`."""

from __future__ import annotations

import numba as nb
from numba.extending import intrinsic

from subband.compiled.compiling import gathering
from subband.engines.cpu.loops import keep_apart

__all__ = ["add_up"]


@intrinsic
def _point(typingctx, address, kind):
    """Return a number as the address of such numbers as an array has."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return nb.types.CPointer(kind.dtype)(address, kind), codegen


@nb.njit
def _write_sum(y, a, b, n):
    keep_apart()
    for k in range(n):
        y[k] = a[k] + b[k]


@nb.njit
def _add_one(y, a, n):
    keep_apart()
    for k in range(n):
        y[k] += a[k]


@nb.njit
def _add_two(y, a, b, n):
    keep_apart()
    for k in range(n):
        y[k] = (y[k] + a[k]) + b[k]


@nb.njit
def _add_three(y, a, b, c, n):
    keep_apart()
    for k in range(n):
        y[k] = ((y[k] + a[k]) + b[k]) + c[k]


@gathering(nogil=True)
def add_up(kind, count, addresses):
    """Add arrays of `count` numbers from left to right, and write the sum to the last one; at least two come before."""
    last = addresses.shape[0] - 1
    y = _point(addresses[last], kind)
    _write_sum(y, _point(addresses[0], kind), _point(addresses[1], kind), count)
    k = 2
    while k < last:
        a, b = _point(addresses[k], kind), _point(addresses[k + 1], kind)
        if last - k >= 3:
            _add_three(y, a, b, _point(addresses[k + 2], kind), count)
        elif last - k == 2:
            _add_two(y, a, b, count)
        else:
            _add_one(y, a, count)
        k += 3
