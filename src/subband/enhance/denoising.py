"""Removing white Gaussian noise by shrinking coefficients, with a threshold for each band."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from subband.arrays import as_numbers
from subband.engines import Engine
from subband.enhance.colour import from_opponents, to_opponents
from subband.enhance.noise import estimate_noise, measure_band_gain
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from subband.transforms import decompose, dwtn_max_level, reconstruct, threshold
from subband.typing import Array
from subband.wavelets import WaveletLike

__all__ = ["denoise"]

# Noise fades from level to level, and beyond this one there is little left to remove.
_MOST_LEVELS = 5


def denoise(
    image: Any,
    sigma: float | None = None,
    wavelet: WaveletLike = "cdf97",
    level: int | None = None,
    engine: str | Engine | None = None,
) -> Array:
    """Remove white Gaussian noise from a picture.

    Parameters
    ----------
    image : array_like
        Rows × columns, or rows × columns × 3 for red, green and blue, of any range and size.
    sigma : float, optional
        Standard deviation of the noise, in the units of the picture; estimated from the picture if left out.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at least 1 and at most 5. With 0 the picture stays
        as it is.
    engine : str, optional
        Who computes; see `subband.set_engine`.

    Returns
    -------
    ndarray of float32 or float64
        Of the same shape: float64 for float64 and float32 otherwise, neither rounded nor clipped.

    Raises
    ------
    ShapeError
        If the array is not a picture.
    DtypeError
        If it holds no real numbers.
    ArgumentError
        If `sigma` is negative or not finite.
    ArgumentTypeError
        If `sigma` is not a number.
    LevelError
        If there are more levels than make sense.

    Notes
    -----
    Coefficients of each band are shrunk softly by Bayes' threshold, the variance of the noise in the band divided
    by the standard deviation of what is left of the band without it; a band that is noise alone is set to zero.
    Colour is treated as brightness and two differences of colours. A single row or column is transformed along its
    length alone, and a single pixel not at all.

    References
    ----------
    S. G. Chang, B. Yu and M. Vetterli, Adaptive wavelet thresholding for image denoising and compression, IEEE
    Transactions on Image Processing 9, 2000, doi:10.1109/83.862633.

    Examples
    --------
    >>> from subband import data
    >>> clean = data.camera().astype(np.float32)
    >>> noisy = clean + np.random.default_rng(0).normal(0, 20, clean.shape).astype(np.float32)
    >>> better = denoise(noisy)
    >>> float(np.mean((better - clean) ** 2) / np.mean((noisy - clean) ** 2)) < 0.25
    True
    """
    pixels = _as_pixels(image)
    if sigma is not None:
        _check_sigma(sigma)
    is_colour = pixels.ndim == 3
    planes = to_opponents(pixels) if is_colour else pixels[np.newaxis]
    axes = tuple(axis for axis in (1, 2) if planes.shape[axis] > 1)
    if not axes or level == 0:
        return pixels.copy()
    if level is None:
        useful = dwtn_max_level([planes.shape[axis] for axis in axes], wavelet)
        level = min(max(useful, 1), _MOST_LEVELS)
    pyramid = decompose(planes, wavelet, level, axes=axes, engine=engine)
    noise = estimate_noise(pyramid) if sigma is None else np.full((len(planes), 1, 1), sigma)

    def shrink(band: Array, level: int, key: str) -> Array:
        if "d" not in key:
            return band
        noise_in_band = (noise * measure_band_gain(pyramid, level, key)).astype(band.dtype)
        return threshold(band, _choose_threshold(band, noise_in_band), "soft").astype(band.dtype, copy=False)

    planes = reconstruct(pyramid.map(shrink), engine=engine)
    return from_opponents(planes) if is_colour else planes[0]


def _as_pixels(image: Any) -> Array:
    """Return a picture as float64 if it is that already, and as float32 otherwise."""
    pixels = as_numbers(image, "image")
    if np.iscomplexobj(pixels):
        raise DtypeError(f"image has dtype {pixels.dtype}; a picture is real: give image.real or abs(image)")
    is_colour = pixels.ndim == 3 and pixels.shape[2] == 3
    if (pixels.ndim != 2 and not is_colour) or pixels.size == 0:
        raise ShapeError(
            f"image has shape {pixels.shape}; it needs rows × columns, or rows × columns × 3, and at least 1 pixel"
        )
    return pixels if pixels.dtype == np.float64 else pixels.astype(np.float32)


def _check_sigma(sigma: Any) -> None:
    """Refuse what is no standard deviation."""
    if np.ndim(sigma) or np.asarray(sigma).dtype.kind not in "iuf":
        raise ArgumentTypeError(f"sigma={sigma!r} is not a number; use 0 or more, or None to estimate it")
    if not 0 <= sigma < inf:
        raise ArgumentError(f"sigma={sigma} is not a standard deviation; use 0 or more, or None to estimate it")


def _choose_threshold(band: Array, noise: Array) -> Array:
    """Return Bayes' threshold of each plane of a band: infinite where there is nothing but noise."""
    power = np.mean(np.square(band), axis=(1, 2), keepdims=True)
    signal = np.sqrt(np.maximum(power - noise**2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where neither signal nor noise is left, zero over zero, there is nothing to shrink.
        return np.asarray(np.nan_to_num(noise**2 / signal, nan=0.0, posinf=np.inf))
