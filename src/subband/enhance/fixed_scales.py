"""How sums of a wavelet's filters fit into the numbers from 0 to 1, and how far their roundings add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from subband.wavelets import Wavelet

__all__ = [
    "Compensation",
    "Scaling",
    "bound_roundings",
    "compensate",
    "fit_range",
    "scale_band",
    "span_range",
    "sum_negative",
]

#: Levels whose gain is computed from their filter, which doubles in length with each.
_MOST_FILTERS = 10


class Scaling(NamedTuple):
    """How a coefficient is held: as the number ``scale * coefficient + bias``."""

    scale: float
    bias: float


class Compensation(NamedTuple):
    """How a filter's part of a sample is found again: ``scale * sum + even``, or ``+ odd`` for odd samples."""

    scale: float
    even: float
    odd: float


def sum_negative(taps: Sequence[float]) -> float:
    """Return the least that a filter makes of numbers from 0 to 1."""
    return sum(min(0.0, tap) for tap in taps)


def span_range(taps: Sequence[float]) -> float:
    """Return how far the least and the most are apart that a filter makes of numbers from 0 to 1."""
    return sum(abs(tap) for tap in taps)


def fit_range(taps: Sequence[float]) -> Scaling:
    """Return what brings the sums of a filter into the range of its samples."""
    return Scaling(1 / span_range(taps), abs(sum_negative(taps)) / span_range(taps))


def compensate(wavelet: Wavelet) -> tuple[Compensation, Compensation]:
    """Return what follows a pass of the inverse low-pass and of the inverse high-pass filter."""
    low, high = (
        Compensation(span_range(taps), least * sum(inverse[0::2]), least * sum(inverse[1::2]))
        for taps, inverse in ((wavelet.dec_lo, wavelet.rec_lo), (wavelet.dec_hi, wavelet.rec_hi))
        for least in [sum_negative(taps)]
    )
    return low, high


def scale_band(wavelet: Wavelet, level: int, key: str) -> Scaling:
    """Return scale and bias of the coefficients of a band, relative to the image, which is level 0."""
    scale, bias = 1.0, 0.0
    for letter in "a" * len(key) * (level - 1) + key * (level > 0):
        taps = wavelet.dec_lo if letter == "a" else wavelet.dec_hi
        fit = fit_range(taps)
        scale, bias = scale * fit.scale, bias * fit.scale * sum(taps) + fit.bias
    return Scaling(scale, bias)


def bound_roundings(wavelet: Wavelet, bits: int, level: int, dimensions: int) -> float:
    """Return how far all roundings of a number of levels can add up, in units of the last of `bits`."""
    low, high = (
        np.abs(inverse) * span_range(taps)
        for taps, inverse in ((wavelet.dec_lo, wavelet.rec_lo), (wavelet.dec_hi, wavelet.rec_hi))
    )
    biases = (fit_range(taps).bias for taps in (wavelet.dec_lo, wavelet.dec_hi))
    # A pass rounds by half a unit, or clamps by its bias, after as many additions in float32 as there are taps.
    once = max(0.5, *biases) + (wavelet.dec_len + wavelet.rec_len) * 2.0 ** (bits - 24)
    both = max(low[phase::2].sum() + high[phase::2].sum() for phase in (0, 1))
    added = once * sum(both**number + both ** (number + 1) for number in range(dimensions))
    # What a level adds goes through the low-pass filters of all levels above it.
    gains, path = [1.0], np.ones(1)
    for number in range(1, level):
        if number > _MOST_FILTERS:
            gains.append(gains[_MOST_FILTERS] * gains[number - _MOST_FILTERS])
            continue
        spread = np.zeros((wavelet.rec_len - 1) * 2 ** (number - 1) + 1)
        spread[:: 2 ** (number - 1)] = wavelet.rec_lo
        path = np.convolve(path, spread * span_range(wavelet.dec_lo))
        gains.append(max(np.abs(path[phase :: 2**number]).sum() for phase in range(2**number)))
    return float(added * sum(gain**dimensions for gain in gains[:level]))
