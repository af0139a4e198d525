"""Recorded jobs of the CPU as segments: a few calls of compiled code, with the arrays that each needs.

All jobs of a short transform are one segment: its results and its scratch memory are made together, and compiled code
is called once. The levels of a large one are cut where a large array has been read for the last time, so that its
memory serves what is written afterwards, as it does when levels are called one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from subband.engines.memory import LARGE, allocate, prepare_allocation
from subband.typing import Array

__all__ = ["Arrange", "Job", "Known", "Replay", "make_replay", "take_first"]

#: What runs a recording: it is given the arrays that were given, and returns what the function would, or
#: ``NotImplemented``, having done nothing, if these arrays are for the function itself.
Replay: TypeAlias = Callable[[Sequence[Array]], Any]

#: Makes a result from its arrays, which are given from left to right.
Arrange: TypeAlias = Callable[[list[Array]], Any]

#: Scratch arrays begin at multiples of so many bytes, a line of the cache.
_LINE = 64

#: Bytes of an array between two jobs from which on its memory is worth giving back.
_LARGE = 4 << 20

#: How many times as large scratch memory may be so that no two of its arrays overlap.
_APART = 1.5

_BYTE = np.dtype(np.uint8)


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


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of an array, without the array: one that is large and not needed any more has to go."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def form(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """What `numpy.empty` takes."""
        return self.shape, self.dtype


#: A job, and the arrays that it reads and writes.
_Step: TypeAlias = tuple[Job, list[Known]]


def make_replay(
    steps: Sequence[_Step],
    inputs: Sequence[Known],
    constants: Sequence[tuple[Known, Array]],
    outputs: Sequence[Known],
    arrange: Arrange,
) -> Replay:
    """Return what runs recorded jobs on other arrays.

    Parameters
    ----------
    steps : sequence of (Job, list of Known)
        The jobs in their order; what is none of the other arrays is scratch.
    inputs : sequence of Known
        The arrays that the replay is given.
    constants : sequence of (Known, ndarray)
        Arrays that are the same each time.
    outputs : sequence of Known
        The arrays of the result.
    arrange : callable
        Makes the result of them.
    """
    kept = {*inputs, *outputs, *(known for known, _ in constants)}
    parts = _cut_steps(steps, kept)
    if len(parts) > 1:
        return _run_segments(parts, kept, inputs, constants, outputs, arrange)
    slots = [*inputs, *outputs, *(known for known, _ in constants)]
    size, table = _tabulate(steps, slots)
    return _run_together(
        [job for job, _ in steps],
        table,
        [known.form for known in outputs],
        [x for _, x in constants],
        size,
        arrange,
    )


def _cut_steps(steps: Sequence[_Step], kept: set[Known]) -> list[Sequence[_Step]]:
    """Cut jobs behind those that are the last to use a large array that is not kept."""
    last = {known: number for number, (_, arrays) in enumerate(steps) for known in arrays}
    ends = {number + 1 for known, number in last.items() if known not in kept and known.nbytes >= _LARGE}
    cuts = [0, *sorted(ends | {len(steps)})]
    return [steps[begin:end] for begin, end in pairwise(cuts)]


def _tabulate(steps: Sequence[_Step], slots: Sequence[Known]) -> tuple[int, Array]:
    """Return the size of the scratch memory that stands behind some arrays, and the table of the jobs."""
    positions = {known: (number, 0) for number, known in enumerate(slots)}
    offsets, size = _share_scratch(steps, set(slots))
    positions |= {known: (len(slots), offset) for known, offset in offsets.items()}
    tables = []
    for job, arrays in steps:
        numbers, starts = zip(*(positions[known] for known in arrays), strict=True)
        tables.append(job.locate(numbers, starts))
    return size, np.concatenate(tables)


def _share_scratch(steps: Sequence[_Step], others: set[Known]) -> tuple[dict[Known, int], int]:
    """Return where in scratch memory its arrays begin, and its size; those not in use at once may overlap.

    Not if several threads compute and the arrays become smaller from level to level: what one core has written takes
    another several times as long to write over. Arrays that are all as large would take as many times the memory.
    """
    uses: dict[Known, list[int]] = {}
    for number, (_, arrays) in enumerate(steps):
        for known in arrays:
            if known not in others:
                uses.setdefault(known, []).append(number)
    offsets, size = _pack_arrays(uses)
    if any(job.is_large for job, _ in steps):
        # as if all were in use from the first job to the last
        apart, whole = _pack_arrays(dict.fromkeys(uses, (0, len(steps))))
        if whole <= size * _APART:
            return apart, whole
    return offsets, size


def _pack_arrays(uses: Mapping[Known, Sequence[int]]) -> tuple[dict[Known, int], int]:
    """Return where arrays begin, of which the numbers of the jobs that use them are known, and where the last ends."""
    rooms = {known: -(-known.nbytes // _LINE) * _LINE for known in uses}
    offsets: dict[Known, int] = {}
    # the largest first, each as far in front as those leave room that are in use at the same time
    for known in sorted(rooms, key=lambda known: -rooms[known]):
        start = 0
        for other in sorted(offsets, key=lambda other: offsets[other]):
            is_apart = uses[other][-1] < uses[known][0] or uses[known][-1] < uses[other][0]
            if not is_apart and offsets[other] < start + rooms[known]:
                start = max(start, offsets[other] + rooms[other])
        offsets[known] = start
    return offsets, max((offsets[known] + room for known, room in rooms.items()), default=0)


# --- One segment. ---


def _run_together(
    jobs: Sequence[Job],
    table: Array,
    forms: Sequence[tuple[tuple[int, ...], np.dtype[Any]]],
    constants: Sequence[Array],
    size: int,
    arrange: Arrange,
) -> Replay:
    """Return what runs the table of some jobs, which own the tables that their kernels read."""
    run = jobs[0].find_runner(jobs[1:])
    # the C library may give back what lies at the end of its heap, and ask for it again, each time
    is_large = any(job.is_large for job in jobs) or any(Known(*form).nbytes >= LARGE for form in forms)
    if len(forms) == 1 and not (constants or size):
        ((shape, dtype),) = forms
        empty: Callable[[Any, np.dtype[Any]], Array] = allocate if is_large else np.empty

        def replay_single(arrays: Sequence[Array], _owners: object = jobs) -> Any:
            made = empty(shape, dtype)
            if run(table, *arrays, made) is not None:
                run(table, *map(_straighten, arrays), made)
            return made

        if arrange is take_first:
            return replay_single

    def replay(arrays: Sequence[Array], _owners: object = jobs) -> Any:
        made = [np.empty(shape, dtype) for shape, dtype in forms]
        others = (*constants, np.empty((size,), _BYTE)) if size else constants
        if run(table, *arrays, *made, *others) is not None:
            run(table, *map(_straighten, arrays), *made, *others)
        return arrange(made)

    if not is_large:
        return replay
    make = prepare_allocation([*forms, *([((size,), _BYTE)] if size else [])])

    def replay_large(arrays: Sequence[Array], _owners: object = jobs) -> Any:
        made = make()
        scratch = [made.pop()] if size else []
        if run(table, *arrays, *made, *constants, *scratch) is not None:
            run(table, *map(_straighten, arrays), *made, *constants, *scratch)
        return arrange(made)

    return replay_large


def take_first(arrays: list[Array]) -> Array:
    """Arrange a result that is one array."""
    return arrays[0]


def _straighten(x: Array) -> Array:
    return x if x.flags.c_contiguous and x.flags.aligned else np.array(x, order="C")


# --- Several segments. ---


class _Segment(NamedTuple):
    """Jobs that one call runs: on which arrays of all, of which it makes some before, and forgets others after."""

    run: Callable[..., object]
    table: Array
    numbers: Sequence[int]
    make: Callable[[], list[Array]]
    fresh: slice
    forgets: Sequence[int]
    has_scratch: bool


def _run_segments(
    parts: Sequence[Sequence[_Step]],
    kept: set[Known],
    inputs: Sequence[Known],
    constants: Sequence[tuple[Known, Array]],
    outputs: Sequence[Known],
    arrange: Arrange,
) -> Replay:
    """Return what runs parts of the jobs, and gives memory back in between."""
    positions = {known: number for number, known in enumerate([*inputs, *(known for known, _ in constants)])}
    given = len(positions)
    last = {known: number for number, part in enumerate(parts) for _, arrays in part for known in arrays}
    first: dict[Known, int] = {}
    segments = []
    for number, part in enumerate(parts):
        used = dict.fromkeys(known for _, arrays in part for known in arrays)
        for known in used:
            first.setdefault(known, number)
        # what no other part uses is scratch
        slots = [known for known in used if known in kept or not first[known] == last[known] == number]
        fresh = [known for known in slots if known not in positions]
        positions |= {known: len(positions) + k for k, known in enumerate(fresh)}
        size, table = _tabulate(part, slots)
        forms = [known.form for known in fresh] + ([((size,), _BYTE)] if size else [])
        jobs = [job for job, _ in part]
        segments.append(
            _Segment(
                jobs[0].find_runner(jobs[1:]),
                table,
                [positions[known] for known in slots],
                prepare_allocation(forms),
                slice(len(positions) - len(fresh), len(positions)),
                [positions[known] for known in slots if known not in kept and last[known] == number],
                bool(size),
            )
        )
    fixed = [x for _, x in constants]
    rest: list[Array | None] = [None] * (len(positions) - given)
    results = [positions[known] for known in outputs]

    def replay(arrays: Sequence[Array], _owners: object = parts) -> Any:
        held: list[Any] = [*map(_straighten, arrays), *fixed, *rest]
        for segment in segments:
            made = segment.make()
            scratch = [made.pop()] if segment.has_scratch else []
            held[segment.fresh] = made
            outcome = segment.run(segment.table, *[held[position] for position in segment.numbers], *scratch)
            assert outcome is None, "an array that is straight was not taken"
            made = scratch = []  # or the next segment would find their memory in use
            for position in segment.forgets:
                held[position] = None
        return arrange([held[position] for position in results])

    return replay
