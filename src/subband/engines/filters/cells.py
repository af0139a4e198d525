"""Noise in smooth cells: where the other bands of a level have little energy, the diagonal one holds little but noise.

The median magnitude of the finest diagonal band takes texture for noise. So that band is cut into *cells*, of 4 × 4
coefficients or 2 × 2 × 2. Ordered by their energy in the other bands of the level, the first quarter of the cells is
smooth, and noise is their mean energy in the diagonal band. Noise of the bands is independent, so that the choice by
one does not make the other weaker or stronger. That holds for the bands of a decimated transform; of one that has every
position each second coefficient is looked at. At the borders, where filters see mirror images, noise of all bands is
weaker or stronger at the same time, and no cells are there.

Two things have less energy than noise. What is empty, because it is constant, has next to none, and is left out. Where
noise was clipped, half of it is left or less: if the first eighth of the cells has clearly less than the second, noise
is that of the first pair of eighths that have the same, and where the diagonal band has as much as the others. If so
much was clipped that both have the same, such a pair has as many times as much as there was before clipping. Texture
has less there, and more from eighth to eighth. Edges in what is else empty may have as much there, but their energies
in the other bands, in which all orders of magnitude occur, grow faster from eighth to eighth than those of noise.

Where samples were clipped can be seen in themselves, too: half of the normal law is left, and the mean of a cell is
near its least or greatest sample, beside how much they differ. Such cells are *set back*, so far that they do not count
beside any other; where all are, nothing changes.

Energies in the other bands are counted in bins, an eighth of an octave wide from the largest one down, and eighths are
parts of bins. So nothing is sorted, and what has to be known of a plane are counts and sums of energies by bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import prod, sqrt
from typing import Any

import numpy as np

from subband.arrays import namespace, to_host
from subband.typing import Array

__all__ = [
    "BINS",
    "CLIPPED",
    "DENSE",
    "EMPTY",
    "ENOUGH",
    "EVEN",
    "FEWEST",
    "FIRST",
    "JUMP",
    "LEAST_CLIPPED",
    "LEAST_OWN",
    "LEFT_OUT",
    "MOST_CLIPPED",
    "PARTS",
    "SET_BACK",
    "SIDES",
    "WHITE",
    "Cells",
    "conclude",
    "cut_cells",
    "find_largest",
    "measure_cells",
    "tally_cells",
]

#: Bits of a float32 that bins leave out: those behind the exponent and three of the fraction.
LEFT_OUT = 20

#: Cells with less than this part of the largest energy are empty: rounding leaves 1e-11 of what is constant, and of
#: noise that 8 bits can show there is 1e-5.
EMPTY = 2.0**-27

#: The first of the bins of parts of the largest energy, and how many there are.
FIRST = int(np.float32(EMPTY).view(np.int32)) >> LEFT_OUT
BINS = (int(np.float32(1).view(np.int32)) >> LEFT_OUT) - FIRST + 1

#: Parts of equally many cells.
PARTS = 8

#: Cells with fewer coefficients are not chosen among: a quarter of them would say less than the median of all.
FEWEST = 1024

#: From so many cells on clipping is looked for.
ENOUGH = 256

#: The first part has less than this of the second where noise was clipped.
JUMP = 0.8

#: Where it was around black or white, it has 2.9 times as much elsewhere; at least and at most so many times.
LEAST_CLIPPED, MOST_CLIPPED = 2.3, 3.3

#: Noise is even: the next part has at most so many times as much. And white: the diagonal band has at least so much of
#: what the others have; of the second to the fifth of eight parts of white noise it is 1.3 to 0.97.
EVEN, WHITE = 1.1, 0.95

#: And dense: the other bands have at most so many times as much in the next part; 1.26 of white noise, and less.
DENSE = 1.5

#: In a cell that was clipped, the square of how far the mean is from the nearest end of the samples is less than so
#: many times the energy: 5.8 of normal noise in 64 samples, give or take 1.4, and 1.6 if the mean was one standard
#: deviation from the bound. So it is at edges, too, but these have less than such a part of the energy in the diagonal
#: band; one cell in a thousand of white noise has. And what energies of clipped cells are multiplied by: so little is
#: empty beside that of any other cell.
CLIPPED, LEAST_OWN, SET_BACK = 2.5, 0.25, 2.0**-64

#: Where the parts begin and end.
_RANKS = np.arange(PARTS + 1) / PARTS

#: Coefficients of a cell along each axis, by the number of other bands that a level of two or three axes has. Those of
#: a volume have more coefficients for the same length, and short ones find more of what is smooth.
SIDES = {2: 4, 6: 2}


@dataclass(frozen=True)
class Cells:
    """How a plane is cut.

    Attributes
    ----------
    begin, sides, counts : tuple of int
        The first coefficient along each axis, coefficients of a cell, and cells; what is left over does not count.
    step : int
        Distance of the coefficients that are looked at: 2 if there are as many as samples, else 1.
    ahead : int
        Samples before the first of the image that the band begins with.
    """

    begin: tuple[int, ...]
    sides: tuple[int, ...]
    counts: tuple[int, ...]
    step: int = 1
    ahead: int = 0

    @cached_property
    def total(self) -> int:
        """Number of cells of a plane."""
        return prod(self.counts)

    def are_enough(self, count: int) -> bool:
        """Tell whether there are enough cells to choose from, of which so many count."""
        return count * prod(self.sides) >= FEWEST

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """Samples of a cell along each axis."""
        return tuple(2 * side if side > 1 else 1 for side in self.sides)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first sample of the first cell along each axis, which may lie before that of the image."""
        axes = zip(self.begin, self.sides, strict=True)
        return tuple(2 * own // self.step - self.ahead if side > 1 else 0 for own, side in axes)

    def find_known(self, mask: Any) -> Any:
        """Tell of which cells all coefficients are known, one after the other; a mask is not 0 where they are."""
        return self._fold((mask != 0)[np.newaxis])[0] == prod(self.sides)

    def measure_energies(self, planes: Any, gain: float) -> Any:
        """Return the mean square of each cell over that of unit white noise, planes × cells.

        Planes may be larger than what was cut.
        """
        return self._fold(planes * planes) * (1 / (gain * gain * prod(self.sides)))

    def set_back(self, others: Any, own: Any, samples: Any) -> Any:
        """Return the energies of cells in the other bands, those of clipped ones so low that they count as empty.

        Of samples, the first or the last stands for those that would lie before or behind.

        Parameters
        ----------
        others, own : array
            Planes × cells, in the other bands and in the diagonal one.
        samples : array
            Of as many planes, or of fewer whose other positions follow.
        """
        samples = self.take_samples(samples, range(1, samples.ndim))
        lows, highs, sums = samples, -samples, samples
        for axis, (count, span) in enumerate(zip(self.counts, self.spans, strict=True), 1):
            shape = *lows.shape[:axis], count, span, *lows.shape[axis + 1 :]
            lows, highs = (np.min(x.reshape(shape), axis=axis + 1) for x in (lows, highs))
            sums = sums.reshape(shape).sum(axis=axis + 1)
        means = sums * (1 / prod(self.spans))
        nearest = np.minimum(means - lows, -highs - means).reshape(samples.shape[0], self.total)
        if others.shape[0] > samples.shape[0]:
            nearest = np.concatenate([nearest] * (others.shape[0] // samples.shape[0]))
        is_clipped = (nearest * nearest < CLIPPED * others) & (own > LEAST_OWN * others)
        return np.where(is_clipped, SET_BACK * others, others)

    def take_samples(self, samples: Any, axes: Sequence[int]) -> Any:
        """Return the samples of all cells along some axes of planes, of which the first counts these."""
        for axis in axes:
            start, count, span = (numbers[axis - 1] for numbers in (self.starts, self.counts, self.spans))
            indices = np.clip(np.arange(start, start + count * span), 0, samples.shape[axis] - 1)
            samples = np.take(samples, indices, axis)
        return samples

    def _fold(self, x: Any) -> Any:
        """Return the sum of each cell."""
        axes = list(zip(self.begin, self.counts, self.sides, strict=True))
        x = x[(slice(None), *(slice(own, own + count * side * self.step, self.step) for own, count, side in axes))]
        for axis, (_, count, side) in enumerate(axes, 1):
            x = x.reshape(*x.shape[:axis], count, side, *x.shape[axis + 1 :]).sum(axis=axis + 1)
        return x.reshape(x.shape[0], self.total)


@lru_cache(maxsize=256)
def cut_cells(shape: tuple[int, ...], others: int, margin: int = 0, step: int = 1, ahead: int = 0) -> Cells | None:
    """Return how to cut a plane of a shape, or None if there are too few cells.

    Parameters
    ----------
    shape : tuple of int
        Of a plane of the band.
    others : int
        How many other bands of details the level has.
    margin : int
        Coefficients at either end of each axis that do not count.
    step : int
        Distance of the coefficients that are looked at.
    ahead : int
        Samples before the first of the image that the band begins with.

    Examples
    --------
    >>> cut_cells((130, 90), 2)
    Cells(begin=(0, 0), sides=(4, 4), counts=(32, 22), step=1, ahead=0)
    >>> cut_cells((512,), 0) is None
    True
    """
    side = SIDES.get(others)
    if side is None:
        return None
    begin = tuple(0 if length == 1 else margin for length in shape)
    sides = tuple(1 if length == 1 else side for length in shape)
    counts = (
        max(0, -(-(length - 2 * first) // step) // own) for length, first, own in zip(shape, begin, sides, strict=True)
    )
    cells = Cells(begin, sides, tuple(counts), step, ahead)
    return cells if cells.are_enough(cells.total) else None


def find_largest(others: Any) -> float:
    """Return the largest energy that is finite, or 0."""
    if not others.shape[0]:
        return 0.0
    largest = float(others.max())
    if np.isfinite(largest):
        return largest
    finite = others[abs(others) < np.inf]
    return float(finite.max()) if finite.shape[0] else 0.0


def tally_cells(others: Any, own: Any, largest: float) -> Array:
    """Count cells by their energy in the other bands.

    Parameters
    ----------
    others, own : array
        The mean energy of each cell in the other bands of the level, and that in the diagonal one; of any library.
    largest : float
        The largest of all cells of the plane, as `find_largest` returns it.

    Returns
    -------
    ndarray of shape (3, BINS)
        Cells of each bin, and sums of both energies. Tallies of several parts are added.

    Examples
    --------
    >>> tally = tally_cells(np.array([1.0, 1.1, 3.0, np.nan, 0.0]), np.array([2.0, 4.0, 5.0, 0.0, 0.0]), 4.0)
    >>> tally[:, tally[0] > 0]
    array([[2. , 1. ],
           [2.1, 3. ],
           [6. , 5. ]])
    """
    xp = namespace(others, "cells")
    # where all have nothing, none is empty
    parts = (others / largest if largest else abs(others) + 1).astype(np.float32)
    is_counted = (parts >= EMPTY) & (parts < 2)
    if not is_counted.all():
        parts, others, own = (each[is_counted] for each in (parts, others, own))
    if not parts.shape[0]:
        return np.zeros((3, BINS))
    bins = (parts.view(np.int32) >> LEFT_OUT) - FIRST
    tally = np.empty((3, BINS))
    for row, weights in zip(tally, (None, others, own), strict=True):
        row[:] = to_host(xp.bincount(bins, weights, BINS))
    return tally


def conclude(tally: Array) -> float:
    """Return the standard deviation of noise from counts and sums of all cells of a plane.

    Parameters
    ----------
    tally : ndarray of shape (3, bins)
        As `tally_cells` returns it. Without cells, noise is not a number.

    Examples
    --------
    >>> tally = np.zeros((3, BINS))
    >>> tally[:, 100:102] = [[400, 600], [800, 1600], [800, 1600]]
    >>> round(conclude(tally), 3)
    1.414
    """
    (there,) = np.nonzero(tally[0])
    if not len(there):
        return float("nan")
    heights = np.zeros((3, there[-1] - there[0] + 2))
    np.cumsum(tally[:, there[0] : there[-1] + 1], axis=1, out=heights[:, 1:])
    total = float(heights[0, -1])
    others, own = (np.interp(total * _RANKS, heights[0], each).tolist() for each in heights[1:])
    others, own = ([after - before for before, after in pairwise(each)] for each in (others, own))
    found = first = own[0] + own[1]
    if total >= ENOUGH:
        for number in range(1, PARTS - 1):
            pair = own[number] + own[number + 1]
            is_behind = own[0] < JUMP * own[1] or LEAST_CLIPPED * first <= pair <= MOST_CLIPPED * first
            is_even = own[number + 1] <= EVEN * own[number]
            is_dense = others[number + 1] <= DENSE * others[number]
            if is_behind and is_even and is_dense and own[number] >= WHITE * others[number]:
                found = pair
                break
    return sqrt(found * (PARTS // 2) / total)


def measure_cells(others: Any, own: Any) -> float:
    """Return the standard deviation of noise from the energies of all cells of a plane.

    Examples
    --------
    >>> others, own = np.random.default_rng(0).chisquare([[32], [16]], (2, 10_000)) / [[32], [16]]
    >>> round(measure_cells(4 * others, 4 * own), 2)
    2.0

    Some of it is empty, or was clipped:

    >>> part = np.where(np.arange(10_000) < 2_000, 0.0, 4.0)
    >>> round(measure_cells(part * others, part * own), 2)
    2.0
    >>> part[part == 0] = 1.4
    >>> round(measure_cells(part * others, part * own), 2)
    2.0
    """
    return conclude(tally_cells(others, own, find_largest(others)))
