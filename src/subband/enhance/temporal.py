"""Temporal denoising of video: frames averaged recursively along their motion, as a Kalman filter does.

Where things are still or move as found, noise becomes weaker with every frame; where they do not match, because
something was covered or has changed, the new frame counts by itself, and after a cut all of it does. What noise is left
in which sample goes to the spatial method, by `subband.enhance.noise_maps`. What finds motion and averages is that of
the engine: `subband.engines.temporal`.
"""

from __future__ import annotations

from typing import Any

from subband.engines.temporal import Past, TemporalFilters

__all__ = ["follow"]


def follow(
    filters: TemporalFilters,
    past: Past | None,
    planes: Any,
    noise: Any,
    motion: Any = None,
    steps: tuple[int, int] = (1, 1),
) -> Past:
    """Average a frame with what is known from those before it.

    Parameters
    ----------
    filters : TemporalFilters
        What computes.
    past : Past or None
        What is known; None before the first frame. It is not changed.
    planes : array of shape (planes, rows, columns)
        The frame, of float32; motion is looked for in the first plane.
    noise : numbers
        Standard deviation of its noise in each plane.
    motion : object, optional
        That of the brightness, for planes of chroma, which move with it; see `Past`.
    steps : tuple of int
        Rows and columns of the brightness, 1 or more, that share a sample of these planes.

    Returns
    -------
    Past
        What is known now. If nothing of the past is of use, its planes are those of the frame.

    Examples
    --------
    Of a still scene, the mean of two frames is half as noisy:

    >>> import numpy as np
    >>> from subband.engines import get_engine
    >>> from subband.engines.temporal import find_temporal_filters
    >>> filters, noise = find_temporal_filters(get_engine("cpu")), np.array([10.0])
    >>> frames = np.random.default_rng(0).normal(100, 10, (2, 1, 64, 64)).astype(np.float32)
    >>> past = follow(filters, follow(filters, None, frames[0], noise), frames[1], noise)
    >>> bool(past.ratios.mean() < 0.6), bool(past.planes.std() < 8)
    (True, True)
    """
    if past is None or past.shape != tuple(planes.shape):
        return filters.begin(planes, noise)
    if motion is None:
        motion = filters.find_motion(planes, past, noise)
    return filters.average(past, planes, noise, motion, steps)
