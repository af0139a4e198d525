"""Large graphs in an order that needs little memory: results come in waves, from one end of the array to the other.

Schedulers see tasks, and not that an array has a first slice and a last one. Left to themselves they begin everywhere,
and hold the middle of everything. Here a wave of results is computed at a time, together with all that it needs; what
the next waves need as well is kept until the last of them is done, and nothing else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import getitem
from typing import Any

from dask.core import get_dependencies
from dask.task_spec import DataNode
from dask.threaded import get

from subband.integrations.dask.blocks import cut

__all__ = ["compute_waves", "cut_waves"]

Key = Any

# What takes parts of the results of other tasks.
_PARTS = (getitem, cut)

# Results of a wave, at least: enough for the threads of a machine to have something to do to its end.
_FEWEST = 4


def cut_waves(indices: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """Put the numbers of chunks into waves along the axis that has most of them.

    Examples
    --------
    >>> [len(wave) for wave in cut_waves([(i, j) for i in range(20) for j in range(5)])]
    [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]
    """
    if not indices:
        return []
    counts = [len({index[axis] for index in indices}) for axis in range(len(indices[0]))]
    longest = counts.index(max(counts))
    waves: list[list[tuple[int, ...]]] = []
    for index in sorted(indices, key=lambda each: (each[longest], each)):
        is_new = not waves or (len(waves[-1]) >= _FEWEST and waves[-1][-1][longest] != index[longest])
        if is_new:
            waves.append([])
        waves[-1].append(index)
    return waves


def compute_waves(
    graph: Mapping[Key, Any],
    waves: Sequence[Sequence[Key]],
    finish: Callable[[Key, Any], None],
    workers: int | None = None,
) -> None:
    """Compute results wave by wave, with the threads of this process.

    Parameters
    ----------
    graph : mapping
        All tasks.
    waves : sequence of sequence of key
        Which results are computed in each wave.
    finish : callable
        Told the key and the value of each result.
    workers : int, optional
        Number of threads; as many as there are cores if left out.
    """
    first, last = _find_waves(graph, waves)
    kept: dict[Key, Any] = {}
    by_wave: list[list[Key]] = [[] for _ in waves]
    for key, wave in first.items():
        by_wave[wave].append(key)
    for number, wanted in enumerate(waves):
        part = {key: graph[key] for key in by_wave[number]}
        known = {needed: kept[needed] for key in part for needed in get_dependencies(graph, key) if needed in kept}
        shared = [key for key in part if last[key] > number]
        tasks = {**part, **{key: DataNode(key, value) for key, value in known.items()}}
        values = get(tasks, [*wanted, *shared], num_workers=workers)
        for key, value in zip(wanted, values, strict=False):
            finish(key, value)
        kept.update(zip(shared, values[len(wanted) :], strict=True))
        del known, values, tasks
        for key in [key for key in kept if last[key] <= number]:
            del kept[key]
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


def _find_waves(graph: Mapping[Key, Any], waves: Sequence[Sequence[Key]]) -> tuple[dict[Key, int], dict[Key, int]]:
    """Return in which wave each task is computed, and in which its result is needed for the last time."""
    first: dict[Key, int] = {}
    needs: dict[Key, set[Key]] = {}
    for number, wanted in enumerate(waves):
        waiting = list(wanted)
        while waiting:
            key = waiting.pop()
            if key not in first:
                first[key] = number
                needs[key] = set(get_dependencies(graph, key))
                waiting.extend(needs[key])
    results = {key for wanted in waves for key in wanted}

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
