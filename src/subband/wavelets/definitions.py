"""What the wavelets of the catalogue consist of: their filters, and the lifting steps of those defined by steps."""

from __future__ import annotations

from typing import NamedTuple

from subband.errors import ArgumentError, UnknownWaveletError
from subband.wavelets.catalogue import PARAMETRIC, Family, find_family, known_names, read_lowpass
from subband.wavelets.cdf import cdf_scheme
from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import LiftingScheme, pack_filters

__all__ = ["Definition", "define_wavelet"]


class Definition(NamedTuple):
    """What a wavelet of the catalogue consists of, in the order in which `Wavelet` takes it."""

    name: str
    bank: FilterBank
    family: Family
    scheme: LiftingScheme | None
    is_orthogonal: bool
    is_biorthogonal: bool
    hash: int


def define_wavelet(name: str) -> Definition:
    """Return what a wavelet of the catalogue consists of.

    Parameters
    ----------
    name : str
        In lower case.

    Raises
    ------
    UnknownWaveletError
        If the catalogue has no such name.
    ArgumentError
        If it is that of a continuous wavelet.

    Examples
    --------
    >>> haar = define_wavelet("haar")
    >>> haar.family.title, haar.scheme, haar.is_orthogonal
    ('Haar', None, True)
    """
    if name not in known_names() and name.startswith(PARAMETRIC):
        # PyWavelets' own words, which its users compare with.
        error = UnknownWaveletError(f"Invalid wavelet name '{name}'.")
        error.add_note(f"'{name[:4]}' is a family of continuous wavelets, see ContinuousWavelet")
        raise error
    family = find_family(name)
    if not family.is_discrete:
        raise ArgumentError(
            f"The `Wavelet` class is for discrete wavelets and {name!r} is a continuous one; use ContinuousWavelet"
        )
    scheme = None
    if family.short == "cdf":
        scheme, bank = pack_filters(cdf_scheme(name))
    else:
        dec_lo, rec_lo = read_lowpass(name)
        dec_hi = tuple(tap if k % 2 else -tap for k, tap in enumerate(rec_lo))
        rec_hi = tuple(-tap if k % 2 else tap for k, tap in enumerate(dec_lo))
        bank = FilterBank(dec_lo, dec_hi, rec_lo, rec_hi)
    is_orthogonal = family.short not in ("bior", "rbio", "cdf")
    return Definition(name, bank, family, scheme, is_orthogonal, True, hash((name, bank, False)))
