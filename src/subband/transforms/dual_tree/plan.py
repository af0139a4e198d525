"""Plans of dual-tree transforms: the level of both trees along all axes, as levels of one periodic transform."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from subband.engines import Engine
from subband.plan import LevelPlan, level_plan
from subband.transforms.dual_tree.folding import fold, lengthen, mirror, shorten, unfold, unmirror
from subband.transforms.dual_tree.orientations import ORIENTATIONS
from subband.typing import Bands
from subband.wavelets import Wavelet

__all__ = ["DualTreeLevel", "DualTreePlan", "dual_tree_plan"]


@dataclass(frozen=True)
class DualTreeLevel:
    """One level of both trees.

    Attributes
    ----------
    plan : LevelPlan
        The periodic transform of the folded array.
    lengthened : tuple of int
        Axes along which a sample is repeated at both ends before.
    """

    plan: LevelPlan
    lengthened: tuple[int, ...]


@dataclass(frozen=True)
class DualTreePlan:
    """A whole dual-tree transform.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array, batch axes included.
    axes : tuple of int
        The transformed axes, distinct and not negative.
    biort, qshift : Wavelet
        Filters of the first level, and of the others.
    levels : tuple of DualTreeLevel
        Finest first.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    biort: Wavelet
    qshift: Wavelet
    levels: tuple[DualTreeLevel, ...] = field(repr=False)

    @property
    def level(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def lowpass_shape(self) -> tuple[int, ...]:
        """Shape of the low-pass coefficients of both trees, which are interleaved along each axis."""
        return self.levels[-1].plan.approximation_shape if self.levels else self.shape

    @property
    def highpass_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the complex coefficients of each level, the finest first; the last axis has the orientations."""
        shapes = []
        for level in self.levels:
            halves = list(level.plan.approximation_shape)
            for axis in self.axes:
                halves[axis] //= 2
            shapes.append((*halves, len(ORIENTATIONS[len(self.axes)])))
        return tuple(shapes)

    def forward(self, engine: Engine, x: Any) -> tuple[Any, list[Bands]]:
        """Return the low-pass coefficients, interleaved, and the folded details of each level, the finest first."""
        if not self.levels:
            return x, []
        low, details, first = "a" * len(self.axes), [], mirror(x, self.axes)
        folded = first
        for level in self.levels:
            bands = engine.forward(level.plan, lengthen(folded, level.lengthened))
            folded = bands.pop(low)
            details.append(bands)
        return unfold(folded, self.axes), details

    def inverse(self, engine: Engine, lowpass: Any, details: list[Bands]) -> Any:
        """Undo `forward`; bands that are left out count as zeros."""
        if not self.levels:
            return lowpass
        folded = fold(lowpass, self.axes)
        for level, bands in zip(reversed(self.levels), reversed(details), strict=True):
            whole = engine.inverse(level.plan, {"a" * len(self.axes): folded, **bands})
            folded = shorten(whole, level.lengthened)
        return unmirror(folded, self.axes, self.shape)


@lru_cache(maxsize=256)
def dual_tree_plan(
    shape: tuple[int, ...], axes: tuple[int, ...], biort: Wavelet, qshift: Wavelet, level: int
) -> DualTreePlan:
    """Plan `level` levels of an array of `shape` along distinct, non-negative `axes`.

    Examples
    --------
    >>> from subband.wavelets.dual_tree import find_biort, find_qshift
    >>> plan = dual_tree_plan((100, 60), (0, 1), find_biort("near_sym_a"), find_qshift("qshift_a"), 3)
    >>> plan.lowpass_shape, plan.highpass_shapes
    ((26, 16), ((50, 30, 6), (25, 15, 6), (13, 8, 6)))
    >>> [level.lengthened for level in plan.levels]
    [(), (), (0, 1)]
    """
    modes = ("periodization",) * len(axes)
    levels: list[DualTreeLevel] = []
    current = list(shape)
    for axis in axes:
        current[axis] += current[axis] % 2
        current[axis] *= 2
    for number in range(level):
        # each tree has half of the samples, and an even number of those
        lengthened = tuple(axis for axis in axes if number and current[axis] % 4)
        for axis in lengthened:
            current[axis] += 2
        filters = (biort if number == 0 else qshift,) * len(axes)
        levels.append(DualTreeLevel(level_plan(tuple(current), axes, filters, modes), lengthened))
        current = list(levels[-1].plan.approximation_shape)
    return DualTreePlan(shape, axes, biort, qshift, tuple(levels))
