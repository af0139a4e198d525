"""From what people write for a wavelet to the `Wavelet`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

from subband.errors import ArgumentError, ArgumentTypeError, UnknownWaveletError
from subband.wavelets.catalogue import known_names
from subband.wavelets.wavelet import Wavelet

__all__ = ["WaveletLike", "as_wavelet"]

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
        If it is nothing of the kind.

    Examples
    --------
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


@lru_cache(maxsize=512)
def _look_up_name(name: str) -> Wavelet:
    """Make each wavelet of the catalogue once."""
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
    """Say why an object is no discrete wavelet."""
    if hasattr(wavelet, "complex_cwt"):
        raise ArgumentError(f"wavelet={wavelet!r} is a continuous wavelet; a discrete transform takes names like 'db4'")
    raise ArgumentTypeError(f"wavelet={wavelet!r} is neither a name nor a Wavelet")
