"""What workers do: fetch blocks, work on them, and leave off what only their neighbours need.

Everything here takes blocks of NumPy or CuPy, computes where they are, and knows nothing of Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from subband.arrays import find_kind
from subband.engines import get_threads, set_threads
from subband.engines.memory import allocate
from subband.typing import Array

__all__ = ["Part", "Recipe", "compact", "compute_all", "compute_one", "cut", "gather", "share_cores"]

Slices = tuple[slice, ...]

# A part of a block may keep so many times its own size in memory.
_WASTE = 1.1


class Recipe(NamedTuple):
    """How pieces of chunks become a block.

    Attributes
    ----------
    shape : tuple of int
        Of the block.
    regions : tuple of tuple of slice
        Where each piece goes.
    cuts : tuple of (tuple of slice or None)
        What is taken of each piece; all of it if None.
    """

    shape: tuple[int, ...]
    regions: tuple[Slices, ...]
    cuts: tuple[Slices | None, ...]


class Part(NamedTuple):
    """A block that is put together from some of the pieces that a task is given; of one band if these are bundles."""

    recipe: Recipe
    picks: tuple[int, ...]
    band: str | None = None

    def fetch(self, pieces: Sequence[Any]) -> Array:
        """Return the block.

        Examples
        --------
        >>> recipe = Recipe((3,), ((slice(0, 2),), (slice(2, 3),)), (None, (slice(1, 2),)))
        >>> Part(recipe, (1, 0)).fetch([np.array([3, 4]), np.array([1, 2])])
        array([1, 2, 4])
        """
        parts = []
        for pick, taken in zip(self.picks, self.recipe.cuts, strict=True):
            piece = pieces[pick] if self.band is None else pieces[pick][self.band]
            parts.append(piece if taken is None else piece[taken])
        first: Array = parts[0]
        if len(parts) == 1:
            return first
        shape = self.recipe.shape
        is_numpy = isinstance(first, np.ndarray)
        block: Array = allocate(shape, first.dtype) if is_numpy else np.empty_like(first, shape=shape)
        for part, region in zip(parts, self.recipe.regions, strict=True):
            block[region] = part
        return block


#: Several blocks, by the name of the work that reads them and their number among its blocks.
Parts = Mapping[tuple[str, int], Part]

#: What is done to blocks, by name: ``work(where, *blocks, *given)``.
Works = Mapping[str, Callable[..., Any]]


def compute_one(works: Works, wheres: Mapping[str, Any], parts: Parts, pieces: Sequence[Any], *given: Any) -> Any:
    """Return what the only work makes of its blocks."""
    (result,) = compute_all(works, wheres, parts, pieces, *given).values()
    return result


def compute_all(
    works: Works, wheres: Mapping[str, Any], parts: Parts, pieces: Sequence[Any], *given: Any
) -> dict[str, Any]:
    """Fetch the blocks of each work, and return what counts of the results, by name."""
    found = {}
    with share_cores(), _stay_with(pieces[0]):
        for name, work in works.items():
            blocks = [part.fetch(pieces) for (own, _), part in parts.items() if own == name]
            found[name] = result = work(wheres[name], *blocks, *given)
            if not isinstance(result, dict):
                found[name] = compact(result[(..., *wheres[name].inner)], result.size)
    return found


def gather(works: Works, wheres: Mapping[str, Any], parts: Parts, pieces: Sequence[Any], *given: Any) -> dict[Any, Any]:
    """Return what all works have found out, in one dictionary."""
    found = compute_all(works, wheres, parts, pieces, *given)
    return {key: value for own in found.values() for key, value in own.items()}


def cut(x: Any, slices: Slices) -> Any:
    """Return a copy of a part of a chunk, or of every band of one: a view would keep all of it in memory."""
    if isinstance(x, dict):
        return {key: cut(band, slices) for key, band in x.items()}
    return x[slices].copy()


def compact(part: Array, whole: int) -> Array:
    """Return a part of a block as an array of its own, if it would keep much more than itself in memory."""
    return part.copy() if part.size * _WASTE < whole else part


def _stay_with(piece: Any) -> AbstractContextManager[Any]:
    """Return the context in which to compute on the device of a piece, or of bands."""
    x = next(iter(piece.values())) if isinstance(piece, dict) else piece
    kind = find_kind(x)
    return nullcontext() if kind is None else kind.enter(x)


_counting = Lock()
_running, _most, _given = 0, 0, 1


@contextmanager
def share_cores() -> Iterator[None]:
    """Share the threads of this process among the blocks that are computed in it at the same time.

    A scheduler runs a block for each of its threads. If each block took all cores, they would be in each other's way.
    """
    global _running, _most, _given
    with _counting:
        if _running == 0:
            _given, _most = get_threads(), 0
        _running += 1
        if _running > _most:
            _most = _running
            set_threads(max(1, _given // _most))
    try:
        yield
    finally:
        with _counting:
            _running -= 1
            if _running == 0:
                set_threads(_given)
