"""Accuracy of a lifting scheme: the error of its filters, and its rounding error in float32."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import LiftingScheme

__all__ = ["measure_amplification", "measure_filter_error", "measure_inverse_error"]

_Float = TypeVar("_Float", np.float32, np.float64)

_LENGTH = 256


def measure_filter_error(scheme: LiftingScheme, bank: FilterBank) -> float:
    """Return how far the analysis filters of a scheme are from those of a bank, relative to the largest tap.

    Examples
    --------
    >>> from subband.wavelets.cdf import cdf_scheme
    >>> from subband.wavelets.lifting import pack_filters
    >>> scheme, bank = pack_filters(cdf_scheme("cdf97"))
    >>> measure_filter_error(scheme, bank)
    0.0
    """
    return max(map(_compare_filters, scheme.analysis_filters(), bank[:2]))


def measure_inverse_error(scheme: LiftingScheme, bank: FilterBank) -> float:
    """Return how far the synthesis filters of a scheme are from those of a bank, relative to the largest tap.

    Steps undone always give back what was there; a bank need not, and then no lifting steps are equal to it.

    Examples
    --------
    >>> from subband.wavelets.cdf import cdf_scheme
    >>> from subband.wavelets.lifting import pack_filters
    >>> scheme, bank = pack_filters(cdf_scheme("cdf97"))
    >>> measure_inverse_error(scheme, bank) < 1e-14
    True
    >>> measure_inverse_error(scheme, bank._replace(rec_lo=bank.rec_hi)) > 0.1
    True
    """
    # the coefficient n has the weight rec_lo[m + L - 2] in x[2n + m]
    delay = len(bank.rec_lo) - 2
    rebuilt = [{m + delay: tap for m, tap in taps.items()} for taps in scheme.synthesis_filters()]
    return max(map(_compare_filters, rebuilt, bank[2:]))


def _compare_filters(rebuilt: dict[int, float], taps: tuple[float, ...]) -> float:
    wanted = dict(enumerate(taps))
    peak = max(abs(tap) for tap in taps) or 1.0
    return max(abs(rebuilt.get(k, 0.0) - wanted.get(k, 0.0)) / peak for k in rebuilt.keys() | wanted.keys())


def measure_amplification(scheme: LiftingScheme) -> float:
    """Return the rounding error of a scheme in float32, in units of that of a single operation.

    Parameters
    ----------
    scheme : LiftingScheme
        The steps to run on a fixed, noise-like periodic signal with mean square 1/2.

    Returns
    -------
    float
        The largest of three root-mean-square errors, divided by ``2**-24`` and by that of the signal: of
        the low-pass and of the high-pass coefficients against float64, and of the signal after forward and
        inverse.

    Notes
    -----
    Convolution with an orthogonal filter scores about one, the lifting steps of most wavelets score one to
    three.

    Examples
    --------
    >>> from subband.wavelets.cdf import cdf_scheme
    >>> measure_amplification(cdf_scheme("cdf53")) < 2
    True
    """
    signal = _make_signal()
    with np.errstate(all="ignore"):
        exact = _run_forward(scheme, signal[0::2].astype(np.float64), signal[1::2].astype(np.float64))
        rounded = _run_forward(scheme, signal[0::2], signal[1::2])
        back = _run_inverse(scheme, *rounded)
        forward = max(_mean_square(rounded[0], exact[0]), _mean_square(rounded[1], exact[1]))
        inverse = (_mean_square(back[0], signal[0::2]) + _mean_square(back[1], signal[1::2])) / 2.0
        worst = (2.0 * max(forward, inverse)) ** 0.5 * 2.0**24
    return worst if np.isfinite(worst) else float("inf")


def _mean_square(values: npt.NDArray[np.float32], exact: npt.NDArray[_Float]) -> float:
    """Return the mean squared difference, in double precision."""
    return float(np.mean(np.square(values.astype(np.float64) - exact.astype(np.float64))))


@cache
def _make_signal() -> npt.NDArray[np.float32]:
    """Sample a sine of a fast growing argument: as good as noise here, without a random generator."""
    return np.sin(0.7 * np.arange(_LENGTH, dtype=np.float64) ** 2 + 0.3).astype(np.float32)


def _add_filtered(
    target: npt.NDArray[_Float], source: npt.NDArray[_Float], start: int, taps: tuple[float, ...], sign: float
) -> npt.NDArray[_Float]:
    """Run one lifting step on periodic samples, rounding as an engine would."""
    kind = target.dtype.type
    for position, tap in enumerate(taps, start=start):
        cut = position % source.size
        target = target + kind(sign * tap) * np.concatenate((source[cut:], source[:cut]))
    return target


def _run_forward(
    scheme: LiftingScheme, even: npt.NDArray[_Float], odd: npt.NDArray[_Float]
) -> tuple[npt.NDArray[_Float], npt.NDArray[_Float]]:
    """Run the steps and scales."""
    for step in scheme.steps:
        if step.kind == "predict":
            odd = _add_filtered(odd, even, step.start, step.taps, 1.0)
        else:
            even = _add_filtered(even, odd, step.start, step.taps, 1.0)
    kind = even.dtype.type
    return kind(scheme.scale_lo) * even, kind(scheme.scale_hi) * odd


def _run_inverse(
    scheme: LiftingScheme, lo: npt.NDArray[_Float], hi: npt.NDArray[_Float]
) -> tuple[npt.NDArray[_Float], npt.NDArray[_Float]]:
    """Undo the scales and the steps."""
    kind = lo.dtype.type
    even, odd = kind(1.0 / scheme.scale_lo) * lo, kind(1.0 / scheme.scale_hi) * hi
    for step in reversed(scheme.steps):
        if step.kind == "predict":
            odd = _add_filtered(odd, even, step.start, step.taps, -1.0)
        else:
            even = _add_filtered(even, odd, step.start, step.taps, -1.0)
    return even, odd
