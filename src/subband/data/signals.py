"""One-dimensional test signals of the wavelet literature, as formulas.

The first four are those of Donoho and Johnstone (1994); the others are the ones that the WaveLab toolbox and
Mallat's book added since, under WaveLab's names. Time runs over ``t = 1/n, 2/n, ..., 1`` unless a signal says
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subband.errors import ArgumentError, suggest_names

__all__ = ["demo_signal"]

Signal: TypeAlias = NDArray[np.float64]

# Where the jumps of "Blocks" and the peaks of "Bumps" are: Donoho and Johnstone (1994), table 1.
_POSITIONS = (0.10, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81)
_JUMPS = (4.0, -5.0, 3.0, -4.0, 5.0, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2)
_PEAKS = (4.0, 5.0, 3.0, 4.0, 5.0, 4.2, 2.1, 4.3, 3.1, 5.1, 4.2)
_WIDTHS = (0.005, 0.005, 0.006, 0.010, 0.010, 0.030, 0.010, 0.010, 0.005, 0.008, 0.005)


def _sample_time(n: int) -> Signal:
    """Give the instants 1/n … 1 at which nearly all of the signals are sampled."""
    return np.arange(1, n + 1) / n


def _sample_time_by_steps(n: int) -> Signal:
    """Give the same instants rounded as in PyWavelets, so that ties fall on the same side of a jump."""
    step = 1.0 / n
    return step + step * np.arange(n, dtype=np.float64)


def _make_blocks(n: int) -> Signal:
    t = _sample_time_by_steps(n)
    signal = np.zeros(n)
    for position, jump in zip(_POSITIONS, _JUMPS, strict=True):
        signal += jump * (1 + np.sign(t - position)) / 2
    return signal


def _make_bumps(n: int) -> Signal:
    t = _sample_time(n)
    signal = np.zeros(n)
    for position, peak, width in zip(_POSITIONS, _PEAKS, _WIDTHS, strict=True):
        signal += peak / (1 + np.abs((t - position) / width)) ** 4
    return signal


def _make_heavisine(n: int) -> Signal:
    t = _sample_time_by_steps(n)
    return 4 * np.sin(4 * np.pi * t) - np.sign(t - 0.3) - np.sign(0.72 - t)


def _make_doppler(n: int) -> Signal:
    t = _sample_time(n)
    return np.sqrt(t * (1 - t)) * np.sin(2 * np.pi * 1.05 / (t + 0.05))


def _make_ramp(n: int) -> Signal:
    t = _sample_time_by_steps(n)
    return t - (t >= 0.37)


def _make_hisine(n: int) -> Signal:
    return np.sin(np.pi * 0.6902 * n * _sample_time(n))


def _make_losine(n: int) -> Signal:
    return np.sin(np.pi * 0.3333 * n * _sample_time(n))


def _make_linchirp(n: int) -> Signal:
    return np.sin(np.pi * 0.5 * n * _sample_time(n) ** 2)


def _make_twochirp(n: int) -> Signal:
    t = _sample_time(n)
    return np.sin(np.pi * n * t**2) + np.sin(np.pi / 3 * n * t**2)


def _make_quadchirp(n: int) -> Signal:
    return np.sin(np.pi / 3 * n * _sample_time(n) ** 3)


def _make_mishmash(n: int) -> Signal:
    return _make_quadchirp(n) + _make_hisine(n) + np.sin(np.pi * 0.125 * n * _sample_time(n) ** 2)


def _make_wernersorrows(n: int) -> Signal:
    t = _sample_time(n)
    chirps = np.sin(np.pi / 2 * n * t**3) + np.sin(np.pi * n * t**2)
    return chirps + _make_hisine(n) + _make_bumps(n)


def _raise_cosine(length: int) -> Signal:
    """Rise from 0 to 1 along half a period of a cosine: the flank of the windows below."""
    return (1 - np.cos(np.pi * np.arange(length) / max(length - 1, 1))) / 2


def _window(length: int, flank: int) -> Signal:
    """Make a window of ones whose two ends rise and fall over `flank` samples."""
    window = np.ones(length)
    window[:flank] = _raise_cosine(flank)
    window[length - flank :] = _raise_cosine(flank)[::-1]
    return window


def _make_hypchirps(n: int) -> Signal:
    # The small offset keeps t away from the pole at 0.8.
    t = (np.arange(1, n + 1) + 0.001) / n
    slow, fast = 5 * np.pi * n / 1024, 15 * np.pi * n / 1024
    chirps = np.sin(fast / (0.8 - t)) * (t > 0.1) * (t < 0.68)
    chirps += np.sin(slow / (0.8 - t)) * (t > 0.1) * (t < 0.75)
    length, start = round(0.65 * n), math.ceil(n / 10) - 1
    envelope = np.zeros(n)
    envelope[start : start + length] = _window(length, length // 4)
    signal: Signal = chirps * envelope
    return signal


def _make_linchirps(n: int) -> Signal:
    t = _sample_time(n)
    rate, gap = 250 * np.pi * n / 1024, 100 * np.pi * n / 1024
    chirps = np.cos(rate * t**2) + np.cos(gap * t + rate * t**2)
    signal: Signal = np.sqrt((t - 1 / n) * (1 - t)) * chirps
    return signal


def _make_chirps(n: int) -> Signal:
    t = _sample_time(n)
    scale = n / 1024
    rising = np.cos(scale * (10 * np.pi * t) ** 2)
    falling = np.cos(30 * scale * (np.pi * t) ** 3)[::-1]
    bell = np.exp(-4 * scale * (20 * np.arange(-n, n + 1) / n) ** 2)
    low = bell[n // 2 : n // 2 + n] * np.cos(50 * np.pi * scale * t)
    high = bell[n // 8 : n // 8 + n] * np.cos(350 * np.pi * scale * t)
    signal: Signal = (rising + falling + low + high) * _window(n, n // 8)
    return signal


def _make_gabor() -> NDArray[np.complex128]:
    n = 512
    t = _sample_time(n)
    bell = 3 * np.exp(-20 * (5 * np.arange(-n, n + 1) / n) ** 2)
    early = bell[n // 2 : n // 2 + n] * np.exp(1j * np.pi * n / 16 * t)
    late = bell[n // 4 : n // 4 + n] * np.exp(1j * np.pi * n / 4 * t)
    signal: NDArray[np.complex128] = early + late
    return signal


def _make_sineoneoverx() -> Signal:
    n = 1024
    x = np.arange(-n + 1, n + 1, dtype=np.float64)
    x[n - 1] = 0.01  # instead of the pole at zero
    return np.sin(1.5 / (x / (n - 1)))[n // 2 : n // 2 + n]


def _make_piece_regular(n: int) -> Signal:
    third, fifth, seventh, twelfth, twentieth = n // 3, n // 5, n // 7, n // 12, n // 20
    signal = np.zeros(n)
    dip = -70 * np.exp(-((_sample_time(third) - 0.5) ** 2) / (2 * 0.15**2))
    signal[:third] = dip
    signal[seventh:fifth] *= 0.5
    signal[third : n // 2] = -15 * _make_bumps(n)[third : n // 2]
    end = n // 2 + 2 * twelfth
    cusp = -np.exp(4 * _sample_time(twelfth))
    signal[n // 2 : end] = np.concatenate([cusp, cusp[::-1]])
    signal[end + twentieth : end + 3 * twentieth] = -25
    end += 3 * twentieth
    signal[end : end + seventh] = (np.exp(4 * _sample_time(seventh)) - math.exp(4))[: n - end]
    signal[n - n % 5 :] = signal[: n % 5][::-1]
    return float(signal.mean()) - signal


def _make_piece_polynomial(n: int) -> Signal:
    fifth, tenth, twentieth = n // 5, n // 10, n // 20
    t = _sample_time(fifth)
    pieces = [
        20 * (t**3 + t**2 + 4),
        (10 * t**3 + 45)[::-1],
        40 * (2 * t**3 + t) + 100,
        16 * t**2 + 8 * t + 16,
        (20 * (t + 4))[::-1],
    ]
    signal = np.zeros(n)
    signal[: 5 * fifth] = np.concatenate(pieces)
    signal[5 * fifth :] = signal[: n - 5 * fifth][::-1]
    signal[twentieth : twentieth + tenth] = 10
    signal[n - tenth : n - tenth + twentieth] = 150
    return signal - float(signal.mean())


def _make_riemann(n: int) -> Signal:
    roots = np.arange(1, math.isqrt(n) + 1)
    spectrum = np.zeros(n)
    spectrum[roots**2 - 1] = 1 / roots
    return np.fft.ifft(spectrum).real


_SIGNALS: dict[str, Callable[[int], Signal]] = {
    "Blocks": _make_blocks,
    "Bumps": _make_bumps,
    "HeaviSine": _make_heavisine,
    "Doppler": _make_doppler,
    "Ramp": _make_ramp,
    "HiSine": _make_hisine,
    "LoSine": _make_losine,
    "LinChirp": _make_linchirp,
    "TwoChirp": _make_twochirp,
    "QuadChirp": _make_quadchirp,
    "MishMash": _make_mishmash,
    "WernerSorrows": _make_wernersorrows,
    "HypChirps": _make_hypchirps,
    "LinChirps": _make_linchirps,
    "Chirps": _make_chirps,
    "Piece-Regular": _make_piece_regular,
    "Piece-Polynomial": _make_piece_polynomial,
    "Riemann": _make_riemann,
}
_FIXED_LENGTH: dict[str, Callable[[], NDArray[Any]]] = {
    "Gabor": _make_gabor,
    "sineoneoverx": _make_sineoneoverx,
}
# The order in which PyWavelets lists them.
_NAMES = [*list(_SIGNALS)[:15], *_FIXED_LENGTH, *list(_SIGNALS)[15:]]


def demo_signal(name: str = "Bumps", n: int | None = None) -> Any:
    """Make one of the test signals that papers on wavelets use.

    Parameters
    ----------
    name : str
        The name of the signal, in any case, or ``'list'`` for the list of names.
    n : int, optional
        The number of samples. ``'Gabor'`` (512 samples) and ``'sineoneoverx'`` (1024 samples) have a fixed
        length and take none; all others need it.

    Returns
    -------
    ndarray of shape (n,) or list of str
        The samples, as float64 (``'Gabor'``: complex128).

    Raises
    ------
    ArgumentError
        If no signal has that name, or `n` is missing, not positive, or given for a signal of fixed length.

    Notes
    -----
    Most of the signals are those of [1]_ and [2]_. The samples equal those of PyWavelets. Lengths that PyWavelets
    cannot make (multiples of five for the piecewise signals, lengths that eight does not divide for ``'Chirps'``) work
    here by the same formulas.

    References
    ----------
    .. [1] D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet shrinkage",
       Biometrika 81(3), 425-455, 1994, https://doi.org/10.1093/biomet/81.3.425
    .. [2] S. Mallat, "A Wavelet Tour of Signal Processing: The Sparse Way", Academic Press, 2009.

    Examples
    --------
    >>> from subband.data import demo_signal
    >>> demo_signal("doppler", 1024).shape
    (1024,)
    >>> demo_signal("list")[:4]
    ['Blocks', 'Bumps', 'HeaviSine', 'Doppler']
    """
    key = name.lower().replace("_", "-")
    if key == "list":
        return list(_NAMES)
    match = next((known for known in _NAMES if known.lower() == key), None)
    if match is None:
        raise ArgumentError(
            f"name={name!r} is not a demo signal{suggest_names(key, [known.lower() for known in _NAMES])}"
            f"; the names are {', '.join(_NAMES)}"
        )
    if match in _FIXED_LENGTH:
        if n is not None:
            raise ArgumentError(f"n={n!r} was given, but the signal {match!r} has a fixed length; leave n out")
        return _FIXED_LENGTH[match]()
    if n is None:
        raise ArgumentError(f"n is missing: the signal {match!r} needs a number of samples, for example n=1024")
    if n < 1:
        raise ArgumentError(f"n={n!r} is not a number of samples; it must be at least 1")
    return _SIGNALS[match](n)
