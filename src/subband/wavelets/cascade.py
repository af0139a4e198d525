"""Sampled scaling and wavelet functions of a filter bank, by the cascade algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from subband.errors import ArgumentError, ArgumentTypeError
from subband.wavelets.filterbank import FilterBank

__all__ = ["FloatArray", "count_samples", "iterate_cascade", "read_count", "sample_functions"]

FloatArray: TypeAlias = npt.NDArray[np.float64]


def read_count(count: Any, name: str, kind: str = "an integer; use one such as 8") -> int:
    """Return a number of levels or samples as an integer; fractions are cut off, as PyWavelets does.

    Parameters
    ----------
    count : object
        What was given.
    name : str
        What to call it in an error.
    kind : str
        What it should have been, and the way out.

    Raises
    ------
    ArgumentTypeError
        If it is no number.
    ArgumentError
        If it is not finite.

    Examples
    --------
    >>> read_count(8, "level")
    8
    >>> read_count("a", "level")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentTypeError: level='a' is not an integer; use one such as 8
    """
    if isinstance(count, str | bytes):
        raise ArgumentTypeError(f"{name}={count!r} is not {kind}")
    try:
        return int(count)
    except TypeError:
        raise ArgumentTypeError(f"{name}={count!r} is not {kind}") from None
    except (ValueError, OverflowError):
        raise ArgumentError(f"{name}={count!r} is not {kind}") from None


def count_samples(length: int, level: int, is_orthogonal: bool) -> int:
    """Return on how many points PyWavelets samples a function whose filters have `length` taps.

    The cascade itself fills ``(2**level - 1) * (length - 1) + 1`` points, between at least one zero on each
    side.

    Examples
    --------
    >>> count_samples(6, 3, is_orthogonal=True)
    41
    """
    support = (length - 1) << level
    filled = support - (length - 1) + 1
    return max(support + is_orthogonal, filled + 2)


def iterate_cascade(
    lasts: Sequence[Sequence[float]], lowpass: Sequence[float], level: int, samples: int
) -> list[FloatArray]:
    """Refine one coefficient `level` times, through each of `lasts` once and through `lowpass` from then on.

    Parameters
    ----------
    lasts : sequence of filters
        The synthesis filters of the coarsest scale, of equal length: low-pass for a scaling function, high-pass for a
        wavelet.
    lowpass : sequence of float
        The synthesis low-pass filter.
    level : int
        How often to refine, at least once.
    samples : int
        The length of the results.

    Returns
    -------
    list of ndarray of float64, shape (samples,)
        Samples of each function at distances of ``2**-level``, after one zero.

    Examples
    --------
    >>> r = 0.5**0.5
    >>> [psi] = iterate_cascade([[r, -r]], [r, r], level=2, samples=6)
    >>> psi.round(6).tolist()
    [0.0, 1.0, 1.0, -1.0, -1.0, 0.0]
    """
    taps = np.asarray(lowpass, dtype=np.float64)
    values = taps if level > 1 else np.ones(1)
    for _ in range(level - 2):
        spread = np.zeros(2 * values.size - 1)
        spread[::2] = values
        values = np.convolve(spread, taps)
    # What all have in common is refined once; a function is the sum of copies of it, each `stride` samples apart.
    stride = 1 << (level - 1)
    rows = -(-values.size // stride)
    common = np.zeros((rows, stride))
    common.ravel()[: values.size] = values
    filters = np.asarray(lasts, dtype=np.float64) * sqrt(2.0) ** level
    count, length = filters.shape
    sums = np.zeros((count, rows + length - 1, rows))
    for row in range(rows):
        sums[:, row : row + length, row] = filters
    found = (sums @ common).reshape(count, -1)
    end = min(samples - 1, found.shape[1])
    functions = np.zeros((count, samples))
    functions[:, 1 : 1 + end] = found[:, :end]
    return list(functions)


def sample_functions(bank: FilterBank, level: int, *, is_orthogonal: bool, is_negative: bool) -> list[FloatArray]:
    """Sample the scaling and wavelet functions of a filter bank.

    Parameters
    ----------
    bank : FilterBank
        The four filters.
    level : int
        How often to refine, at least once: the samples lie ``2**-level`` apart.
    is_orthogonal : bool
        Whether the functions of the analysis are those of the synthesis.
    is_negative : bool
        Whether the wavelets of a biorthogonal bank get the opposite sign.

    Returns
    -------
    list of ndarray of float64
        ``[phi, psi, x]`` if the bank is orthogonal, else ``[phi_d, psi_d, phi_r, psi_r, x]``: those of the analysis,
        then those of the synthesis.

    Examples
    --------
    >>> from subband import Wavelet
    >>> bank = FilterBank(*map(tuple, Wavelet("haar").filter_bank))
    >>> phi, psi, x = sample_functions(bank, 1, is_orthogonal=True, is_negative=False)
    >>> psi.round(6).tolist(), x.tolist()
    ([0.0, 1.0, -1.0, 0.0], [0.0, 0.5, 1.0, 1.5])
    """
    dec_lo, dec_hi, rec_lo, rec_hi = bank
    samples = count_samples(len(dec_lo), level, is_orthogonal)
    x = np.arange(samples) / 2.0**level
    phi, psi = iterate_cascade((rec_lo, rec_hi), rec_lo, level, samples)
    if is_orthogonal:
        return [phi, psi, x]
    dual_phi, dual_psi = iterate_cascade((dec_lo[::-1], dec_hi[::-1]), dec_lo[::-1], level, samples)
    sign = -1.0 if is_negative else 1.0
    return [dual_phi, sign * dual_psi, phi, sign * psi, x]
