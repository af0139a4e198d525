"""Several passes over an array: the same graph once more, that waits until something has been found out.

`dask.graph_manipulation.bind` does this for layers of blocks, and for tasks in the form of tuples. Tasks in their newer
form it takes for leaves that depend on nothing, so that a copy would go on reading the original, and keep all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dask.base import clone_key, tokenize
from dask.blockwise import Blockwise
from dask.delayed import Delayed
from dask.graph_manipulation import checkpoint, chunks
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer
from dask.task_spec import GraphNode, Task, TaskRef

__all__ = ["read_again"]


def read_again(arrays: Sequence[Any], found: Sequence[Delayed], settled: Sequence[Delayed] = ()) -> list[Any]:
    """Return arrays that are computed anew, from their sources on, once all that is to be found has been found.

    Parameters
    ----------
    arrays : sequence of dask array
        What they have in common stays in common.
    found : sequence of Delayed
        What they wait for.
    settled : sequence of Delayed
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
    kept = {layer for each in settled for layer in each.__dask_layers__()}
    return [_copy(x, blocker, kept, seed) for x in arrays]


def _copy(x: Any, blocker: Delayed, kept: set[str], seed: str) -> Any:
    graph = x.__dask_graph__()
    copied = _walk(graph.dependencies, x.__dask_layers__(), kept)
    keys = set().union(*(graph.layers[name].get_output_keys() for name in copied))
    layers: dict[str, Any] = dict(blocker.__dask_graph__().layers)
    dependencies: dict[str, set[str]] = dict(blocker.__dask_graph__().dependencies)
    for name in copied:
        layer = graph.layers[name]
        if isinstance(layer, Blockwise):
            new, is_bound = layer.clone(keys=keys, seed=seed, bind_to=blocker.key)
        else:
            new, is_bound = _copy_tasks(layer, keys, seed, blocker.key)
        needed = {clone_key(each, seed) if each in copied else each for each in graph.dependencies[name]}
        layers[clone_key(name, seed)] = new
        dependencies[clone_key(name, seed)] = needed | ({blocker.key} if is_bound else set())
    rest = {each for name in copied for each in graph.dependencies[name]} - copied
    for name in _walk(graph.dependencies, rest, set()):
        layers[name], dependencies[name] = graph.layers[name], graph.dependencies[name]
    rebuild, arguments = x.__dask_postpersist__()
    return rebuild(HighLevelGraph(layers, dependencies), *arguments, rename={x.name: clone_key(x.name, seed)})


def _walk(dependencies: Mapping[str, Any], begin: Any, kept: set[str]) -> set[str]:
    """Return all layers that some layers stand on, and these; those that are kept end the search."""
    found: set[str] = set()
    waiting = list(begin)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in kept:
            found.add(name)
            waiting += dependencies[name]
    return found


def _copy_tasks(layer: Layer, keys: set[Any], seed: str, blocker: str) -> tuple[Any, bool]:
    """Return a layer whose tasks have new names, and whether some of them wait because they need nothing else."""
    tasks: dict[Any, Any] = {}
    is_bound = False
    for key, value in layer.items():
        own = clone_key(key, seed)
        if not isinstance(value, GraphNode):
            # a tuple, as tasks were written before, or a value, which Dask knows how to copy
            other, is_leaf = MaterializedLayer({key: value}).clone(keys, seed, bind_to=blocker)
            tasks[own], is_bound = other[own], is_bound or is_leaf
            continue
        renamed = {needed: clone_key(needed, seed) for needed in value.dependencies if needed in keys}
        if renamed:
            tasks[own] = value.substitute(renamed, key=own)
        else:
            tasks[own] = Task(own, chunks.bind, value, TaskRef(blocker))
            is_bound = True
    return MaterializedLayer(tasks), is_bound
