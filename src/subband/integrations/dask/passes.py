"""Several passes over an array: the same graph once more, that waits until something has been found out.

`dask.graph_manipulation.bind` does this for layers of blocks, and for tasks in the form of tuples. Tasks in their newer
form it takes for leaves that depend on nothing, so that a copy would go on reading the original, and keep all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dask.base import clone_key, tokenize
from dask.core import get_dependencies
from dask.delayed import Delayed
from dask.graph_manipulation import checkpoint, chunks
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.task_spec import GraphNode, Task, TaskRef

__all__ = ["Flow", "read_again"]


@dataclass
class Flow:
    """An array on its way through the stages.

    Attributes
    ----------
    planes : dask array
        Leading axes, then those of space.
    pixels, known : dask array or None
        What has gaps, and where it has none; as they are read in the same pass as the planes.
    known_facts : list of Delayed
        What was decided in earlier passes, and must not be computed again in this one.
    """

    planes: Any
    pixels: Any
    known: Any
    known_facts: list[Delayed]

    def wait(self, *found: Any) -> Sequence[Any]:
        """Read everything once more, and not before all is found, so that nothing has to be kept in the meantime."""
        # by what they are: Dask would draw a comparison as well
        done = set(map(id, self.known_facts))
        waited = [each for each in found if isinstance(each, Delayed) and id(each) not in done]
        if waited and self.known is None:
            (self.planes,) = read_again([self.planes], waited, self.known_facts)
        elif waited:
            everything = [self.planes, self.pixels, self.known]
            self.planes, self.pixels, self.known = read_again(everything, waited, self.known_facts)
        self.known_facts += waited
        return found


def read_again(arrays: Sequence[Any], found: Sequence[Delayed], kept: Sequence[Delayed] = ()) -> list[Any]:
    """Return arrays that are computed anew, from their sources on, once all that is to be found has been found.

    Parameters
    ----------
    arrays : sequence of dask array
        What they have in common stays in common.
    found : sequence of Delayed
        What they wait for.
    kept : sequence of Delayed
        What they stand on, and what was found in an earlier pass: that is not computed again.

    Examples
    --------
    >>> import dask.array as da
    >>> x = da.ones(4, chunks=2) + 1
    >>> (again,) = read_again([x], [x.sum().to_delayed().item()])
    >>> again.name == x.name, again.compute(scheduler="synchronous").tolist()
    (False, [2.0, 2.0, 2.0, 2.0])
    """
    blocker = checkpoint(list(found))
    seed = tokenize([each.key for each in found], [x.name for x in arrays])
    return [_copy(x, blocker, kept, seed) for x in arrays]


def _copy(x: Any, blocker: Delayed, kept: Sequence[Delayed], seed: str) -> Any:
    graph = dict(x.__dask_graph__())
    ends = {each.key for each in kept}
    copied: dict[Any, set[Any]] = {}
    waiting = [key for key in graph if isinstance(key, tuple) and key[0] == x.name]
    while waiting:
        key = waiting.pop()
        if key not in copied and key not in ends:
            copied[key] = set(get_dependencies(graph, key))
            waiting += copied[key]
    tasks = {}
    for key, needed in copied.items():
        own, value = clone_key(key, seed), graph[key]
        renamed = {each: clone_key(each, seed) for each in needed if each in copied}
        if not isinstance(value, GraphNode):
            # a tuple, as tasks were written before, or a value, which Dask knows how to copy
            layer, _ = MaterializedLayer({key: value}).clone(set(copied), seed, bind_to=blocker.key)
            tasks[own] = layer[own]
        elif renamed:
            tasks[own] = value.substitute(renamed, key=own)
        else:
            tasks[own] = Task(own, chunks.bind, value, TaskRef(blocker.key))
    name = clone_key(x.name, seed)
    again = HighLevelGraph.from_collections(name, tasks, dependencies=[blocker, *kept])
    rebuild, arguments = x.__dask_postpersist__()
    return rebuild(again, *arguments, rename={x.name: name})
