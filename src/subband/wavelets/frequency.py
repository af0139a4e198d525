"""Scale and frequency: the frequency at the centre of a wavelet, its integral, and its admissibility constant."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from subband.errors import ArgumentError, ArgumentTypeError
from subband.wavelets.catalogue import PARAMETRIC
from subband.wavelets.continuous import ContinuousWavelet, DiscreteContinuousWavelet
from subband.wavelets.waveforms import Samples
from subband.wavelets.wavelet import Wavelet

__all__ = [
    "admissibility_constant",
    "central_frequency",
    "centrfrq",
    "frequency2scale",
    "integrate_wavelet",
    "intwave",
    "scal2frq",
    "scale2frequency",
]

#: How large the spectrum of an admissible wavelet may be at frequency zero, as a part of its largest value. Not
#: zero, because functions are cut off at their bounds; what is left of 'shan1.5-1.0' there is 0.008.
_LEAST_MEAN = 0.01

AnyWavelet: TypeAlias = str | Wavelet | ContinuousWavelet


def _resolve(wavelet: Any) -> Wavelet | ContinuousWavelet:
    """Take a name or a wavelet of either kind."""
    if isinstance(wavelet, str):
        return DiscreteContinuousWavelet(wavelet) if wavelet.lower() in PARAMETRIC else _resolve_name(wavelet)
    if hasattr(wavelet, "wavefun"):
        return wavelet  # type: ignore[no-any-return]  # any object that can be sampled will do
    raise ArgumentTypeError(f"wavelet={wavelet!r} is neither a name nor a wavelet")


@lru_cache(maxsize=256)
def _resolve_name(name: str) -> Wavelet | ContinuousWavelet:
    """Return the wavelet of a name, the same object each time: nobody else gets it, so it does not change."""
    return DiscreteContinuousWavelet(name)


def _integrate(values: Samples, x: Samples) -> Samples:
    """Sum up samples times their distance."""
    total: Samples = values.cumsum()
    total *= x[1] - x[0]
    return total


def integrate_wavelet(wavelet: AnyWavelet | tuple[npt.ArrayLike, ...], precision: int = 8) -> tuple[Samples, ...]:
    """Integrate a wavelet function from the left end of its support.

    Parameters
    ----------
    wavelet : str or Wavelet or ContinuousWavelet
        The wavelet. A tuple of samples and positions is accepted too, but deprecated.
    precision : int
        The level of `wavefun`: the wavelet is sampled at distances of ``2**-precision``, or
        ``2**precision`` times.

    Returns
    -------
    tuple of ndarray
        ``(int_psi, x)``, or ``(int_psi_d, int_psi_r, x)`` for a wavelet that is not orthogonal.

    Examples
    --------
    >>> from subband import integrate_wavelet
    >>> int_psi, x = integrate_wavelet("haar", precision=2)
    >>> int_psi.round(6).tolist()
    [0.0, 0.25, 0.5, 0.25, 0.0, 0.0]
    """
    if isinstance(wavelet, tuple):
        warnings.warn("integrating samples is deprecated; give a wavelet", DeprecationWarning, stacklevel=2)
        values, x = np.asarray(wavelet[0], dtype=np.float64), np.asarray(wavelet[1], dtype=np.float64)
        return _integrate(values, x), x
    *functions, x = _resolve(wavelet).wavefun(precision)
    # One function is a continuous wavelet's psi; two are phi and psi; four are phi and psi, dual first.
    wavelets = functions if len(functions) == 1 else functions[1::2]
    return (*[_integrate(psi, x) for psi in wavelets], x)


def central_frequency(wavelet: AnyWavelet, precision: int = 8) -> float:
    """Return the central frequency of a wavelet: where its spectrum is largest.

    Parameters
    ----------
    wavelet : str or Wavelet or ContinuousWavelet
        The wavelet; of one that is not orthogonal, the function of the analysis is taken.
    precision : int
        The level of `wavefun`.

    Returns
    -------
    float
        In cycles per unit of the wavelet's argument; a whole number of cycles over its support.

    Examples
    --------
    >>> from subband import central_frequency
    >>> round(central_frequency("db2"), 6)
    0.666667
    >>> central_frequency("cmor1.5-1.0")
    1.0
    """
    if isinstance(wavelet, str) and isinstance(precision, int) and wavelet.lower() not in PARAMETRIC:
        return _find_peak_of_name(wavelet, precision)
    return _find_peak(_resolve(wavelet), precision)


@lru_cache(maxsize=256)
def _find_peak_of_name(name: str, precision: int) -> float:
    return _find_peak(_resolve_name(name), precision)


def _find_peak(wavelet: Wavelet | ContinuousWavelet, precision: int) -> float:
    """Return the frequency, in cycles per unit, at which the spectrum is largest."""
    functions = wavelet.wavefun(precision)
    psi, x = functions[0 if len(functions) == 2 else 1], functions[-1]
    spectrum = np.abs(np.fft.fft(psi))
    peak = int(np.argmax(spectrum[1:])) + 1
    cycles = min(peak, len(x) - peak)
    return float(cycles / (x[-1] - x[0]))


def admissibility_constant(wavelet: AnyWavelet) -> float:
    r"""Return the constant by which the inverse of the continuous transform divides.

    Parameters
    ----------
    wavelet : str or Wavelet or ContinuousWavelet
        The wavelet; of one that is not orthogonal, the function of the analysis is taken.

    Returns
    -------
    float
        :math:`C_\psi = \int |\hat\psi(\omega)|^2 / |\omega|\, d\omega` over positive and negative frequencies, with
        :math:`\hat\psi(\omega) = \int \psi(x) e^{-i\omega x} dx`; exact to some 1e-4.

    Raises
    ------
    ArgumentError
        If the wavelet's mean is not zero, so that the integral has no value.

    Notes
    -----
    Of every orthogonal wavelet it is :math:`2 \ln 2`, and of the Mexican hat :math:`8 \sqrt\pi / 3`.

    Examples
    --------
    >>> from subband.wavelets import admissibility_constant
    >>> round(admissibility_constant("mexh"), 3), round(admissibility_constant("db4"), 3)
    (4.727, 1.386)
    """
    resolved = _resolve(wavelet)
    functions = resolved.wavefun(12)
    psi, x = functions[0 if len(functions) == 2 else 1], functions[-1]
    # what `cwt` takes of a wavelet that is told to be real
    psi = psi if getattr(resolved, "complex_cwt", False) else psi.real
    step = float(x[1] - x[0])
    # far more than the support, because what counts most are low frequencies
    size = 64 << (len(x) - 1).bit_length()
    energy = np.abs(np.fft.fft(psi.astype(np.complex128), size) * step) ** 2
    if not energy[0] <= _LEAST_MEAN**2 * energy.max():
        raise ArgumentError(
            f"wavelet={resolved.name!r} is not admissible, because its mean is not zero; use another one, "
            "or of families with parameters a higher centre frequency or a smaller bandwidth"
        )
    # in dω / ω the distance of frequencies, of which ω is a multiple, cancels out
    cycles = np.abs(np.fft.fftfreq(size, 1 / size)[1:])
    return float(np.sum(energy[1:] / cycles))


def scale2frequency(wavelet: AnyWavelet, scale: npt.ArrayLike, precision: int = 8) -> Any:
    """Turn scales of `cwt` into frequencies, in cycles per sample.

    Parameters
    ----------
    wavelet : str or Wavelet or ContinuousWavelet
        The wavelet.
    scale : float or array
        The scales.
    precision : int
        The level of `wavefun`.

    Returns
    -------
    float or ndarray of float64
        The frequencies, of the shape of `scale`.

    Examples
    --------
    >>> from subband import scale2frequency
    >>> scale2frequency("cmor1.5-1.0", [1, 2, 4]).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.float64(central_frequency(wavelet, precision)) / np.asarray(scale)[()]


def frequency2scale(wavelet: AnyWavelet, freq: npt.ArrayLike, precision: int = 8) -> Any:
    """Turn frequencies, in cycles per sample, into scales of `cwt`.

    Parameters
    ----------
    wavelet : str or Wavelet or ContinuousWavelet
        The wavelet.
    freq : float or array
        The frequencies.
    precision : int
        The level of `wavefun`.

    Returns
    -------
    float or ndarray of float64
        The scales, of the shape of `freq`.

    Examples
    --------
    >>> from subband import frequency2scale
    >>> float(frequency2scale("cmor1.5-1.0", 0.25))
    4.0
    """
    return np.float64(central_frequency(wavelet, precision)) / np.asarray(freq)[()]


def _warn_renamed(old: str, new: str) -> None:
    """Warn the caller of a function that PyWavelets has renamed."""
    warnings.warn(f"{old} is deprecated; it is called {new} now", DeprecationWarning, stacklevel=3)


def intwave(*args: Any, **kwargs: Any) -> tuple[Samples, ...]:
    """Call `integrate_wavelet`; deprecated."""
    _warn_renamed("intwave", "integrate_wavelet")
    return integrate_wavelet(*args, **kwargs)


def centrfrq(*args: Any, **kwargs: Any) -> float:
    """Call `central_frequency`; deprecated."""
    _warn_renamed("centrfrq", "central_frequency")
    return central_frequency(*args, **kwargs)


def scal2frq(*args: Any, **kwargs: Any) -> Any:
    """Call `scale2frequency`; deprecated."""
    _warn_renamed("scal2frq", "scale2frequency")
    return scale2frequency(*args, **kwargs)
