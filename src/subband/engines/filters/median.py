"""Medians by histogram: count magnitudes by their leading bits, and look only at those in the middle bin.

The bits of magnitudes, read as integers, have the order of the magnitudes: so the leading ones number bins, and a
histogram of these says in which bin the middle is (`find_bracket`). Only what lies there is collected and selected
from. The loops of the CPU do this for planes in memory (`compiled_statistics`), and devices repeat the count for
further bits until all are known (`subband.kernels.statistics`). What comes in pieces is counted in a `Sketch`: small,
made chunk by chunk, merged in any order.

Up to some thousand magnitudes of a sketch are kept as they are, and their median is exact. More are counted in bins
whose width is a 512th of a power of two, by the leading bits of the numbers. The median is looked for inside its bin by
its rank there. So it is within 0.2 % of the true one whatever the numbers are, and within one or two parts in ten
thousand if they spread evenly over their bins, as noise does.

Where that is not enough, the sketch says between which magnitudes the middle is, and a second look at the numbers
collects these, a few of a thousand: their middle is the median itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from subband.arrays import namespace, to_host
from subband.typing import Array

__all__ = [
    "ERROR",
    "FEW",
    "Bracket",
    "Sketch",
    "collect_magnitudes",
    "find_bracket",
    "merge_sketches",
    "sketch_magnitudes",
]

#: How far the median of a sketch can be from that of the numbers, as a part of it.
ERROR = 2.0**-9

#: So many magnitudes are kept rather than counted.
FEW = 1 << 14

# Of the bits of a double: those of the fraction that are left out. 9 of 52 are kept.
_LEFT_OUT = 52 - 9


class Bracket(NamedTuple):
    """Where the median is: the first and the last bin in question, and which two magnitudes in these are the middle."""

    first: int
    last: int
    ranks: tuple[int, int]

    def select(self, magnitudes: Array) -> float:
        """Return the median, from all magnitudes of these bins; their order changes."""
        magnitudes.partition(self.ranks)
        return (float(magnitudes[self.ranks[0]]) + float(magnitudes[self.ranks[1]])) / 2

    def pick(self, magnitudes: Array) -> float:
        """Return the median, from all magnitudes of these bins, as `collect_magnitudes` gives them."""
        values, inverse = np.unique(magnitudes[0], return_inverse=True)
        heights = np.cumsum(np.bincount(inverse.ravel(), magnitudes[1]))
        middle = values[np.searchsorted(heights, self.ranks, side="right")]
        return float(middle[0] + middle[1]) / 2


def find_bracket(counts: Array) -> Bracket:
    """Return where the middle of a histogram is, with the positions of its bins for their numbers.

    Examples
    --------
    >>> find_bracket(np.array([3, 0, 2, 5]))
    Bracket(first=2, last=3, ranks=(1, 2))
    """
    heights = np.cumsum(counts)
    total = int(heights[-1])
    ranks = (total - 1) // 2, total // 2
    first, last = (int(index) for index in np.searchsorted(heights, ranks, side="right"))
    below = int(heights[first] - counts[first])
    return Bracket(first, last, (ranks[0] - below, ranks[1] - below))


@dataclass(frozen=True)
class Sketch:
    """Some magnitudes, or how many there are in each bin.

    Attributes
    ----------
    values : ndarray of float64 or None
        The magnitudes, if they are few.
    bins : ndarray of int64
        Numbers of the bins that are not empty, in order.
    counts : ndarray of int64
        How many magnitudes are in each.

    Examples
    --------
    >>> numbers = np.random.default_rng(0).normal(size=100_001)
    >>> halves = [sketch_magnitudes(numbers[:30_000]), sketch_magnitudes(numbers[30_000:])]
    >>> bool(abs(merge_sketches(halves).median / np.median(abs(numbers)) - 1) < 1e-4)
    True
    """

    values: Array | None
    bins: Array
    counts: Array

    @property
    def total(self) -> int:
        """Number of magnitudes."""
        return int(self.counts.sum()) if self.values is None else len(self.values)

    @property
    def median(self) -> float:
        """The median, within `ERROR` of it; not a number if there is nothing to take it of."""
        if not self.total:
            return float("nan")
        if self.values is not None:
            return float(np.median(self.values))
        heights = np.cumsum(self.counts)
        rank = (self.total - 1) / 2
        index = int(np.searchsorted(heights, rank, side="right"))
        low, high = _find_edges(int(self.bins[index]))
        inside = rank - float(heights[index] - self.counts[index])
        return low + (high - low) * (inside + 0.5) / float(self.counts[index])

    @property
    def bracket(self) -> Bracket | None:
        """Where to look for the median itself; None if that is known.

        Examples
        --------
        >>> numbers = np.random.default_rng(0).normal(size=100_001)
        >>> bracket = sketch_magnitudes(numbers).bracket
        >>> bracket.pick(collect_magnitudes(numbers, bracket)) == float(np.median(abs(numbers)))
        True
        """
        if self.values is not None or not self.total:
            return None
        first, last, ranks = find_bracket(self.counts)
        return Bracket(int(self.bins[first]), int(self.bins[last]), ranks)


def collect_magnitudes(x: Any, bracket: Bracket) -> Array:
    """Return those magnitudes of an array of any library that are in question, and how often each is there.

    They come to the host. Of an empty background half of all are the same number.

    Examples
    --------
    >>> collect_magnitudes(np.array([1.0, -1.001, 1.0, 4.0]), sketch_magnitudes(np.ones(20_001)).bracket)
    array([[1.   , 1.001],
           [2.   , 1.   ]])
    """
    xp = namespace(x, "a sketch")
    magnitudes = xp.abs(x.ravel().astype(np.float64))
    bins = magnitudes.view(np.int64) >> _LEFT_OUT
    chosen = to_host(magnitudes[(bins >= bracket.first) & (bins <= bracket.last)])
    return np.array(np.unique(chosen, return_counts=True), np.float64)


def sketch_magnitudes(x: Any) -> Sketch:
    """Look at the magnitudes of an array of any library.

    Examples
    --------
    >>> sketch_magnitudes(np.array([1.0, -1.0, 4.0])).median
    1.0
    """
    xp = namespace(x, "a sketch")
    return _make_sketch(xp.abs(x.ravel().astype(np.float64)))


def merge_sketches(sketches: Iterable[Sketch]) -> Sketch:
    """Return the sketch of all numbers together.

    Examples
    --------
    >>> merge_sketches([sketch_magnitudes(np.ones(3)), sketch_magnitudes(np.zeros(2))]).total
    5
    """
    several = list(sketches)
    if len(several) == 1:
        return several[0]
    if all(each.values is not None for each in several):
        return _make_sketch(np.concatenate([each.values for each in several if each.values is not None]))
    counted = [each if each.values is None else _count(each.values) for each in several]
    bins, inverse = np.unique(np.concatenate([each.bins for each in counted]), return_inverse=True)
    counts = np.zeros(len(bins), np.int64)
    np.add.at(counts, inverse.ravel(), np.concatenate([each.counts for each in counted]))
    return Sketch(None, bins, counts)


def _make_sketch(magnitudes: Any) -> Sketch:
    if len(magnitudes) <= FEW:
        return Sketch(to_host(magnitudes), np.zeros(0, np.int64), np.zeros(0, np.int64))
    return _count(magnitudes)


def _count(magnitudes: Any) -> Sketch:
    """Count magnitudes by their leading bits, where they are: only the counts come to the host."""
    if not len(magnitudes):
        return Sketch(None, np.zeros(0, np.int64), np.zeros(0, np.int64))
    numbers = magnitudes.view(np.int64) >> _LEFT_OUT
    first = int(numbers.min())
    # sorting would take ten times as long, and there are never more than 2**20 bins
    counts = to_host(namespace(numbers, "a sketch").bincount(numbers - first))
    (bins,) = np.nonzero(counts)
    return Sketch(None, bins + first, counts[bins])


def _find_edges(number: int) -> tuple[float, float]:
    """Return the edges of a bin; the first one, in which zeros are, stands for zero."""
    if number == 0:
        return 0.0, 0.0
    low, high = (np.array([number, number + 1], np.int64) << _LEFT_OUT).view(np.float64).tolist()
    return low, high
