"""The engine for arrays of Dask: it computes nothing, and draws graphs of what the engines of blocks will do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from dask.base import tokenize

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.integrations.dask.blocks import LocalLevel, merge_block, split_block
from subband.integrations.dask.coarse import draw_merging, draw_splitting
from subband.integrations.dask.graphs import (
    Band,
    Bundle,
    Draft,
    Grid,
    SubbandLayer,
    divide,
    find_grid,
    find_longest,
    find_meta,
    list_windows,
    make_array,
)
from subband.integrations.dask.levels import AxisCut, cut_coefficients, cut_samples, cut_stationary, find_reach
from subband.integrations.dask.windows import Edges, join_chunks
from subband.plan import LevelPlan, TransformPlan
from subband.stationary import StationaryPlan
from subband.transforms.arguments import warn_caller
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["DaskEngine"]

#: Chunks are joined with their neighbours to blocks of at most so many samples, so that chunks of coefficients are as
#: large as those of the samples; larger chunks are blocks of their own, and become smaller with every level.
_BLOCK = 2**22

# How much larger than that a block of samples may have become that is made of coefficients.
_SLACK = 1.25


class DaskEngine(Engine):
    """Transforms chunk by chunk, each with as much of its neighbours as its filters reach.

    Parameters
    ----------
    engine : str or Engine, optional
        Who computes the blocks; the engine of their place if left out.
    joins : bool
        Whether neighbours are transformed together, so that chunks of coefficients are as large as those of the
        samples, and chunks that are shorter than the filter are worth a warning.

    Examples
    --------
    >>> import dask.array as da
    >>> from subband import wavedec2, waverec2
    >>> x = da.random.default_rng(0).normal(size=(300, 200), chunks=(100, 100))
    >>> coarse, *details = wavedec2(x, "db2", level=2)
    >>> coarse
    dask.array<subband-aa, shape=(77, 52), dtype=float64, chunksize=(77, 52), chunktype=numpy.ndarray>
    >>> bool(abs(waverec2([coarse, *details], "db2") - x).max().compute() < 1e-12)
    True
    """

    name = "dask"

    def __init__(self, engine: str | Engine | None = None, *, joins: bool = True) -> None:
        self.engine = engine
        self.joins = joins

    def forward(self, plan: LevelPlan, x: Any) -> Bands:
        """Draw the graph of one level."""
        return self._draw_level(plan, x, *self._join(plan, x)).make_arrays()

    def split(self, plan: LevelPlan | StationaryPlan, x: Any) -> Bundle:
        """Draw the graph of one level, and return its bands as they come out of tasks; `x` may be one of such."""
        if isinstance(plan, StationaryPlan):
            return self._draw_stationary(plan, x)
        return self._draw_level(plan, x, *self._join(plan, x))

    def forward_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        """Draw the graph of all levels; those of an approximation that is one block are one task."""
        details: list[Bands] = []
        for number, level in enumerate(plan.levels):
            joined, target = self._join(level, x)
            if number + 1 < plan.level and all(len(joined[axis]) == 2 for axis in plan.axes):
                x, coarse = draw_splitting(plan, number, x, joined, self.engine)
                return x, coarse + details
            bands = self._draw_level(level, x, joined, target).make_arrays()
            x = bands.pop("a" * len(plan.axes))
            details.insert(0, bands)
        return (x if plan.levels else x.copy()), details

    def _draw_level(self, plan: LevelPlan, x: Any, joined: list[Edges], target: tuple[int, ...]) -> Bundle:
        reversible = plan.plans[0].integer is not None
        grid = find_grid(x)
        cuts = {axis: cut_coefficients(own, joined[axis]) for axis, own in zip(plan.axes, plan.plans, strict=True)}
        level = LocalLevel(plan.axes, _wavelets(plan), (), (), 0, reversible, plan.amplifies, self.engine)
        meta = find_meta(x) if reversible else as_computable(find_meta(x))
        origin = find_longest(grid.edges)
        return _split(grid, x, cuts, joined, level, meta, _describe_level(plan), target, origin)

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any], edges: Sequence[Edges] | None = None) -> Array:
        """Draw the graph of one level back, for the samples between `edges`, cut there, if these are given."""
        reversible = plan.plans[0].integer is not None
        own = _finest_edges(bands, len(plan.shape))
        cuts = {
            axis: cut_samples(each, own[axis], None if edges is None else edges[axis])
            for axis, each in zip(plan.axes, plan.plans, strict=True)
        }
        level = LocalLevel(plan.axes, _wavelets(plan), (), (), 0, reversible, False, self.engine)
        return _merge(_as_one_dtype(bands), cuts, edges or own, level, _describe_level(plan), is_cut=edges is not None)

    def inverse_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]) -> Any:
        """Draw the graph of all levels back; as long as there is one block, they are one task."""
        count = _count_coarse(plan, approximation, details)
        left, x = plan.level, approximation
        if count > 1:
            left -= count
            bands = details[count - 1]
            kept = find_grid(approximation).edges
            shape = plan.levels[left].shape
            blocks = Grid("", tuple((0, n) if axis in plan.axes else kept[axis] for axis, n in enumerate(shape)))
            lengths = _choose_lengths(bands, blocks, plan.axes)
            x = draw_merging(plan, left, x, details[:count], self.engine, lengths)
        for number in reversed(range(left)):
            x = self.inverse(plan.levels[number], {"a" * len(plan.axes): x, **details[plan.level - 1 - number]})
        return x if plan.levels else x.copy()

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        """Draw the graph of one undecimated level."""
        return self._draw_stationary(plan, x).make_arrays()

    def _draw_stationary(self, plan: StationaryPlan, x: Any) -> Bundle:
        grid = find_grid(x)
        joined = list(grid.edges)
        for axis, own in zip(plan.axes, plan.plans, strict=True):
            least = own.step * (own.wavelet.dec_len // 2)
            joined[axis] = join_chunks(joined[axis], least)
            if self.joins and _is_joined(grid.edges[axis], joined[axis]):
                _warn(grid.edges[axis], joined[axis], axis, own.wavelet, least)
        cuts = {
            axis: cut_stationary(own, joined[axis], is_inverse=False)
            for axis, own in zip(plan.axes, plan.plans, strict=True)
        }
        level = LocalLevel(plan.axes, _wavelets(plan), (), (), plan.plans[0].step, False, False, self.engine)
        return _split(grid, x, cuts, joined, level, as_computable(find_meta(x)), _describe_level(plan))

    def stationary_inverse(
        self, plan: StationaryPlan, bands: Mapping[str, Any], edges: Sequence[Edges] | None = None
    ) -> Array:
        """Draw the graph of one undecimated level back, for the samples between `edges` if these are given."""
        is_cut = edges is not None
        edges = _finest_edges(bands, len(plan.shape)) if edges is None else edges
        cuts = {
            axis: cut_stationary(own, edges[axis], is_inverse=True)
            for axis, own in zip(plan.axes, plan.plans, strict=True)
        }
        level = LocalLevel(plan.axes, _wavelets(plan), (), (), plan.plans[0].step, False, False, self.engine)
        return _merge(_as_one_dtype(bands), cuts, edges, level, _describe_level(plan), is_cut=is_cut)

    def _join(self, plan: LevelPlan, x: Any) -> tuple[list[Edges], tuple[int, ...]]:
        """Return the edges of blocks that are transformed, and how long chunks of their coefficients should be."""
        grid = find_grid(x)
        layer = _find_layer(x)
        target = None if layer is None else layer.target
        wanted = target or find_longest(grid.edges)
        if self.joins:
            wanted = _find_block(wanted, plan.axes)
        joined = list(grid.edges)
        for axis, own in zip(plan.axes, plan.plans, strict=True):
            least = find_reach(own)
            joined[axis] = join_chunks(grid.edges[axis], least, wanted[axis] + least if self.joins else 0)
            if self.joins and target is None:
                shortest = join_chunks(grid.edges[axis], least)
                if _is_joined(grid.edges[axis], shortest):
                    _warn(grid.edges[axis], shortest, axis, own.wavelet, least)
        return joined, tuple(-(-n // 2) if axis in plan.axes else n for axis, n in enumerate(wanted))


def _find_block(lengths: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """Return the lengths of blocks of up to two chunks along each axis, the last one first."""
    wanted = list(lengths)
    for axis in sorted(axes, reverse=True):
        if 2 * prod(wanted) <= _BLOCK:
            wanted[axis] *= 2
    return tuple(wanted)


def _describe_level(plan: LevelPlan | StationaryPlan) -> tuple[Any, ...]:
    """Return all that makes a level, in a form that has the same token in every process."""
    banks = tuple((own.wavelet.name, tuple(map(tuple, own.wavelet.filter_bank))) for own in plan.plans)
    about = tuple((getattr(own, "mode", ""), own.length, getattr(own, "step", 0)) for own in plan.plans)
    return plan.shape, plan.axes, banks, about, getattr(plan.plans[0], "integer", None) is not None


def _localise(draft: Draft, level: LocalLevel, cuts: Mapping[int, AxisCut], index: Sequence[int]) -> LocalLevel:
    """Return the level of one block; the same object for blocks that lie alike, which keeps the graph small."""
    low = tuple(cuts[axis].low_parts[index[axis]] for axis in level.axes)
    high = tuple(cuts[axis].high_parts[index[axis]] for axis in level.axes)
    about = "level", tuple((each.start, each.stop) for each in (*low, *high))
    own: LocalLevel = draft.share(about, lambda: replace(level, low=low, high=high))
    return own


def _split(
    grid: Grid,
    x: Any,
    cuts: Mapping[int, AxisCut],
    joined: Sequence[Edges],
    level: LocalLevel,
    meta: Any,
    about: Any,
    target: tuple[int, ...] | None = None,
    origin: tuple[int, ...] | None = None,
) -> Bundle:
    """Return the bands of an array."""
    token = tokenize(x.name, about, joined, str((level.step, level.is_reversible, level.is_wide, level.engine)))
    draft = Draft(f"subband-split-{token}")
    carried = {axis: list_windows(own) for axis, own in enumerate(joined) if axis not in cuts}
    edges = tuple(cuts[axis].edges if axis in cuts else own for axis, own in enumerate(joined))
    results = Grid(draft.name, edges)
    for index in results.walk():
        windows = [(cuts[axis].low if axis in cuts else carried[axis])[place] for axis, place in enumerate(index)]
        recipe, keys = draft.request(grid, windows)
        draft.add(index, split_block, _localise(draft, level, cuts, index), recipe, keys, grid.band)
    bands: dict[str, tuple[Edges, ...]] = {}
    for number in range(2 ** len(level.axes)):
        key = f"{number:0{len(level.axes)}b}".replace("0", "a").replace("1", "d")
        own = list(edges)
        for axis, letter in zip(level.axes, key, strict=True):
            if letter == "d" and not level.step:
                own[axis] = tuple(min(edge, _count_high(cuts[axis])) for edge in own[axis])
        bands[key] = tuple(own)
    return Bundle(draft.name, draft.finish([x]), bands, meta, target, origin)


def _find_layer(x: Any) -> SubbandLayer | Bundle | None:
    """Return what knows how long chunks of an array or a band are to be."""
    layer = x.bundle if isinstance(x, Band) else x.dask.layers.get(x.name)
    return layer if isinstance(layer, SubbandLayer | Bundle) else None


def _count_high(cut: AxisCut) -> int:
    """Return the number of high coefficients along an axis."""
    return sum(part.stop - part.start for part in cut.high_parts)


def _merge(
    bands: Mapping[str, Any],
    cuts: Mapping[int, AxisCut],
    edges: Sequence[Edges],
    level: LocalLevel,
    about: Any,
    *,
    is_cut: bool,
) -> Array:
    """Return the array that bands come from; in the chunks of `edges` if it is to be cut there."""
    names = {key: band.name for key, band in bands.items()}
    token = tokenize(names, about, edges, str((level.step, level.is_reversible, level.is_wide, level.engine)), is_cut)
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
        draft.add(index, merge_block, _localise(draft, level, cuts, index), parts, pieces)
    meta = find_meta(next(iter(bands.values())))
    if is_cut:
        whole: Array = draft.make_array(list(bands.values()), results.edges, meta)
        return whole
    graph = draft.finish(list(bands.values()))
    name = f"subband-samples-{token}"
    grid, tasks = divide(results, name, _choose_lengths(bands, results, cuts))
    samples: Array = make_array(graph, draft.name, name, grid, tasks, meta)
    return samples


def _choose_lengths(bands: Mapping[str, Any], blocks: Grid, axes: Iterable[int]) -> tuple[int, ...]:
    """Return how long chunks of samples are: as they once were, if that is known, or else not too large."""
    lengths = find_longest(blocks.edges)
    for band in bands.values():
        layer = _find_layer(band)
        if layer is not None and layer.origin is not None:
            return tuple(map(min, layer.origin, lengths))
    # chunks that are joined to blocks have a quarter of their samples; but blocks grow a little with every level
    if prod(lengths) > _SLACK * _BLOCK:
        return lengths
    halved = list(lengths)
    for axis in sorted(axes, reverse=True):
        if prod(halved) > _SLACK * _BLOCK / 4:
            halved[axis] = -(-halved[axis] // 2)
    return tuple(halved)


def _count_coarse(plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]) -> int:
    """Return how many levels, from the coarsest on, lead to a block that is not too large, from bands of one block."""
    kept = [axis for axis in range(len(plan.shape)) if axis not in plan.axes]
    lengths = find_longest(find_grid(approximation).edges)
    for count, (level, bands) in enumerate(zip(reversed(plan.levels), details, strict=True)):
        arrays = (approximation, *bands.values())
        is_one = all(array.numblocks[axis] == 1 for array in arrays for axis in plan.axes)
        is_alike = all(array.chunks[axis] == approximation.chunks[axis] for array in arrays for axis in kept)
        has_all = len(bands) == 2 ** len(plan.axes) - 1 and {array.dtype for array in arrays} == {approximation.dtype}
        size = prod(level.shape[axis] if axis in plan.axes else length for axis, length in enumerate(lengths))
        if not (is_one and is_alike and has_all and size <= _SLACK * _BLOCK):
            return count
    return plan.level


def _finest_edges(bands: Mapping[str, Any], ndim: int) -> list[Edges]:
    """Return along each axis the edges of the band that is cut into most chunks.

    The approximation counts only if it is alone: it comes from the level before, which had its own reasons.
    """
    grids = [find_grid(band) for key, band in bands.items() if "d" in key or len(bands) == 1]
    return [max((grid.edges[axis] for grid in grids), key=lambda own: (len(own), own[-1])) for axis in range(ndim)]


def _as_one_dtype(bands: Mapping[str, Any]) -> dict[str, Any]:
    """Return bands of one dtype."""
    dtype = np.result_type(*(band.dtype for band in bands.values()))
    return {key: band if band.dtype == dtype else cast(band, dtype) for key, band in bands.items()}


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
