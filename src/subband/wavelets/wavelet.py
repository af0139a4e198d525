"""The discrete `Wavelet`: four filters, what is known about them, and their lifting scheme."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self

from subband.errors import ArgumentError, ArgumentTypeError
from subband.wavelets.catalogue import Family, count_moments, find_symmetry
from subband.wavelets.filterbank import FilterBank, is_centred, read_bank
from subband.wavelets.lifting import LiftingScheme, pack_filters

if TYPE_CHECKING:
    from subband.wavelets.cascade import FloatArray

__all__ = ["Wavelet"]


class Wavelet:
    """A discrete wavelet: a bank of two analysis and two synthesis filters.

    Parameters
    ----------
    name : str
        A name of the catalogue, in any case; with `filter_bank`, any name you like.
    filter_bank : sequence of four filters, or an object with such a `filter_bank`, optional
        ``dec_lo, dec_hi, rec_lo, rec_hi``, all of one length. Filters of odd length get a zero at the end.
        The bank need not reconstruct perfectly; whether it does is your affair.

    Attributes
    ----------
    name, family_name, short_family_name : str
        The last two are empty for filters of your own.
    number : int or None
        The number in the name: 3 of ``db3``, 22 of ``bior2.2``.
    vanishing_moments_psi, vanishing_moments_phi : int or None
        Moments of wavelet and scaling function that vanish; 0 where nothing is known.
    symmetry : {"asymmetric", "near symmetric", "symmetric", "unknown"}
        Of the two analysis filters.

    Raises
    ------
    UnknownWaveletError
        If the catalogue has no such name.
    ArgumentError
        If the name is that of a continuous wavelet, or `filter_bank` is not four filters of one length.

    Notes
    -----
    Wavelets are equal when name and filters are, and can be keys of dictionaries; the hash is computed once. One of the
    catalogue is the same object each time. They do not change, except that you may say of your own filters whether they
    are `orthogonal` or `biorthogonal`.

    Examples
    --------
    >>> from subband import Wavelet
    >>> db2 = Wavelet("db2")
    >>> db2
    Wavelet('db2')
    >>> db2.dec_len, db2.orthogonal, db2.vanishing_moments_psi
    (4, True, 2)
    >>> mine = Wavelet("mine", filter_bank=Wavelet("haar").filter_bank)
    >>> mine.orthogonal, mine == Wavelet("haar")
    (False, False)
    """

    __slots__ = (
        "_bank",
        "_biorthogonal",
        "_family",
        "_hash",
        "_lifting",
        "_name",
        "_orthogonal",
        "_scheme",
        "_whole",
    )

    _bank: FilterBank
    _family: Family | None
    _hash: int
    _lifting: LiftingScheme | None
    _name: str
    _scheme: LiftingScheme | None
    _whole: bool

    def __new__(cls, name: str = "", filter_bank: Any = None) -> Self:
        """Return the wavelet of the catalogue, or a new one."""
        if filter_bank is not None:
            own = object.__new__(cls)
            own._define(name or "", read_bank(filter_bank))
            return own
        try:
            return _known[cls, name]  # type: ignore[return-value]  # of that class
        except (KeyError, TypeError):
            if not name:
                raise ArgumentTypeError("Wavelet needs a name or a filter_bank; it got neither") from None
        if not isinstance(name, str):
            raise ArgumentTypeError(f"name={name!r} of a wavelet is not a string")
        # for the first wavelet of a name
        from subband.wavelets.definitions import define_wavelet

        found = object.__new__(cls)
        (
            found._name,
            found._bank,
            found._family,
            found._scheme,
            found._orthogonal,
            found._biorthogonal,
            found._hash,
        ) = define_wavelet(name.lower())
        return _known.setdefault((cls, found._name), found)  # type: ignore[return-value]  # the same

    def _define(self, name: str, bank: FilterBank, scheme: LiftingScheme | None = None) -> None:
        """Set the attributes of a wavelet that the catalogue does not have."""
        self._name = name
        self._bank = bank
        self._family = None
        self._scheme = scheme
        self._orthogonal = False
        self._biorthogonal = False
        self._hash = hash((name, bank, True))

    @classmethod
    def from_lifting(cls, name: str, scheme: LiftingScheme) -> Wavelet:
        """Make a wavelet of your own from lifting steps.

        Parameters
        ----------
        name : str
            Any name.
        scheme : LiftingScheme
            The steps and scales. The shifts are replaced by those that lay the four filters out in the
            shortest even length; `lifting` of the result has them.

        Returns
        -------
        Wavelet
            It reconstructs perfectly, whatever the steps.

        Raises
        ------
        ArgumentTypeError
            If `name` is not text, or `scheme` is not a `LiftingScheme`.

        Examples
        --------
        >>> from subband import Wavelet
        >>> from subband.wavelets import LiftingScheme, Step
        >>> lazy = Wavelet.from_lifting("average", LiftingScheme((Step("predict", 0, (-1.0,)),)))
        >>> lazy.dec_hi
        [1.0, -1.0]
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(f"name={name!r} of a wavelet is not a string; use any text")
        if not isinstance(scheme, LiftingScheme):
            raise ArgumentTypeError(
                f"scheme={scheme!r} is not a LiftingScheme; make one from steps, or take the `lifting` of a wavelet"
            )
        packed, bank = pack_filters(scheme)
        wavelet = object.__new__(cls)
        wavelet._define(name, bank, packed)
        return wavelet

    def without_lifting(self) -> Wavelet:
        """Return a wavelet of the same filters that is computed by them, and not by lifting steps.

        It is as exact, and slower where there are steps: for comparisons.

        Examples
        --------
        >>> from subband import Wavelet
        >>> filtered = Wavelet("cdf97").without_lifting()
        >>> filtered.name, filtered.lifting, filtered.dec_lo == Wavelet("cdf97").dec_lo
        ('cdf97, filtered', None, True)
        """
        return _restore(
            type(self), f"{self._name}, filtered", self._bank, None, self._orthogonal, self._biorthogonal, False
        )

    # The four filters

    @property
    def dec_lo(self) -> list[float]:
        """The low-pass filter of the analysis."""
        return list(self._bank.dec_lo)

    @property
    def dec_hi(self) -> list[float]:
        """The high-pass filter of the analysis."""
        return list(self._bank.dec_hi)

    @property
    def rec_lo(self) -> list[float]:
        """The low-pass filter of the synthesis."""
        return list(self._bank.rec_lo)

    @property
    def rec_hi(self) -> list[float]:
        """The high-pass filter of the synthesis."""
        return list(self._bank.rec_hi)

    @property
    def dec_len(self) -> int:
        """The length of the analysis filters."""
        return len(self._bank.dec_lo)

    @property
    def rec_len(self) -> int:
        """The length of the synthesis filters."""
        return len(self._bank.rec_lo)

    def __len__(self) -> int:
        return len(self._bank.dec_lo)

    @property
    def filter_bank(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """The four filters: ``dec_lo, dec_hi, rec_lo, rec_hi``."""
        return self.dec_lo, self.dec_hi, self.rec_lo, self.rec_hi

    @property
    def inverse_filter_bank(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """The bank with analysis and synthesis exchanged: each filter reversed.

        Examples
        --------
        >>> from subband import Wavelet
        >>> Wavelet("bior2.4").inverse_filter_bank == Wavelet("rbio2.4").filter_bank
        True
        """
        return self.rec_lo[::-1], self.rec_hi[::-1], self.dec_lo[::-1], self.dec_hi[::-1]

    def get_filters_coeffs(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """Return `filter_bank`; deprecated, as in PyWavelets."""
        _warn_deprecated("get_filters_coeffs()", "filter_bank")
        return self.filter_bank

    def get_reverse_filters_coeffs(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """Return `inverse_filter_bank`; deprecated, as in PyWavelets."""
        _warn_deprecated("get_reverse_filters_coeffs()", "inverse_filter_bank")
        return self.inverse_filter_bank

    # What is known about them

    @property
    def name(self) -> str:
        """The name, in lower case for a wavelet of the catalogue."""
        return self._name

    @property
    def family_name(self) -> str:
        """The title of the family, empty for filters of your own."""
        return self._family.title if self._family else ""

    @property
    def short_family_name(self) -> str:
        """The beginning of the family's names, empty for filters of your own."""
        return self._family.short if self._family else ""

    @property
    def number(self) -> int | None:
        """The number in the name, 0 for a family of one, None for filters of your own."""
        if self._family is None:
            return None
        return int(self._name[len(self._family.short) :].replace(".", "") or 0)

    @property
    def family_number(self) -> int | None:
        """The same as `number`."""
        return self.number

    @property
    def symmetry(self) -> str:
        """How symmetric the filters are, ``"unknown"`` for filters of your own."""
        return find_symmetry(self._family.short) if self._family else "unknown"

    @property
    def vanishing_moments_psi(self) -> int | None:
        """The number of vanishing moments of the wavelet function, None for ``dmey``."""
        return count_moments(self.short_family_name, self.number or 0)[0]

    @property
    def vanishing_moments_phi(self) -> int | None:
        """The number of vanishing moments of the scaling function, None for ``dmey``."""
        return count_moments(self.short_family_name, self.number or 0)[1]

    @property
    def orthogonal(self) -> bool:
        """Whether the bank is orthogonal; you may set it for filters of your own."""
        return self._orthogonal

    @orthogonal.setter
    def orthogonal(self, value: bool) -> None:
        self._refuse_catalogue("orthogonal")
        self._orthogonal = bool(value)

    @property
    def biorthogonal(self) -> bool:
        """Whether the bank is biorthogonal; you may set it for filters of your own."""
        return self._biorthogonal

    @biorthogonal.setter
    def biorthogonal(self, value: bool) -> None:
        self._refuse_catalogue("biorthogonal")
        self._biorthogonal = bool(value)

    def _refuse_catalogue(self, attribute: str) -> None:
        """Refuse to change a wavelet of the catalogue, which all callers share."""
        if self._family is not None:
            raise AttributeError(
                f"{attribute} of {self!r} is fixed; it can be set only for filters of your own, "
                f"Wavelet('my name', filter_bank=...)"
            )

    @property
    def is_whole_sample_symmetric(self) -> bool:
        """Whether the ``whole`` boundary mode can be used.

        It takes analysis filters that, without the zeros at their ends, have odd length and are symmetric, one of
        them about an even sample and the other about an odd one.

        Examples
        --------
        >>> from subband import Wavelet
        >>> Wavelet("bior4.4").is_whole_sample_symmetric, Wavelet("bior1.3").is_whole_sample_symmetric
        (True, False)
        """
        try:
            return self._whole
        except AttributeError:
            low, high = self._bank.dec_lo, self._bank.dec_hi
            self._whole = any(is_centred(low, parity) and is_centred(high, 1 - parity) for parity in (0, 1))
            return self._whole

    @property
    def is_catalogued(self) -> bool:
        """Whether the name alone says what the wavelet is."""
        return self._family is not None

    @property
    def is_made_of_steps(self) -> bool:
        """Whether the wavelet was defined by its lifting steps, and its filters follow from them."""
        return self._scheme is not None

    @property
    def default_mode(self) -> Literal["symmetric", "whole"]:
        """The boundary mode to use when none is given: ``"whole"`` for ``cdf53`` and ``cdf97``."""
        return "whole" if self.short_family_name == "cdf" else "symmetric"

    @property
    def lifting(self) -> LiftingScheme | None:
        """The bank as lifting steps, or None if it does not factor well; see `factorise`.

        Examples
        --------
        >>> from subband import Wavelet
        >>> [step.kind for step in Wavelet("cdf97").lifting.steps]
        ['predict', 'update', 'predict', 'update']
        >>> Wavelet("dmey").lifting is None
        True
        """
        try:
            return self._lifting
        except AttributeError:
            self._lifting = self._scheme if self._scheme is not None else _factorise_bank(self._bank)
            return self._lifting

    def wavefun(self, level: int = 8) -> list[FloatArray]:
        """Sample the scaling and wavelet functions.

        Parameters
        ----------
        level : int
            How often to refine: the samples lie ``2**-level`` apart.

        Returns
        -------
        list of ndarray of float64
            ``[phi, psi, x]`` if the wavelet is orthogonal, else ``[phi_d, psi_d, phi_r, psi_r, x]``: those
            of the analysis, then those of the synthesis.

        Raises
        ------
        ArgumentError
            If the level is not positive.
        ArgumentTypeError
            If it is not a number.

        Examples
        --------
        >>> from subband import Wavelet
        >>> phi, psi, x = Wavelet("haar").wavefun(level=2)
        >>> psi.round(6).tolist(), x.tolist()
        ([0.0, 1.0, 1.0, -1.0, -1.0, 0.0], [0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
        """
        from subband.wavelets.cascade import read_count, sample_functions

        level = read_count(level, "level")
        if level < 1:
            raise ArgumentError(f"level={level} is not positive; wavefun refines at least once")
        return sample_functions(
            self._bank, level, is_orthogonal=self._orthogonal, is_negative=self._shows_negative_wavelet()
        )

    def _shows_negative_wavelet(self) -> bool:
        """Tell whether PyWavelets gives the wavelet function of a biorthogonal wavelet with the opposite sign."""
        return self._biorthogonal and self.default_mode != "whole" and (self.vanishing_moments_psi or 0) % 4 != 1

    # As a Python object

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Wavelet):
            return NotImplemented
        return (
            self._hash == other._hash
            and self._name == other._name
            and self._bank == other._bank
            and self._family == other._family
            and self._scheme == other._scheme
            and self._orthogonal == other._orthogonal
            and self._biorthogonal == other._biorthogonal
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        if self._family is not None:
            return type(self), (self._name,)
        return _restore, (
            type(self),
            self._name,
            self._bank,
            self._scheme,
            self._orthogonal,
            self._biorthogonal,
            getattr(self, "_lifting", True) is not None,
        )

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._family is not None:
            return f"{kind}({self._name!r})"
        if self._scheme is not None:
            return f"{kind}.from_lifting({self._name!r}, {self._scheme!r})"
        return f"{kind}({self._name!r}, filter_bank={self.filter_bank!r})"

    def _repr_html_(self) -> str:
        # for notebooks alone
        from subband.display import draw_curves, format_paragraph, format_table

        *functions, x = self.wavefun(6)
        about = (
            ("family", self.family_name),
            ("taps", self.dec_len),
            ("symmetry", self.symmetry),
            ("vanishing moments", self.vanishing_moments_psi),
        )
        curves = [("scaling function", functions[-2]), ("wavelet", functions[-1])]
        return f"{format_paragraph(repr(self))}{draw_curves(x, curves)}{format_table(about)}"

    def __str__(self) -> str:
        lines = (
            f"{type(self).__name__} {self.name}",
            f"  Family name:    {self.family_name}",
            f"  Short name:     {self.short_family_name}",
            f"  Filters length: {self.dec_len}",
            f"  Orthogonal:     {self.orthogonal}",
            f"  Biorthogonal:   {self.biorthogonal}",
            f"  Symmetry:       {self.symmetry}",
            "  DWT:            True",
            "  CWT:            False",
        )
        return "\n".join(line.rstrip() for line in lines)


#: The wavelets of the catalogue that have been asked for, by class and name.
_known: dict[tuple[type[Wavelet], str], Wavelet] = {}


def _restore(
    kind: type[Wavelet],
    name: str,
    bank: FilterBank,
    scheme: LiftingScheme | None,
    orthogonal: bool,
    biorthogonal: bool,
    may_lift: bool = True,
) -> Wavelet:
    """Make or unpickle a wavelet that the catalogue does not have."""
    wavelet = object.__new__(kind)
    wavelet._define(name, bank, scheme)
    wavelet._orthogonal = orthogonal
    wavelet._biorthogonal = biorthogonal
    if not may_lift:
        wavelet._lifting = None
    return wavelet


@lru_cache(maxsize=256)
def _factorise_bank(bank: FilterBank) -> LiftingScheme | None:
    """Factor each bank once, however many wavelets share it."""
    from subband.wavelets.factorisation import factorise_bank

    return factorise_bank(bank)


def _warn_deprecated(old: str, new: str) -> None:
    """Warn the caller of a method that is deprecated in PyWavelets."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=3)
