"""The engine for arrays of Dask: it computes nothing, and draws graphs of what the engines of blocks will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from subband.arrays import as_computable, cast
from subband.engines import Engine
from subband.integrations.dask.adjoint import prepare_bands, prepare_samples
from subband.integrations.dask.graphs import BlockMap, draw_array, draw_bundle
from subband.integrations.dask.grids import Bundle, find_grid, find_longest, find_meta
from subband.integrations.dask.levels import (
    Cut,
    Merge,
    Plan,
    Share,
    Split,
    cut_axis,
    find_reach,
    list_axes,
    name_band,
)
from subband.integrations.dask.windows import Edges, join_chunks, list_windows
from subband.plan import LevelPlan, TransformPlan, transform_plan
from subband.schedule.levels import merge_levels, split_levels
from subband.stationary import StationaryPlan
from subband.transforms.arguments import warn_caller
from subband.typing import Array, Bands
from subband.wavelets import Wavelet

__all__ = ["DaskEngine"]

#: Chunks are joined with their neighbours to blocks of at most so many samples, so that chunks of coefficients are as
#: large as those of the samples; larger chunks are blocks of their own, and become smaller with every level.
_BLOCK = 2**22

# How much larger than that a block may be, as bands have some coefficients more than half as many as samples; and how
# much larger one of samples that is made of coefficients.
_GROWTH = 1.1
_SLACK = 1.25


class DaskEngine(Engine):
    """Transforms chunk by chunk, each with as much of its neighbours as its filters reach.

    Parameters
    ----------
    engine : str or Engine, optional
        The engine that computes the blocks; that of their device if left out.
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
        return self.split(plan, x).make_arrays(find_longest(find_grid(x).edges))

    def split(self, plan: Plan, x: Any) -> Bundle:
        """Draw the graph of one level, and return its bands as they come out of tasks; `x` may be one of such."""
        return self._split([plan], x, self._join(plan, x))

    def forward_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        """Draw the graph of all levels; those of an approximation that is one block are one task."""
        letters = "a" * len(plan.axes)
        details: list[Bands] = []
        while len(details) < plan.level:
            levels = plan.levels[len(details) :]
            joined = self._join(levels[0], x)
            if any(len(joined[axis]) > 2 for axis in plan.axes):
                levels = levels[:1]
            bands = self._split(levels, x, joined).make_arrays(find_longest(find_grid(x).edges))
            x, count = bands[name_band(letters, len(levels), len(levels))], len(levels)
            for number, level in enumerate(levels, 1):
                keys = [key for key in level.band_shapes if "d" in key]
                details.insert(0, {key: bands[name_band(key, number, count)] for key in keys})
        return (x if plan.levels else x.copy()), details

    def inverse(self, plan: LevelPlan, bands: Mapping[str, Any], edges: Sequence[Edges] | None = None) -> Array:
        """Draw the graph of one level back, for the samples between `edges`, cut there, if these are given."""
        return self._merge([plan], _as_one_dtype(bands), edges)

    def inverse_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]) -> Any:
        """Draw the graph of all levels back; as long as there is one block, they are one task."""
        letters = "a" * len(plan.axes)
        count = _count_coarse(plan, approximation, details)
        left, x = plan.level, approximation
        if count > 1:
            left -= count
            bands = {name_band(letters, count, count): x}
            for number, own in enumerate(reversed(details[:count]), 1):
                bands.update({name_band(key, number, count): band for key, band in own.items()})
            x = self._merge(plan.levels[left:], bands)
        for number in reversed(range(left)):
            x = self.inverse(plan.levels[number], {letters: x, **details[plan.level - 1 - number]})
        return x if plan.levels else x.copy()

    def forward_adjoint(self, plan: LevelPlan, bands: Mapping[str, Any]) -> Array:
        """Draw the graph of the transpose of `forward`."""
        return self.inverse(*prepare_bands(plan, _as_one_dtype(bands)))

    def inverse_adjoint(self, plan: LevelPlan, x: Any) -> Bands:
        """Draw the graph of the transpose of `inverse`."""
        bands = self.forward(*prepare_samples(plan, x))
        return {key: bands[key][tuple(map(slice, shape))] for key, shape in plan.band_shapes.items()}

    def forward_adjoint_all(self, plan: TransformPlan, approximation: Any, details: Sequence[Bands]) -> Array:
        """Draw the graph of the transpose of `forward_all`."""
        return merge_levels(plan.levels, approximation, details, self.forward_adjoint)

    def inverse_adjoint_all(self, plan: TransformPlan, x: Any) -> tuple[Any, list[Bands]]:
        """Draw the graph of the transpose of `inverse_all`."""
        return split_levels(plan.levels, x, self.inverse_adjoint)

    def stationary_forward(self, plan: StationaryPlan, x: Any) -> Bands:
        """Draw the graph of one undecimated level."""
        return self.split(plan, x).make_arrays()

    def stationary_inverse(
        self, plan: StationaryPlan, bands: Mapping[str, Any], edges: Sequence[Edges] | None = None
    ) -> Array:
        """Draw the graph of one undecimated level back, for the samples between `edges` if these are given."""
        return self._merge([plan], _as_one_dtype(bands), edges)

    def _split(self, plans: Sequence[Plan], x: Any, joined: Sequence[Edges]) -> Bundle:
        """Return the bands of one level, or of several if there is a single block along the transformed axes."""
        cuts = {}
        edges, windows = list(joined), list(map(list_windows, joined))
        for axis, plan in list_axes(plans[0]):
            edges[axis], cuts[axis] = cut_axis(plan, joined[axis])
            windows[axis] = [cut.low for cut in cuts[axis]]
        bands = {}
        for number, level in enumerate(plans, 1):
            for key, shape in level.band_shapes.items():
                if "d" in key or number == len(plans):
                    # bands of coarser levels may be longer, where they are short beside the filter
                    bands[name_band(key, number, len(plans))] = tuple(
                        (*(min(edge, shape[axis]) for edge in own[:-1]), shape[axis]) if axis in cuts else own
                        for axis, own in enumerate(edges)
                    )
        work = Split(_join_plans(plans), self.engine)
        meta = find_meta(x) if work.is_reversible else as_computable(find_meta(x))
        blocks = BlockMap(work, edges, [(x, windows)], _Locator(cuts, len(edges)))
        return draw_bundle({"": blocks}, "split" if len(plans) == 1 else "coarse", edges=bands, meta=meta)

    def _merge(self, plans: Sequence[Plan], bands: Mapping[str, Any], goal: Sequence[Edges] | None = None) -> Array:
        """Return the array that bands of one level or of several come from; in chunks between the edges of a goal."""
        own = _finest_edges(bands, len(plans[0].shape))
        cuts = {}
        edges = list(goal or own)
        for axis, plan in list_axes(plans[0]):
            edges[axis], cuts[axis] = cut_axis(plan, own[axis], () if goal is None else goal[axis])
        sources = []
        for key, band in bands.items():
            windows = list(map(list_windows, edges if len(plans) == 1 else find_grid(band).edges))
            for axis, letter in zip(cuts, key, strict=False):
                if len(plans) == 1:
                    windows[axis] = [cut.low if letter == "a" else cut.high for cut in cuts[axis]]
            sources.append((band, windows))
        work = Merge(_join_plans(plans), self.engine, tuple(bands))
        blocks = BlockMap(work, edges, sources, _Locator(cuts, len(edges)))
        finest = [band for key, band in bands.items() if key[len(cuts) :] in ("", "1")]
        lengths = _choose_lengths(finest, edges, tuple(cuts)) if goal is None else None
        samples: Array = draw_array(blocks, "merge" if len(plans) == 1 else "coarse", lengths=lengths)
        return samples

    def _join(self, plan: Plan, x: Any) -> list[Edges]:
        """Return the edges of blocks that are transformed together."""
        edges = find_grid(x).edges
        wanted = list(find_longest(edges))
        for axis in sorted(plan.axes, reverse=True):
            if 2 * prod(wanted) <= _GROWTH * _BLOCK:
                wanted[axis] *= 2
        joins = self.joins and isinstance(plan, LevelPlan)
        joined = list(edges)
        for axis, own in list_axes(plan):
            least = find_reach(own)
            shortest = join_chunks(edges[axis], least)
            joined[axis] = join_chunks(edges[axis], least, wanted[axis] + least) if joins else shortest
            # other chunks than a last one that is too short, as it often is; those of bands are nobody's choice
            if self.joins and getattr(x, "origin", None) is None and not set(edges[axis][:-2]) <= set(shortest):
                _warn(edges[axis], shortest, axis, own.wavelet, least)
        return joined


class _Locator:
    """Says what counts of each block of a level, with the same object for blocks that lie alike."""

    def __init__(self, cuts: Mapping[int, Sequence[Cut]], ndim: int) -> None:
        self._cuts, self._ndim = cuts, ndim
        self._shares: dict[Any, Share] = {}

    def __call__(self, index: tuple[int, ...]) -> Share:
        inner = [slice(None)] * self._ndim
        high = list(inner)
        chosen = {axis: cuts[index[axis]] for axis, cuts in self._cuts.items()}
        for axis, cut in chosen.items():
            inner[axis], high[axis] = cut.inner, cut.inner_high
        lengths = tuple(cut.length for cut in chosen.values())
        about = tuple((each.start, each.stop) for each in (*inner, *high)), lengths
        return self._shares.setdefault(about, Share(tuple(inner), tuple(high), lengths))


def _join_plans(plans: Sequence[Plan]) -> TransformPlan | StationaryPlan:
    """Return the plan of some levels, the finest first."""
    first = plans[0]
    if isinstance(first, StationaryPlan):
        return first
    wavelets, modes = (tuple(getattr(own, name) for own in first.plans) for name in ("wavelet", "mode"))
    return transform_plan(first.shape, first.axes, wavelets, modes, len(plans), first.plans[0].integer is not None)


def _choose_lengths(bands: Sequence[Any], edges: Sequence[Edges], axes: Sequence[int]) -> tuple[int, ...]:
    """Return how long chunks of samples are: as they once were, if that is known, or else not too large."""
    lengths = find_longest(edges)
    for band in bands:
        origin = getattr(band, "origin", None)
        if origin is not None:
            return tuple(map(min, origin, lengths))
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


def _warn(edges: Edges, joined: Edges, axis: int, wavelet: Wavelet, least: int) -> None:
    """Say that chunks are joined, and how to have it done once and for all."""
    shortest = min(b - a for a, b in pairwise(edges))
    longest = max(b - a for a, b in pairwise(joined))
    warn_caller(
        f"chunks of {shortest} samples along axis {axis} are shorter than the {least} that {wavelet.name!r} reads at "
        f"once; {len(edges) - 1} chunks are joined to {len(joined) - 1}, as x.rechunk({{{axis}: {longest}}}) would do "
        "beforehand"
    )
