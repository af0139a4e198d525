"""Work on one block: shrink a band, count what is in it, filter it, or average two.

Planes have any number of leading axes, such as channels or frames, and then one to three axes of space. Filters want
the leading ones as a single one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.engines.dispatch import engine_for
from subband.engines.filters import Filters, find_filters
from subband.enhance.blockwise.statistics import BandTally, Block, flatten, narrow
from subband.enhance.methods import DecidingMethod
from subband.enhance.models import NoiseModel
from subband.enhance.roundtrip import Coefficients, apply_spatial
from subband.enhance.shrinking import LevelRule, filter_by_guide, make_shrinker
from subband.enhance.stages import Denoise, Shrink, Spatial
from subband.typing import Array

__all__ = ["BandShrink", "BandTallyWork", "GuideWork", "SpatialWork", "average"]


@dataclass(frozen=True)
class _Work:
    """What all have in common.

    Attributes
    ----------
    dimensions : int
        Number of axes of space.
    engine : str, Engine or None
        The engine that computes; that of the block's device if None.
    """

    dimensions: int
    engine: str | Engine | None

    def _run(self, x: Any, work: Callable[[Any, Engine, Filters], Any]) -> Any:
        """Return what comes of planes with a single leading axis, in the shape of `x`."""
        planes = flatten(x, self.dimensions)
        engine = engine_for(planes, self.engine)
        return work(planes, engine, find_filters(engine)).reshape(x.shape)


@dataclass(frozen=True)
class BandShrink(_Work):
    """Shrinks a band by the rule of its level.

    Attributes
    ----------
    rule : LevelRule
        How.
    key : str
        Which band of the level.
    position : int
        Which of several positions of the image this is.
    """

    rule: LevelRule
    key: str
    position: int

    def __call__(self, block: Block, band: Any, *rest: Any) -> Any:
        """Return a part of the band, with half a window around it, that has shrunk.

        Parameters
        ----------
        block : Block
            Where the part is.
        band : array
            The part.
        rest
            The same of the next coarser level if the rule takes parents; then the strength of noise in each plane of
            the array, and what the method has decided about whole bands.
        """
        *parents, noise, decisions = rest
        if 0 in band.shape or self.rule.find_weight(self.key) == 0:
            return band

        def shrink(values: Any, _engine: Engine, filters: Filters) -> Any:
            stage, method = self.rule.stage, self.rule.method
            if isinstance(stage, Shrink):
                # at most one band at a time, so that thresholds of others cannot be touched
                before: list[Any] = [{} for _ in range(self.rule.level - 1)]
                alone = Coefficients(None, [*before, {self.key: values.copy()}], self.rule.wavelets)
                make_shrinker(stage, len(values), self.dimensions, filters)(alone)
                return alone.details[-1][self.key]
            assert method is not None
            above = flatten(parents[0], self.dimensions) if parents else None
            own = filters.upload(np.ascontiguousarray(narrow(noise, block)))
            # others read the same chunk
            whole = self.rule.make_band(values.copy() if method.is_in_place else values, above, self.key, own)
            if not isinstance(method, DecidingMethod):
                return method.shrink(filters, whole)
            return method.follow(filters, whole, narrow(decisions[self.position, self.rule.level, self.key], block))

        return self._run(band, shrink)


@dataclass(frozen=True)
class BandTallyWork(_Work):
    """Counts what a method has to know of a band."""

    tally: BandTally

    def __call__(self, block: Block, band: Any, noise: Array | None) -> Any:
        """Return what is to be merged with that of other parts."""
        return self.tally.look(block, band, noise, find_filters(engine_for(band, self.engine)))


@dataclass(frozen=True)
class SpatialWork(_Work):
    """Blurs or sharpens planes, or a band."""

    spatial: Spatial

    def __call__(self, _block: Block, planes: Any) -> Any:
        """Return a block of the same size."""
        return self._run(planes, lambda own, _engine, filters: apply_spatial(filters, self.spatial, own))


@dataclass(frozen=True)
class GuideWork(_Work):
    """Filters planes once more, with what was found first as a guide.

    Attributes
    ----------
    stage : Denoise
        Its number of levels is fixed.
    weaker : float
        How many times as weak noise is after it was refined.
    model : NoiseModel or None
        Refines it.
    joint : int
        How many planes are the colours of one image, the first its brightness.
    """

    stage: Denoise
    weaker: float
    model: NoiseModel | None
    joint: int = 1

    def __call__(self, block: Block, planes: Any, guess: Any, noise: Any) -> Any:
        """Return a block of the same size."""

        def work(own: Any, engine: Engine, filters: Filters) -> Any:
            guide = flatten(guess, self.dimensions)
            refined = own if self.model is None else self.model.refine(own, guide)
            numbers = filters.upload(np.ascontiguousarray(narrow(noise, block)))
            return filter_by_guide(self.stage, refined, guide, numbers, self.weaker, engine, filters, self.joint)

        return self._run(planes, work)


def average(_block: Block, planes: Any, other: Any = None) -> Any:
    """Return the mean of two blocks, or the only one."""
    if other is None:
        return planes
    half = planes.dtype.type(0.5)
    mean = planes * half
    mean += other * half
    return mean
