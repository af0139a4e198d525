"""Tolerances of comparisons between engines, by dtype, axes and levels.

An error is measured against the largest number that took part, sample or coefficient. It has two sources:

- rounding, some units in the last place of the dtype for every axis and level, however large the array, because
  a coefficient depends on a few samples only;
- the filters themselves, where the published values do not form a perfect bank. Such a bank does not reconstruct
  better than that in any precision, and its lifting scheme, which does, cannot equal it better than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from subband.typing import Array
from subband.wavelets import Wavelet

__all__ = ["IMPRECISION", "ROUNDING", "assert_close", "imprecision", "largest", "relative_tolerance"]

#: Units in the last place for each axis and level. Most results are right to five. But the longest filters add 102
#: products, lifting steps of the long Daubechies filters pass through values several times larger than their results,
#: and the modes that extrapolate (``smooth``, ``antireflect``) go on with values many times larger than the samples,
#: which cancel again; up to 70 have been seen.
ROUNDING = {"float32": 256.0, "float64": 256.0, "complex64": 256.0, "complex128": 256.0}

#: How far filters are from a perfect bank, for each axis and level, by name, else by family.
IMPRECISION = {
    # tabulated to 12 to 14 digits, which also the lifting scheme is fitted to
    "sym": 2e-10,
    "bior4.4": 2e-11,
    "bior5.5": 2e-11,
    "bior6.8": 2e-11,
    "rbio4.4": 2e-11,
    "rbio5.5": 2e-11,
    "rbio6.8": 2e-11,
    # 62 taps of a filter that is infinitely long
    "dmey": 1e-2,
}


def imprecision(wavelet: Wavelet) -> float:
    """Return how far the filters of a wavelet are from a perfect bank, 0 if not farther than rounding.

    Examples
    --------
    >>> imprecision(Wavelet("db4")), imprecision(Wavelet("dmey"))
    (0.0, 0.01)
    """
    return IMPRECISION.get(wavelet.name, IMPRECISION.get(wavelet.short_family_name, 0.0))


def relative_tolerance(
    dtype: np.dtype[np.generic] | type[np.generic] | str,
    wavelets: Iterable[Wavelet],
    level: int = 1,
    *,
    same_filters: bool = False,
) -> float:
    """Return the greatest error to accept, as a part of the largest number that took part.

    Parameters
    ----------
    dtype : dtype
        What was computed in.
    wavelets : iterable of Wavelet
        One for each transformed axis.
    level : int
        Number of levels.
    same_filters : bool
        Whether both sides use the filters as published, so that the imprecision of a bank that is only nearly
        perfect cancels. Lifting schemes are fitted to filters, so it is true of ``dmey``, which has none, when two
        engines are compared.

    Returns
    -------
    float
        Rounding of every axis and level, and the imprecision of its filters.

    Examples
    --------
    >>> relative_tolerance("float64", [Wavelet("db4")] * 2) < 1e-12
    True
    >>> relative_tolerance("float64", [Wavelet("dmey")])
    0.0100...
    """
    dtype = np.dtype(dtype)
    rounding = ROUNDING[dtype.name] * float(np.finfo(dtype.name).eps)
    total = 0.0
    for wavelet in wavelets:
        exact = same_filters and wavelet.lifting is None
        total += rounding + (0.0 if exact else imprecision(wavelet))
    return total * max(level, 1)


def largest(*arrays: Array | Mapping[str, Array]) -> float:
    """Return the largest magnitude in arrays and bands, 0 where there are none.

    Examples
    --------
    >>> largest(np.array([1.0, -3.0]), {"a": np.array([2.0]), "d": np.array([])})
    3.0
    """
    flat = [band for array in arrays for band in (array.values() if isinstance(array, Mapping) else (array,))]
    return max((float(np.abs(array).max()) for array in flat if array.size), default=0.0)


def assert_close(actual: Array, expected: Array, tolerance: float, scale: float, what: object = "") -> None:
    """Fail unless two arrays have one shape and differ nowhere by more than ``tolerance * scale``.

    Parameters
    ----------
    actual, expected : ndarray
        What came out, and what should have.
    tolerance : float
        From `relative_tolerance`.
    scale : float
        The largest number that took part, from `largest`.
    what : object
        Put before the message of a failure.

    Examples
    --------
    >>> assert_close(np.array([1.0]), np.array([1.5]), 0.1, 1.0, "halves")
    Traceback (most recent call last):
        ...
    AssertionError: halves: differs by 0.5 at (0,), and 0.1 is allowed
    """
    prefix = f"{what}: " if what != "" else ""
    assert actual.shape == expected.shape, f"{prefix}has shape {actual.shape}, and {expected.shape} is right"
    if not actual.size:
        return
    difference = np.abs(actual - expected)
    index = np.unravel_index(int(np.argmax(difference)), difference.shape)
    worst, allowed = float(difference[index]), tolerance * scale
    # written so that a NaN fails
    assert worst <= allowed, f"{prefix}differs by {worst:.4g} at {tuple(map(int, index))}, and {allowed:.4g} is allowed"
