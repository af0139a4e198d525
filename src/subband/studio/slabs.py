"""Filters on the block of slices around one that is shown."""

from __future__ import annotations

from dataclasses import replace

from subband.engines import Engine
from subband.enhance import Enhancer
from subband.enhance.stages import Denoise, Shrink, Stage
from subband.errors import LevelError
from subband.typing import Array

__all__ = ["filter_slab"]


def filter_slab(enhancer: Enhancer, values: Array, engine: Engine) -> Array:
    """Return a block of slices, filtered along all three axes, with as many levels as it has slices for.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.engines import get_engine
    >>> noise = np.random.default_rng(0).normal(100, 10, (9, 32, 32)).astype(np.float32)
    >>> result = filter_slab(Enhancer(Denoise(level=4)), noise, get_engine("cpu"))
    >>> result.shape, bool(result.std() < 3)
    ((9, 32, 32), True)
    """
    while True:
        try:
            found: Array = enhancer.apply(
                values, axes=(0, 1, 2), channel_axis=3 if values.ndim == 4 else None, engine=engine
            )
        except LevelError:
            fewer = replace(enhancer, stages=tuple(map(_lower, enhancer.stages)))
            if fewer == enhancer:
                raise
            enhancer = fewer
        else:
            return found


def _lower(stage: Stage) -> Stage:
    """Return a stage with a level less, if it has several."""
    if isinstance(stage, Denoise | Shrink) and stage.level is not None and stage.level > 1:
        return replace(stage, level=stage.level - 1)
    return stage
