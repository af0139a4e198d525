"""Removing white Gaussian noise by shrinking coefficients, with a threshold for each band."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.engines import Engine
from subband.enhance.colour import from_opponents, to_opponents
from subband.enhance.noise import estimate_noise, gain_of_band
from subband.errors import ArgumentError, ShapeError
from subband.transforms import decompose, reconstruct, threshold
from subband.typing import Array
from subband.wavelets import WaveletLike

__all__ = ["denoise"]


def denoise(
    image: Any,
    sigma: float | None = None,
    wavelet: WaveletLike = "cdf97",
    level: int | None = 5,
    engine: str | Engine | None = None,
) -> Array:
    """Remove white Gaussian noise from a picture.

    Parameters
    ----------
    image : array_like
        Rows × columns, or rows × columns × 3 for red, green and blue, of any range.
    sigma : float, optional
        Standard deviation of the noise, in the units of the picture; estimated from the picture if left out.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if None.
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
    ArgumentError
        If `sigma` is negative.

    Notes
    -----
    Coefficients of each band are shrunk softly by Bayes' threshold, the variance of the noise in the band divided
    by the standard deviation of what is left of the band without it; a band that is noise alone is set to zero.
    Colour is treated as brightness and two differences of colours.

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
    pixels = np.asarray(image)
    pixels = pixels if pixels.dtype == np.float64 else pixels.astype(np.float32)
    is_colour = pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.ndim != 2 and not is_colour:
        raise ShapeError(f"image has shape {pixels.shape}; it needs rows × columns, or rows × columns × 3")
    if sigma is not None and not sigma >= 0:
        raise ArgumentError(f"sigma={sigma} is not a standard deviation; use 0 or more, or None to estimate it")
    planes = to_opponents(pixels) if is_colour else pixels[np.newaxis]
    pyramid = decompose(planes, wavelet, level, axes=(1, 2), engine=engine)
    noise = estimate_noise(pyramid) if sigma is None else np.full((len(planes), 1, 1), sigma)

    def shrink(band: Array, level: int, key: str) -> Array:
        if "d" not in key:
            return band
        noise_in_band = (noise * gain_of_band(pyramid, level, key)).astype(band.dtype)
        return threshold(band, _choose_threshold(band, noise_in_band), "soft").astype(band.dtype, copy=False)

    planes = reconstruct(pyramid.map(shrink), engine=engine)
    return from_opponents(planes) if is_colour else planes[0]


def _choose_threshold(band: Array, noise: Array) -> Array:
    """Return Bayes' threshold of each plane of a band: infinite where there is nothing but noise."""
    power = np.mean(np.square(band), axis=(1, 2), keepdims=True)
    signal = np.sqrt(np.maximum(power - noise**2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where neither signal nor noise is left, zero over zero, there is nothing to shrink.
        return np.asarray(np.nan_to_num(noise**2 / signal, nan=0.0, posinf=np.inf))
