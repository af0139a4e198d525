"""Look up a wavelet by name, as `Wavelet` or as lifting steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

from subband.errors import ArgumentError, ArgumentTypeError, UnknownWaveletError
from subband.wavelets.catalogue import known_names
from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import LiftingScheme
from subband.wavelets.wavelet import Wavelet

__all__ = ["WaveletLike", "as_wavelet", "factorise"]

#: What functions take as a wavelet: its name, or a `Wavelet`.
WaveletLike = str | Wavelet
"""What functions take for a discrete wavelet: its name, or the wavelet itself."""


def as_wavelet(wavelet: Any) -> Wavelet:
    """Return the wavelet of that name, or the wavelet itself.

    Parameters
    ----------
    wavelet : str or Wavelet or object with `name` and `filter_bank`
        An object of another library, such as ``pywt.Wavelet``, is converted.

    Returns
    -------
    Wavelet
        The same object for every call with one name.

    Raises
    ------
    UnknownWaveletError
        If no wavelet has that name; the message gives the names that come near.
    ArgumentError
        If it is a continuous wavelet.
    TypeError
        If it is neither a name nor a wavelet.

    Examples
    --------
    >>> from subband.wavelets import as_wavelet
    >>> as_wavelet("DB4") is as_wavelet("db4")
    True
    >>> as_wavelet("cdf-97")
    Traceback (most recent call last):
        ...
    subband.errors.UnknownWaveletError: no wavelet is called 'cdf-97'; did you mean 'cdf97'?
    """
    if isinstance(wavelet, Wavelet):
        return wavelet
    if isinstance(wavelet, str):
        return _look_up_name(wavelet)
    bank = getattr(wavelet, "filter_bank", None)
    if bank is not None:
        return _convert_foreign(str(getattr(wavelet, "name", "")), bank)
    return _refuse(wavelet)


def factorise(wavelet: WaveletLike) -> LiftingScheme | None:
    """Factor the filter bank of a wavelet into lifting steps.

    Parameters
    ----------
    wavelet : str or Wavelet
        The wavelet. Only its analysis filters are looked at.

    Returns
    -------
    LiftingScheme or None
        Steps with the shifts that make its bands equal PyWavelets' convolution sample by sample; None if
        the bank does not factor well.

    Notes
    -----
    A bank factors well if the filters rebuilt from the steps are within `MAX_FILTER_ERROR` (1e-9) of it,
    relative to the largest tap, and if the steps, run in float32 on noise-like samples, forward and back,
    are off by no more than `MAX_AMPLIFICATION` (8) units of rounding (``2**-24`` of the signal, root mean
    square). Most schemes of the catalogue score between 1 and 4, ``sym17`` 6, ``bior5.5`` and ``rbio5.5`` 7,
    against 1 for convolution. Filters longer than `MAX_LENGTH` (40) are not tried.

    Steps are symmetric where the bank is whole-sample symmetric. Schemes of equal accuracy are chosen by the
    number of steps, then of taps. The result is computed each time; `Wavelet.lifting` remembers it.

    References
    ----------
    I. Daubechies and W. Sweldens, "Factoring wavelet transforms into lifting steps", J. Fourier Anal. Appl.
    4, 1998, https://doi.org/10.1007/BF02476026

    Examples
    --------
    >>> from subband.wavelets import factorise
    >>> [(step.kind, len(step.taps)) for step in factorise("db2").steps]
    [('predict', 1), ('update', 2), ('predict', 1)]
    >>> scheme = factorise("bior4.4")
    >>> [round(step.taps[0], 9) for step in scheme.steps]
    [-1.586134342, -0.052980119, 0.882911076, 0.443506852]
    >>> factorise("dmey") is None
    True
    """
    from subband.wavelets.factorisation import factorise_bank

    return factorise_bank(FilterBank(*(tuple(taps) for taps in as_wavelet(wavelet).filter_bank)))


@lru_cache(maxsize=512)
def _look_up_name(name: str) -> Wavelet:
    """Return the wavelet of a name, the same object each time."""
    if not name:
        raise UnknownWaveletError("wavelet='' names no wavelet; wavelist() gives the names")
    lower = name.lower()
    return Wavelet(name) if name == lower else _look_up_name(lower)


def _convert_foreign(name: str, bank: Any) -> Wavelet:
    """Recognise another library's copy of a wavelet of ours, or take its filters."""
    mine = Wavelet(name, filter_bank=bank)
    if name in known_names():
        known = _look_up_name(name)
        if known._bank == mine._bank:
            return known
    return mine


def _refuse(wavelet: object) -> NoReturn:
    """Raise an error that says why an object is not a discrete wavelet."""
    if hasattr(wavelet, "complex_cwt"):
        raise ArgumentError(f"wavelet={wavelet!r} is a continuous wavelet; a discrete transform takes names like 'db4'")
    raise ArgumentTypeError(f"wavelet={wavelet!r} is neither a name nor a Wavelet")
