"""Rate control: the finest quantisers whose slices fit some bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subband.codecs.vc2.coding import MOST_QUANTISER
from subband.typing import Array

__all__ = ["choose_scaler", "fit_quantisers", "measure"]

#: Lengths are written as one byte, in units of the scaler.
_MOST_UNITS = 255


def choose_scaler(lengths: Array) -> int:
    """Return the least unit in which all lengths can be written.

    Examples
    --------
    >>> choose_scaler(np.array([[7, 255, 0]])), choose_scaler(np.array([[256, 0, 0]]))
    (1, 2)
    """
    return max(-(-int(lengths.max(initial=0)) // _MOST_UNITS), 1)


def measure(lengths: Array, prefix: int = 0) -> int:
    """Return the bytes of slices whose components are of these lengths.

    Examples
    --------
    >>> measure(np.array([[7, 255, 0]])), measure(np.array([[256, 3, 0]]))
    (266, 264)
    """
    scaler = choose_scaler(lengths)
    return int((-(-lengths // scaler) * scaler).sum()) + len(lengths) * (4 + prefix)


def fit_quantisers(count: Callable[[int], Array], budget: int, guess: int, prefix: int = 0) -> tuple[Array, Array]:
    """Return quantisers that fill a budget, and the lengths of components with them.

    All slices take the same quantiser, which makes the least squared error for the bytes that are spent, or the next
    finer one, as many as the budget allows, evenly spread.

    Parameters
    ----------
    count : callable
        From a quantiser to the lengths of all components of slices with it, and with the next finer one; see
        `subband.codecs.vc2.coding.count_bytes`.
    budget : int
        Bytes for all of them.
    guess : int
        Where to begin: the quantiser of the image before.
    prefix : int
        Bytes in front of each slice.

    Notes
    -----
    Each call of `count` reads all coefficients. With a good guess there is one.

    Examples
    --------
    >>> def count(quantiser):
    ...     return np.array([np.full((4, 3), 128 >> each // 4) for each in (quantiser, max(quantiser - 1, 0))])
    >>> quantisers, lengths = fit_quantisers(count, 300, 0)
    >>> quantisers, measure(lengths)
    (array([11, 12, 12, 12]), 256)
    """
    known: dict[int, Array] = {}

    def try_all(quantiser: int) -> bool:
        if quantiser not in known:
            known[quantiser], known[max(quantiser - 1, 0)] = count(quantiser)
        return measure(known[quantiser], prefix) <= budget

    # the finest that fits lies above `low` and not above `high`: first it is enclosed, then halved
    low, high, step = -1, min(max(guess, 0), MOST_QUANTISER), 1
    if try_all(high):
        while high > 0 and try_all(max(high - step, 0)):
            high, step = max(high - step, 0), 2 * step
        low = max(high - step, low)
    else:
        while not try_all(high) and high < MOST_QUANTISER:
            low, high, step = high, min(high + step, MOST_QUANTISER), 2 * step
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if try_all(middle) else (middle, high)
    coarse = known[high]
    if high == 0:
        return np.zeros(len(coarse), np.int64), coarse
    try_all(high - 1)
    fine = known[high - 1]
    return _mix(coarse, fine, high, budget, prefix)


def _mix(coarse: Array, fine: Array, quantiser: int, budget: int, prefix: int) -> tuple[Array, Array]:
    """Give as many slices the next finer quantiser as the budget allows."""
    slices = len(coarse)
    order = np.argsort(np.arange(slices) * _SPREAD % 1.0, kind="stable")
    # with the unit that the finer ones need, which is never less
    scaler = choose_scaler(fine)
    units = [(-(-lengths // scaler) * scaler).sum(axis=1) for lengths in (coarse, fine)]
    left = budget - slices * (4 + prefix) - int(units[0].sum())
    taken = order[: np.searchsorted(np.cumsum((units[1] - units[0])[order]), left, "right")] if left > 0 else order[:0]
    quantisers = np.full(slices, quantiser, np.int64)
    quantisers[taken] -= 1
    lengths = coarse.copy()
    lengths[taken] = fine[taken]
    return quantisers, lengths


# Multiples of the golden ratio, less their whole parts, fill an interval evenly.
_SPREAD = (5**0.5 - 1) / 2
