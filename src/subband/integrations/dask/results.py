"""Arrays whose chunks, once computed, are put together in memory that earlier results have given back.

Dask puts the chunks of a result into fresh memory, and the first touch of that costs more than the transform of the
whole array. `subband.engines.memory` lends memory that has been touched before; what the engines of the host give back
without Dask stands in it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import dask.array as da
import numpy as np

from subband.engines.memory import allocate
from subband.engines.threads import run_tasks
from subband.integrations.dask.blocks import share_cores

__all__ = ["ComputedArray", "put_together"]

# Bytes of a result from which on several threads copy faster than one.
_LARGE = 1 << 22


class ComputedArray(da.Array):  # type: ignore[misc]  # Dask is untyped
    """An array of Dask like all others, but for where its value is put.

    Whatever is made from it is an ordinary array of Dask.

    Parameters
    ----------
    dask, name, chunks, others
        As Dask takes them.
    origin : tuple of int, optional
        For bands: how long the chunks of samples are that they come from, for the way back.

    Examples
    --------
    >>> x = da.arange(6, chunks=4)
    >>> ComputedArray(x.dask, x.name, x.chunks, dtype=x.dtype).compute()
    array([0, 1, 2, 3, 4, 5])
    """

    # whose array it is many libraries, this one too, tell from the module of its class
    __module__ = da.Array.__module__

    origin: tuple[int, ...] | None

    def __new__(cls, dask: Any, name: str, chunks: Any, *, origin: tuple[int, ...] | None = None, **others: Any) -> Any:
        """Make one."""
        array = super().__new__(cls, dask, name, chunks, **others)
        array.origin = origin
        return array

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        usual, extra = super().__dask_postcompute__()
        return put_together, (usual, *extra)


def put_together(chunks: Any, usual: Callable[..., Any], *extra: Any) -> Any:
    """Return chunks, in nested lists, as one array.

    Parameters
    ----------
    chunks : nested list of ndarray
        As deep as there are axes.
    usual : callable
        What Dask does with them; called if some are not NumPy's.
    extra
        What it takes besides.

    Examples
    --------
    >>> put_together([[np.ones((1, 2)), np.zeros((1, 1))]], list)
    array([[1., 1., 0.]])
    """
    leaves = dict(_walk(chunks))
    first = next(iter(leaves.values()), None)
    if type(first) is not np.ndarray or {len(index) for index in leaves} != {first.ndim}:
        return usual(chunks, *extra)
    if any(type(chunk) is not np.ndarray or chunk.dtype != first.dtype for chunk in leaves.values()):
        return usual(chunks, *extra)
    edges = []
    for axis in range(first.ndim):
        lengths = {index[axis]: chunk.shape[axis] for index, chunk in leaves.items()}
        edges.append(list(accumulate((lengths[number] for number in sorted(lengths)), initial=0)))
    whole = allocate(tuple(own[-1] for own in edges), first.dtype)
    pairs = [
        (whole[tuple(slice(*own[at : at + 2]) for own, at in zip(edges, index, strict=True))], chunk)
        for index, chunk in leaves.items()
    ]
    if whole.nbytes < _LARGE:
        for part, chunk in pairs:
            part[...] = chunk
    else:
        with share_cores():
            run_tasks(lambda number: np.copyto(*pairs[number]), [(number,) for number in range(len(pairs))])
    return whole


def _walk(chunks: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the chunks of nested lists, and their numbers along each axis."""
    if isinstance(chunks, list | tuple):
        for number, each in enumerate(chunks):
            yield from _walk(each, (*index, number))
    else:
        yield index, chunks
