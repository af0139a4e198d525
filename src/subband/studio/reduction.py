"""Images at a fraction of their size, and what a filter does to them there.

The mean of four pixels has half their noise, and what the finest level of a transform holds is gone from it. So the
image at a quarter of its size, under a filter with two levels less and thresholds a quarter as high, is nearly the
result at a quarter of its size, for a sixteenth of the work.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink
from subband.enhance.blockwise import fit_to_part
from subband.enhance.methods import find_method, list_methods
from subband.enhance.stages import Stage
from subband.media.base import fit_pixels
from subband.typing import Array

__all__ = ["reduce_enhancer", "reduce_mean", "reduce_pixels", "reduce_quickly"]

#: The narrowest blur that is seen, in pixels.
_NARROWEST = 0.25


def reduce_mean(pixels: Array, steps: int) -> Array:
    """Return an image whose sides are halved some times, as means in float32.

    Examples
    --------
    >>> reduce_mean(np.array([[0, 4, 7], [8, 8, 9]], np.uint8), 1)
    array([[5., 8.]], dtype=float32)
    """
    for _ in range(steps):
        for axis in (0, 1):
            pixels = _halve(pixels, axis)
    return pixels.astype(np.float32, copy=False)


def reduce_pixels(pixels: Array, steps: int) -> Array:
    """Return an image whose sides are halved some times, in its own dtype.

    Examples
    --------
    >>> reduce_pixels(np.array([[0, 4], [8, 8]], np.uint8), 1)
    array([[5]], dtype=uint8)
    """
    return fit_pixels(reduce_mean(pixels, steps), pixels.dtype) if steps else pixels


def reduce_quickly(pixels: Array, steps: int) -> Array:
    """Return what `reduce_pixels` does, where means of 8 bits may be rounded otherwise: a third of the time.

    Examples
    --------
    >>> reduce_quickly(np.array([[0, 4], [8, 8]], np.uint8), 1)
    array([[5]], dtype=uint8)
    """
    if not steps or pixels.dtype != np.uint8 or pixels.shape[2:] not in ((), (3,)):
        return reduce_pixels(pixels, steps)
    return np.asarray(Image.fromarray(pixels).reduce(2**steps))


def _halve(pixels: Array, axis: int) -> Array:
    first, second = ((slice(None),) * axis + (slice(begin, None, 2),) for begin in (0, 1))
    even, odd = pixels[first], pixels[second]
    # the last one of an odd number stands for itself
    paired = even[(slice(None),) * axis + (slice(odd.shape[axis]),)]
    means = np.add(paired, odd, dtype=np.float32)
    means *= np.float32(0.5)
    if paired.shape == even.shape:
        return means
    return np.concatenate([means, even[(slice(None),) * axis + (slice(-1, None),)].astype(np.float32)], axis)


def reduce_enhancer(enhancer: Enhancer, steps: int) -> Enhancer:
    """Return what does nearly to a reduced image what an enhancer does to the image before it is reduced.

    Examples
    --------
    >>> reduce_enhancer(Enhancer(Shrink(level=3, threshold=(12.0, 8.0, 4.0))), 1).stages[0].threshold
    (4.0, 2.0)
    """
    if steps == 0:
        return enhancer
    stages = tuple(found for stage in enhancer.stages if (found := _reduce_stage(stage, steps)) is not None)
    sigma: Any = enhancer.sigma
    if sigma is not None:
        sigma = tuple(np.atleast_1d(sigma) / 2**steps)
        sigma = sigma[0] if len(sigma) == 1 else sigma
    # some thresholds grow with the number of samples
    return fit_to_part(replace(enhancer, stages=stages, sigma=sigma), 4**steps * 2**16, 2**16)


def _reduce_stage(stage: Stage, steps: int) -> Stage | None:
    """Return a stage for a reduced image; None if nothing of it is left."""
    if isinstance(stage, Blur):
        return replace(stage, sigma=stage.sigma / 2**steps) if stage.sigma / 2**steps >= _NARROWEST else None
    if isinstance(stage, Sharpen):
        return replace(stage, amount=stage.amount / 4**steps)
    if stage.level is not None and stage.level <= steps:
        return None
    # of each level, or of its bands where the stage has such
    weights: Any = stage.level_weights if stage.level_weights is None else stage.level_weights[steps:]
    weights = stage.level_weights[-1:] if stage.level_weights and not weights else weights
    if isinstance(stage, Denoise):
        # groups of patches take seconds, and what guides them is near enough for a glance
        is_slow = bool(find_method(stage.method).list_passes(2))
        method = list_methods()[0].name if is_slow else stage.method
        return replace(
            stage, method=method, level=None if stage.level is None else stage.level - steps, level_weights=weights
        )
    return replace(
        stage,
        level=stage.level - steps,
        threshold=_drop_levels(stage, stage.threshold, steps, 2.0**-steps),
        upper=None if stage.upper is None else _drop_levels(stage, stage.upper, steps, 2.0**-steps),
        gains=_drop_levels(stage, stage.gains, steps, 1.0),
        level_weights=weights,
    )


def _drop_levels(stage: Shrink, given: Any, steps: int, scale: float) -> Any:
    """Return thresholds or gains without those of the finest levels."""
    numbers = np.asarray(given, np.float64) * scale
    return (numbers[steps:] if numbers.ndim and len(numbers) == stage.level else numbers).tolist()
