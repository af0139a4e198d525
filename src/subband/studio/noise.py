"""Noise that is added to judge a filter: the same for the same frame each time, and cheap enough for video.

Noise is drawn once, in a tile a little larger than a frame, and each frame gets another part of it. Where a frame has
integers, rounding the noise first gives the same as rounding the sum, so that adding takes two passes over small
integers.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log10

import numpy as np

from subband.enhance import LogSpeckle
from subband.media.base import fit_pixels
from subband.typing import Array

__all__ = ["add_noise", "measure_psnr"]

#: How far the parts of a tile lie apart; their number is the square of it.
_REACH = 64
# two steps without a common divisor with the reach, so that parts come back only after all others
_STEPS = (29, 11)


def add_noise(pixels: Array, kind: str, sigma: float, number: int = 0, scale: float = 1.0) -> Array:
    """Return a frame with noise.

    Parameters
    ----------
    pixels : ndarray of uint8, uint16 or float32
        Rows × columns, or rows × columns × 3.
    kind : {"none", "gaussian", "speckle"}
        Nothing, what sensors have, or what scanners for ultrasound show, in images that are logarithms already: see
        `subband.enhance.LogSpeckle`.
    sigma : float
        Standard deviation, where white is 255.
    number : int
        Of the frame, which says what noise it gets.
    scale : float
        What white is, over 255.

    Examples
    --------
    >>> grey = np.full((256, 256), 128, np.uint8)
    >>> noisy = add_noise(grey, "gaussian", 20.0)
    >>> round(float(noisy.std())), bool((noisy == add_noise(grey, "gaussian", 20.0)).all())
    (20, True)
    """
    if kind == "none" or sigma <= 0:
        return pixels
    shape = (pixels.shape[0] + _REACH, pixels.shape[1] + _REACH, *pixels.shape[2:])
    is_plain = pixels.dtype == np.uint8
    tile = _make_tile(shape, kind, float(sigma)) if is_plain else _draw_unit(shape, kind)
    row, column = (number * _STEPS[0]) % _REACH, (number * _STEPS[1] + number // _REACH) % _REACH
    noise = tile[row : row + pixels.shape[0], column : column + pixels.shape[1]]
    if not is_plain:
        return fit_pixels(pixels + noise * np.float32(sigma * scale), pixels.dtype)
    total = np.add(pixels, noise, dtype=np.int16)
    return np.clip(total, 0, 255, out=total).astype(np.uint8)


def measure_psnr(pixels: Array, clean: Array, white: float = 255.0) -> float | None:
    """Return the ratio of white to the error in decibels; None where there is no error.

    Examples
    --------
    >>> measure_psnr(np.array([[10, 20]], np.uint8), np.array([[10, 21]], np.uint8))
    51.14
    """
    error = np.subtract(pixels, clean, dtype=np.float32).ravel()
    mean = float(np.dot(error, error)) / error.size
    ratio = inf if mean == 0 else 10 * log10(white**2 / mean)
    return None if ratio == inf else round(ratio, 2)


@lru_cache(maxsize=4)
def _make_tile(shape: tuple[int, ...], kind: str, sigma: float) -> Array:
    noise = _draw_unit(shape, kind) * np.float32(sigma)
    return np.clip(np.rint(noise, out=noise), -512, 512, out=noise).astype(np.int16)


@lru_cache(maxsize=2)
def _draw_unit(shape: tuple[int, ...], kind: str) -> Array:
    """Return noise of standard deviation 1, which takes longer to draw than to scale while a slider is dragged."""
    generator = np.random.default_rng(20)
    if kind == "gaussian":
        return generator.standard_normal(shape, np.float32)
    return np.asarray(LogSpeckle.from_sigma(1.0).add(np.zeros(shape, np.float32), generator))
