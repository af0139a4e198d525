"""The continuous wavelets: functions of a real argument, for `cwt`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from subband.errors import ArgumentError, ArgumentTypeError, UnknownWaveletError
from subband.wavelets import waveforms
from subband.wavelets.cascade import read_count
from subband.wavelets.catalogue import PARAMETRIC, Family, find_family, wavelist
from subband.wavelets.waveforms import Samples
from subband.wavelets.wavelet import Wavelet

__all__ = ["ContinuousWavelet", "DiscreteContinuousWavelet"]

_BOUNDS = {"gaus": 5.0, "cgau": 5.0, "mexh": 8.0, "morl": 8.0, "cmor": 8.0, "shan": 20.0, "fbsp": 20.0}

# What the bare names of the parametric families have always meant: order, bandwidth and centre frequency.
_DEFAULTS = {"cmor": (None, 1.0, 0.5), "shan": (None, 0.5, 1.0), "fbsp": (2, 1.0, 0.5)}

#: Families of complex functions.
_COMPLEX = ("cgau", "shan", "fbsp", "cmor")

_FORMATS = {"cmor": "cmorB-C", "shan": "shanB-C", "fbsp": "fbspM-B-C"}


_Parts: TypeAlias = tuple[str, Family, type[np.float32 | np.float64], int, float, float, float, str | None]

#: Every name that needs no parameters.
_NAMES = frozenset(wavelist(kind="continuous"))


class ContinuousWavelet:
    """A continuous wavelet, given by a formula.

    Parameters
    ----------
    name : str
        A name of ``wavelist(kind="continuous")``, in any case. The names of three families carry their
        parameters: ``cmorB-C`` and ``shanB-C`` with bandwidth B and centre frequency C, and ``fbspM-B-C``
        with order M as well.
    dtype : dtype
        float64 or float32, for the samples of `wavefun`.

    Attributes
    ----------
    lower_bound, upper_bound : float or None
        Where `wavefun` samples; None if the interval is empty. Can be set.
    center_frequency, bandwidth_frequency : float or None
        Parameters of ``cmor``, ``shan`` and ``fbsp``. Can be set.
    fbsp_order : int or None
        The order of ``fbsp``. Can be set.
    complex_cwt : bool
        Whether the function is complex. Can be set.

    Warns
    -----
    FutureWarning
        For the bare names ``cmor``, ``shan`` and ``fbsp``, as in PyWavelets.

    Raises
    ------
    UnknownWaveletError
        If no wavelet has that name.
    ArgumentError
        If it is a discrete wavelet, its parameters cannot be read, or `dtype` is something else.

    Notes
    -----
    PyWavelets keeps the parameters in single precision; here they are double, so that for parameters such
    as 1.2 the functions differ by some 1e-7.

    Examples
    --------
    >>> from subband import ContinuousWavelet
    >>> wavelet = ContinuousWavelet("cmor1.5-1.0")
    >>> wavelet.bandwidth_frequency, wavelet.center_frequency, wavelet.complex_cwt
    (1.5, 1.0, True)
    >>> psi, x = ContinuousWavelet("mexh").wavefun(length=5)
    >>> x.tolist()
    [-8.0, -4.0, 0.0, 4.0, 8.0]
    """

    __slots__ = (
        "_bandwidth",
        "_centre",
        "_dtype",
        "_family",
        "_lower",
        "_name",
        "_order",
        "_upper",
        "biorthogonal",
        "complex_cwt",
        "orthogonal",
    )

    def __init__(self, name: str = "", dtype: npt.DTypeLike = np.float64) -> None:
        try:
            read = _recall_name(name, dtype)
        except TypeError:
            # something that is no name or dtype, which is told here, or a dtype that is no key
            read = _read_name(name, dtype)
        self._name, self._family, self._dtype, self._order, self._bandwidth, self._centre, bound, warning = read
        self._lower, self._upper = -bound, bound
        self.complex_cwt: bool = self._family.short in _COMPLEX
        self.orthogonal: bool = False
        self.biorthogonal: bool = False
        if warning is not None:
            warnings.warn(warning, FutureWarning, stacklevel=2)

    @property
    def name(self) -> str:
        """The name, in lower case, with its parameters."""
        return self._name

    @property
    def dt(self) -> type[np.float32 | np.float64]:
        """The type of the samples."""
        return self._dtype

    @property
    def family_name(self) -> str:
        """The title of the family."""
        return self._family.title

    @property
    def short_family_name(self) -> str:
        """What the names of the family start with."""
        return self._family.short

    @property
    def number(self) -> int:
        """The order of a Gaussian wavelet, 0 for all others."""
        return int(self._name[4:]) if self._family.short in ("gaus", "cgau") else 0

    @property
    def family_number(self) -> int:
        """The same as `number`."""
        return self.number

    @property
    def symmetry(self) -> str:
        """``"symmetric"``, ``"anti-symmetric"`` or ``"asymmetric"``."""
        if self._family.short in _DEFAULTS:
            return "asymmetric"
        return "anti-symmetric" if self.number % 2 else "symmetric"

    @property
    def lower_bound(self) -> float | None:
        """Where the samples begin."""
        return None if self._lower == self._upper else self._lower

    @lower_bound.setter
    def lower_bound(self, value: float) -> None:
        self._lower = float(value)

    @property
    def upper_bound(self) -> float | None:
        """Where the samples end."""
        return None if self._lower == self._upper else self._upper

    @upper_bound.setter
    def upper_bound(self, value: float) -> None:
        self._upper = float(value)

    @property
    def center_frequency(self) -> float | None:
        """The centre frequency, None if the family has no such parameter."""
        return self._centre if self._centre > 0.0 else None

    @center_frequency.setter
    def center_frequency(self, value: float) -> None:
        self._centre = float(value)

    @property
    def bandwidth_frequency(self) -> float | None:
        """The bandwidth, None if the family has no such parameter."""
        return self._bandwidth if self._bandwidth > 0.0 else None

    @bandwidth_frequency.setter
    def bandwidth_frequency(self, value: float) -> None:
        self._bandwidth = float(value)

    @property
    def fbsp_order(self) -> int | None:
        """The order of a frequency B-spline, None for other wavelets."""
        return self._order or None

    @fbsp_order.setter
    def fbsp_order(self, value: int) -> None:
        order = int(value)
        if order < 0:
            raise ArgumentError(f"fbsp_order={value!r} is negative; it takes a whole number from 1")
        self._order = order

    def wavefun(self, level: int = 8, length: int | None = None) -> list[Samples]:
        """Sample the function.

        Parameters
        ----------
        level : int
            Take ``2**level`` samples, unless `length` is given.
        length : int, optional
            The number of samples.

        Returns
        -------
        list of two ndarray, shape (length,)
            ``[psi, x]``: the samples and where they lie, evenly from `lower_bound` to `upper_bound`.

        Raises
        ------
        ArgumentError
            If there would be no sample, or a parameter has no meaning.
        ArgumentTypeError
            If `level` or `length` is not a number.

        Examples
        --------
        >>> from subband import ContinuousWavelet
        >>> psi, x = ContinuousWavelet("morl").wavefun(level=4)
        >>> psi.shape, psi.dtype
        ((16,), dtype('float64'))
        """
        count = read_count(length, "length") if length is not None else int(2.0 ** read_count(level, "level"))
        if count < 1:
            raise ArgumentError(f"level={level}, length={length} ask for no sample; take at least one")
        x = np.linspace(self._lower, self._upper, count)
        psi = self._evaluate(x)
        if self._dtype is np.float32:
            return [psi.astype(np.complex64 if np.iscomplexobj(psi) else np.float32), x.astype(np.float32)]
        return [psi, x]

    def _evaluate(self, x: npt.NDArray[np.float64]) -> Samples:
        """Put the parameters into the formula of the family."""
        family = self._family.short
        if family in _DEFAULTS and self._bandwidth <= 0.0:
            raise ArgumentError(f"bandwidth_frequency={self._bandwidth} of {self!r} is not positive")
        match family:
            case "gaus":
                return waveforms.gaus(x, self.number)
            case "cgau":
                return waveforms.cgau(x, self.number)
            case "mexh":
                return waveforms.mexh(x)
            case "morl":
                return waveforms.morl(x)
            case "shan":
                return waveforms.shan(x, self._bandwidth, self._centre)
            case "cmor":
                return waveforms.cmor(x, self._bandwidth, self._centre)
        if self._order < 1:
            raise ArgumentError(f"fbsp_order={self._order} of {self!r} is not positive")
        return waveforms.fbsp(x, self._order, self._bandwidth, self._centre)

    def __repr__(self) -> str:
        dtype = "" if self._dtype is np.float64 else ", dtype='float32'"
        return f"{type(self).__name__}({self._name!r}{dtype})"

    def __str__(self) -> str:
        return "\n".join(
            (
                f"{type(self).__name__} {self.name}",
                f"  Family name:    {self.family_name}",
                f"  Short name:     {self.short_family_name}",
                f"  Symmetry:       {self.symmetry}",
                "  DWT:            False",
                "  CWT:            True",
                f"  Complex CWT:    {self.complex_cwt}",
            )
        )


def DiscreteContinuousWavelet(  # noqa: N802  # PyWavelets' name for a function that makes objects
    name: str = "", filter_bank: Any = None
) -> Wavelet | ContinuousWavelet:
    """Return a `Wavelet` or a `ContinuousWavelet`, whichever has that name.

    Parameters
    ----------
    name : str
        A name of either kind, or any name together with `filter_bank`.
    filter_bank : optional
        Four filters, as for `Wavelet`.

    Examples
    --------
    >>> from subband import DiscreteContinuousWavelet
    >>> DiscreteContinuousWavelet("db2"), DiscreteContinuousWavelet("morl")
    (Wavelet('db2'), ContinuousWavelet('morl'))
    """
    if filter_bank is None and isinstance(name, str):
        lower = name.lower()
        if lower in _NAMES or lower.startswith(PARAMETRIC):
            return ContinuousWavelet(name)
    return Wavelet(name, filter_bank)


def _find_continuous_family(name: str) -> Family:
    """Find the family of a name, which may carry parameters."""
    if name.startswith(PARAMETRIC):
        return find_family(name[:4])
    if not name:
        raise UnknownWaveletError("name='' names no wavelet; wavelist(kind='continuous') gives the names")
    family = find_family(name)
    if family.is_discrete:
        raise ArgumentError(f"name={name!r} is a discrete wavelet; use Wavelet, or another name")
    return family


def _read_name(name: Any, dtype: Any) -> _Parts:
    """Read all that a name and a dtype say: the first six attributes, the bound of the samples, and a warning."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ArgumentError(f"dtype={dtype!r} is neither float32 nor float64, the only ones for ContinuousWavelet")
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name={name!r} of a wavelet is not a string")
    lower = name.lower()
    family = _find_continuous_family(lower)
    order, bandwidth, centre = _read_parameters(lower, family.short)
    warning = None
    if lower in _DEFAULTS:
        example = f"{lower}{f'{order}-' if order else ''}{bandwidth}-{centre}"
        warning = f"the bare name {lower!r} is deprecated; write it as {_FORMATS[lower]}, here {example!r}"
    number: type[np.float32 | np.float64] = np.float32 if kind == np.float32 else np.float64
    return lower, family, number, order, bandwidth, centre, _BOUNDS[family.short], warning


_recall_name: Callable[[Any, Any], _Parts] = lru_cache(maxsize=256)(_read_name)


def _read_parameters(name: str, family: str) -> tuple[int, float, float]:
    """Read order, bandwidth and centre frequency from a name; zero where there is none."""
    if family not in _DEFAULTS:
        return 0, 0.0, 0.0
    order, bandwidth, centre = _DEFAULTS[family]
    if name == family:
        return order or 0, bandwidth, centre
    try:
        numbers = [float(part) for part in name[4:].split("-")]
    except ValueError:
        numbers = []
    if len(numbers) != (2 if order is None else 3):
        raise ArgumentError(
            f"name={name!r} does not have the form {_FORMATS[family]} with numbers for the capitals, "
            f"B the bandwidth and C the centre frequency: '{family}{'' if order is None else '2-'}1.5-1.0'"
        )
    if order is not None and (numbers[0] < 1 or numbers[0] != int(numbers[0])):
        raise ArgumentError(f"the order {numbers[0]:g} in name={name!r} is not a whole number from 1")
    return int(numbers[0]) if order is not None else 0, numbers[-2], numbers[-1]
