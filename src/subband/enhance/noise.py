"""Noise estimation, and the gain of white noise in each band."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index
from typing import Any, Literal

import numpy as np

from subband.arrays import find_kind, to_host
from subband.engines.filters.constants import NORMAL_MEDIAN
from subband.enhance.layout import find_layout
from subband.errors import ArgumentTypeError, LevelError, LevelTypeError, ShapeError
from subband.pyramid import Pyramid
from subband.transforms import decompose
from subband.typing import Array
from subband.wavelets import Wavelet, WaveletLike, as_wavelet
from subband.wavelets.dual_tree import DualTreeFilters

__all__ = ["combine_gains", "estimate_noise", "estimate_sigma", "measure_band_gain", "measure_gains"]


def measure_gains(wavelet: WaveletLike, level: int) -> tuple[float, float]:
    """Return the standard deviations of unit white noise in the low and high band of a level, along one axis.

    Both are 1 for orthogonal wavelets and near it for the usual biorthogonal ones.

    Parameters
    ----------
    wavelet : Wavelet or str
        Its analysis filters count.
    level : int
        1 is the finest.

    Raises
    ------
    LevelError
        If `level` is not a positive integer.

    Examples
    --------
    >>> from subband.enhance import measure_gains
    >>> [round(gain, 6) for gain in measure_gains("db4", 3)]
    [1.0, 1.0]
    >>> [round(gain, 3) for gain in measure_gains("cdf97", 1)]
    [1.02, 0.991]
    """
    try:
        level = index(level)
    except TypeError:
        raise LevelTypeError(f"level={level!r} is not an integer; the finest level is 1") from None
    if level < 1:
        raise LevelError(f"level={level} is not positive; the finest level is 1")
    return _measure_gains((as_wavelet(wavelet),) * level)


@lru_cache(maxsize=256)
def _measure_gains(levels: tuple[Wavelet, ...]) -> tuple[float, float]:
    # One filter leads to a level: that of the level before, and then one whose taps are 2**(level - 1) apart.
    path = np.ones(1)
    for number, wavelet in enumerate(levels):
        low, high = wavelet.dec_lo, wavelet.dec_hi
        spread_low, spread_high = (np.zeros((len(taps) - 1) * 2**number + 1) for taps in (low, high))
        spread_low[:: 2**number], spread_high[:: 2**number] = low, high
        final_high = np.convolve(path, spread_high)
        path = np.convolve(path, spread_low)
    return float(np.linalg.norm(path)), float(np.linalg.norm(final_high))


def measure_band_gain(pyramid: Pyramid, level: int, key: str) -> float:
    """Return the standard deviation of unit white noise in a band.

    Examples
    --------
    >>> from subband import decompose
    >>> round(measure_band_gain(decompose(np.zeros((8, 8)), "cdf97", 1), 1, "dd"), 3)
    0.983
    """
    return combine_gains(pyramid.plan.wavelets, level, key)


@lru_cache(maxsize=1024)
def combine_gains(wavelets: tuple[Wavelet | DualTreeFilters, ...], level: int, key: str) -> float:
    """Return the standard deviation of unit white noise in a band of several axes.

    That of a complex band is the root of half the mean square of its magnitudes.

    Examples
    --------
    >>> round(combine_gains((as_wavelet("cdf97"),) * 2, 1, "dd"), 3)
    0.983
    """
    # behind its letters, the key of a complex band has signs, which do not matter here
    gains = zip(wavelets, key[: len(wavelets)], strict=True)
    return prod(_measure_axis(filters, level)[letter == "d"] for filters, letter in gains)


def _measure_axis(filters: Wavelet | DualTreeFilters, level: int) -> tuple[float, float]:
    if isinstance(filters, DualTreeFilters):
        return _measure_gains((filters.biort, *(filters.qshift,) * (level - 1)))
    return measure_gains(filters, level)


def estimate_sigma(image: Any, *, channel_axis: int | Literal["auto"] | None = "auto") -> float:
    """Estimate the standard deviation of white Gaussian noise in an image, a signal or a volume.

    Parameters
    ----------
    image : array
        Of real numbers, at least 2 samples along every axis but that of the channels.
    channel_axis : int, optional
        Where the channels are, as of `Enhancer.apply`; None if there are none.

    Returns
    -------
    float
        In the units of the image; the mean of all channels but opacity.

    Raises
    ------
    ShapeError
        If the array is too short, or no image.
    DtypeError
        If it holds no numbers.

    See Also
    --------
    estimate_noise : The same of a pyramid, one number for each channel.
    subband.enhance.find_noise : The noise of an image with much texture, which this takes for noise.

    Notes
    -----
    The number is that of scikit-image's function of this name: a median, which is up to half too large for weak noise
    in a photograph. `denoise` measures noise where there is little else.

    Examples
    --------
    >>> import numpy as np
    >>> import subband
    >>> noise = np.random.default_rng(0).normal(100, 20, (256, 256))
    >>> round(subband.estimate_sigma(noise))
    20
    """
    pixels = image if find_kind(image) is not None else np.asarray(image)
    layout = find_layout(tuple(pixels.shape), None, channel_axis)
    pyramid = decompose(pixels, level=1, axes=layout.space)
    noise = estimate_noise(pyramid._replace_arrays(to_host))
    return float(np.mean(noise[..., :-1] if layout.has_alpha else noise))


def estimate_noise(pyramid: Pyramid) -> Array:
    """Estimate the standard deviation of white Gaussian noise from the finest diagonal band.

    Parameters
    ----------
    pyramid : Pyramid
        Of at least one level.

    Returns
    -------
    ndarray of float
        One value for each position along the axes that were not transformed, such as channels; its other axes have
        length 1, so that it broadcasts against every band.

    Raises
    ------
    ArgumentTypeError
        If it is not a pyramid.
    LevelError
        If the pyramid has no level.
    ShapeError
        If the finest diagonal band is empty, as is that of a single row or column.

    Notes
    -----
    The median of magnitudes is not moved by the few large coefficients of edges. Fine texture in half of the array is
    taken for noise; `find_noise` and `denoise` look where there is little else.

    References
    ----------
    D. L. Donoho and I. M. Johnstone, Ideal spatial adaptation by wavelet shrinkage, Biometrika 81, 1994,
    doi:10.1093/biomet/81.3.425.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import decompose
    >>> from subband.enhance import estimate_noise
    >>> noise = np.random.default_rng(0).normal(0, 20, (512, 512))
    >>> estimate_noise(decompose(noise, level=1)).round()
    array([[20.]])
    """
    if not isinstance(pyramid, Pyramid):
        raise ArgumentTypeError(f"pyramid is a {type(pyramid).__name__}; make one with decompose")
    if pyramid.level == 0:
        raise LevelError("pyramid has 0 levels, and noise is estimated from the finest; use decompose(x, level=1)")
    key = "d" * len(pyramid.axes)
    diagonal = pyramid.details[-1][key]
    if diagonal.size == 0:
        raise ShapeError(
            f"pyramid of an array of shape {pyramid.shape} has no diagonal coefficients; "
            "transform only axes of at least 2 samples"
        )
    middle = np.median(np.abs(diagonal), axis=pyramid.axes, keepdims=True)
    return np.asarray(middle / (NORMAL_MEDIAN * measure_band_gain(pyramid, 1, key)))
