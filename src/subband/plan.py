"""Transform plans: lengths, filters and boundary maps of every level, without any samples.

A plan is pure, frozen, hashable data. An engine compiles it once and runs it on any number of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from subband.boundary import Extension, Mixture, check_mode, extend, is_expansive
from subband.errors import ArgumentError, AxesError, LevelError, ModeError, ShapeError
from subband.pairs import PairFilter, PairLifting, align
from subband.wavelets import Wavelet, as_wavelet
from subband.wavelets.reversible import INTEGER_SCHEMES, IntegerScheme

__all__ = [
    "AxisPlan",
    "LevelPlan",
    "TransformPlan",
    "axis_plan",
    "find_integer_scheme",
    "level_plan",
    "lifted_axis_plan",
    "list_keys",
    "reversible_axis_plan",
    "transform_plan",
]


@dataclass(frozen=True)
class AxisPlan:
    """One level along one axis.

    Attributes
    ----------
    length, low, high : int
        Number of samples and of low and high coefficients.
    forward_mode, inverse_mode : str
        How the samples, and the coefficients in turn, go on outside their range.
    forward, inverse : PairFilter
        The two directions.
    integer : IntegerScheme or None
        The rounded lifting steps that replace both filters in a reversible transform.
    sample_mixture, coefficient_mixture : Mixture or None
        What is made of the samples, or of low and high coefficients in turn, before they are extended: of adjoints.
    """

    wavelet: Wavelet
    mode: str
    length: int
    low: int
    high: int
    forward_mode: str
    inverse_mode: str
    forward: PairFilter = field(repr=False)
    inverse: PairFilter = field(repr=False)
    integer: IntegerScheme | None = None
    sample_mixture: Mixture | None = field(default=None, repr=False)
    coefficient_mixture: Mixture | None = field(default=None, repr=False)

    @cached_property
    def _hash(self) -> int:
        return hash((self.wavelet, self.mode, self.length, self.integer))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return _leave_out_hash(self.__dict__)

    @cached_property
    def forward_lifting(self) -> PairLifting | None:
        """The forward direction as lifting steps, if the wavelet has them."""
        return PairLifting.forward(self.wavelet, align(self.wavelet, self.mode))

    @cached_property
    def inverse_lifting(self) -> PairLifting | None:
        """The inverse direction as lifting steps, if the wavelet has them."""
        return PairLifting.inverse(self.wavelet, align(self.wavelet, self.mode))

    @property
    def amplifies(self) -> bool:
        """Whether the extension grows far beyond the samples: a straight line drawn on by more than their number."""
        return self.forward_mode in ("smooth", "antireflect") and self.length < self.wavelet.dec_len

    @property
    def amplifies_back(self) -> bool:
        """Whether what is folded back by an adjoint grows as much."""
        is_steep = self.mode in ("smooth", "antireflect") and self.length < self.wavelet.dec_len
        return is_steep and self.coefficient_mixture is not None

    @property
    def coded(self) -> int:
        """Number of coefficients, low and high in turn."""
        return self.low + self.high

    @property
    def pairs(self) -> int:
        """Number of pairs of samples, the last one perhaps half."""
        return (self.length + 1) // 2

    def extend_samples(self, start: int, stop: int) -> Extension:
        """Map positions of the extended signal to samples."""
        extension = extend(self.forward_mode, self.length, start, stop)
        return replace(extension, mixture=self.sample_mixture) if self.sample_mixture else extension

    def extend_coefficients(self, start: int, stop: int) -> Extension:
        """Map positions of the extended sequence low, high, low, … to coefficients."""
        extension = extend(self.inverse_mode, self.coded, start, stop)
        if self.coded == 1:  # no high coefficient to mirror: it is zero, not the low one
            extension.weight[np.arange(start, stop) % 2 == 1] = 0.0
        return replace(extension, mixture=self.coefficient_mixture) if self.coefficient_mixture else extension


def _leave_out_hash(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a plan to pickle, without its hash: string hashes differ between processes."""
    return {name: value for name, value in state.items() if name != "_hash"}


def _output_length(wavelet: Wavelet, mode: str, length: int) -> tuple[int, int]:
    if not is_expansive(mode):
        return (length + 1) // 2, length // 2 if mode == "whole" else (length + 1) // 2
    count = (length - wavelet.rec_len + 2 if mode == "full" else length + wavelet.dec_len - 1) // 2
    return count, count


@lru_cache(maxsize=4096)
def axis_plan(wavelet: Wavelet, mode: str, length: int) -> AxisPlan:
    """Plan one level along an axis of `length` samples.

    Besides the boundary modes there is ``full``, for the inverse only: all samples that coefficients contribute to.

    Examples
    --------
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = axis_plan(Wavelet("db2"), "symmetric", 9)
    >>> plan.low, plan.high
    (6, 6)
    >>> plan = axis_plan(Wavelet("cdf97"), "whole", 9)
    >>> plan.low, plan.high
    (5, 4)
    """
    if mode == "whole" and not wavelet.is_whole_sample_symmetric:
        raise ModeError(
            f"mode='whole' needs symmetric filters of odd length, and {wavelet.name!r} has none; "
            "use 'cdf97', 'cdf53' or a wavelet such as 'bior4.4', or another mode such as 'symmetric'"
        )
    alignment = align(wavelet, mode)
    low, high = _output_length(wavelet, mode, length)
    inverse_mode = {"whole": "whole", "periodization": "periodic"}.get(mode, "zero")
    return AxisPlan(
        wavelet,
        mode,
        length,
        low,
        high,
        "zero" if mode == "full" else mode,
        inverse_mode,
        PairFilter.forward(wavelet, alignment),
        PairFilter.inverse(wavelet, alignment),
    )


def find_integer_scheme(wavelet: Wavelet) -> IntegerScheme:
    """Return the reversible form of a wavelet, or say which wavelets have one.

    Examples
    --------
    >>> from subband.plan import find_integer_scheme
    >>> from subband.wavelets import Wavelet
    >>> len(find_integer_scheme(Wavelet("cdf53")).steps)
    2
    """
    if wavelet.name not in INTEGER_SCHEMES or wavelet != as_wavelet(wavelet.name):
        raise ArgumentError(
            f"wavelet={wavelet.name!r} has no reversible form; use one of {', '.join(sorted(INTEGER_SCHEMES))}"
        )
    return INTEGER_SCHEMES[wavelet.name]


@lru_cache(maxsize=1024)
def reversible_axis_plan(wavelet: Wavelet, length: int) -> AxisPlan:
    """Plan one exact level of whole numbers along an axis of `length` samples.

    Examples
    --------
    >>> from subband.plan import reversible_axis_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = reversible_axis_plan(Wavelet("cdf53"), 9)
    >>> plan.low, plan.high, plan.integer.forward_mode
    (5, 4, 'whole')
    """
    scheme = find_integer_scheme(wavelet)
    nothing = PairFilter(0, ((), ()))
    low, high = (length + 1) // 2, length // 2
    return AxisPlan(
        wavelet, "whole", length, low, high, scheme.forward_mode, scheme.inverse_mode, nothing, nothing, scheme
    )


@lru_cache(maxsize=1024)
def lifted_axis_plan(wavelet: Wavelet, scheme: IntegerScheme, length: int) -> AxisPlan:
    """Plan one exact level by steps of one's own along an axis of an even number of samples.

    Parameters
    ----------
    wavelet : Wavelet
        The same steps without rounding.
    scheme : IntegerScheme
        The steps.
    length : int
        Number of samples.

    Examples
    --------
    >>> from subband.plan import find_integer_scheme, lifted_axis_plan
    >>> from subband.wavelets import Wavelet
    >>> wavelet = Wavelet("cdf53")
    >>> plan = lifted_axis_plan(wavelet, find_integer_scheme(wavelet), 8)
    >>> plan.low, plan.high
    (4, 4)
    """
    if length % 2:
        raise ShapeError(f"an axis of {length} samples cannot be lifted by {wavelet.name!r}; pad it to an even length")
    nothing = PairFilter(0, ((), ()))
    modes = scheme.forward_mode, scheme.inverse_mode
    return AxisPlan(wavelet, modes[0], length, length // 2, length // 2, *modes, nothing, nothing, scheme)


def list_keys(count: int) -> list[str]:
    """Return the keys of all bands of a level over `count` axes, in the order of counting.

    Examples
    --------
    >>> from subband.plan import list_keys
    >>> list_keys(2)
    ['aa', 'ad', 'da', 'dd']
    """
    return ["".join(letters) for letters in product("ad", repeat=count)]


@dataclass(frozen=True)
class LevelPlan:
    """One level of a separable transform: which axes of an array, and how each is transformed.

    Attributes
    ----------
    shape : tuple of int
        Shape of the whole array; axes not in `axes` are carried along.
    axes : tuple of int
        The transformed axes, distinct and not negative; a band's key has one letter for each, in this order.
    plans : tuple of AxisPlan
        One for each of `axes`.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    plans: tuple[AxisPlan, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.axes, self.plans))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return _leave_out_hash(self.__dict__)

    @cached_property
    def band_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every band, ``'aa'`` to ``'dd'`` in the order of counting."""
        shapes = {}
        for key in list_keys(len(self.axes)):
            shape = list(self.shape)
            for letter, axis, plan in zip(key, self.axes, self.plans, strict=True):
                shape[axis] = plan.low if letter == "a" else plan.high
            shapes[key] = tuple(shape)
        return shapes

    @cached_property
    def amplifies(self) -> bool:
        """Whether the extension of an axis grows far beyond the samples, which needs double precision."""
        return any(plan.amplifies for plan in self.plans)

    @cached_property
    def amplifies_back(self) -> bool:
        """Whether what is folded back along an axis grows as much."""
        return any(plan.amplifies_back for plan in self.plans)

    @property
    def approximation_shape(self) -> tuple[int, ...]:
        """Shape of the band that the next level transforms."""
        return self.band_shapes["a" * len(self.axes)]


@lru_cache(maxsize=4096)
def level_plan(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    reversible: bool = False,
) -> LevelPlan:
    """Plan one level of an array of `shape` along distinct, non-negative `axes`, one wavelet and mode for each.

    A `reversible` level has boundary rules of its own and does not look at `modes`.

    Examples
    --------
    >>> from subband.plan import level_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = level_plan((5, 8), (0, 1), (Wavelet("haar"),) * 2, ("symmetric",) * 2)
    >>> plan.band_shapes
    {'aa': (3, 4), 'ad': (3, 4), 'da': (3, 4), 'dd': (3, 4)}
    """
    for axis in axes:
        if shape[axis] < 1:
            raise ShapeError(f"axis {axis} of an array of shape {shape} is empty; it needs at least 1 sample")
    plans = tuple(
        reversible_axis_plan(w, shape[a]) if reversible else axis_plan(w, m, shape[a])
        for a, w, m in zip(axes, wavelets, modes, strict=True)
    )
    return LevelPlan(shape, axes, plans)


@dataclass(frozen=True)
class TransformPlan:
    """A whole multilevel transform.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array, batch axes included.
    axes : tuple of int
        The transformed axes, distinct and not negative.
    wavelets, modes : tuple
        One for each axis.
    reversible : bool
        Whether the coefficients are whole numbers and the inverse is exact to the bit.
    levels : tuple of LevelPlan
        Finest first.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    wavelets: tuple[Wavelet, ...]
    modes: tuple[str, ...]
    reversible: bool
    levels: tuple[LevelPlan, ...] = field(repr=False)

    @property
    def level(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def approximation_shape(self) -> tuple[int, ...]:
        """Shape of the coarsest band."""
        return self.levels[-1].approximation_shape if self.levels else self.shape

    @property
    def size(self) -> int:
        """Number of coefficients in all bands."""
        details = sum(prod(s) for lv in self.levels for key, s in lv.band_shapes.items() if "d" in key)
        return details + prod(self.approximation_shape)


@lru_cache(maxsize=1024)
def transform_plan(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    wavelets: tuple[Wavelet, ...],
    modes: tuple[str, ...],
    level: int,
    reversible: bool = False,
) -> TransformPlan:
    """Plan `level` levels of an array of `shape`; arguments as `level_plan` takes them.

    Examples
    --------
    >>> from subband.plan import transform_plan
    >>> from subband.wavelets import Wavelet
    >>> plan = transform_plan((1080, 1920), (0, 1), (Wavelet("cdf97"),) * 2, ("whole",) * 2, 3)
    >>> plan.approximation_shape, plan.size == 1080 * 1920
    ((135, 240), True)
    """
    if level < 0:
        raise LevelError(f"level={level} is negative; use 0 or more")
    if len(set(axes)) != len(axes):
        raise AxesError(f"axes={axes} names an axis twice; each may be transformed once a level")
    modes = tuple(check_mode(mode) for mode in modes)
    levels: list[LevelPlan] = []
    current = shape
    for _ in range(level):
        levels.append(level_plan(current, axes, wavelets, modes, reversible))
        current = levels[-1].approximation_shape
    return TransformPlan(shape, axes, wavelets, modes, reversible, tuple(levels))
