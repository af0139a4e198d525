"""Image quality: peak signal-to-noise ratio (PSNR) and structural similarity (SSIM)."""

from __future__ import annotations

from math import inf, log10
from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from subband.typing import Array

__all__ = ["measure_psnr", "measure_ssim", "psnr", "ssim"]

# The Gaussian window of the paper: standard deviation 1.5, cut off after 3.5 of them.
_SIGMA, _RADIUS = 1.5, 5
_WINDOW = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / _SIGMA) ** 2)
_WINDOW /= _WINDOW.sum()
# What keeps quotients of nearly nothing quiet, as fractions of the largest value.
_QUIET_MEAN, _QUIET_CONTRAST = 0.01, 0.03


def psnr(image: Any, original: Any, peak: float | None = None, *, data_range: float | None = None) -> float:
    """Return the peak signal-to-noise ratio (PSNR) of an image in decibels, infinite for equal images.

    Parameters
    ----------
    image, original : array
        Of the same shape, any number of axes, of any library.
    peak : float, optional
        The largest value that a sample can have. Left out, that of the integer dtype of one of them: 255 for uint8.
    data_range : float, optional
        The same under the name that scikit-image gives it.

    Raises
    ------
    ShapeError
        If the shapes differ, or there is no pixel.
    DtypeError
        If one of them holds no real numbers.
    ArgumentError
        If both hold floating point, and `peak` is left out; if it is not positive; or if `peak` and `data_range`
        differ.

    See Also
    --------
    ssim : The structural similarity.

    Examples
    --------
    >>> import numpy as np
    >>> import subband
    >>> original = np.zeros((4, 4), np.uint8)
    >>> round(subband.psnr(original + 1, original), 2)
    48.13
    >>> round(subband.psnr(np.full(9, 0.1), np.zeros(9), peak=1), 2)
    20.0
    """
    one, other = to_host(image), to_host(original)
    return measure_psnr(one, other, _choose_peak(one, other, peak, data_range))


def ssim(
    image: Any,
    original: Any,
    peak: float | None = None,
    *,
    data_range: float | None = None,
    channel_axis: int = -1,
) -> float:
    """Return the mean structural similarity (SSIM) of an image, 1 for equal images.

    That of colour is the mean of its channels.

    Parameters
    ----------
    image, original : array
        Of the same shape and any library: rows × columns, perhaps × channels; at least 11 × 11 pixels.
    peak : float, optional
        The largest value that a sample can have. Left out, that of the integer dtype of one of them: 255 for uint8.
    data_range : float, optional
        The same under the name that scikit-image gives it.
    channel_axis : int
        Where the channels of a colour image are: the last axis by default.

    Raises
    ------
    ShapeError
        If the shapes differ, or the images are smaller than the window.
    DtypeError
        If one of them holds no real numbers.
    ArgumentError
        If both hold floating point, and `peak` is left out; if it is not positive; or if `peak` and `data_range`
        differ.

    See Also
    --------
    psnr : The peak signal-to-noise ratio.

    References
    ----------
    Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli, Image quality assessment: from error visibility to
    structural similarity, IEEE Transactions on Image Processing 13, 2004, doi:10.1109/TIP.2003.819861.

    Examples
    --------
    >>> import subband
    >>> image = subband.data.camera()
    >>> subband.ssim(image, image)
    1.0
    >>> subband.ssim(image // 2, image) < 0.9
    True
    """
    one, other = to_host(image), to_host(original)
    chosen = _choose_peak(one, other, peak, data_range)
    if one.ndim == other.ndim == 3:
        one, other = (np.moveaxis(each, channel_axis, -1) for each in (one, other))
    return measure_ssim(one, other, chosen)


def measure_psnr(image: Array, original: Array, peak: float) -> float:
    """Return the peak signal-to-noise ratio in decibels, infinite for equal arrays.

    Parameters
    ----------
    image, original : ndarray
        Of the same shape, any number of axes.
    peak : float
        The largest value a sample can have: 255 for 8 bits.

    Examples
    --------
    >>> original = np.zeros((4, 4))
    >>> round(measure_psnr(original + 1, original, peak=255), 2)
    48.13
    >>> measure_psnr(original, original, peak=255)
    inf
    """
    _check_shapes(image, original)
    error = float(np.mean(np.square(np.subtract(image, original, dtype=np.float64))))
    return inf if error == 0 else 10 * log10(peak**2 / error)


def measure_ssim(image: Array, original: Array, peak: float) -> float:
    """Return the mean structural similarity, 1 for equal images; that of colour is the mean of its channels.

    Parameters
    ----------
    image, original : ndarray
        Of the same shape: rows × columns, perhaps × channels; at least 11 × 11 pixels.
    peak : float
        The largest value a sample can have: 255 for 8 bits.

    Raises
    ------
    ShapeError
        If the shapes differ, or the images are smaller than the window.

    References
    ----------
    Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli, Image quality assessment: from error visibility to
    structural similarity, IEEE Transactions on Image Processing 13, 2004, doi:10.1109/TIP.2003.819861.

    Examples
    --------
    >>> image = np.arange(256.0).reshape(16, 16)
    >>> measure_ssim(image, image, peak=255)
    1.0
    """
    _check_shapes(image, original)
    if image.ndim not in (2, 3) or min(image.shape[:2]) < _WINDOW.size:
        raise ShapeError(f"image has shape {image.shape}; it needs rows and columns, at least 11 of each")
    if image.ndim == 3:
        channels = zip(np.moveaxis(image, -1, 0), np.moveaxis(original, -1, 0), strict=True)
        return float(np.mean([measure_ssim(a, b, peak) for a, b in channels]))
    x, y = np.asarray(image, np.float64), np.asarray(original, np.float64)
    mean_x, mean_y = _blur(x), _blur(y)
    variance_x, variance_y = _blur(x * x) - mean_x**2, _blur(y * y) - mean_y**2
    covariance = _blur(x * y) - mean_x * mean_y
    quiet_mean, quiet_contrast = (_QUIET_MEAN * peak) ** 2, (_QUIET_CONTRAST * peak) ** 2
    likeness = (2 * mean_x * mean_y + quiet_mean) / (mean_x**2 + mean_y**2 + quiet_mean)
    likeness *= (2 * covariance + quiet_contrast) / (variance_x + variance_y + quiet_contrast)
    return float(likeness.mean())


def _blur(x: Array) -> Array:
    """Average with the window wherever it fits, along one axis after the other."""
    for axis in (0, 1):
        x = np.lib.stride_tricks.sliding_window_view(x, _WINDOW.size, axis=axis) @ _WINDOW
    return x


def _check_shapes(image: Array, original: Array) -> None:
    if image.shape != original.shape:
        raise ShapeError(f"image has shape {image.shape} and original {original.shape}; they must be the same")
    if not image.size:
        raise ShapeError(f"image has shape {image.shape}; it needs at least 1 pixel")
    for name, array in (("image", image), ("original", original)):
        if array.dtype.kind not in "biuf":
            raise DtypeError(f"{name} has dtype {array.dtype}; images of real numbers are compared")


def _check_peak(name: str, peak: Any) -> float:
    """Return the largest value that a sample can have, which has to be one."""
    try:
        number = float(peak)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}={peak!r} is not a number; use one such as 1 or 255") from None
    if not 0 < number < inf:
        raise ArgumentError(f"{name}={peak} is no largest value of a sample; use a positive number such as 1 or 255")
    return number


def _choose_peak(image: Array, original: Array, peak: float | None, data_range: float | None) -> float:
    """Return the largest value of the shorter integer dtype, unless another peak is given."""
    if None not in (peak, data_range) and peak != data_range:
        raise ArgumentError(f"peak={peak} and data_range={data_range} mean the same; give one of them")
    if peak is not None:
        return _check_peak("peak", peak)
    if data_range is not None:
        return _check_peak("data_range", data_range)
    kinds = [array.dtype for array in (original, image) if array.dtype.kind in "iu" and array.dtype.itemsize <= 2]
    if not kinds:
        raise ArgumentError(
            f"peak is needed for {image.dtype} and {original.dtype}: the largest value that a sample can have, such as "
            "peak=1 or peak=255 (data_range is the same)"
        )
    return float(min(np.iinfo(kind).max for kind in kinds))
