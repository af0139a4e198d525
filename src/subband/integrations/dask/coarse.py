"""The coarse levels: where all of an approximation is one block, all levels of it are one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.task_spec import Task, TaskRef

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.integrations.dask.blocks import Parts, Recipe, fetch, share_cores, stay_with
from subband.integrations.dask.graphs import Draft, Grid, divide, find_grid, find_longest, list_windows, make_array
from subband.integrations.dask.windows import Edges
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["Chain", "draw_merging", "draw_splitting", "merge_levels", "split_levels"]

#: A band by the number of its level, from fine to coarse, and its letters; the approximation has the last number.
BandKey = tuple[int, str]


@dataclass(frozen=True)
class Chain:
    """Several levels of a block that has all samples along the axes that are transformed.

    Attributes
    ----------
    axes, wavelets, modes : tuple
        Which axes, and how.
    lengths : tuple of int
        Samples along them: what the bands alone do not tell.
    level : int
        How many levels.
    is_reversible : bool
        Whether the numbers are integers.
    engine : Engine, str or None
        Who computes; the engine of the block's place if None.
    """

    axes: tuple[int, ...]
    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    lengths: tuple[int, ...]
    level: int
    is_reversible: bool
    engine: Engine | str | None

    def plan(self, shape: Sequence[int]) -> TransformPlan:
        """Return the plan for a block whose other axes are as long as those of `shape`."""
        whole = list(shape)
        for axis, length in zip(self.axes, self.lengths, strict=True):
            whole[axis] = length
        return transform_plan(tuple(whole), self.axes, self.wavelets, self.modes, self.level, self.is_reversible)


def split_levels(chain: Chain, recipe: Recipe, pieces: Sequence[Any]) -> dict[BandKey, Array]:
    """Fetch a block, and return its bands of all levels."""
    with share_cores(), stay_with(pieces[0]):
        block = fetch(recipe, [piece if chain.is_reversible else as_computable(piece) for piece in pieces])
        engine = engine_for(block, chain.engine)
        approximation, details = engine.forward_all(chain.plan(block.shape), block)
        found: dict[BandKey, Array] = {(chain.level, ""): cast(approximation, block.dtype)}
        for number, bands in enumerate(reversed(details)):
            found.update({(number, key): cast(band, block.dtype) for key, band in bands.items()})
        return found


def merge_levels(chain: Chain, parts: Parts, pieces: Sequence[Any]) -> Array:
    """Fetch the bands of all levels, and return the block."""
    with share_cores(), stay_with(pieces[0]):
        bands = {name: part.fetch(pieces) for name, part in parts.items()}
        approximation = bands.pop((chain.level, ""))
        details: list[Bands] = [
            {key: band for (level, key), band in bands.items() if level == number}
            for number in reversed(range(chain.level))
        ]
        engine = engine_for(approximation, chain.engine)
        block = engine.inverse_all(chain.plan(approximation.shape), approximation, details)
        return cast(block, approximation.dtype)


def draw_splitting(
    plan: TransformPlan, first: int, x: Any, joined: Sequence[Edges], engine: str | Engine | None
) -> tuple[Any, list[Bands]]:
    """Draw the levels of a plan from the number `first` on; return approximation and details, coarse to fine.

    Parameters
    ----------
    plan : TransformPlan
        All levels.
    first : int
        How many are drawn already.
    x : dask array
        The approximation so far.
    joined : sequence of edges
        Its blocks; there is one along each axis that is transformed.
    engine : str, Engine or None
        Who computes.
    """
    chain = _make_chain(plan, first, engine)
    grid = find_grid(x)
    token = tokenize(x.name, _describe(chain), joined)
    draft = Draft(f"subband-coarse-{token}")
    windows = [list_windows(own) for own in joined]
    blocks = Grid(draft.name, tuple(joined))
    for index in blocks.walk():
        recipe, keys = draft.request(grid, [windows[axis][place] for axis, place in enumerate(index)])
        draft.add(index, split_levels, chain, recipe, keys)
    graph = draft.finish([x])
    meta = meta_from_array(x) if plan.reversible else as_computable(meta_from_array(x))

    def draw_band(key: BandKey, shape: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
        name = f"subband-{key[1] or 'a' * len(plan.axes)}-{tokenize(token, key)}"
        edges = tuple((0, shape[axis]) if axis in plan.axes else own for axis, own in enumerate(joined))
        tasks = {
            (name, *index): Task((name, *index), getitem, TaskRef((draft.name, *index)), key) for index in blocks.walk()
        }
        return make_array(graph, draft.name, name, Grid(name, edges), tasks, meta, find_longest(edges), lengths)

    details: list[Bands] = []
    origin = find_longest(grid.edges)
    for number, level in enumerate(plan.levels[first:]):
        shapes = level.band_shapes
        details.insert(0, {key: draw_band((number, key), shapes[key], origin) for key in shapes if "d" in key})
        origin = tuple(
            level.approximation_shape[axis] if axis in plan.axes else length for axis, length in enumerate(origin)
        )
    return draw_band((chain.level, ""), plan.approximation_shape, origin), details


def draw_merging(
    plan: TransformPlan,
    first: int,
    approximation: Any,
    details: Sequence[Mapping[str, Any]],
    engine: str | Engine | None,
    lengths: Sequence[int],
) -> Any:
    """Draw the way back to the approximation of level `first`, from bands that are one block each.

    Parameters
    ----------
    plan : TransformPlan
        All levels.
    first : int
        How many levels are left for others to draw.
    approximation, details
        The bands, the details from coarse to fine; as many as there are levels to draw.
    engine : str, Engine or None
        Who computes.
    lengths : sequence of int
        How long chunks of the result should be.
    """
    chain = _make_chain(plan, first, engine)
    named = {(chain.level, ""): approximation}
    for number, bands in enumerate(reversed(details)):
        named.update({(number, key): band for key, band in bands.items()})
    token = tokenize({name: band.name for name, band in named.items()}, _describe(chain))
    draft = Draft(f"subband-coarse-{token}")
    grids = {name: find_grid(band) for name, band in named.items()}
    windows = {name: [list_windows(own) for own in grid.edges] for name, grid in grids.items()}
    shape = plan.levels[first].shape
    edges = tuple(
        (0, shape[axis]) if axis in plan.axes else own for axis, own in enumerate(find_grid(approximation).edges)
    )
    blocks = Grid(draft.name, edges)
    for index in blocks.walk():
        wanted = [
            (name, grid, [windows[name][axis][place] for axis, place in enumerate(index)])
            for name, grid in grids.items()
        ]
        parts, pieces = draft.request_all(wanted)
        draft.add(index, merge_levels, chain, parts, pieces)
    graph = draft.finish(list(named.values()))
    name = f"subband-samples-{token}"
    grid, tasks = divide(blocks, name, lengths)
    return make_array(graph, draft.name, name, grid, tasks, meta_from_array(approximation))


def _make_chain(plan: TransformPlan, first: int, engine: str | Engine | None) -> Chain:
    lengths = tuple(plan.levels[first].shape[axis] for axis in plan.axes)
    return Chain(plan.axes, plan.wavelets, plan.modes, lengths, plan.level - first, plan.reversible, engine)


def _describe(chain: Chain) -> tuple[Any, ...]:
    """Return all that makes a chain, in a form that has the same token in every process."""
    banks = tuple((wavelet.name, tuple(map(tuple, wavelet.filter_bank))) for wavelet in chain.wavelets)
    return chain.axes, banks, chain.modes, chain.lengths, chain.level, chain.is_reversible, str(chain.engine)
