"""Large graphs in an order that needs little memory: results come in batches, from one end of the array to the other.

Schedulers see tasks, and not that an array has a first slice and a last one. Left to themselves they begin at several
ends, and hold the middle of everything. Here a batch of results is computed at a time, together with all that it needs;
what the next batches need as well is kept until the last of them is done, and nothing else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from operator import getitem
from typing import Any

from dask import config
from dask.core import get_dependencies
from dask.system import CPU_COUNT
from dask.task_spec import DataNode
from dask.threaded import get

from subband.integrations.dask.blocks import cut

__all__ = ["compute_batches", "cut_batches"]

Key = Any

#: The numbers of a chunk along each axis.
Index = tuple[int, ...]

# What takes parts of the results of other tasks.
_PARTS = (getitem, cut)

# Results of a batch, at least: enough for the threads of a machine to have something to do to its end.
_FEWEST = 4


def cut_batches(arrays: Sequence[Mapping[Index, Key]]) -> list[list[Key]]:
    """Put the results of several arrays, which go side by side, into batches.

    Parameters
    ----------
    arrays : sequence of mapping
        The keys of each array by the numbers of their chunks; batches go along the axis that has most of them.

    Examples
    --------
    >>> fine = {(i, j): f"fine {i} {j}" for i in range(20) for j in range(5)}
    >>> coarse = {(i, j): f"coarse {i} {j}" for i in range(10) for j in range(2)}
    >>> [len(batch) for batch in cut_batches([fine, coarse])]
    [5, 5, 5, 9, 5, 5, 5, 9, 5, 5, 5, 9, 5, 5, 5, 9, 5, 5, 5, 9]
    """
    columns = [_cut_array(own) for own in arrays]
    count = max(map(len, columns), default=0)
    batches: list[list[Key]] = [[] for _ in range(count)]
    for column in columns:
        for number, batch in enumerate(column, 1):
            # a coarse level has fewer batches, and its last one comes with the last of the finest
            batches[number * count // len(column) - 1] += batch
    return [batch for batch in batches if batch]


def _cut_array(keys: Mapping[Index, Key]) -> list[list[Key]]:
    """Return the batches of one array."""
    counts = [len(set(own)) for own in zip(*keys, strict=True)]
    longest = counts.index(max(counts)) if counts else 0
    batches: list[list[Index]] = []
    for index in sorted(keys, key=lambda each: (each[longest : longest + 1], each)):
        if not batches or (len(batches[-1]) >= _FEWEST and batches[-1][-1][longest] != index[longest]):
            batches.append([])
        batches[-1].append(index)
    return [[keys[index] for index in batch] for batch in batches]


def compute_batches(
    graph: Mapping[Key, Any], batches: Sequence[Sequence[Key]], finish: Callable[[Key, Any], None]
) -> None:
    """Compute results batch by batch, with the threads of this process.

    Parameters
    ----------
    graph : mapping
        All tasks.
    batches : sequence of sequence of key
        Which results are computed in each batch.
    finish : callable
        Told the key and the value of each result.
    """
    first, last = _find_batches(graph, batches)
    kept: dict[Key, Any] = {}
    tasks: list[dict[Key, Any]] = [{} for _ in batches]
    for key, number in first.items():
        tasks[number][key] = graph[key]
    # a pool of its own: when a task fails, the others are waited for, and nothing is written afterwards
    with ThreadPoolExecutor(config.get("num_workers", None) or CPU_COUNT) as pool:
        for number, wanted in enumerate(batches):
            own = tasks[number]
            known = {needed for key in own for needed in get_dependencies(graph, key) if needed in kept}
            shared = [key for key in own if last[key] > number]
            values = get({**own, **{key: DataNode(key, kept[key]) for key in known}}, [*wanted, *shared], pool=pool)
            for key, value in zip(wanted, values, strict=False):
                finish(key, value)
            kept.update(zip(shared, values[len(wanted) :], strict=True))
            del values
            kept = {key: value for key, value in kept.items() if last[key] > number}
            _return_memory(kept)


def _return_memory(kept: Mapping[Key, Any]) -> None:  # noqa: ARG001 - for those who watch what is kept
    """Have the C library give memory back that it keeps for later, which is much where chunks of many sizes come."""
    trim = _find_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _find_trim() -> Any:
    """Return the function of the GNU C library that does so; None elsewhere."""
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None


def _find_batches(graph: Mapping[Key, Any], batches: Sequence[Sequence[Key]]) -> tuple[dict[Key, int], dict[Key, int]]:
    """Return in which batch each task is computed, and in which its result is needed for the last time."""
    first: dict[Key, int] = {}
    needs: dict[Key, set[Key]] = {}
    for number, wanted in enumerate(batches):
        waiting = list(wanted)
        while waiting:
            key = waiting.pop()
            if key not in first:
                first[key] = number
                needs[key] = set(get_dependencies(graph, key))
                waiting.extend(needs[key])
    results = {key for wanted in batches for key in wanted}

    def find_first(key: Key) -> int:
        # a part of a result is taken as soon as the result is there, so that the rest of it need not be kept
        if key not in results and getattr(graph[key], "func", None) in _PARTS:
            first[key] = max(map(find_first, needs[key]), default=first[key])
        return first[key]

    last = {key: find_first(key) for key in first}
    for key, own in needs.items():
        for needed in own:
            last[needed] = max(last[needed], first[key])
    return first, last
