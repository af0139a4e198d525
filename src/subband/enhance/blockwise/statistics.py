"""What has to be known about a whole array before its first block: gathered piece by piece, and merged in any order.

Each statistic looks at a piece and returns a small dictionary, whose keys say which planes, or which bands of them, the
entries are about. Dictionaries of several pieces are merged entry by entry, and the conclusion follows from the merged
one. Planes have any number of leading axes, such as channels or frames, and then one to three axes of space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add
from typing import Any, NamedTuple

import numpy as np

from subband.arrays import namespace
from subband.engines.filters import Filters
from subband.engines.filters.constants import NORMAL_MEDIAN
from subband.engines.filters.median import Bracket, collect_magnitudes, merge_sketches, sketch_magnitudes
from subband.enhance.methods import DecidingMethod, Part
from subband.enhance.shrinking import LevelRule, choose_coefficients
from subband.typing import Array

__all__ = ["Aim", "Aims", "BandTally", "Block", "Decisions", "Findings", "Gathered", "NoiseSearch", "flatten", "narrow"]

#: What was decided about each band, by the position of the image, the level and the band's key: an array that begins
#: with the leading axes of the planes.
Decisions = Mapping[tuple[int, int, str], Array]

#: Which planes: where they begin and end along each leading axis.
Planes = tuple[tuple[int, int], ...]

#: What was found in one piece or in several.
Gathered = dict[Any, Any]


@dataclass(frozen=True)
class Block:
    """Where a block of an array lies.

    Attributes
    ----------
    planes : tuple of (int, int)
        Begin and end along each leading axis.
    starts : tuple of int
        Where it begins along each axis of space, with its margins.
    inner : tuple of slice
        Where in it, along the axes of space, the part is that counts.
    """

    planes: Planes = ()
    starts: tuple[int, ...] = ()
    inner: tuple[slice, ...] = ()

    @property
    def leading(self) -> tuple[slice, ...]:
        """Which planes these are."""
        return tuple(slice(*each) for each in self.planes)


class Aim(NamedTuple):
    """What sketches of a plane say about the median: its value, if known, or where it is to be looked for."""

    median: float
    bracket: Bracket | None
    is_masked: bool


#: The aims of all planes.
Aims = Mapping[Planes, Sequence[Aim]]


@dataclass(frozen=True)
class NoiseSearch:
    """The strength of noise, from the median magnitude of the finest diagonal coefficients.

    A first look sketches magnitudes, from which `find` gets the noise, exactly if they are few. Where that is not
    enough, `aim` says where the median is, a second look collects what lies there, and `pick` finds the median itself.

    Attributes
    ----------
    leading : tuple of int
        Lengths of the leading axes of the whole array.
    dimensions : int
        Number of axes of space.
    gain : float
        What noise of standard deviation one has in the band.
    axes : tuple of int
        The axes of space that were transformed, if some samples do not count.
    reach, step : int
        Samples on either side of a coefficient that have a say in it, and distance of coefficients; see
        `choose_coefficients`.

    Examples
    --------
    >>> band = np.random.default_rng(0).normal(0, 3, (200, 300))
    >>> search = NoiseSearch((), 2, 1.0)
    >>> found = search.merge([search.look(Block(), part) for part in (band[:90], band[90:])])
    >>> round(float(search.find(found)), 2)
    3.0
    >>> aims = search.aim(found)
    >>> exact = search.pick(search.merge([search.look(Block(), band, aims)]), aims)
    >>> float(exact * NORMAL_MEDIAN) == float(np.median(abs(band)))
    True
    """

    leading: tuple[int, ...]
    dimensions: int
    gain: float
    axes: tuple[int, ...] = ()
    reach: int = 0
    step: int = 1

    def look(self, block: Block, band: Any, aims: Aims | None = None) -> Gathered:
        """Sketch the magnitudes of a part of the band; or, with aims, collect those that may be medians.

        Parameters
        ----------
        block : Block
            Which planes these are.
        band : array
            Leading axes, then those of space.
        aims : mapping, optional
            What `aim` has found.
        """
        return self.look_at_known(block, band, None, aims)

    def look_at_known(self, block: Block, band: Any, known: Any, aims: Aims | None = None) -> Gathered:
        """Do what `look` does where not all samples count: `known` is 0 where not, `reach` beyond the part on."""
        planes = flatten(band, self.dimensions)
        chosen: Any = None
        if known is not None and 0 not in planes.shape:
            chosen = choose_coefficients(known != 0, self.reach, self.step, self.axes)
            chosen = namespace(planes, "a mask").asarray(chosen)
        if aims is None:
            # all coefficients count where each of them touches a gap, which only the whole tells
            some = planes if chosen is None else [plane[chosen] for plane in planes]
            sketches = [[sketch_magnitudes(plane) for plane in each] for each in (some, planes)]
            return {block.planes: sketches[0] + (sketches[1] if known is not None else [])}
        found = []
        for plane, aim in zip(planes, aims[block.planes], strict=True):
            if aim.bracket is None:
                found.append(np.zeros((2, 0)))
            else:
                found.append(collect_magnitudes(plane[chosen] if aim.is_masked else plane, aim.bracket))
        return {block.planes: found}

    def merge(self, several: Sequence[Gathered]) -> Gathered:
        """Merge what several parts gave."""

        def merge_planes(lists: Sequence[Sequence[Any]]) -> list[Any]:
            return [_merge_plane(own) for own in zip(*lists, strict=True)]

        return _merge_entries(several, merge_planes)

    def aim(self, found: Gathered) -> Aims:
        """Return where the medians of each plane are."""
        aims: dict[Planes, list[Aim]] = {}
        for planes, sketches in found.items():
            count = prod(end - begin for begin, end in planes)
            is_masked = len(sketches) > count
            pairs = zip(sketches[:count], sketches[count:] if is_masked else sketches, strict=True)
            own = aims[planes] = []
            for some, every in pairs:
                chosen = some if some.total else every
                own.append(Aim(chosen.median, chosen.bracket, is_masked and chosen is some))
        return aims

    def find(self, found: Gathered) -> Array:
        """Return the standard deviation of noise in each plane, as sketches tell it."""
        return self._spread({planes: [aim.median for aim in own] for planes, own in self.aim(found).items()})

    def pick(self, found: Gathered, aims: Aims) -> Array:
        """Return the standard deviation of noise in each plane, from the medians themselves."""
        medians = {}
        for planes, collected in found.items():
            pairs = zip(aims[planes], collected, strict=True)
            medians[planes] = [aim.median if aim.bracket is None else aim.bracket.pick(own) for aim, own in pairs]
        return self._spread(medians)

    def _spread(self, medians: Mapping[Planes, Sequence[float]]) -> Array:
        """Return noise in the order of planes."""
        noise = np.zeros(self.leading)
        for planes, own in medians.items():
            part = Block(planes).leading
            noise[part] = np.array(own).reshape(noise[part].shape) / (NORMAL_MEDIAN * self.gain)
        return noise


@dataclass(frozen=True)
class BandTally:
    """What a method decides about one band, from tallies of its parts.

    Attributes
    ----------
    rule : LevelRule
        What is to be done to the level of the band then.
    key : str
        Which band of the level.
    position : int
        Which of several positions of the image this is.
    count : int
        Coefficients of a plane of the whole band.
    leading : tuple of int
        Lengths of the leading axes of the whole array.
    dimensions : int
        Number of axes of space.
    """

    rule: LevelRule
    key: str
    position: int
    count: int
    leading: tuple[int, ...]
    dimensions: int

    def look(self, block: Block, band: Any, noise: Array | None, filters: Filters) -> Gathered:
        """Return what the method has to know of a part of the band, with half a window around it.

        Parameters
        ----------
        block : Block
            Where the part is.
        band : array
            Leading axes, then those of space.
        noise : ndarray or None
            Its standard deviation in each plane of the whole array.
        filters : Filters
            Of the engine that computes.
        """
        row = block.starts[-2] if self.dimensions > 1 else 0
        part = Part(self.count, self.dimensions, block.inner, row)
        own = self._find_noise(noise, block.leading)
        return {(self, block.planes): self._method.tally(filters, flatten(band, self.dimensions), own, part)}

    @staticmethod
    def merge(several: Sequence[Gathered]) -> Gathered:
        """Add what several parts, also of several bands, gave."""
        return _merge_entries(several, lambda tallies: reduce(add, tallies))

    @staticmethod
    def decide(found: Gathered, noise: Array | None) -> Decisions:
        """Return what follows from the tallies of all parts of all bands."""
        decisions: dict[tuple[int, int, str], Array] = {}
        for (band, planes), tally in found.items():
            leading = Block(planes).leading
            part = Part(band.count, band.dimensions)
            own = band._method.decide(tally, band._find_noise(noise, leading), part)
            whole = decisions.setdefault(
                (band.position, band.rule.level, band.key), np.zeros((*band.leading, *own.shape[1:]))
            )
            whole[leading] = own.reshape(whole[leading].shape)
        return decisions

    @property
    def _method(self) -> DecidingMethod:
        assert isinstance(self.rule.method, DecidingMethod)
        return self.rule.method

    def _find_noise(self, noise: Array | None, leading: tuple[slice, ...]) -> Array | None:
        """Return the standard deviation of noise in some planes of the band, as far as it is known."""
        if noise is None:
            return None
        return np.asarray(noise, np.float64)[leading].reshape(-1) * self.rule.find_gain(self.key)


@dataclass(frozen=True)
class Findings:
    """What the passes before the last over an array have found.

    Attributes
    ----------
    noise : ndarray or None
        Its standard deviation in each plane; the leading axes of the array are its own.
    statistic : dict or None
        The thresholds of bands, or what they follow from, if the method looks at whole bands.
    filling : array or None
        The array at a small size, from which wide gaps are filled.

    Examples
    --------
    >>> found = Findings(np.array([2.0]), {(0, 1, "dd"): np.array([6.5])})
    >>> Findings.from_facts(found.to_facts()) == found
    True
    """

    noise: Array | None = None
    statistic: Decisions | None = None
    filling: Any = None

    def to_facts(self) -> dict[str, Any]:
        """Return what JSON can hold; what gaps are filled from is too large for that."""
        facts: dict[str, Any] = {}
        if self.noise is not None:
            facts["noise"] = self.noise.tolist()
        if self.statistic is not None:
            facts["statistic"] = [[*at, numbers.tolist()] for at, numbers in self.statistic.items()]
        return facts

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Findings:
        """Return what `to_facts` was given."""
        noise, bands = facts.get("noise"), facts.get("statistic")
        statistic = None
        if bands is not None:
            statistic = {
                (int(position), int(level), str(key)): np.asarray(numbers, np.float64)
                for position, level, key, numbers in bands
            }
        return cls(None if noise is None else np.asarray(noise, np.float64), statistic)


def narrow(numbers: Array, block: Block) -> Array:
    """Return what is known of the planes of a block, with a single leading axis.

    Examples
    --------
    >>> narrow(np.array([[1.0, 2.0], [3.0, 4.0]]), Block(((1, 2), (0, 2))))
    array([3., 4.])
    """
    part = numbers[block.leading]
    return part.reshape(-1, *part.shape[len(block.planes) :])


def flatten(x: Any, dimensions: int) -> Any:
    """Return planes with a single leading axis, C-contiguous.

    Examples
    --------
    >>> flatten(np.zeros((2, 3, 8, 8)), 2).shape
    (6, 8, 8)
    """
    xp = namespace(x, "planes")
    before = x.ndim - dimensions
    return xp.ascontiguousarray(x.reshape(prod(x.shape[:before]), *x.shape[before:]))


def _merge_entries(several: Sequence[Gathered], merge: Callable[[list[Any]], Any]) -> Gathered:
    """Merge the entries of several dictionaries that have the same key."""
    lists: dict[Any, list[Any]] = {}
    for own in several:
        for key, value in own.items():
            lists.setdefault(key, []).append(value)
    return {key: merge(values) for key, values in lists.items()}


def _merge_plane(own: Sequence[Any]) -> Any:
    """Merge sketches of one plane, or join the magnitudes that were collected of it."""
    return np.concatenate(own, axis=1) if isinstance(own[0], np.ndarray) else merge_sketches(own)
