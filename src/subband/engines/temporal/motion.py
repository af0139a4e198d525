"""Motion between two frames of video: block by block, from coarse to fine, to a fraction of a sample.

Frames are compared where they are smoothed and have half, a quarter and less of their samples along each axis: there
noise is weaker, and few positions are far. Finest are blocks of 16 × 16 samples of the frame. A block begins with the
motion of the one around it at the coarser scale, and leaves it for what matches better by more than noise explains; one
step along the slopes of the image finds the fraction of a sample. Most blocks of a video move with the camera: that
motion is measured with all of them (`subband.engines.temporal.common`), and a block keeps its own if that is clearly
better.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from subband.compiled import Kernels
from subband.engines.memory import allocate
from subband.engines.temporal.common import find_common
from subband.engines.temporal.sharing import share_rows
from subband.tracking import BLOCK, MARGIN, RADIUS, SCALES, STEPS, WINDOW, measure_gain
from subband.typing import Array

__all__ = ["find_motion", "pad_planes", "repeat_border"]

_loops = Kernels("subband.engines.temporal.motion_loops")


def find_motion(new: Array, old: Array, noise: float, ratio: float) -> Array:
    """Find where the blocks of a frame were in the one before.

    Parameters
    ----------
    new, old : ndarray of float32
        Both frames, with margins.
    noise : float
        Standard deviation of the noise of the new frame.
    ratio : float
        Variance of the noise of the old frame over that of the new one.

    Returns
    -------
    ndarray of float32, of shape (blocks, blocks, 2)
        Displacement of blocks of 16 × 16 samples, in rows and columns of *half* the frame's resolution.

    Examples
    --------
    >>> from subband.data import camera
    >>> image = camera().astype(np.float32)
    >>> motion = find_motion(pad_planes(image[40:168, 40:168]), pad_planes(image[36:164, 42:170]), 1.0, 1.0)
    >>> (2 * np.median(motion, axis=(0, 1))).tolist()
    [4.0, -2.0]
    """
    news, olds = _make_scales(new), _make_scales(old)
    if not news:
        return np.zeros((*(-(-(length - 2 * MARGIN) // (2 * BLOCK)) for length in new.shape), 2), np.float32)
    motion = np.zeros((1, 1, 2), np.float32)
    for number in reversed(range(len(news))):
        rows, columns = (-(-(length - 2 * MARGIN) // BLOCK) for length in news[number].shape)
        coarse, motion, costs = motion, np.empty((rows, columns, 2), np.float32), np.empty((rows, columns), np.float32)
        variance = noise * noise * measure_gain(number + 1)
        images, numbers = (news[number], olds[number]), (variance * (1 + ratio), variance * ratio)
        reach = (RADIUS, 0) if number == len(news) - 1 else (0, STEPS)
        share_rows(rows, partial(_loops.track, *images, coarse, motion, costs, *reach, *numbers))
    common = find_common(*images, motion)
    share_rows(rows, partial(_loops.prefer_common, *images, motion, costs, common, *numbers))
    return motion


def _make_scales(padded: Array) -> list[Array]:
    """Return smoothed versions of a plane with half, a quarter and less of its rows and columns, with margins."""
    scales: list[Array] = []
    for _ in range(SCALES):
        finer = scales[-1] if scales else padded
        rows, columns = (-(-(length - 2 * MARGIN) // 2) for length in finer.shape)
        if min(rows, columns) < WINDOW:
            break
        coarser = allocate((rows + 2 * MARGIN, columns + 2 * MARGIN), np.dtype(np.float32))
        share_rows(rows, partial(_loops.halve, finer, coarser), 128)
        repeat_border(coarser)
        scales.append(coarser)
    return scales


def pad_planes(planes: Array) -> Array:
    """Return planes with margins."""
    *count, rows, columns = planes.shape
    padded = allocate((*count, rows + 2 * MARGIN, columns + 2 * MARGIN), np.dtype(np.float32))
    padded[..., MARGIN:-MARGIN, MARGIN:-MARGIN] = planes
    repeat_border(padded)
    return padded


def repeat_border(padded: Array) -> None:
    """Fill the margins of planes with the outermost samples inside."""
    m = MARGIN
    padded[..., m:-m, :m], padded[..., m:-m, -m:] = padded[..., m:-m, m : m + 1], padded[..., m:-m, -m - 1 : -m]
    padded[..., :m, :], padded[..., -m:, :] = padded[..., m : m + 1, :], padded[..., -m - 1 : -m, :]
