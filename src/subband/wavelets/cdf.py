"""The two wavelets of JPEG 2000, defined by their lifting steps.

``cdf97`` and ``cdf53`` have the low-pass filters of ``bior4.4`` and ``bior2.2``, with a gain of sqrt(2) for
constant signals, and their high-pass filters with the sign of JPEG 2000: the middle tap is positive. Unlike
the tabulated filters they are exact to the last bit of their lifting steps.
"""

from __future__ import annotations

from functools import cache

from subband.errors import UnknownWaveletError
from subband.wavelets.lifting import LiftingScheme, Step

__all__ = ["CDF97_STEPS", "cdf_scheme"]

CDF97_STEPS = (-1.5861343420599237, -0.052980118572961414, 0.8829110755309333, 0.44350685204397117)
"""The weights of the four steps of CDF 9/7: predict, update, predict, update."""

_CDF53_STEPS = (-0.5, 0.25)


@cache
def cdf_scheme(name: str) -> LiftingScheme:
    """Return the lifting scheme of ``cdf53`` or ``cdf97``, with shifts of zero.

    Parameters
    ----------
    name : {"cdf53", "cdf97"}
        The name of the wavelet.

    Notes
    -----
    The scales make the low-pass filter sum to sqrt(2) and multiply to one.

    Examples
    --------
    >>> scheme = cdf_scheme("cdf97")
    >>> len(scheme.steps), scheme.is_symmetric
    (4, True)
    >>> round(scheme.scale_lo, 12), round(scheme.scale_lo * scheme.scale_hi, 12)
    (1.14960439886, 1.0)
    """
    if name not in ("cdf53", "cdf97"):
        raise UnknownWaveletError(f"name={name!r} is neither 'cdf53' nor 'cdf97'")
    weights = CDF97_STEPS if name == "cdf97" else _CDF53_STEPS
    even = odd = 1.0
    steps = []
    for number, weight in enumerate(weights):
        if number % 2 == 0:
            steps.append(Step("predict", 0, (weight, weight)))
            odd += 2.0 * weight * even
        else:
            steps.append(Step("update", -1, (weight, weight)))
            even += 2.0 * weight * odd
    scale = 2.0**0.5 / even
    return LiftingScheme(tuple(steps), scale_lo=scale, scale_hi=1.0 / scale)
