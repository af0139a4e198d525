"""What workers count in chunks, for decisions about the whole: sketches of noise, and sums over bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from subband.arrays import namespace
from subband.engines.filters.median import Bracket, Sketch, collect_magnitudes, sketch_magnitudes
from subband.integrations.dask.blocks import LocalLevel, Parts, Recipe, fetch, share_cores, split_samples, stay_with
from subband.integrations.dask.findings import narrow
from subband.integrations.dask.planes import flatten
from subband.integrations.dask.rules import LevelShrink
from subband.typing import Array

__all__ = ["Aim", "Aims", "Erosion", "Search", "TallyTask", "add_tallies", "search_band", "search_chunk", "tally_chunk"]


@dataclass(frozen=True)
class Erosion:
    """Which coefficients of a chunk touch only samples that are known.

    A coefficient counts if every sample within the reach of its filter, however that is placed, does.

    Attributes
    ----------
    recipe : Recipe
        Of what is known around the chunk.
    reach : int
        Samples on either side.
    step : int
        Distance of coefficients.
    axes : tuple of int
        The transformed axes of space.
    """

    recipe: Recipe
    reach: int
    step: int
    axes: tuple[int, ...]

    def run(self, pieces: Sequence[Any]) -> Any:
        """Return an array of bool.

        Examples
        --------
        >>> from subband.integrations.dask.windows import plain_window
        >>> recipe = Recipe((7,), ((slice(0, 7),),), (None,), (plain_window(0, 7),))
        >>> Erosion(recipe, 1, 2, (0,)).run([np.array([1, 1, 1, 1, 0, 1, 1], np.uint8)])
        array([ True, False, False])
        """
        known = fetch(self.recipe, pieces) != 0
        xp = namespace(known, "a mask")
        width = 2 * self.reach + 1
        for axis in self.axes:
            sums = xp.cumsum(xp.moveaxis(known, axis, 0).astype(np.int64), axis=0)
            inside = sums[width - 1 :].copy()
            inside[1:] -= sums[:-width]
            known = xp.moveaxis(inside[:: self.step] == width, 0, axis)
        return known


class Aim(NamedTuple):
    """What the sketches of a plane say about the median: its value, if known, or where it is to be looked for."""

    median: float
    bracket: Bracket | None
    is_masked: bool


@dataclass(frozen=True)
class Aims:
    """The aims of all planes, by the names of those that chunks hold together; Dask does not look into it."""

    by_place: Mapping[str, Sequence[Aim]]


@dataclass(frozen=True)
class Search:
    """What is looked for in a chunk of the finest diagonal band.

    Attributes
    ----------
    dimensions : int
        Number of axes of space.
    erosion : Erosion or None
        Which coefficients count, if not all do.
    place : str
        Which planes these are: the name of their aims.
    """

    dimensions: int
    erosion: Erosion | None
    place: str

    def sketch(self, band: Any, known: Sequence[Any]) -> list[Sketch]:
        """Return sketches of planes; with an erosion, those of coefficients that count, and then those of all."""
        with stay_with(band):
            planes = flatten(band, self.dimensions)
            sketches = [sketch_magnitudes(plane) for plane in planes]
            if self.erosion is None:
                return sketches
            if 0 in planes.shape:
                return sketches * 2
            chosen = namespace(planes, "a mask").asarray(self.erosion.run(known))
            return [sketch_magnitudes(plane[chosen]) for plane in planes] + sketches

    def collect(self, band: Any, known: Sequence[Any], aims: Aims) -> list[Array]:
        """Return the magnitudes of planes that may be medians."""
        with stay_with(band):
            planes = flatten(band, self.dimensions)
            chosen: Any = Ellipsis
            if self.erosion is not None and 0 not in planes.shape:
                chosen = namespace(planes, "a mask").asarray(self.erosion.run(known))
            found = []
            for plane, aim in zip(planes, aims.by_place[self.place], strict=True):
                if aim.bracket is None:
                    found.append(np.zeros((2, 0)))
                else:
                    found.append(collect_magnitudes(plane[chosen] if aim.is_masked else plane, aim.bracket))
            return found


def search_chunk(
    level: LocalLevel,
    recipe: Recipe,
    pieces: Sequence[Any],
    key: str,
    search: Search,
    known: Sequence[Any] = (),
    aims: Aims | None = None,
) -> list[Any]:
    """Return sketches of the finest diagonal coefficients of a chunk, or what may be medians of all of them."""
    with share_cores(), stay_with(pieces[0]):
        return search_band(split_samples(level, fetch(recipe, pieces))[key], search, known, aims)


def search_band(band: Any, search: Search, known: Sequence[Any] = (), aims: Aims | None = None) -> list[Any]:
    """Do what `search_chunk` does, with a chunk of the band itself."""
    return search.sketch(band, known) if aims is None else search.collect(band, known, aims)


@dataclass(frozen=True)
class TallyTask:
    """What is counted of the bands of one chunk.

    Attributes
    ----------
    parts : mapping of Part
        The bands, with what lies around them if that has a say.
    inner : mapping of tuple of slice
        Where the chunk is in each.
    rows : mapping of int
        Number of the first row of each in the whole band.
    counts : mapping of int
        Coefficients of a plane of each whole band.
    leading : tuple of slice
        Which planes these are.
    """

    parts: Parts
    inner: Mapping[str, tuple[slice, ...]]
    rows: Mapping[str, int]
    counts: Mapping[str, int]
    leading: tuple[slice, ...]


def tally_chunk(shrink: LevelShrink, task: TallyTask, pieces: Sequence[Any], noise: Any) -> dict[Any, Array]:
    """Return what a method has to know of the bands of a chunk, to be added to that of the others."""
    with share_cores(), stay_with(next(iter(pieces[0].values())) if isinstance(pieces[0], dict) else pieces[0]):
        numbers, _ = narrow(noise, None, task.leading)
        tallies = {}
        for key, part in task.parts.items():
            band = flatten(part.fetch(pieces, key), shrink.dimensions)
            inner = task.inner[key][-shrink.dimensions :]
            tallies[shrink.position, shrink.level, key] = shrink.tally(
                band, key, numbers, inner, task.rows[key], task.counts[key]
            )
        return tallies


def add_tallies(several: Sequence[Mapping[Any, Array]]) -> dict[Any, Array]:
    """Return the sums of several chunks.

    Examples
    --------
    >>> add_tallies([{"dd": np.ones(2)}, {"dd": np.ones(2), "ad": np.zeros(2)}])
    {'dd': array([2., 2.]), 'ad': array([0., 0.])}
    """
    total: dict[Any, Array] = {}
    for own in several:
        for at, numbers in own.items():
            total[at] = total[at] + numbers if at in total else numbers
    return total
