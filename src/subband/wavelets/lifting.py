"""A lifting scheme as data: predict and update steps, two scales and two shifts.

On an infinite signal ``x`` with ``s[n] = x[2n]`` and ``d[n] = x[2n + 1]`` the steps run in order::

    predict:  d[n] += sum(taps[j] * s[n + start + j] for j in range(len(taps)))
    update:   s[n] += sum(taps[j] * d[n + start + j] for j in range(len(taps)))

and the two bands are::

    lo[n] = scale_lo * s[n + shift_lo]
    hi[n] = scale_hi * d[n + shift_hi]

Every engine follows this convention. A scheme that belongs to a `Wavelet` has the shifts that make its
bands equal, sample by sample, the convolutions of PyWavelets::

    lo[n] = sum(dec_lo[k] * x[2n + 1 - k] for k in range(len(dec_lo)))
    hi[n] = sum(dec_hi[k] * x[2n + 1 - k] for k in range(len(dec_hi)))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import isfinite
from operator import index
from typing import Literal

from subband.errors import ArgumentError, ArgumentTypeError
from subband.wavelets import laurent
from subband.wavelets.filterbank import Filter, FilterBank
from subband.wavelets.laurent import Laurent

__all__ = ["LiftingScheme", "Step", "StepKind", "pack_filters"]

StepKind = Literal["predict", "update"]


@dataclass(frozen=True, slots=True)
class Step:
    """One lifting step: add filtered even samples to the odd ones, or the other way round.

    Parameters
    ----------
    kind : {"predict", "update"}
        ``"predict"`` changes the odd samples `d`, ``"update"`` the even samples `s`.
    start : int
        Where the first tap reads, relative to the sample that changes.
    taps : tuple of float
        The weights of consecutive samples of the other kind, all finite.

    Raises
    ------
    ArgumentError
        If there is no such kind, there are no taps, or one is not finite.
    ArgumentTypeError
        If `start` is not an integer or a tap not a number.

    Examples
    --------
    >>> from subband import Step
    >>> Step("predict", 0, (-0.5, -0.5)).is_symmetric
    True
    """

    kind: StepKind
    start: int
    taps: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.kind not in ("predict", "update"):
            raise ArgumentError(f"kind={self.kind!r} of a lifting step is neither 'predict' nor 'update'")
        given: object = self.taps
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ArgumentTypeError(f"taps={given!r} of a lifting step is no sequence of numbers; use (-0.5, -0.5)")
        taps = tuple(_read_number("tap", tap) for tap in given)
        if not taps:
            raise ArgumentError("taps=() of a lifting step is empty; leave the step out")
        object.__setattr__(self, "start", _read_position("start", self.start))
        object.__setattr__(self, "taps", taps)

    @property
    def is_symmetric(self) -> bool:
        """Whether the step reads equally from both sides of the sample that it changes.

        The odd sample ``d[n]`` lies between ``s[n]`` and ``s[n + 1]``, the even sample ``s[n]`` between
        ``d[n - 1]`` and ``d[n]``; a step that keeps to this is safe with whole-sample symmetric boundaries.
        """
        middle = 1 if self.kind == "predict" else -1
        return self.taps == self.taps[::-1] and 2 * self.start + len(self.taps) - 1 == middle


@dataclass(frozen=True, slots=True)
class LiftingScheme:
    """A two-band transform as a list of lifting steps.

    Parameters
    ----------
    steps : tuple of Step
        In the order of the forward transform.
    scale_lo, scale_hi : float
        What the even and odd samples are multiplied by after the steps.
    shift_lo, shift_hi : int
        How far into the even and odd samples the first coefficient of each band lies.

    Raises
    ------
    ArgumentError
        If a scale is zero or not finite.
    ArgumentTypeError
        If there is something else than steps, or a scale or shift is not a number.

    Notes
    -----
    The inverse undoes the scales, then runs the steps backwards with subtraction for addition, so it needs no
    data of its own. The scheme is hashable and its hash is computed once.

    References
    ----------
    I. Daubechies and W. Sweldens, "Factoring wavelet transforms into lifting steps", J. Fourier Anal. Appl.
    4, 1998, https://doi.org/10.1007/BF02476026

    Examples
    --------
    The reversible 5/3 of JPEG 2000, without its scales:

    >>> from subband import LiftingScheme, Step
    >>> scheme = LiftingScheme((Step("predict", 0, (-0.5, -0.5)), Step("update", -1, (0.25, 0.25))))
    >>> scheme.is_symmetric, scheme.tap_count
    (True, 4)
    >>> lowpass, highpass = scheme.analysis_filters()
    >>> lowpass
    {-1: -0.125, 0: 0.25, 1: 0.75, 2: 0.25, 3: -0.125}
    >>> highpass
    {-1: -0.5, 0: 1.0, 1: -0.5}
    """

    steps: tuple[Step, ...]
    scale_lo: float = 1.0
    scale_hi: float = 1.0
    shift_lo: int = 0
    shift_hi: int = 0
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        if not isinstance(self.steps, Iterable):
            raise ArgumentTypeError(f"steps={self.steps!r} is not a sequence of steps; use (Step(...), ...)")
        object.__setattr__(self, "steps", tuple(self.steps))
        for step in self.steps:
            if not isinstance(step, Step):
                raise ArgumentTypeError(f"steps holds {step!r}, which is not a Step; use Step(kind, start, taps)")
        for name in ("scale_lo", "scale_hi"):
            value = _read_number(name, getattr(self, name))
            if value == 0.0:
                raise ArgumentError(f"{name}=0 would erase a band; a scale must not be zero")
            object.__setattr__(self, name, value)
        for name in ("shift_lo", "shift_hi"):
            object.__setattr__(self, name, _read_position(name, getattr(self, name)))
        key = (self.steps, self.scale_lo, self.scale_hi, self.shift_lo, self.shift_hi)
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[LiftingScheme], tuple[object, ...]]:
        return LiftingScheme, (self.steps, self.scale_lo, self.scale_hi, self.shift_lo, self.shift_hi)

    @property
    def is_symmetric(self) -> bool:
        """Whether every step reads equally from both sides."""
        return all(step.is_symmetric for step in self.steps)

    @property
    def tap_count(self) -> int:
        """The multiplications for one pair of samples, the two scales not counted."""
        return sum(len(step.taps) for step in self.steps)

    def analysis_filters(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return the low-pass and high-pass filter that the scheme amounts to.

        Returns
        -------
        lowpass, highpass : dict
            From `k` to the weight of ``x[2n + 1 - k]`` in the coefficient `n`, in ascending order of `k`,
            which may be negative.

        Notes
        -----
        Zeros that cancel exactly are left out; those that rounding misses are not.
        """
        lo_s, lo_d, hi_s, hi_d = self._multiply_steps()
        return (
            _interleave(lo_s, lo_d, shift=self.shift_lo, scale=self.scale_lo),
            _interleave(hi_s, hi_d, shift=self.shift_hi, scale=self.scale_hi),
        )

    def synthesis_filters(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return what one coefficient of each band becomes in the signal.

        Returns
        -------
        lowpass, highpass : dict
            From `m` to the weight of the coefficient `n` in ``x[2n + m]``, in ascending order of `m`.

        Examples
        --------
        >>> from subband import LiftingScheme, Step
        >>> LiftingScheme((Step("predict", 0, (-1.0,)),)).synthesis_filters()
        ({0: 1.0, 1: 1.0}, {1: 1.0})
        """
        # The determinant of the steps is one, so the inverse is the adjugate: exchange the diagonal, negate
        # the rest.
        lo_s, lo_d, hi_s, hi_d = self._multiply_steps()
        low = _respond(hi_d, laurent.scale(hi_s, -1.0), shift=self.shift_lo, scale=1.0 / self.scale_lo)
        high = _respond(laurent.scale(lo_d, -1.0), lo_s, shift=self.shift_hi, scale=1.0 / self.scale_hi)
        return low, high

    def with_shifts(self, shift_lo: int, shift_hi: int) -> LiftingScheme:
        """Return the same steps and scales with other shifts."""
        return replace(self, shift_lo=shift_lo, shift_hi=shift_hi)

    def _multiply_steps(self) -> tuple[Laurent[float], Laurent[float], Laurent[float], Laurent[float]]:
        """Multiply the steps out to a matrix of polynomials: low from s and d, high from s and d."""
        lo_s, lo_d, hi_s, hi_d = laurent.ONE, laurent.ZERO, laurent.ZERO, laurent.ONE
        for step in self.steps:
            factor = Laurent(step.start, step.taps)
            if step.kind == "predict":
                hi_s = laurent.add(hi_s, laurent.multiply(factor, lo_s))
                hi_d = laurent.add(hi_d, laurent.multiply(factor, lo_d))
            else:
                lo_s = laurent.add(lo_s, laurent.multiply(factor, hi_s))
                lo_d = laurent.add(lo_d, laurent.multiply(factor, hi_d))
        return lo_s, lo_d, hi_s, hi_d


def _read_number(name: str, value: object) -> float:
    """Return a finite float."""
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever has no float is refused here
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(f"{name}={value!r} of a lifting scheme is not a number; use a float") from None
    if not isfinite(number):
        raise ArgumentError(f"{name}={number} of a lifting scheme is not finite; use a finite number")
    return number


def _read_position(name: str, value: object) -> int:
    """Return a sample position, an integer."""
    try:
        return index(value)  # type: ignore[arg-type]  # whatever is no integer is refused here
    except TypeError:
        raise ArgumentTypeError(f"{name}={value!r} of a lifting scheme is not an integer; use one such as 0") from None


def _interleave(from_s: Laurent[float], from_d: Laurent[float], shift: int, scale: float) -> dict[int, float]:
    """Write two polyphase components as one filter on ``x[2n + 1 - k]``."""
    taps = {1 - 2 * (power + shift): scale * tap for power, tap in from_s.items()}
    taps |= {-2 * (power + shift): scale * tap for power, tap in from_d.items()}
    return {k: taps[k] for k in sorted(taps) if taps[k] != 0.0}


def _respond(to_s: Laurent[float], to_d: Laurent[float], shift: int, scale: float) -> dict[int, float]:
    """Write the response of the even and odd samples as one response of ``x[2n + m]``."""
    taps = {2 * (shift - power): scale * tap for power, tap in to_s.items()}
    taps |= {2 * (shift - power) + 1: scale * tap for power, tap in to_d.items()}
    return {m: taps[m] for m in sorted(taps) if taps[m] != 0.0}


def pack_filters(scheme: LiftingScheme) -> tuple[LiftingScheme, FilterBank]:
    """Lay the filters of a scheme out as PyWavelets does, in the shortest even length that holds all four.

    Parameters
    ----------
    scheme : LiftingScheme
        Its shifts are ignored.

    Returns
    -------
    scheme : LiftingScheme
        The same steps with the shifts that fit the filters.
    bank : FilterBank
        The four filters.

    Examples
    --------
    >>> scheme, bank = pack_filters(LiftingScheme((Step("predict", 0, (-1.0,)), Step("update", 0, (0.5,)))))
    >>> bank.dec_lo, bank.dec_hi
    ((0.5, 0.5), (1.0, -1.0))
    """
    unshifted = scheme.with_shifts(0, 0)
    analysis = unshifted.analysis_filters()
    synthesis = unshifted.synthesis_filters()
    # With shift t, a tap k of analysis moves to k - 2t and a response m to m + 2t + length - 2: the first
    # must not fall below zero nor the second above length - 1, and the largest such t keeps them shortest.
    shifts = [min(*dec, 1 - max(rec)) // 2 for dec, rec in zip(analysis, synthesis, strict=True)]
    length = 2
    for dec, rec, shift in zip(analysis, synthesis, shifts, strict=True):
        length = max(length, max(dec) - 2 * shift + 1, 2 - min(rec) - 2 * shift)
    length += length % 2
    packed = scheme.with_shifts(*shifts)
    dec_lo, dec_hi = (
        _fill(((k - 2 * shift, tap) for k, tap in taps.items()), length)
        for taps, shift in zip(analysis, shifts, strict=True)
    )
    rec_lo, rec_hi = (
        _fill(((m + 2 * shift + length - 2, tap) for m, tap in taps.items()), length)
        for taps, shift in zip(synthesis, shifts, strict=True)
    )
    return packed, FilterBank(dec_lo, dec_hi, rec_lo, rec_hi)


def _fill(taps: Iterable[tuple[int, float]], length: int) -> Filter:
    """Put taps at their positions in a filter of zeros."""
    filled = [0.0] * length
    for position, tap in taps:
        filled[position] = tap
    return tuple(filled)
