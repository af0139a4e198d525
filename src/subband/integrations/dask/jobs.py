"""Jobs from store to store: chunk by chunk, on any scheduler, and resumed where they were interrupted.

A manifest beside the store has a line for every chunk that is finished, with a checksum. A job that is resumed
computes those chunks only that are not in it, or that are not there any more as they were written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef

from subband.errors import ArgumentError, FormatError
from subband.integrations.dask.batches import compute_batches, cut_batches
from subband.integrations.dask.graphs import find_grid
from subband.integrations.dask.storage import Target
from subband.media.faults import explain_output_error, require

__all__ = ["JobReport", "Manifest", "compute_decision", "connect", "find_manifest", "find_peak", "run_job"]

_FORMAT = 1

#: What is added to the name of a store for the manifest, which lies beside it: those who read Zarr wonder about files
#: inside that they do not know.
_ENDING = ".job.jsonl"

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


@dataclass
class Manifest:
    """What a job is, and which of its chunks are finished.

    Attributes
    ----------
    path : Path
        Of the file.
    job : dict
        All that decides about the result.
    facts : dict
        What was found out about the whole array before the first chunk.
    finished : dict
        Checksum of each finished chunk, by the name of its array and its numbers.
    """

    path: Path
    job: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    finished: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)

    @classmethod
    def begin(cls, store: Path, job: Mapping[str, Any]) -> Manifest:
        """Begin a job whose arrays have just been made."""
        manifest = cls(find_manifest(store), dict(job))
        try:
            manifest.path.write_text(json.dumps({"format": _FORMAT, "job": manifest.job}) + "\n", encoding="utf-8")
        except OSError as error:
            raise explain_output_error(manifest.path, error) from error
        return manifest

    @classmethod
    def resume(cls, store: Path, job: Mapping[str, Any]) -> Manifest:
        """Go on with a job that was interrupted.

        Raises
        ------
        ArgumentError
            If there is none, or it was another one.
        FormatError
            If the manifest cannot be read.
        """
        path = find_manifest(store)
        if not path.is_file():
            raise ArgumentError(f"{str(store)!r} holds no job to be resumed; leave --resume out to begin one")
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        try:
            head = json.loads(lines[0])
            if head["format"] != _FORMAT:
                raise FormatError(f"{str(path)!r} was written by a newer subband; update this one to resume the job")
            manifest = cls(path, head["job"])
            for line in lines[1:]:
                manifest._read(line)
            if not text.endswith("\n"):
                # cut off in the middle of a line, which the next one must not become a part of
                with path.open("a", encoding="utf-8") as file:
                    file.write("\n")
        except (ValueError, LookupError, TypeError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{str(path)!r} is no manifest of a job") from error
        wanted = json.loads(json.dumps(dict(job)))
        for name in {**wanted, **manifest.job}:
            if wanted.get(name) != manifest.job.get(name):
                raise ArgumentError(
                    f"the job in {str(store)!r} was another one: its {name} was {manifest.job.get(name)!r}, and not "
                    f"{wanted.get(name)!r}; repeat it as it was, or use --force to begin anew"
                )
        return manifest

    def _read(self, line: str) -> None:
        if not line.endswith("}"):
            return  # the last line, if the machine went down while it was written
        entry = json.loads(line)
        if "chunk" in entry:
            self.finished[entry["array"], tuple(entry["chunk"])] = entry["checksum"]
        else:
            self.facts.update(entry)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Write down what was found out about the whole array."""
        self.facts.update(facts)
        self._append(dict(facts))

    def record(self, array: str, chunk: tuple[int, ...], checksum: str) -> None:
        """Write down that a chunk is finished."""
        self.finished[array, chunk] = checksum
        self._append({"array": array, "chunk": list(chunk), "checksum": checksum})

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise explain_output_error(self.path, error) from error


def find_manifest(store: Path) -> Path:
    """Return where the manifest of a job that writes a store is.

    Examples
    --------
    >>> find_manifest(Path("clean.zarr")).name
    'clean.zarr.job.jsonl'
    """
    return store.with_name(store.name + _ENDING)


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
