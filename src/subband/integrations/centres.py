"""Where the coefficients of a band lie, among the samples of the array that was transformed."""

from __future__ import annotations

import numpy as np

from subband.boundary import is_expansive
from subband.wavelets import Wavelet

__all__ = ["find_centre"]


def find_centre(wavelet: Wavelet, mode: str, level: int, letter: str) -> float:
    """Return which sample of the array the first coefficient of a band is about, counted from 0, with fractions.

    Each further coefficient is ``2**level`` samples on.

    Examples
    --------
    >>> from subband import Wavelet
    >>> find_centre(Wavelet("haar"), "symmetric", 2, "a"), find_centre(Wavelet("cdf97"), "whole", 1, "d")
    (1.5, 1.0)
    """
    taps = np.arange(wavelet.dec_len)
    low, high = np.array(wavelet.dec_lo), np.square(wavelet.dec_hi)
    # of a smooth signal, a low-pass filter gives the value at its first moment; a high-pass filter has none
    centres = {"a": float(taps @ low / low.sum()), "d": float(taps @ high / high.sum())}
    first = 1 if is_expansive(mode) else wavelet.dec_len // 2
    before = 2.0 ** (level - 1)
    return (before - 1) * (first - centres["a"]) + before * (first - centres[letter])
