"""The names of the wavelets, their families, and the table of filters behind them.

The names are those of PyWavelets, with the same filter values, plus a family of our own, ``cdf``.

The filters are text in ``filters.txt`` beside this module. The file is read when the first filter is needed, and
a line of it is parsed when that wavelet is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from subband.errors import ArgumentError, UnknownWaveletError, suggest_names

__all__ = [
    "PARAMETRIC",
    "Family",
    "Kind",
    "count_moments",
    "families",
    "find_family",
    "find_symmetry",
    "known_names",
    "read_lowpass",
    "wavelist",
]

Kind = Literal["all", "continuous", "discrete"]

#: Families whose names carry parameters; without them they are deprecated, and whoever uses them is told so.
PARAMETRIC = ("cmor", "shan", "fbsp")

_BIORTHOGONAL_ORDERS = (
    "1.1", "1.3", "1.5", "2.2", "2.4", "2.6", "2.8",
    "3.1", "3.3", "3.5", "3.7", "3.9", "4.4", "5.5", "6.8",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Family:
    """A family of wavelets: what all its members have in common.

    Attributes
    ----------
    short : str
        What the names of its members start with.
    title : str
        The name for people.
    members : tuple of str
        The endings of the names, in order; one empty ending for a family of one.
    is_discrete : bool
        Whether the members are filter banks, rather than functions of a real argument.

    Examples
    --------
    >>> find_family("sym8").title
    'Symlets'
    """

    short: str
    title: str
    members: tuple[str, ...]
    is_discrete: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of the members, in order."""
        return tuple(self.short + ending for ending in self.members)


def _count(first: int, last: int) -> tuple[str, ...]:
    """Format the numbers that the names of a family end in."""
    return tuple(str(number) for number in range(first, last + 1))


_FAMILIES = (
    Family("haar", "Haar", ("",), True),
    Family("db", "Daubechies", _count(1, 38), True),
    Family("sym", "Symlets", _count(2, 20), True),
    Family("coif", "Coiflets", _count(1, 17), True),
    Family("bior", "Biorthogonal", _BIORTHOGONAL_ORDERS, True),
    Family("rbio", "Reverse biorthogonal", _BIORTHOGONAL_ORDERS, True),
    Family("dmey", "Discrete Meyer (FIR Approximation)", ("",), True),
    Family("gaus", "Gaussian", _count(1, 8), False),
    Family("mexh", "Mexican hat wavelet", ("",), False),
    Family("morl", "Morlet wavelet", ("",), False),
    Family("cgau", "Complex Gaussian wavelets", _count(1, 8), False),
    Family("shan", "Shannon wavelets", ("",), False),
    Family("fbsp", "Frequency B-Spline wavelets", ("",), False),
    Family("cmor", "Complex Morlet wavelets", ("",), False),
    Family("cdf", "Cohen-Daubechies-Feauveau", ("53", "97"), True),
)

_SHORT_NAMES = [family.short for family in _FAMILIES]
_TITLES = [family.title for family in _FAMILIES]

_FAMILY_OF_NAME = {name: family for family in _FAMILIES for name in family.names}


def known_names() -> tuple[str, ...]:
    """Return every name there is, our own ``cdf53`` and ``cdf97`` included.

    Examples
    --------
    >>> len(known_names())
    129
    """
    return tuple(_FAMILY_OF_NAME)


def find_family(name: str) -> Family:
    """Return the family that a name in lower case belongs to.

    Raises
    ------
    UnknownWaveletError
        If no wavelet has that name; the message gives the names that come near.

    Examples
    --------
    >>> find_family("bior4.4").short
    'bior'
    >>> find_family("bd4")
    Traceback (most recent call last):
        ...
    subband.errors.UnknownWaveletError: no wavelet is called 'bd4'; did you mean 'db4'?
    """
    try:
        return _FAMILY_OF_NAME[name]
    except KeyError:
        hint = suggest_names(name, _FAMILY_OF_NAME) or "; wavelist() gives the names"
        raise UnknownWaveletError(f"no wavelet is called {name!r}{hint}") from None


def find_symmetry(family: str) -> str:
    """Return how symmetric the filters of a discrete family are.

    Examples
    --------
    >>> find_symmetry("sym")
    'near symmetric'
    """
    if family in ("haar", "db"):
        return "asymmetric"
    return "near symmetric" if family in ("sym", "coif") else "symmetric"


def count_moments(family: str, number: int) -> tuple[int | None, int | None]:
    """Return how many moments of wavelet and scaling function vanish, None where they are not defined.

    Examples
    --------
    >>> count_moments("bior", 68), count_moments("coif", 2)
    ((6, 8), (4, 3))
    """
    match family:
        case "dmey":
            return None, None
        case "bior" | "rbio":
            return number // 10, number % 10
        case "cdf":
            return (4, 4) if number == 97 else (2, 2)
        case "coif":
            return 2 * number, 2 * number - 1
        case "haar":
            return 1, 0
        case _:
            return number, 0


def families(short: bool = True) -> list[str]:
    """Return the names of the families: those of PyWavelets, and ``cdf``.

    Parameters
    ----------
    short : bool
        Whether to give what the wavelets' names start with, or the titles for people.

    Returns
    -------
    list of str
        One name a family, in the order of their definition.

    Examples
    --------
    >>> from subband import families
    >>> families()[:4]
    ['haar', 'db', 'sym', 'coif']
    >>> families(short=False)[1]
    'Daubechies'
    """
    return _SHORT_NAMES.copy() if short else _TITLES.copy()


def _sort_key(name: str) -> tuple[str, float]:
    """Order ``db2`` before ``db10``, and families by the alphabet."""
    family = _FAMILY_OF_NAME[name]
    ending = name[len(family.short) :]
    return family.short, float(ending or 0)


def wavelist(family: str | None = None, kind: Kind = "all") -> list[str]:
    """Return the names of the wavelets, of one family or of all: those of PyWavelets, and ``cdf53`` and ``cdf97``.

    Parameters
    ----------
    family : str, optional
        The short name of a family, as `families` gives it.
    kind : {"all", "continuous", "discrete"}
        Which wavelets to list when no family is named.

    Returns
    -------
    list of str
        Sorted by family and number; a single family in the order of its definition.

    Raises
    ------
    ArgumentError
        If there is no such family or kind.

    Examples
    --------
    >>> from subband import wavelist
    >>> wavelist("coif")[:3]
    ['coif1', 'coif2', 'coif3']
    >>> wavelist(kind="continuous")[-3:]
    ['mexh', 'morl', 'shan']
    >>> wavelist("cdf")
    ['cdf53', 'cdf97']
    >>> len(wavelist(kind="discrete"))
    108
    """
    if kind not in ("all", "continuous", "discrete"):
        raise ArgumentError(f"kind={kind!r} is none of 'all', 'continuous', 'discrete'")
    if family is None:
        return list(_sort_names(kind))
    for candidate in _FAMILIES:
        if candidate.short == family:
            return list(candidate.names)
    hint = suggest_names(str(family), [candidate.short for candidate in _FAMILIES])
    raise ArgumentError(f"family={family!r} is no family of wavelets{hint or '; families() gives their names'}")


@cache
def _sort_names(kind: Kind) -> tuple[str, ...]:
    """Go through the families, once for each kind."""
    kinds = [("all", "discrete" if family.is_discrete else "continuous") for family in _FAMILIES]
    names = [name for family, own in zip(_FAMILIES, kinds, strict=True) if kind in own for name in family.names]
    return tuple(sorted(names, key=_sort_key))


@cache
def _read_table() -> dict[str, str]:
    """Split the table into lines by name, leaving the numbers as text until they are wanted."""
    from importlib.resources import files

    text = files(__package__).joinpath("filters.txt").read_text(encoding="ascii")
    table = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, _, numbers = line.partition(":")
            table[key] = numbers
    return table


def _read_filter(key: str) -> tuple[float, ...]:
    """Turn one line of the table into numbers."""
    return tuple(float(number) for number in _read_table()[key].split())


def read_lowpass(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the two low-pass filters of a tabulated wavelet: analysis, then synthesis.

    The high-pass filters follow from them by alternating the signs; an orthogonal wavelet has one filter and
    its reverse, and ``rbio`` is ``bior`` with the two filters exchanged and reversed.

    Examples
    --------
    >>> read_lowpass("bior1.1") == read_lowpass("haar")
    True
    >>> [len(taps) for taps in read_lowpass("db4")]
    [8, 8]
    """
    if name == "haar":
        return read_lowpass("db1")
    if name.startswith("rbio"):
        analysis, synthesis = read_lowpass("bior" + name[4:])
        return synthesis[::-1], analysis[::-1]
    if name.startswith("bior"):
        return _read_filter(f"{name} dec_lo"), _read_filter(f"{name} rec_lo")
    synthesis = _read_filter(f"{name} rec_lo")
    return synthesis[::-1], synthesis
