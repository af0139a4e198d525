"""Noise of an array in pieces, from smooth cells: energies of those of each piece, merged in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from subband.arrays import namespace, to_host
from subband.engines.filters.cells import (
    EMPTY,
    LEFT_OUT,
    Cells,
    conclude,
    find_largest,
    measure_cells,
    tally_cells,
)
from subband.enhance.blockwise.statistics import Block, Gathered, NoiseSearch, Planes, flatten
from subband.enhance.shrinking import choose_coefficients
from subband.typing import Array

__all__ = ["FEW_CELLS", "CellSearch", "CellSketch", "sketch_cells"]

#: So many cells are kept rather than counted.
FEW_CELLS = 1 << 14

#: Bins of all energies that are finite.
_BINS = 0x7F800000 >> LEFT_OUT


@dataclass(frozen=True)
class CellSketch:
    """What is known of the cells of a part of a plane before the largest energy of all of them is.

    Attributes
    ----------
    largest : float
        That of this part, in the other bands.
    cells : ndarray or None
        The energies in the other bands and in the diagonal one, if they are few.
    table : ndarray or None
        Else counts and sums of both, by bins that begin at powers of two and not at the largest energy.
    """

    largest: float
    cells: Array | None
    table: Array | None

    @property
    def total(self) -> int:
        """Number of cells."""
        return int(self._table[0].sum()) if self.cells is None else self.cells.shape[1]

    @property
    def noise(self) -> float:
        """Its standard deviation: what `measure_cells` returns of few cells, else within some parts of a thousand."""
        if self.cells is not None:
            return measure_cells(*self.cells)
        first = int(np.float32(self.largest * EMPTY).view(np.int32)) >> LEFT_OUT
        return conclude(self._table[:, first:])

    @property
    def _table(self) -> Array:
        if self.table is not None:
            return self.table
        assert self.cells is not None
        return _count(*self.cells)

    def __add__(self, other: CellSketch) -> CellSketch:
        largest = max(self.largest, other.largest)
        if self.cells is not None and other.cells is not None and self.total + other.total <= FEW_CELLS:
            return CellSketch(largest, np.concatenate([self.cells, other.cells], axis=1), None)
        return CellSketch(largest, None, self._table + other._table)


def sketch_cells(others: Any, own: Any) -> CellSketch:
    """Look at the energies of some cells in the other bands and in the diagonal one, in arrays of any library.

    Examples
    --------
    >>> energies = np.random.default_rng(0).chisquare([[32], [16]], (2, 50_000)) / [[32], [16]]
    >>> whole = sketch_cells(*energies[:, :30_000]) + sketch_cells(*energies[:, 30_000:])
    >>> bool(abs(whole.noise / measure_cells(*energies) - 1) < 2e-3)
    True
    """
    if others.shape[0] <= FEW_CELLS:
        return CellSketch(find_largest(others), np.stack([to_host(others), to_host(own)]), None)
    return CellSketch(find_largest(others), None, _count(others, own))


def _count(others: Any, own: Any) -> Array:
    """Count cells where they are: only the counts come to the host."""
    if not others.shape[0]:
        return np.zeros((3, _BINS))
    xp = namespace(others, "cells")
    with np.errstate(over="ignore"):
        # some that are not a number have the bit of a sign
        bins = (others.astype(np.float32).view(np.int32) & 0x7FFFFFFF) >> LEFT_OUT
    counts = [to_host(xp.bincount(bins, weights, _BINS))[:_BINS] for weights in (None, others, own)]
    return np.stack(counts).astype(np.float64)


@dataclass(frozen=True)
class CellSearch:
    """The strength of noise, from smooth cells of the finest diagonal coefficients; see `Filters.measure_noise`.

    A first look sketches cells, from which `find` gets the noise, exactly if they are few. Where that is not enough,
    `aim` says what the largest energy is, a second look counts, and `pick` finds what the whole would give.

    Attributes
    ----------
    cells : Cells
        How a plane of the whole band is cut.
    gains : tuple of float
        What noise of standard deviation one has in the diagonal band and in the other bands of the level.
    median : NoiseSearch
        What is asked where too few cells are known.

    Examples
    --------
    >>> from subband.engines.filters.cells import cut_cells
    >>> rng = np.random.default_rng(0)
    >>> samples, bands = rng.normal(0, 3, (400, 600)), rng.normal(0, 3, (3, 200, 300))
    >>> search = CellSearch(cut_cells((200, 300), 2), (1.0, 1.0, 1.0), NoiseSearch((), 2, 1.0))
    >>> rows = search.find_window(0, 0, 90), search.find_window(0, 90, 200)
    >>> rows, search.find_samples(0, *rows[1])
    (((0, 92), (92, 200)), (184, 400))
    >>> parts = [(samples[2 * first : 2 * last], *bands[:, first:last]) for first, last in rows]
    >>> found = search.merge([search.look(Block(), *part) for part in parts])
    >>> round(float(search.find(found)), 1)
    3.0
    """

    cells: Cells
    gains: tuple[float, ...]
    median: NoiseSearch

    def find_window(self, axis: int, begin: int, end: int) -> tuple[int, int]:
        """Return from where to where the cells reach along an axis of space that begin in a range of coefficients."""
        first, side = self.cells.begin[axis], self.cells.sides[axis] * self.cells.step
        start, stop = (min(max(0, -(-(index - first) // side)), self.cells.counts[axis]) for index in (begin, end))
        # of the last cell with a distance between coefficients not all that follows need be there
        return first + start * side, first + stop * side - (self.cells.step - 1) * (stop > start)

    def find_samples(self, axis: int, begin: int, end: int) -> tuple[int, int]:
        """Return the samples of the cells in a range of coefficients, counted from the first ahead of the image."""
        side = self.cells.sides[axis] * self.cells.step
        first = self.cells.starts[axis] + self.count_ahead(axis)
        start, stop = ((each - self.cells.begin[axis] + side - 1) // side for each in (begin, end))
        span = self.cells.spans[axis]
        return first + start * span, first + stop * span

    def count_ahead(self, axis: int) -> int:
        """Return how many samples ahead of the image the band begins with; the first of the image stands for them."""
        return self.cells.ahead if self.cells.sides[axis] > 1 else 0

    def look(self, block: Block, samples: Any, *bands: Any) -> Gathered:
        """Sketch the cells of a part of the bands, the diagonal one first, that `find_window` says, and of samples."""
        pairs = self._measure(samples, bands)[1]
        return {block.planes: [[sketch_cells(*pair)] for pair in pairs]}

    def look_at_known(self, block: Block, band: Any, known: Any, around: Any, samples: Any, *bands: Any) -> Gathered:
        """Do what `look` does where not all samples count.

        Parameters
        ----------
        block : Block
            Which planes these are.
        band, known : array
            A part of the diagonal band, wherever it begins, for `median`, and which samples count.
        around : array
            Which samples count around `bands`.
        samples, bands : arrays
            As in `look`.
        """
        cells, pairs = self._measure(samples, bands)
        chosen = self._choose(cells, around)
        found: Gathered = {block.planes: [[sketch_cells(a[chosen], b[chosen]), sketch_cells(a, b)] for a, b in pairs]}
        found["median", block.planes] = self.median.look_at_known(block, band, known)
        return found

    def count(self, block: Block, samples: Any, *bands_and_aims: Any) -> Gathered:
        """Count what `look` has sketched, with what `aim` has found behind the bands."""
        *bands, aims = bands_and_aims
        pairs = zip(self._measure(samples, bands)[1], aims[block.planes], strict=True)
        return {block.planes: [[tally_cells(*pair, own[0])] for pair, own in pairs]}

    def count_known(
        self, block: Block, band: Any, known: Any, around: Any, samples: Any, *bands_and_aims: Any
    ) -> Gathered:
        """Count what `look_at_known` has sketched."""
        *bands, aims = bands_and_aims
        cells, pairs = self._measure(samples, bands)
        chosen = self._choose(cells, around)
        found: Gathered = {
            block.planes: [
                [tally_cells(a[chosen], b[chosen], some), tally_cells(a, b, every)]
                for (a, b), (some, every) in zip(pairs, aims[block.planes], strict=True)
            ]
        }
        found["median", block.planes] = self.median.look_at_known(block, band, known)
        return found

    def _choose(self, cells: Cells, around: Any) -> Any:
        """Tell which cells of a part are known."""
        if not cells.total:
            return slice(None)
        search = self.median
        return cells.find_known(choose_coefficients(around != 0, search.reach, search.step, search.axes))

    def _measure(self, samples: Any, bands: Sequence[Any]) -> tuple[Cells, list[tuple[Any, Any]]]:
        """Return how parts of the bands are cut, and for each plane the energies of its cells: in others, and own."""
        dimensions, step = self.median.dimensions, self.cells.step
        planes = [flatten(band, dimensions).astype(np.float64) for band in bands]
        lengths = [-(-length // step) for length in planes[0].shape[1:]]
        counts = tuple(length // side for length, side in zip(lengths, self.cells.sides, strict=True))
        cells = replace(self.cells, begin=(0,) * dimensions, counts=counts, ahead=0)
        own, *others = (cells.measure_energies(x, gain) for x, gain in zip(planes, self.gains, strict=True))
        around = flatten(samples, dimensions).astype(np.float64)
        beside = cells.set_back(reduce(add, others) / len(others), own, around)
        return cells, list(zip(beside, own, strict=True))

    def merge(self, several: Sequence[Gathered]) -> Gathered:
        """Merge what several parts gave."""
        merged: Gathered = {}
        for gathered in several:
            for key, own in gathered.items():
                if key not in merged:
                    merged[key] = own
                elif isinstance(own, dict):
                    merged[key] = self.median.merge([merged[key], own])
                else:
                    pairs = zip(merged[key], own, strict=True)
                    merged[key] = [[a + b for a, b in zip(*pair, strict=True)] for pair in pairs]
        return merged

    def aim(self, found: Gathered) -> Mapping[Planes, Any]:
        """Return the largest energies of each plane."""
        sketches = {key: own for key, own in found.items() if not isinstance(own, dict)}
        return {key: [[each.largest for each in plane] for plane in own] for key, own in sketches.items()}

    def find(self, found: Gathered) -> Array:
        """Return the standard deviation of noise in each plane, as sketches tell it."""
        noise = np.zeros(self.median.leading)
        for planes, own in found.items():
            if isinstance(own, dict):
                continue
            leading = Block(planes).leading
            some, every = ([plane[index] for plane in own] for index in (0, -1))
            if self.cells.are_enough(_count_cells(some[0])):
                numbers = [_conclude(each) for each in some]
            elif len(own[0]) > 1 and _has_known(magnitudes := found["median", planes]):
                numbers = self.median.find(magnitudes)[leading].ravel().tolist()
            else:
                # all coefficients count where each of them touches a gap
                numbers = [_conclude(each) for each in every]
            noise[leading] = np.array(numbers).reshape(noise[leading].shape)
        return noise

    def pick(self, found: Gathered, aims: Mapping[Planes, Any]) -> Array:  # noqa: ARG002 - as `NoiseSearch.pick`
        """Return the standard deviation of noise in each plane, as that of the whole is measured."""
        return self.find(found)


def _conclude(own: CellSketch | Array) -> float:
    return own.noise if isinstance(own, CellSketch) else conclude(own)


def _count_cells(own: CellSketch | Array) -> int:
    return own.total if isinstance(own, CellSketch) else int(own[0].sum())


def _has_known(magnitudes: Gathered) -> bool:
    """Tell whether some coefficients touch known samples only."""
    return all(sketches[0].total for sketches in magnitudes.values())
