"""Filter banks from a single filter: quadrature mirror filters."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from subband.errors import ArgumentError, ArgumentTypeError
from subband.wavelets.filterbank import read_filter

__all__ = ["orthfilt", "orthogonal_filter_bank", "qmf"]

_REAL = {float, int}

# made once, because Python would make them for each of a few short steps
_REVERSED, _ODD = slice(None, None, -1), slice(1, None, 2)


def qmf(filt: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the quadrature mirror filter (QMF): reversed, with every other sign changed.

    Parameters
    ----------
    filt : array
        A filter.

    Returns
    -------
    ndarray
        Of the same shape and dtype, reversed along the first axis, negative from the second entry on in turn.

    Examples
    --------
    >>> from subband import qmf
    >>> qmf([1, 2, 3, 4]).tolist()
    [4, -3, 2, -1]
    """
    try:
        mirrored: npt.NDArray[Any] = np.array(filt)[_REVERSED]
    except IndexError:
        raise ArgumentError(f"filt={filt!r} is not a filter; give a list of taps") from None
    mirrored[_ODD] = -mirrored[_ODD]
    return mirrored


def orthogonal_filter_bank(
    scaling_filter: npt.ArrayLike,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the four filters of an orthogonal wavelet from its scaling filter.

    Parameters
    ----------
    scaling_filter : array of even length
        The filter, of any sum but zero.

    Returns
    -------
    dec_lo, dec_hi, rec_lo, rec_hi : ndarray of float64
        Scaled so that the low-pass filters sum to sqrt(2).

    Raises
    ------
    ArgumentError
        If the length is odd, the taps add up to zero, or one of them is not a finite number.
    ArgumentTypeError
        If it is no sequence, or complex.

    Examples
    --------
    >>> from subband import orthogonal_filter_bank
    >>> [taps.round(3).tolist() for taps in orthogonal_filter_bank([1, 1])]
    [[0.707, 0.707], [-0.707, 0.707], [0.707, 0.707], [0.707, -0.707]]
    """
    if not isinstance(scaling_filter, Collection):
        raise ArgumentTypeError(f"scaling_filter={scaling_filter!r} is not a sequence; give a list of taps")
    # most filters are lists of floats, which a set tells soonest
    if not _REAL.issuperset(map(type, scaling_filter)) and any(
        isinstance(tap, complex | np.complexfloating) for tap in scaling_filter
    ):
        raise ArgumentTypeError("scaling_filter is complex; filters have real taps")
    taps = np.array(read_filter("scaling_filter", scaling_filter))
    if len(taps) % 2:
        raise ArgumentError(f"scaling_filter has {len(taps)} taps; an orthogonal filter bank takes an even number")
    total = taps.sum()
    if total == 0.0:
        raise ArgumentError("the taps of scaling_filter add up to 0; those of a low-pass filter do not")
    rec_lo = sqrt(2.0) * taps / total
    dec_lo = rec_lo[::-1]
    rec_hi = qmf(rec_lo)
    return dec_lo, rec_hi[::-1], rec_lo, rec_hi


def orthfilt(*args: Any, **kwargs: Any) -> tuple[npt.NDArray[Any], ...]:
    """Call `orthogonal_filter_bank`; deprecated."""
    warnings.warn("orthfilt is deprecated; it is called orthogonal_filter_bank now", DeprecationWarning, stacklevel=2)
    return orthogonal_filter_bank(*args, **kwargs)
