"""Arrays whose chunks, once computed, are put together in memory that earlier results have given back.

Dask puts the chunks of a result into fresh memory, and the first touch of that costs more than the transform of the
whole array. `subband.engines.memory` lends memory that has been touched before; what the engines of the host give back
without Dask stands in it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask.array as da
import numpy as np

from subband.engines.memory import allocate
from subband.engines.threads import run_tasks
from subband.integrations.dask.blocks import share_cores
from subband.typing import Array

__all__ = ["ComputedArray", "put_together"]

# Bytes of a result from which on several threads copy faster than one.
_LARGE = 1 << 22


class ComputedArray(da.Array):  # type: ignore[misc]  # Dask is untyped
    """An array of Dask like all others, but for where its value is put.

    Whatever is made from it is an ordinary array of Dask.

    Examples
    --------
    >>> x = da.arange(6, chunks=4)
    >>> ComputedArray(x.dask, x.name, x.chunks, dtype=x.dtype).compute()
    array([0, 1, 2, 3, 4, 5])
    """

    # whose array it is many libraries, this one too, tell from the module of its class
    __module__ = da.Array.__module__

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
    first, depth = chunks, 0
    while isinstance(first, list | tuple) and first:
        first, depth = first[0], depth + 1
    if type(first) is not np.ndarray or depth != first.ndim or not _are_alike(chunks, first.dtype):
        return usual(chunks, *extra)
    whole = allocate(tuple(_measure(chunks, axis) for axis in range(depth)), first.dtype)
    pairs = list(_list_places(whole, chunks, 0))
    if whole.nbytes < _LARGE:
        for part, chunk in pairs:
            part[...] = chunk
    else:
        with share_cores():
            run_tasks(lambda number: np.copyto(*pairs[number]), [(number,) for number in range(len(pairs))])
    return whole


def _are_alike(chunks: Any, dtype: np.dtype[Any]) -> bool:
    """Tell whether all chunks are NumPy's, and of one dtype."""
    if isinstance(chunks, list | tuple):
        return all(_are_alike(each, dtype) for each in chunks)
    return type(chunks) is np.ndarray and chunks.dtype == dtype


def _measure(chunks: Any, axis: int) -> int:
    """Return the length of an axis of nested chunks."""
    for _ in range(axis):
        chunks = chunks[0]
    return sum(_find_first(each).shape[axis] for each in chunks)


def _find_first(chunks: Any) -> Array:
    while isinstance(chunks, list | tuple):
        chunks = chunks[0]
    first: Array = chunks
    return first


def _list_places(whole: Array, chunks: Any, axis: int) -> Iterator[tuple[Array, Array]]:
    """Yield each chunk behind the part of the whole where it belongs."""
    at = 0
    for each in chunks:
        length = _find_first(each).shape[axis]
        part = whole[(slice(None),) * axis + (slice(at, at + length),)]
        at += length
        if isinstance(each, list | tuple):
            yield from _list_places(part, each, axis + 1)
        else:
            yield part, each
