"""Steps of the quantiser: how coarse each band is, as chosen, as written in a file and as read from it.

A coefficient becomes the whole number of steps in its magnitude, with its sign; so values nearer to zero than one step
vanish. A step is written as an exponent and a mantissa of 11 bits, relative to the range that the samples of a band
are expected to have.

References
----------
ISO/IEC 15444-1, annex E.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, frexp, sqrt
from typing import Literal

import numpy as np

from subband.compiled import Kernels
from subband.errors import ArgumentError
from subband.typing import Array
from subband.wavelets import as_wavelet

__all__ = ["GAIN_BITS", "BandName", "Step", "choose_step", "measure_norm", "quantise"]

_loops = Kernels("subband.codecs.jpeg2000.loops.quantising")

BandName = Literal["LL", "HL", "LH", "HH"]

#: Bits by which the nominal range of a band is wider than that of the samples; the first letter is horizontal.
GAIN_BITS: dict[str, int] = {"LL": 0, "HL": 1, "LH": 1, "HH": 2}

_MANTISSA_BITS = 11
_MOST_EXPONENT = 31


@dataclass(frozen=True)
class Step:
    """The step of a band as a file holds it.

    Attributes
    ----------
    exponent : int
        From 0 to 31.
    mantissa : int
        From 0 to 2047; 0 where nothing is quantised.

    Examples
    --------
    >>> Step(8, 1024).measure(9)
    3.0
    """

    exponent: int
    mantissa: int = 0

    def measure(self, range_bits: int) -> float:
        """Return the size of the step in a band whose nominal range has so many bits."""
        return float(2.0 ** (range_bits - self.exponent) * (1 + self.mantissa / 2**_MANTISSA_BITS))


def choose_step(size: float, range_bits: int) -> Step:
    """Return the step that comes nearest to a size.

    Parameters
    ----------
    size : float
        In units of coefficients.
    range_bits : int
        Of the nominal range of the band: bits of a sample and what `GAIN_BITS` adds.

    Raises
    ------
    ArgumentError
        If the size is beyond what a file can hold.

    Examples
    --------
    >>> choose_step(3.0, 9)
    Step(exponent=8, mantissa=1024)
    >>> choose_step(1.0, 8).measure(8)
    1.0
    """
    if not 0 < size < float("inf"):
        raise ArgumentError(f"size={size} is not a step; use a positive number")
    fraction, power = frexp(size)
    mantissa = floor((2 * fraction - 1) * 2**_MANTISSA_BITS + 0.5)
    exponent = range_bits - (power - 1)
    if mantissa == 2**_MANTISSA_BITS:
        mantissa, exponent = 0, exponent - 1
    if exponent < 0:
        raise ArgumentError(f"size={size} is too coarse for a range of {range_bits} bits; use a smaller step")
    if exponent > _MOST_EXPONENT:
        exponent, mantissa = _MOST_EXPONENT, 0
    return Step(exponent, mantissa)


def measure_norm(is_reversible: bool, level: int, band: BandName) -> float:
    """Return how far an error of one in a coefficient shows in the image: the length of its basis image.

    Parameters
    ----------
    is_reversible : bool
        Whether the wavelet is 5/3 rather than 9/7.
    level : int
        1 is the finest; 0 stands for no transform at all.
    band : {"LL", "HL", "LH", "HH"}
        Which.

    Notes
    -----
    In the scale of the standard: a constant image keeps its value in LL, and the finest checkerboard has four times
    its value in HH.

    Examples
    --------
    >>> round(measure_norm(False, 1, "LL"), 3), round(measure_norm(False, 1, "HH"), 3)
    (1.966, 0.52)
    >>> round(measure_norm(True, 1, "HL"), 3)
    1.038
    """
    if level == 0:
        return 1.0
    low, high = _measure_norms(is_reversible, level)
    return (low if band[0] == "L" else high) * (low if band[1] == "L" else high)


@lru_cache(maxsize=128)
def _measure_norms(is_reversible: bool, level: int) -> tuple[float, float]:
    """Return the lengths of the low and the high basis function along one axis."""
    wavelet = as_wavelet("cdf53" if is_reversible else "cdf97")
    # Ours have a gain of sqrt(2) for constants and for alternating signs; the standard's have 1 and 2.
    low, high = np.asarray(wavelet.rec_lo) * sqrt(2), np.asarray(wavelet.rec_hi) / sqrt(2)
    # Beyond ten levels each doubles the energy, near enough, and the filters would become long.
    known = min(level, 10)
    path, final = np.ones(1), np.ones(1)
    for number in range(known):
        spread_low, spread_high = (np.zeros((len(taps) - 1) * 2**number + 1) for taps in (low, high))
        spread_low[:: 2**number], spread_high[:: 2**number] = low, high
        # from the coarsest level down, the last filter applied is the finest; the product does not mind the order
        final = np.convolve(path, spread_high)
        path = np.convolve(path, spread_low)
    grown = sqrt(2) ** (level - known)
    return float(np.linalg.norm(path)) * grown, float(np.linalg.norm(final)) * grown


def quantise(coefficients: Array, scale: float, out: Array) -> None:
    """Write the whole number of steps in each coefficient.

    Parameters
    ----------
    coefficients : ndarray of float32 or int32
        Rows × columns.
    scale : float
        One over the step. Integers are copied.
    out : ndarray of int32
        As many values, in one row.

    Examples
    --------
    >>> out = np.empty(4, np.int32)
    >>> quantise(np.array([[-2.5, -0.9], [0.9, 7.0]], np.float32), 1.0, out)
    >>> out.tolist()
    [-2, 0, 0, 7]
    """
    if not coefficients.size:
        return
    if coefficients.dtype.kind in "iu":
        np.copyto(out.reshape(coefficients.shape), coefficients, casting="same_kind")
        return
    _loops.quantise_rows(coefficients, np.float32(scale), out.reshape(coefficients.shape))
