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
from typing import Any, TypeAlias
from weakref import ref

from subband.engines.segments import Arrange, Job, Known, Replay, make_replay, take_first
from subband.pyramid import Pyramid
from subband.typing import Array

__all__ = ["Arrange", "Recording", "Replay", "record", "recordings"]

#: Returns what launches the kernels of a transform again: given which of its arrays it reads, which of those that it
#: writes are the result, and how that is made of them.
MakeReplay: TypeAlias = Callable[[Sequence[int], Sequence[int], Arrange], "Replay | None"]

#: Bytes of constant arrays that are kept for a replay; with more it is not worth it.
_CONSTANTS = 1 << 20


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
    """The jobs of one call, and the arrays that are known.

    It keeps none of those that jobs have written: the function may drop them while it goes on.
    """

    def __init__(self, inputs: Sequence[Array]) -> None:
        self._inputs = inputs
        # by their ids, with what keeps them, or tells when they are gone: another array may then get the same id
        self._known: dict[int, tuple[Known, object]] = {id(x): (Known(x.shape, x.dtype), x) for x in inputs}
        self._given = [known for known, _ in self._known.values()]
        self._constants: list[tuple[Known, Array]] = []
        self._written: set[Known] = set()
        self._jobs: list[tuple[Job, list[Known]]] = []
        self._launches: list[tuple[MakeReplay, Sequence[Array], Sequence[Array]]] = []
        self._is_complete = True

    def note_job(self, job: Job, arrays: Sequence[Array], written: Sequence[Array]) -> None:
        """Write a job down, with its arrays and those among them that it has written."""
        for x in written:
            self._is_complete &= self._find(x) is None
            self._written.add(self._note(x))
        known = [self._find(x) for x in arrays]
        self._is_complete &= None not in known
        self._jobs.append((job, [each for each in known if each is not None]))

    def note_constant(self, x: Array) -> None:
        """Write down that an array is the same each time."""
        self._constants.append((self._note(x), x))

    def note_copy(self, x: Array, copy: Array) -> None:
        """Write down that an array is a copy of another, which is in the way only because of its strides."""
        known = self._find(x)
        if known is not None:
            self._note(copy, known)

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
        outputs = [known for known in map(self._find, leaves) if known in self._written]
        is_written = len({*outputs}) == len(outputs) == len(leaves)
        is_small = sum(x.nbytes for _, x in self._constants) <= _CONSTANTS
        if not (self._is_complete and leaves and is_written and is_small):
            return None
        return make_replay(self._jobs, self._given, self._constants, outputs, _find_form(result))

    def _note(self, x: Array, known: Known | None = None) -> Known:
        """Write down what is known of an array as long as it is there."""
        known = known or Known(x.shape, x.dtype)
        all_known, key = self._known, id(x)
        all_known[key] = known, ref(x, lambda _: all_known.pop(key, None))
        return known

    def _find(self, x: Any) -> Known | None:
        found = self._known.get(id(x))
        return None if found is None else found[0]

    def _repeat_launch(self, leaves: Sequence[Array], arrange: Arrange) -> Replay | None:
        """Return what launches the kernels again, if they were all that was done."""
        make, given, written = self._launches[0]
        numbers = {id(x): number for number, x in enumerate(self._inputs)}
        positions = {id(x): position for position, x in enumerate(written)}
        is_all = all(id(x) in numbers for x in given) and all(id(x) in positions for x in leaves)
        if len(self._launches) > 1 or self._jobs or not (self._is_complete and is_all):
            return None
        return make([numbers[id(x)] for x in given], [positions[id(x)] for x in leaves], arrange)


_CONTAINERS = frozenset((list, tuple, dict, Pyramid))


def _list_leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays of a result, from left to right."""
    kind = type(result)
    if kind is tuple or kind is list:
        for part in result:
            yield from _list_leaves(part)
    elif kind is dict:
        for part in result.values():
            yield from _list_leaves(part)
    elif kind is Pyramid:
        yield result.approximation
        for bands in result.details:
            yield from bands.values()
    else:
        yield result


def _find_form(result: Any) -> Arrange:
    """Return what makes a result of the same form from its arrays."""
    kind = type(result)
    is_flat = (kind is list or kind is tuple) and _CONTAINERS.isdisjoint(map(type, result))
    if is_flat:
        return _pass if kind is list else tuple
    if kind not in _CONTAINERS:
        return take_first
    build = _find_builder(result)
    return lambda arrays: build(iter(arrays))


def _pass(arrays: list[Array]) -> list[Array]:
    return arrays


def _find_builder(result: Any) -> Callable[[Iterator[Array]], Any]:
    kind = type(result)
    if kind is dict:
        keys, values = list(result), [_find_builder(part) for part in result.values()]
        return lambda arrays: {key: build(arrays) for key, build in zip(keys, values, strict=True)}
    if kind is list or kind is tuple:
        parts = [_find_builder(part) for part in result]
        return lambda arrays: kind([build(arrays) for build in parts])
    if kind is Pyramid:
        refill: Callable[[Iterator[Array]], Any] = result.refill
        return refill
    return next
