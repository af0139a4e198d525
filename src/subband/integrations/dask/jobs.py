"""Jobs from store to store: chunk by chunk, on any scheduler, and resumed where they were interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef

from subband.errors import ArgumentError
from subband.integrations.dask.batches import compute_batches, cut_batches
from subband.integrations.dask.grids import find_grid
from subband.media.faults import require
from subband.media.stores import Manifest, Target

__all__ = ["JobReport", "compute_decision", "connect", "find_peak", "run_job"]

# Seconds after which nobody will answer any more.
_PATIENCE = 5.0

Observe = Callable[[int, int], None]
Finish = Callable[[Any, str], None]


@dataclass(frozen=True)
class JobReport:
    """What a job has done.

    Attributes
    ----------
    chunks : int
        Of all results.
    computed : int
        How many were computed; the others were there already.
    seconds : float
        Time that it took.
    peak : int
        The most bytes that this process has held at one time, as far as the system knows.
    """

    chunks: int
    computed: int
    seconds: float
    peak: int

    @property
    def kept(self) -> int:
        """How many chunks were there already."""
        return self.chunks - self.computed


@contextmanager
def connect(scheduler: Any) -> Iterator[Any]:
    """Give a client of a scheduler by its address, ``tcp://…``; a client stands for itself, and None for threads.

    Raises
    ------
    ArgumentError
        If nobody answers there.
    """
    if scheduler is None or not isinstance(scheduler, str):
        yield scheduler
        return
    distributed = require("distributed", f"the scheduler {scheduler}", "dask")
    try:
        client = distributed.Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ArgumentError(
            f"the scheduler {scheduler!r} cannot be reached; start one with 'dask scheduler', or leave it out to "
            f"compute on this machine ({type(error).__name__})"
        ) from None
    try:
        yield client
    finally:
        client.close()


def run_job(
    arrays: Mapping[str, tuple[Any, Target]],
    manifest: Manifest,
    client: Any = None,
    *,
    on_progress: Observe | None = None,
) -> JobReport:
    """Compute arrays and write them, all but those chunks that are there already.

    Parameters
    ----------
    arrays : dict
        What is to be computed, and where it is written, by name. Each chunk is one of the store.
    manifest : Manifest
        Of this job.
    client : distributed.Client, optional
        Computes; threads of this process if left out.
    on_progress : callable, optional
        Told how many chunks are there, and how many there are to be, after each of them.
    """
    began = time.perf_counter()
    tasks: dict[Any, Any] = {}
    names: dict[Any, tuple[str, tuple[int, ...]]] = {}
    columns: list[dict[tuple[int, ...], Any]] = []
    total = 0
    for name, (x, target) in arrays.items():
        grid = find_grid(x)
        token = f"write-{tokenize(x.name, target)}"
        columns.append({})
        for index in grid.walk():
            total += 1
            region = tuple(slice(*own[at : at + 2]) for own, at in zip(grid.edges, index, strict=True))
            checksum = manifest.finished.get((name, index))
            if checksum is not None and target.check(region, checksum):
                continue
            key = columns[-1][index] = (token, *index)
            tasks[key] = Task(key, target.write, TaskRef((x.name, *index)), region)
            names[key] = name, index
    done = total - len(names)
    if on_progress is not None:
        on_progress(done, total)

    def finish(key: Any, checksum: str) -> None:
        nonlocal done
        manifest.record(*names[key], checksum)
        done += 1
        if on_progress is not None:
            on_progress(done, total)

    if tasks:
        layer = f"write-{tokenize(sorted(map(str, names)))}"
        graph = HighLevelGraph.from_collections(layer, tasks, dependencies=[x for x, _ in arrays.values()])
        batches = cut_batches(columns)
        if client is None:
            compute_batches(dict(graph.cull(set(names))), batches, finish)
        else:
            _compute_there(graph, layer, batches, client, finish)
    return JobReport(total, len(names), time.perf_counter() - began, find_peak())


def compute_decision(delayed: Delayed) -> Any:
    """Compute a single small result that stands on one of every chunk: those in batches, and then the result.

    Chunks of coarse levels come as soon as those of finer ones have, so that little of these has to be kept.
    """
    (layer,) = delayed.__dask_layers__()
    graph = dict(delayed.__dask_graph__().cull({delayed.key}))
    columns: dict[str, dict[tuple[int, ...], Any]] = {}
    for key in graph:
        if isinstance(key, tuple) and key[0].startswith(f"{layer}-look"):
            columns.setdefault(key[0], {})[key[1:]] = key
    found: list[Any] = []

    def finish(key: Any, value: Any) -> None:
        if key == delayed.key:
            found.append(value)

    compute_batches(graph, [*cut_batches(list(columns.values())), [delayed.key]], finish)
    return found[0]


def _compute_there(graph: Any, layer: str, batches: Sequence[Sequence[Any]], client: Any, finish: Finish) -> None:
    """Compute with the workers of a scheduler, which knows all tasks from the beginning, and begins with the first."""
    distributed = require("distributed", "a scheduler", "dask")
    keys: dict[Any, Any] = {}
    futures = []
    for number, batch in enumerate(batches):
        results = [Delayed(key, graph, layer=layer) for key in batch]
        new = client.compute(results, optimize_graph=False, priority=-number)
        futures += new
        keys.update((future.key, key) for future, key in zip(new, batch, strict=True))
    try:
        for future, checksum in distributed.as_completed(futures, loop=client.loop, with_results=True):
            finish(keys[future.key], checksum)
            future.release()
    except BaseException:
        client.cancel(futures)
        raise


def find_peak() -> int:
    """Return the most bytes that this process has held at one time; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, and Linux thousands of them
    return int(most) * (1 if os.uname().sysname == "Darwin" else 1024)
