"""Polyphase components of undecimated bands: split, shrink each as a decimated band, and merge.

Coefficients of level j that are 2**j samples apart are those of a decimated transform of the image in one position:
white noise is white among them. Those beside each other share most of their samples, and so most of their noise; a rule
that looks at neighbours must not take them for independent.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any

import numpy as np

from subband.arrays import rearrange
from subband.arrays.operations import take_flat
from subband.engines.filters import Filters

__all__ = ["shrink_phases"]


def shrink_phases(filters: Filters, band: Any, noise: Any, gain: float, step: int) -> Any:
    """Shrink every coefficient of an undecimated band by its neighbours at multiples of `step` samples.

    Parameters
    ----------
    filters : Filters
        The filters that compute.
    band : array
        Number of planes × space; an axis of one sample was not transformed.
    noise, gain
        As `Filters.shrink_neighbours` takes them.
    step : int
        2**level.
    """
    planes, space = band.shape[0], band.shape[1:]
    steps = tuple(step if length > 1 else 1 for length in space)
    # padding to whole steps is in the margin, and is cut off again
    missing = tuple(-length % each for length, each in zip(space, steps, strict=True))
    still = (0,) * len(space)
    whole = filters.extend(band, still, missing) if any(missing) else band
    sizes = tuple(length // each for length, each in zip(whole.shape[1:], steps, strict=True))
    count = prod(steps)
    # planes × phases × sizes, from planes × (size, phase) for each axis
    along = tuple(range(1, 2 * len(space), 2))
    across = tuple(range(2, 2 * len(space) + 1, 2))
    apart = _rearrange(whole, (planes, *chain(*zip(sizes, steps, strict=True))), (0, *across, *along))
    own_noise = take_flat(noise, np.repeat(np.arange(planes), count))
    shrunk = filters.shrink_neighbours(apart.reshape((planes * count, *sizes)), own_noise, gain)
    back = (0, *chain(*((len(space) + axis + 1, axis + 1) for axis in range(len(space)))))
    together = _rearrange(shrunk, (planes, *steps, *sizes), back).reshape(whole.shape)
    return filters.take_part(together, still, space, 1.0) if any(missing) else together


def _rearrange(x: Any, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """Return a contiguous array of another shape with its axes in another order."""
    return rearrange(lambda each: each.reshape(shape).transpose(order).copy(order="C"), x)
