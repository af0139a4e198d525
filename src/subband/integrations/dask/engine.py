"""The engine for arrays of Dask: it computes nothing, and draws graphs of what the engines of blocks will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from dask._task_spec import Task, TaskRef
from dask.base import tokenize

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.integrations.dask.blocks import LocalLevel, merge_block, split_block
from subband.integrations.dask.graphs import Draft, Grid, SubbandLayer, find_grid, list_windows, make_array, rename
from subband.integrations.dask.levels import AxisCut, cut_coefficients, cut_samples, cut_stationary, find_reach
from subband.integrations.dask.windows import Edges, join_chunks
from subband.plan import LevelPlan
from subband.stationary import StationaryPlan
from subband.transforms.arguments import warn_caller
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["DaskEngine", "describe_level"]

#: Chunks of more samples than this become smaller with every level; others are joined with their neighbours instead.
_LARGE = 2**20


class DaskEngine(Engine):
    """Transforms chunk by chunk, each with as much of its neighbours as its filters reach.

    Parameters
    ----------
    engine : str or Engine, optional
        Who computes the blocks; the engine of their place if left out.

    Examples
    --------
    >>> import dask.array as da
    >>> from subband import wavedec2, waverec2
    >>> x = da.random.default_rng(0).normal(size=(300, 200), chunks=(100, 100))
    >>> coarse, *details = wavedec2(x, "db2", level=2)
    >>> coarse
    dask.array<subband-aa, shape=(77, 52), dtype=float64, chunksize=(50, 52), chunktype=numpy.ndarray>
    >>> bool(abs(waverec2([coarse, *details], "db2") - x).max().compute() < 1e-12)
    True
    """

    name = "dask"

    def __init__(self, engine: str | Engine | None = None) -> None:
        self.engine = engine

    def forward(self, plan: LevelPlan, x: Any) -> Bands:
        """Draw the graph of one level."""
        reversible = plan.plans[0].integer is not None
        grid = find_grid(x)
        joined, target = self._join(plan, x, grid)
        cuts = {axis: cut_coefficients(own, joined[axis]) for axis, own in zip(plan.axes, plan.plans, strict=True)}
        level = _Level(plan.axes, _wavelets(plan), 0, reversible, plan.amplifies, self.engine)
        meta = x._meta if reversible else as_computable(x._meta)
        return _split(grid, x, cuts, joined, level, meta, target, describe_level(plan))

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Array:
        """Draw the graph of one level back."""
        reversible = plan.plans[0].integer is not None
        edges = _finest_edges(bands, len(plan.shape))
        cuts = {axis: cut_samples(own, edges[axis]) for axis, own in zip(plan.axes, plan.plans, strict=True)}
        level = _Level(plan.axes, _wavelets(plan), 0, reversible, False, self.engine)
        return _merge(_as_one_dtype(bands), cuts, edges, level, describe_level(plan))

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        """Draw the graph of one undecimated level."""
        grid = find_grid(x)
        joined = list(grid.edges)
        for axis, own in zip(plan.axes, plan.plans, strict=True):
            least = own.step * (own.wavelet.dec_len // 2)
            joined[axis] = join_chunks(joined[axis], least)
            if _is_joined(grid.edges[axis], joined[axis]):
                _warn(grid.edges[axis], joined[axis], axis, own.wavelet, least)
        cuts = {
            axis: cut_stationary(own, joined[axis], is_inverse=False)
            for axis, own in zip(plan.axes, plan.plans, strict=True)
        }
        level = _Level(plan.axes, _wavelets(plan), plan.plans[0].step, False, False, self.engine)
        return _split(grid, x, cuts, joined, level, as_computable(x._meta), None, describe_level(plan))

    def stationary_inverse(self, plan: StationaryPlan, bands: Mapping[str, Any]) -> Array:
        """Draw the graph of one undecimated level back."""
        edges = _finest_edges(bands, len(plan.shape))
        cuts = {
            axis: cut_stationary(own, edges[axis], is_inverse=True)
            for axis, own in zip(plan.axes, plan.plans, strict=True)
        }
        level = _Level(plan.axes, _wavelets(plan), plan.plans[0].step, False, False, self.engine)
        return _merge(_as_one_dtype(bands), cuts, edges, level, describe_level(plan))

    def _join(self, plan: LevelPlan, x: Any, grid: Grid) -> tuple[list[Edges], tuple[int, ...]]:
        """Return the edges of chunks large enough to be transformed, and up to which size the next level joins them."""
        layer = x.dask.layers.get(x.name)
        target = layer.target if isinstance(layer, SubbandLayer) else None
        wanted = target or tuple(max(lengths, default=0) for lengths in x.chunks)
        joined = list(grid.edges)
        for axis, own in zip(plan.axes, plan.plans, strict=True):
            least = find_reach(own)
            joined[axis] = join_chunks(grid.edges[axis], least, wanted[axis] + least if target else 0)
            if target is None and _is_joined(grid.edges[axis], joined[axis]):
                _warn(grid.edges[axis], joined[axis], axis, own.wavelet, least)
        if prod(wanted) > _LARGE:
            wanted = tuple(-(-n // 2) if axis in plan.axes else n for axis, n in enumerate(wanted))
        return joined, wanted


def describe_level(plan: LevelPlan | StationaryPlan) -> tuple[Any, ...]:
    """Return all that makes a level, in a form that has the same token in every process."""
    banks = tuple((own.wavelet.name, tuple(map(tuple, own.wavelet.filter_bank))) for own in plan.plans)
    about = tuple((getattr(own, "mode", ""), own.length, getattr(own, "step", 0)) for own in plan.plans)
    return plan.shape, plan.axes, banks, about, getattr(plan.plans[0], "integer", None) is not None


class _Level:
    """What all blocks of a level have in common."""

    def __init__(
        self,
        axes: tuple[int, ...],
        wavelets: tuple[Wavelet, ...],
        step: int,
        is_reversible: bool,
        is_wide: bool,
        engine: str | Engine | None,
    ) -> None:
        self.axes = axes
        self._options = step, is_reversible, is_wide, engine
        self._wavelets = wavelets
        self._made: dict[Any, LocalLevel] = {}

    def at(self, cuts: Mapping[int, AxisCut], index: Sequence[int]) -> LocalLevel:
        """Return the level of one block; the same object for blocks that lie alike, which keeps the graph small."""
        low = tuple(cuts[axis].low_parts[index[axis]] for axis in self.axes)
        high = tuple(cuts[axis].high_parts[index[axis]] for axis in self.axes)
        key = tuple((each.start, each.stop) for each in (*low, *high))
        if key not in self._made:
            self._made[key] = LocalLevel(self.axes, self._wavelets, low, high, *self._options)
        return self._made[key]


def _split(
    grid: Grid,
    x: Any,
    cuts: Mapping[int, AxisCut],
    joined: Sequence[Edges],
    level: _Level,
    meta: Any,
    target: tuple[int, ...] | None,
    about: Any,
) -> Bands:
    """Return the bands of an array, as arrays of their own."""
    token = tokenize(x.name, about, joined, str(level._options))
    draft = Draft(f"subband-split-{token}")
    carried = {axis: list_windows(own) for axis, own in enumerate(joined) if axis not in cuts}
    edges = tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(joined))
    results = Grid(draft.name, edges)
    for index in results.walk():
        windows = [(cuts[axis].low if axis in cuts else carried[axis])[place] for axis, place in enumerate(index)]
        recipe, keys = draft.request(grid, windows)
        draft.add(index, split_block, level.at(cuts, index), recipe, keys)
    graph = draft.finish([x])
    bands: Bands = {}
    for number in range(2 ** len(level.axes)):
        key = f"{number:0{len(level.axes)}b}".replace("0", "a").replace("1", "d")
        own = list(edges)
        for axis, letter in zip(level.axes, key, strict=True):
            if letter == "d" and not level._options[0]:
                own[axis] = tuple(min(edge, _count_high(cuts[axis])) for edge in own[axis])
        name = f"subband-{key}-{token}"
        tasks = {
            (name, *index): Task((name, *index), getitem, TaskRef((draft.name, *index)), key)
            for index in results.walk()
        }
        bands[key] = make_array(graph, draft.name, name, Grid(name, tuple(own)), tasks, meta, target)
    return bands


def _count_high(cut: AxisCut) -> int:
    """Return the number of high coefficients along an axis."""
    return sum(part.stop - part.start for part in cut.high_parts)


def _merge(
    bands: Mapping[str, Any], cuts: Mapping[int, AxisCut], edges: Sequence[Edges], level: _Level, about: Any
) -> Array:
    """Return the array that bands come from."""
    names = {key: band.name for key, band in bands.items()}
    token = tokenize(names, about, edges, str(level._options))
    draft = Draft(f"subband-merge-{token}")
    grids = {key: find_grid(band) for key, band in bands.items()}
    carried = {axis: list_windows(own) for axis, own in enumerate(edges) if axis not in cuts}
    results = Grid(draft.name, tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(edges)))
    for index in results.walk():
        wanted = []
        for key, grid in grids.items():
            letters = dict(zip(level.axes, key, strict=True))
            windows = [
                carried[axis][place]
                if axis in carried
                else (cuts[axis].low if letters[axis] == "a" else cuts[axis].high)[place]
                for axis, place in enumerate(index)
            ]
            wanted.append((key, grid, windows))
        parts, pieces = draft.request_all(wanted)
        draft.add(index, merge_block, level.at(cuts, index), parts, pieces)
    graph = draft.finish(list(bands.values()))
    name = f"subband-samples-{token}"
    meta = next(iter(bands.values()))._meta
    samples: Array = make_array(graph, draft.name, name, results, rename(Grid(name, results.edges), results), meta)
    return samples


def _finest_edges(bands: Mapping[str, Any], ndim: int) -> list[Edges]:
    """Return along each axis the edges of the band that is cut into most chunks."""
    grids = [find_grid(band) for band in bands.values()]
    return [max((grid.edges[axis] for grid in grids), key=lambda own: (len(own), own[-1])) for axis in range(ndim)]


def _as_one_dtype(bands: Mapping[str, Any]) -> dict[str, Any]:
    """Return bands of one dtype."""
    dtype = np.result_type(*(band.dtype for band in bands.values()))
    return {key: cast(band, dtype) for key, band in bands.items()}


def _wavelets(plan: LevelPlan | StationaryPlan) -> tuple[Wavelet, ...]:
    return tuple(own.wavelet for own in plan.plans)


def _is_joined(edges: Edges, joined: Edges) -> bool:
    """Tell whether other chunks were joined than a last one that is too short, as it often is."""
    return not set(edges[:-2]) <= set(joined)


def _warn(edges: Edges, joined: Edges, axis: int, wavelet: Wavelet, least: int) -> None:
    """Say that chunks are joined, and how to have it done once and for all."""
    shortest = min(b - a for a, b in pairwise(edges))
    longest = max(b - a for a, b in pairwise(joined))
    warn_caller(
        f"chunks of {shortest} samples along axis {axis} are shorter than the {least} that {wavelet.name!r} reads at "
        f"once; {len(edges) - 1} chunks are joined to {len(joined) - 1}, as x.rechunk({{{axis}: {longest}}}) would do "
        "beforehand"
    )
