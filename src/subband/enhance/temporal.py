"""Temporal denoising of video: frames averaged recursively along their motion, as a Kalman filter does.

What is known of a scene from the frames before is moved to where it is now and averaged with the new frame. Each sample
has a variance: that of the prediction is what its noise has become, and what the new frame shows it to be off by. Where
things are still or move as found, noise becomes weaker with every frame; where they do not match, because something was
covered or has changed, the new frame counts by itself, and after a cut all of it does. What noise is left in which
sample goes to the spatial method, by `subband.enhance.noise_maps`; how things move, `subband.enhance.motion` finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from subband.compiled import Kernels
from subband.engines.memory import allocate
from subband.enhance.motion import BLOCK, MARGIN, find_motion, pad_planes, repeat_border, share_rows, tabulate_taps
from subband.typing import Array

__all__ = ["Past", "follow"]

#: Frames that an average lasts for, at most: longer ones gain little, and keep what is wrong for longer.
_MEMORY = 16

#: Mean energy of 5 × 5 samples, 3 × 3 and a single one, and that of the sum of a line of them, over that of noise, from
#: which a prediction counts as off.
_SLACKS = (1.5, 2.3, 13.0, 10.0)

#: Weight from which a sample counts as new, and part of a frame that has to be new for all of it to count so: a cut.
_NEW, _CUT = 0.6, 0.5

#: Variance over that of a frame of what was never seen.
_UNSEEN = 1e4

_loops = Kernels("subband.enhance.temporal_loops")


@dataclass(frozen=True)
class Past:
    """What is known after a frame: averages over time, and how noisy they are.

    Attributes
    ----------
    padded : ndarray of float32, of shape (planes, rows, columns)
        The averages, with margins.
    padded_ratios : ndarray of float32, of shape (rows, columns)
        Variance of their noise over that of a frame, with margins.
    noise : ndarray of float64, of shape (planes,)
        Standard deviation of the noise of a frame in each plane.
    motion : ndarray of shape (blocks, blocks, 2) or None
        Where each block was before, in rows and columns; None if there is nothing before.
    """

    padded: Array
    padded_ratios: Array
    noise: Array
    motion: Array | None = None

    @property
    def planes(self) -> Array:
        """The averages."""
        return np.ascontiguousarray(self.padded[:, MARGIN:-MARGIN, MARGIN:-MARGIN])

    @property
    def ratios(self) -> Array:
        """Variance of the noise of the averages over that of a frame."""
        return self.padded_ratios[MARGIN:-MARGIN, MARGIN:-MARGIN]


def follow(
    past: Past | None, planes: Array, noise: Array, motion: Array | None = None, steps: tuple[int, int] = (1, 1)
) -> Past:
    """Average a frame with what is known from those before it.

    Parameters
    ----------
    past : Past or None
        What is known; None before the first frame. It is not changed.
    planes : ndarray of shape (planes, rows, columns)
        The frame, of float32; motion is looked for in the first plane.
    noise : ndarray of shape (planes,)
        Standard deviation of its noise in each plane.
    motion : ndarray, optional
        That of the brightness, for planes of chroma.
    steps : tuple of int
        Rows and columns of the brightness, 1 or more, that share a sample of these planes.

    Returns
    -------
    Past
        What is known now. If nothing of the past is of use, its planes are those of the frame, and its motion is None.

    Examples
    --------
    Of a still scene, the mean of two frames is half as noisy:

    >>> rng = np.random.default_rng(0)
    >>> frames = rng.normal(100, 10, (2, 1, 64, 64)).astype(np.float32)
    >>> past = follow(follow(None, frames[0], np.array([10.0])), frames[1], np.array([10.0]))
    >>> bool(past.ratios.mean() < 0.6), bool(past.planes.std() < 8)
    (True, True)
    """
    sigma = np.asarray(noise, np.float64)
    wide = tuple(length + 2 * MARGIN for length in planes.shape[1:])
    if past is None or past.padded.shape[1:] != wide or not sigma.all():
        return _begin(planes, sigma)
    if motion is None:
        ratio = float(past.ratios[::BLOCK, ::BLOCK].mean())
        motion = find_motion(pad_planes(planes[0]), past.padded[0], float(sigma[0]), ratio)
    return _average(past, planes, sigma, motion, steps)


def _begin(planes: Array, sigma: Array) -> Past:
    padded = pad_planes(planes)
    ratios = _make_ratios(padded.shape[1:])
    ratios[MARGIN:-MARGIN, MARGIN:-MARGIN] = 1
    return Past(padded, ratios, sigma)


def _make_ratios(shape: tuple[int, ...]) -> Array:
    """Return an array for ratios, where nothing is known of what lies beyond the border."""
    ratios = allocate(shape, np.dtype(np.float32))
    for edge in (slice(None, MARGIN), slice(-MARGIN, None)):
        ratios[edge], ratios[:, edge] = _UNSEEN, _UNSEEN
    return ratios


def _average(past: Past, planes: Array, sigma: Array, motion: Array, steps: tuple[int, int]) -> Past:
    predicted = allocate(planes.shape, planes.dtype)
    ratios, residuals = allocate(planes.shape[1:], planes.dtype), allocate(planes.shape, planes.dtype)
    # noise of chroma that was once stored with fewer samples measures too low, and must not tell that nothing matches
    weights = (1 / (np.square(np.maximum(sigma, sigma[0])) * len(planes))).astype(np.float32)
    block = tuple(2 * BLOCK // step for step in steps)
    known = past.padded, past.padded_ratios, motion, block, tabulate_taps(), weights
    share_rows(len(motion), partial(_loops.predict, planes, *known, predicted, ratios, residuals))
    padded, padded_ratios = allocate(past.padded.shape, planes.dtype), _make_ratios(past.padded_ratios.shape)
    found = predicted, ratios, residuals, _SLACKS, 1 / _MEMORY
    share_rows(planes.shape[1], partial(_loops.update, planes, *found, padded, padded_ratios), 32)
    repeat_border(padded)
    # where little is left of the past, all of the frame counts as new
    after = Past(padded, padded_ratios, sigma, motion)
    return _begin(planes, sigma) if np.mean(after.ratios[::BLOCK, ::BLOCK] > _NEW) > _CUT else after
