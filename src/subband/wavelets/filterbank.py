"""Filter banks of four filters, and the checks of those that users give."""

from __future__ import annotations

import warnings
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError

__all__ = ["Filter", "FilterBank", "is_centred", "read_bank", "read_filter"]

Filter: TypeAlias = tuple[float, ...]


class FilterBank(NamedTuple):
    """Four filters of one even length, laid out as PyWavelets lays them out.

    The coefficient `n` of a band is ``sum(dec[k] * x[2n + 1 - k])``, and adds ``rec[k]`` times itself to
    ``x[2n + k - length + 2]`` in the inverse.
    """

    dec_lo: Filter
    dec_hi: Filter
    rec_lo: Filter
    rec_hi: Filter


def read_bank(source: Any) -> FilterBank:
    """Take four filters from a sequence or from an object that has them.

    Parameters
    ----------
    source : sequence of four filters, or an object with such a `filter_bank`
        ``dec_lo, dec_hi, rec_lo, rec_hi``, of one length.

    Raises
    ------
    ArgumentError
        If there are not four filters of one length with real, finite taps.
    TypeError
        If `source` is no sequence.

    Examples
    --------
    >>> read_bank([[1, 1], [-1, 1], [1, 1], [1, -1]]).dec_hi
    (-1.0, 1.0)
    >>> read_bank([[1, 1], [-1, 1]])
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: filter_bank has 2 filters; it takes four: dec_lo, dec_hi, rec_lo, rec_hi
    """
    if hasattr(source, "filter_bank"):
        filters = source.filter_bank
    elif hasattr(source, "get_filters_coeffs"):
        message = "an object with get_filters_coeffs() is deprecated; use one with the attribute filter_bank"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        filters = source.get_filters_coeffs()
    else:
        filters = source
    try:
        count = len(filters)
    except TypeError:
        raise ArgumentTypeError(
            f"filter_bank={filters!r} is not a sequence; give four filters: dec_lo, dec_hi, rec_lo, rec_hi"
        ) from None
    if count != 4:
        raise ArgumentError(f"filter_bank has {count} filters; it takes four: dec_lo, dec_hi, rec_lo, rec_hi")
    names = ("dec_lo", "dec_hi", "rec_lo", "rec_hi")
    taps = [read_filter(f"{name} of filter_bank", values) for name, values in zip(names, filters, strict=True)]
    lengths = [len(values) for values in taps]
    if len(set(lengths)) > 1:
        raise ArgumentError(
            f"the filters of filter_bank have lengths {lengths}; pad them with zeros to one length "
            "so that analysis and synthesis stay aligned"
        )
    padding = (0.0,) * (lengths[0] % 2)
    return FilterBank(*(values + padding for values in taps))


def read_filter(name: str, values: Any) -> Filter:
    """Turn one filter into floats.

    Parameters
    ----------
    name : str
        What to call it in an error.
    values : array_like of one dimension
        Its taps.

    Raises
    ------
    ArgumentError
        If there is no tap, or one that is not a real, finite number.

    Examples
    --------
    >>> read_filter("dec_lo", [1, 2])
    (1.0, 2.0)
    >>> read_filter("dec_lo", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: dec_lo has a tap nan; all taps must be finite
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ArgumentError(f"{name} is a nested list with rows of different lengths; a filter is a list") from None
    if array.ndim != 1:
        raise ArgumentError(f"{name} has {array.ndim} dimensions; a filter has one")
    if array.size == 0:
        raise ArgumentError(f"{name} is empty; a filter has at least one tap")
    if np.iscomplexobj(array):
        raise ArgumentError(f"{name} is complex; filters have real taps")
    try:
        taps = tuple(array.astype(np.float64).tolist())
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} holds something that is not a number; give it as a list of floats") from None
    for tap in taps:
        if not isfinite(tap):
            raise ArgumentError(f"{name} has a tap {tap}; all taps must be finite")
    return taps


def is_centred(taps: Filter, parity: int) -> bool:
    """Tell whether a filter, zeros at its ends aside, is symmetric about an even (0) or odd (1) tap.

    Examples
    --------
    >>> is_centred((0.0, 1.0, 2.0, 1.0), 0), is_centred((1.0, 2.0, 1.0, 0.0), 0)
    (True, False)
    """
    peak = max(abs(tap) for tap in taps)
    nonzero = [k for k, tap in enumerate(taps) if tap != 0.0]
    if not nonzero or (nonzero[0] + nonzero[-1]) % 2:
        return False
    centre = (nonzero[0] + nonzero[-1]) // 2
    reach = centre - nonzero[0]
    return centre % 2 == parity and all(
        abs(taps[centre - k] - taps[centre + k]) <= 1e-12 * peak for k in range(1, reach + 1)
    )
