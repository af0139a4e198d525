"""The continuous wavelets as formulas.

Gaussian wavelets are derivatives of a Gaussian, real or complex, which are that Gaussian times a
polynomial; the polynomials come from one recurrence, so no table is needed.
"""

from __future__ import annotations

from functools import cache
from math import factorial, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Samples", "cgau", "cmor", "fbsp", "gaus", "mexh", "morl", "shan"]

Samples = npt.NDArray[Any]
"""Samples of a function: real or complex, single or double precision."""


@cache
def _derive_gaussian(order: int, frequency: complex) -> tuple[complex, ...]:
    """Return the polynomial factor of a derivative of ``exp(-x**2 + frequency * x)``, from the constant up.

    Each derivative of ``p(x) * exp(...)`` is ``(p'(x) + (frequency - 2x) * p(x)) * exp(...)``.
    """
    polynomial: list[complex] = [1.0]
    for _ in range(order):
        following: list[complex] = [0.0] * (len(polynomial) + 1)
        for power, weight in enumerate(polynomial):
            if power:
                following[power - 1] += power * weight
            following[power] += frequency * weight
            following[power + 1] -= 2.0 * weight
        polynomial = following
    return tuple(polynomial)


def _evaluate(polynomial: tuple[complex, ...], x: Samples) -> Samples:
    """Evaluate by Horner's rule."""
    value: Samples = np.full(x.shape, polynomial[-1])
    for weight in polynomial[-2::-1]:
        value = value * x + weight
    return value


def gaus(x: Samples, order: int) -> Samples:
    """Return a derivative of a Gaussian, of norm one, with PyWavelets' sign.

    Examples
    --------
    >>> gaus(np.array([-1.0, 0.0, 1.0]), 1).round(4).tolist()
    [0.6572, 0.0, -0.6572]
    """
    polynomial = tuple(weight.real for weight in _derive_gaussian(order, 0j))
    # By Plancherel the squared norm is a moment of the Gaussian that is the squared spectrum.
    norm = sqrt(sqrt(pi / 2.0) * factorial(2 * order) / (2.0**order * factorial(order)))
    sign = -1.0 if order % 4 in (2, 3) else 1.0
    psi: Samples = _evaluate(polynomial, x).real * np.exp(-(x**2)) * (sign / norm)
    return psi


def cgau(x: Samples, order: int) -> Samples:
    """Return a derivative of a complex Gaussian ``exp(-x**2 - ix)``, of norm one.

    Examples
    --------
    >>> bool(abs(cgau(np.array([0.0]), 1)[0]) > 0)
    True
    """
    return _evaluate(_derive_gaussian(order, -1j), x) * np.exp(-(x**2) - 1j * x) / _norm_complex_gaussian(order)


@cache
def _norm_complex_gaussian(order: int) -> float:
    """Integrate the squared modulus of the derivative with the moments of a Gaussian."""
    polynomial = _derive_gaussian(order, -1j)
    total = 0.0
    for i, left in enumerate(polynomial):
        for j, right in enumerate(polynomial):
            if (i + j) % 2 == 0:
                half = (i + j) // 2
                moment = sqrt(pi / 2.0) * factorial(2 * half) / (factorial(half) * 8.0**half)
                total += (left * right.conjugate()).real * moment
    return sqrt(total)


def mexh(x: Samples) -> Samples:
    """Return the Mexican hat, the second derivative of a Gaussian upside down.

    Examples
    --------
    >>> mexh(np.array([0.0, 1.0])).round(4).tolist()
    [0.8673, 0.0]
    """
    psi: Samples = (1.0 - x**2) * np.exp(-(x**2) / 2.0) * (2.0 / (sqrt(3.0) * pi**0.25))
    return psi


def morl(x: Samples) -> Samples:
    """Return the real Morlet wavelet, a cosine in a Gaussian window.

    Examples
    --------
    >>> morl(np.array([0.0])).tolist()
    [1.0]
    """
    psi: Samples = np.cos(5.0 * x) * np.exp(-(x**2) / 2.0)
    return psi


def shan(x: Samples, bandwidth: float, centre: float) -> Samples:
    """Return the Shannon wavelet, whose spectrum is a box about the centre frequency.

    Examples
    --------
    >>> shan(np.array([0.0]), 4.0, 1.0).tolist()
    [(2+0j)]
    """
    return sqrt(bandwidth) * np.sinc(bandwidth * x) * np.exp(2j * pi * centre * x)


def fbsp(x: Samples, order: int, bandwidth: float, centre: float) -> Samples:
    """Return the frequency B-spline wavelet, whose spectrum is a B-spline about the centre frequency.

    Examples
    --------
    >>> fbsp(np.array([0.0]), 2, 4.0, 1.0).tolist()
    [(2+0j)]
    """
    return sqrt(bandwidth) * np.sinc(bandwidth * x / order) ** order * np.exp(2j * pi * centre * x)


def cmor(x: Samples, bandwidth: float, centre: float) -> Samples:
    """Return the complex Morlet wavelet, a complex wave in a Gaussian window.

    Examples
    --------
    >>> cmor(np.array([0.0]), 1.0, 1.5).real.round(4).tolist()
    [0.5642]
    """
    return np.exp(2j * pi * centre * x - x**2 / bandwidth) / sqrt(pi * bandwidth)
