"""Shrinking coefficients: soft, hard, garrote and firm thresholds, and one-sided clipping by value.

A threshold sets small coefficients, which are mostly noise, to zero and decides what becomes of large ones.
With ``m`` the magnitude of a coefficient and ``t`` the threshold, the coefficient is multiplied by

===========  ====================================================
``hard``     1 where ``m >= t``
``soft``     ``1 - t / m`` where that is positive
``garrote``  ``1 - (t / m)**2`` where that is positive
firm         ``(1 - low / m) / (1 - low / high)``, between 0 and 1
===========  ====================================================

and by 0 elsewhere. Magnitude and phase of complex coefficients are treated alike: only the magnitude shrinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subband.arrays import as_array, as_numbers, is_functional, is_opencl, namespace
from subband.engines.dispatch import takes_arrays
from subband.errors import ArgumentError, ArgumentTypeError, ShapeError, suggest_names
from subband.pyramid import Pyramid
from subband.typing import Array

__all__ = ["threshold", "threshold_firm"]


@takes_arrays("data", "value", "substitute", transforms=False)
def threshold(data: Any, value: Any, mode: str = "soft", substitute: Any = 0) -> Any:
    """Threshold an array: soft, hard, garrote, greater or less.

    Parameters
    ----------
    data : array_like or Pyramid
        Real or complex numbers. Of a pyramid the details are shrunk, and the approximation stays.
    value : float or array_like
        The threshold; an array must broadcast against `data`.
    mode : {"soft", "hard", "garrote", "greater", "less"}
        ``soft`` takes `value` off every magnitude, ``hard`` keeps what is not smaller than `value` as it is,
        and ``garrote`` lies between the two: soft near the threshold, hard far from it. ``greater`` keeps
        elements that are not below `value` and ``less`` those that are not above it, whatever their sign, for
        real data only.
    substitute : float or array_like
        The value of the elements that are not kept.

    Returns
    -------
    ndarray or Pyramid
        Of the shape that `data` and `value` broadcast to. A Python number as `value` leaves the precision as
        it is.

    Raises
    ------
    ArgumentError
        If there is no such mode, the data are complex and the mode is not for them, or an array does not broadcast.
    ArgumentTypeError
        If `value` or `substitute` is not a number.
    DtypeError
        If the data are not numbers.

    References
    ----------
    D. L. Donoho and I. M. Johnstone, Ideal spatial adaptation by wavelet shrinkage, Biometrika 81, 1994,
    doi:10.1093/biomet/81.3.425. H.-Y. Gao, Wavelet shrinkage denoising using the non-negative garrote,
    Journal of Computational and Graphical Statistics 7, 1998, doi:10.1080/10618600.1998.10474789.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import threshold
    >>> x = np.array([-3.0, -1.0, 0.5, 2.0, 4.0])
    >>> threshold(x, 2, "soft")
    array([-1., -0.,  0.,  0.,  2.])
    >>> threshold(x, 2, "hard")
    array([-3.,  0.,  0.,  2.,  4.])
    >>> threshold(x, 2, "garrote")
    array([-1.66666667, -0.        ,  0.        ,  0.        ,  3.        ])
    >>> threshold(x, 1, "less", substitute=9)
    array([-3. , -1. ,  0.5,  9. ,  9. ])
    """
    try:
        apply = _MODES[mode]
    except (KeyError, TypeError):
        hint = suggest_names(mode, _MODES) if isinstance(mode, str) else ""
        raise ArgumentError(f"mode={mode!r} is not a threshold{hint}; use one of {', '.join(_MODES)}") from None
    if type(data) is np.ndarray and data.dtype in _REAL and type(value) in _PLAIN and type(substitute) in _PLAIN:
        # nothing to check or to convert: a short call takes microseconds
        return (_SHORT_MODES if 0 <= value < _INFINITE else _MODES).get(mode, apply)(data, value, substitute)
    if isinstance(data, Pyramid):
        return data.map(lambda band, _, key: threshold(band, value, mode, substitute) if "d" in key else band)
    # A Python number must stay one: as an array it would turn float32 data into float64.
    value = as_numbers(value, "value") if isinstance(value, list | tuple) else value
    numbers = as_numbers(data)
    for name, given in (("value", value), ("substitute", substitute)):
        _check_broadcast(name, given, numbers.shape)
    if is_opencl(numbers):
        on_device: Array = _threshold_on_opencl(numbers, value, mode, substitute)
        return on_device
    return apply(numbers, value, substitute)


@takes_arrays("data", transforms=False)
def threshold_firm(data: Any, value_low: float, value_high: float) -> Array:
    """Firm thresholding: zero below the lower threshold, unchanged above the upper, continuous between.

    Parameters
    ----------
    data : array_like
        Real or complex numbers.
    value_low, value_high : float
        The thresholds. Where they are equal this is a hard threshold, and with an infinite upper one a soft
        one.

    Returns
    -------
    ndarray
        Of the shape of `data`.

    Raises
    ------
    ArgumentError
        If `value_low` is negative or greater than `value_high`, or one of them is an array.
    ArgumentTypeError
        If one of them is not a number.
    DtypeError
        If the data are not numbers.

    References
    ----------
    H.-Y. Gao and A. G. Bruce, WaveShrink with firm shrinkage, Statistica Sinica 7, 1997, pages 855 to 874.

    Examples
    --------
    >>> from subband import threshold_firm
    >>> threshold_firm([-3.0, -1.5, 0.5, 1.0, 4.0], 1, 2)
    array([-3., -1.,  0.,  0.,  4.])
    >>> threshold_firm([1.0, 2.0, 4.0], 1, float("inf"))
    array([0., 1., 3.])
    """
    for name, value in (("value_low", value_low), ("value_high", value_high)):
        if type(value) not in _PLAIN and _shape_of_numbers(name, value):
            raise ShapeError(f"{name} has shape {np.shape(value)}; it must be one number")
    if value_low < 0:
        raise ArgumentError(f"value_low={value_low} is negative; use 0 or more")
    if value_high < value_low:
        raise ArgumentError(f"value_high={value_high} is less than value_low={value_low}; use at least that")
    numbers = as_numbers(data)
    namespace(numbers, "threshold_firm")
    magnitude = np.absolute(numbers)
    if value_high == value_low:
        steepness: float = 0  # the thresholds are equal
    else:
        steepness = 1 if np.isinf(value_high) else value_high / (value_high - value_low)
    between = numbers * (_keep_positive(1 - _divide(value_low, magnitude)) * steepness)
    return np.where(magnitude > value_high, numbers, between)


def _shrink_softly(data: Array, value: Any, substitute: Any) -> Array:
    magnitude = np.absolute(data)
    shrunk = data * _keep_positive(1 - _divide(value, magnitude))
    return _substitute(shrunk, magnitude < value, substitute)


def _shrink_by_garrote(data: Array, value: Any, substitute: Any) -> Array:
    magnitude = np.absolute(data)
    shrunk = data * _keep_positive(1 - np.square(_divide(value, magnitude)))
    return _substitute(shrunk, magnitude < value, substitute)


def _keep_large(data: Array, value: Any, substitute: Any) -> Array:
    return np.where(np.absolute(data) < value, substitute, data)


def _keep_above(data: Array, value: Any, substitute: Any) -> Array:
    return np.where(_as_real(data, "greater") < value, substitute, data)


def _keep_below(data: Array, value: Any, substitute: Any) -> Array:
    return np.where(_as_real(data, "less") > value, substitute, data)


_MODES: dict[str, Callable[[Array, Any, Any], Array]] = {
    "soft": _shrink_softly,
    "hard": _keep_large,
    "garrote": _shrink_by_garrote,
    "greater": _keep_above,
    "less": _keep_below,
    "garotte": _shrink_by_garrote,  # a misspelling that PyWavelets takes too
}


def _soften(data: Array, value: float, substitute: float) -> Array:
    """Shrink real numbers softly by a finite threshold: their magnitudes, which get the signs back."""
    shrunk = np.absolute(data)
    small = None if substitute == 0 else shrunk < value
    np.subtract(shrunk, value, out=shrunk)
    np.maximum(shrunk, 0.0, out=shrunk)
    np.copysign(shrunk, data, out=shrunk)
    return shrunk if small is None else _replace(shrunk, small, substitute)


def _keep_magnitudes(data: Array, value: float, substitute: float) -> Array:
    """Replace real numbers whose magnitude is below a finite threshold."""
    magnitude = np.absolute(data)
    if data.size <= _SMALL or substitute != 0:
        return _replace(data, magnitude < value, substitute)
    # without a branch for each number: what is not kept is multiplied by zero, which then gets rid of its sign
    np.greater_equal(magnitude, value, out=magnitude)
    np.multiply(magnitude, data, out=magnitude)
    return np.add(magnitude, 0.0, out=magnitude)


def _replace(x: Array, where: Array, value: float) -> Array:
    """Return a copy with another value where a mask is set."""
    if x.size > _SMALL:
        return np.where(where, float(value), x)
    copy = x.copy()
    np.putmask(copy, where, value)
    return copy


#: The same for real arrays, and numbers that are not negative.
_SHORT_MODES: dict[str, Callable[[Array, Any, Any], Array]] = {
    "soft": _soften,
    "hard": _keep_magnitudes,
    "greater": lambda data, value, substitute: _replace(data, data < value, substitute),
    "less": lambda data, value, substitute: _replace(data, data > value, substitute),
}

#: Up to this many numbers, replacing some of them in a copy is faster than choosing from two arrays.
_SMALL = 1024

_REAL = (np.dtype(np.float64), np.dtype(np.float32))
_PLAIN = frozenset((int, float))
_INFINITE = float("inf")


def _threshold_on_opencl(data: Any, value: Any, mode: str, substitute: Any) -> Any:
    """Do as `threshold` with the few operations that arrays of PyOpenCL have, for real numbers and one threshold."""
    from pyopencl.array import if_positive

    if data.dtype.kind != "f" or np.ndim(value) or np.ndim(substitute):
        raise ArgumentTypeError(
            f"threshold takes arrays of PyOpenCL with real numbers and one threshold, and data has dtype {data.dtype} "
            f"and value shape {np.shape(value)}; give a copy on the host, data.get()"
        )
    kind = data.dtype.type
    value, instead = kind(value), data * kind(0) + kind(substitute)
    if mode in ("greater", "less"):
        return if_positive(value - data if mode == "greater" else data - value, instead, data)
    magnitude = abs(data)
    kept = data
    if mode != "hard" and value > 0:
        ratio = value / magnitude
        kept = data * (kind(1) - (ratio if mode == "soft" else ratio * ratio))
    return if_positive(value - magnitude, instead, kept)


def _divide(value: Any, magnitude: Array) -> Array:
    """Divide where a magnitude may be zero: the quotient is then infinite, or NaN for 0 / 0."""
    if is_functional(magnitude):
        # with derivatives also where nothing is divided: what is not above the threshold becomes zero by any quotient
        is_large = magnitude > value
        return np.where(is_large, value / np.where(is_large, magnitude, 1.0), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return as_array(np.divide(value, magnitude))


def _keep_positive(factor: Array) -> Array:
    """Replace negative factors, and the NaN of zero by zero, with zero."""
    return as_array(np.fmax(factor, 0))


def _substitute(shrunk: Array, small: Array, substitute: Any) -> Array:
    """Replace small elements with `substitute`; they are zero already."""
    return shrunk if np.isscalar(substitute) and substitute == 0 else np.where(small, substitute, shrunk)


def _shape_of_numbers(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of an argument that must hold numbers: one, or an array of them."""
    array = as_array(value)
    if array.dtype.kind in "OSUMmV" and not np.can_cast(array.dtype, np.complex128, "same_kind"):
        raise ArgumentTypeError(f"{name}={value!r} is not a number; use one such as 1.5")
    shape: tuple[int, ...] = array.shape
    return shape


def _check_broadcast(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Refuse what cannot be compared with data of `shape`, element by element."""
    own = _shape_of_numbers(name, value)
    try:
        np.broadcast_shapes(own, shape)
    except ValueError:
        raise ShapeError(
            f"{name} has shape {own}, which does not broadcast against data of shape {shape}; give one number, or "
            "an array of that shape"
        ) from None


def _as_real(data: Array, mode: str) -> Array:
    if np.iscomplexobj(data):
        raise ArgumentError(
            f"mode={mode!r} compares values and takes no complex data, and data has dtype {data.dtype}; "
            "use 'soft', 'hard' or 'garrote', or threshold data.real"
        )
    return data
