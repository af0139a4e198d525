"""What a call of a transform ran, recorded: jobs of the CPU, run again by a single call of compiled code, or kernels.

The slow way of a transform checks its arguments, plans its levels and runs one job of the CPU after the other. Nothing
of that depends on the samples: for arrays of the same shapes, and the same other arguments, the jobs are the same. So
they are written down with the arrays that they read and write, and a `Replay` runs them on other arrays.

A recording is of use only if it is complete: all that jobs read was given by the caller, is constant, or was written by
a job before; and the result consists of arrays that jobs have written. Otherwise there is nothing to replay, and the
slow way is taken each time. Functions whose jobs are recorded must not change in place what a job has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import local
from typing import Any, Protocol, TypeAlias

import numpy as np

from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["Arrange", "Job", "Recording", "Replay", "record", "recordings"]

#: What runs a recording: it is given the arrays that were given, and returns what the function would, or
#: ``NotImplemented``, having done nothing, if these arrays are for the function itself.
Replay: TypeAlias = Callable[[Sequence[Array]], Any]

#: Makes a result from its arrays, which are given from left to right.
Arrange: TypeAlias = Callable[[list[Array]], Any]

#: Returns what launches the kernels of a transform again: given which of its arrays it reads, which of those that it
#: writes are the result, and how that is made of them.
MakeReplay: TypeAlias = Callable[[Sequence[int], Sequence[int], Arrange], "Replay | None"]

#: Bytes of constant arrays that are kept for a replay; with more it is not worth it.
_CONSTANTS = 1 << 20

#: Scratch arrays begin at multiples of so many bytes, a line of the cache.
_LINE = 64


class Job(Protocol):
    """A kernel over arrays, as it is recorded."""

    @property
    def is_large(self) -> bool:
        """Whether it is for several threads, and its arrays are large."""

    def find_runner(self, others: Sequence[Any]) -> Callable[..., object]:
        """Return what runs a table of this job and others on arrays: ``run(table, *arrays)``.

        It returns ``NotImplemented``, having done nothing, if it cannot take an array as it is.
        """

    def locate(self, numbers: Sequence[int], offsets: Sequence[int]) -> Array:
        """Return its table for arrays of these numbers among all that are given, each so many bytes behind."""


class _Recordings(local):
    """The recording under way in each thread."""

    current: Recording | None = None


recordings = _Recordings()


def record(call: Callable[[], Any], inputs: Sequence[Array]) -> tuple[Any, Replay | None]:
    """Call a function, and return its result and what would do the same for other arrays; None if nothing would.

    Parameters
    ----------
    call : callable
        Calls the function with `inputs`.
    inputs : sequence of ndarray
        Different arrays.
    """
    recording = recordings.current = Recording(inputs)
    try:
        result = call()
    finally:
        recordings.current = None
    return result, recording.make_replay(result)


class Recording:
    """The jobs of one call, and the arrays that are known."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self._inputs = inputs
        # by their ids, with the arrays themselves, so that no other array can get the same id
        self._known: dict[int, Array] = {id(x): x for x in inputs}
        self._kept: list[Array] = []
        self._constants: list[Array] = []
        self._written: dict[int, Array] = {}
        self._jobs: list[tuple[Job, list[Array]]] = []
        self._launches: list[tuple[MakeReplay, Sequence[Array], Sequence[Array]]] = []
        self._is_complete = True

    def note_job(self, job: Job, arrays: Sequence[Array], written: Sequence[Array]) -> None:
        """Write a job down, with its arrays and those among them that it has written."""
        for x in written:
            self._is_complete &= id(x) not in self._known
            self._known[id(x)] = self._written[id(x)] = x
        self._is_complete &= all(id(x) in self._known for x in arrays)
        self._jobs.append((job, [self._known.get(id(x), x) for x in arrays]))

    def note_constant(self, x: Array) -> None:
        """Write down that an array is the same each time."""
        self._known[id(x)] = x
        self._constants.append(x)

    def note_copy(self, x: Array, copy: Array) -> None:
        """Write down that an array is a copy of another, which is in the way only because of its strides."""
        if id(x) in self._known:
            self._known[id(copy)] = self._known[id(x)]
            self._kept.append(copy)

    def note_launch(self, make: MakeReplay, given: Sequence[Array], written: Sequence[Array]) -> None:
        """Write down that a device has run the kernels of a transform, with the arrays that they read and wrote."""
        self._launches.append((make, given, written))

    def give_up(self) -> None:
        """Say that something was done that a replay would not do, such as a warning."""
        self._is_complete = False

    def make_replay(self, result: Any) -> Replay | None:
        """Return what runs the jobs again, for the result of this call."""
        leaves = list(_list_leaves(result))
        if self._launches:
            return self._repeat_launch(leaves, _find_form(result))
        outputs = {id(x) for x in leaves}
        is_written = all(key in self._written for key in outputs) and len(outputs) == len(leaves)
        is_small = sum(x.nbytes for x in self._constants) <= _CONSTANTS
        if not (self._is_complete and leaves and is_written and is_small):
            return None
        inner = [x for key, x in self._written.items() if key not in outputs]
        slots = [*self._inputs, *leaves, *self._constants]
        positions = {id(x): (number, 0) for number, x in enumerate(slots)}
        offsets, size = self._share_scratch({id(x) for x in inner})
        positions |= {key: (len(slots), offset) for key, offset in offsets.items()}
        tables = []
        for job, arrays in self._jobs:
            numbers, starts = zip(*(positions[id(x)] for x in arrays), strict=True)
            tables.append(job.locate(numbers, starts))
        jobs = [job for job, _ in self._jobs]
        shapes = [(x.shape, x.dtype) for x in leaves]
        return _make_replay(jobs, np.concatenate(tables), shapes, self._constants, size, _find_form(result))

    def _repeat_launch(self, leaves: Sequence[Array], arrange: Arrange) -> Replay | None:
        """Return what launches the kernels again, if they were all that was done."""
        make, given, written = self._launches[0]
        numbers = {id(x): number for number, x in enumerate(self._inputs)}
        positions = {id(x): position for position, x in enumerate(written)}
        is_all = all(id(x) in numbers for x in given) and all(id(x) in positions for x in leaves)
        if len(self._launches) > 1 or self._jobs or not (self._is_complete and is_all):
            return None
        return make([numbers[id(x)] for x in given], [positions[id(x)] for x in leaves], arrange)

    def _share_scratch(self, inner: set[int]) -> tuple[dict[int, int], int]:
        """Return where in scratch memory inner arrays begin, and its size; those not in use at once may overlap."""
        uses: dict[int, list[int]] = {}
        rooms: dict[int, int] = {}
        for number, (_, arrays) in enumerate(self._jobs):
            for x in arrays:
                if id(x) in inner:
                    uses.setdefault(id(x), []).append(number)
                    rooms[id(x)] = -(-x.nbytes // _LINE) * _LINE
        offsets: dict[int, int] = {}
        # the largest first, each as far in front as those leave room that are in use at the same time
        for key in sorted(rooms, key=lambda key: -rooms[key]):
            start = 0
            for other in sorted(offsets, key=lambda other: offsets[other]):
                is_apart = uses[other][-1] < uses[key][0] or uses[key][-1] < uses[other][0]
                if not is_apart and offsets[other] < start + rooms[key]:
                    start = max(start, offsets[other] + rooms[other])
            offsets[key] = start
        return offsets, max((offsets[key] + room for key, room in rooms.items()), default=0)


def _make_replay(
    jobs: Sequence[Job],
    table: Array,
    shapes: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
    constants: Sequence[Array],
    size: int,
    arrange: Arrange,
) -> Replay:
    """Return what runs the table of some jobs, which own the tables that their kernels read."""
    run = jobs[0].find_runner(jobs[1:])
    empty: Callable[[Any, np.dtype[Any]], Array] = allocate if any(job.is_large for job in jobs) else np.empty
    if len(shapes) == 1 and not (constants or size):
        ((shape, dtype),) = shapes

        def replay_single(arrays: Sequence[Array], _owners: object = jobs) -> Any:
            made = empty(shape, dtype)
            if run(table, *arrays, made) is not None:
                run(table, *map(_straighten, arrays), made)
            return made

        if arrange is _take_first:
            return replay_single

    def replay(arrays: Sequence[Array], _owners: object = jobs) -> Any:
        made = [empty(shape, dtype) for shape, dtype in shapes]
        others = (*constants, empty((size,), _BYTE)) if size else constants
        if run(table, *arrays, *made, *others) is not None:
            run(table, *map(_straighten, arrays), *made, *others)
        return arrange(made)

    return replay


def _straighten(x: Array) -> Array:
    return x if x.flags.c_contiguous and x.flags.aligned else np.array(x, order="C")


_BYTE = np.dtype(np.uint8)

_CONTAINERS = frozenset((list, tuple, dict))


def _list_leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays of a result, from left to right."""
    kind = type(result)
    if kind is tuple or kind is list:
        for part in result:
            yield from _list_leaves(part)
    elif kind is dict:
        for part in result.values():
            yield from _list_leaves(part)
    else:
        yield result


def _find_form(result: Any) -> Arrange:
    """Return what makes a result of the same form from its arrays."""
    kind = type(result)
    is_flat = (kind is list or kind is tuple) and _CONTAINERS.isdisjoint(map(type, result))
    if is_flat:
        return _pass if kind is list else tuple
    if kind not in _CONTAINERS:
        return _take_first
    build = _find_builder(result)
    return lambda arrays: build(iter(arrays))


def _pass(arrays: list[Array]) -> list[Array]:
    return arrays


def _take_first(arrays: list[Array]) -> Array:
    return arrays[0]


def _find_builder(result: Any) -> Callable[[Iterator[Array]], Any]:
    kind = type(result)
    if kind is dict:
        keys, values = list(result), [_find_builder(part) for part in result.values()]
        return lambda arrays: {key: build(arrays) for key, build in zip(keys, values, strict=True)}
    if kind is list or kind is tuple:
        parts = [_find_builder(part) for part in result]
        return lambda arrays: kind([build(arrays) for build in parts])
    return next
