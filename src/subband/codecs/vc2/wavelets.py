"""The seven wavelets of VC-2 as lifting schemes in whole numbers, and the quantisation matrices that follow from them.

A step that the standard subtracts is written as one that adds: ``-((s + r) >> b) == (-s - r + 2**b - 1) >> b``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import floor, log2

from subband.errors import ArgumentError, CodecError, suggest_names
from subband.plan import AxisPlan, lifted_axis_plan
from subband.wavelets import LiftingScheme, Step, Wavelet
from subband.wavelets.reversible import IntegerScheme, IntegerStep

__all__ = ["WAVELETS", "LiftedWavelet", "check_wavelet", "default_matrix", "find_wavelet"]


@dataclass(frozen=True)
class LiftedWavelet:
    """A wavelet of the standard.

    Attributes
    ----------
    name : str
        By which it is chosen.
    steps : tuple of IntegerStep
        Of the forward transform. Beyond the ends, even samples go on as the outermost even one, odd ones likewise.
    shift : int
        Bits by which samples are shifted up before a level, and rounded down again after its inverse.
    gains : pair of float
        The squared norms of what a low and a high coefficient become. Those of the fidelity wavelet are what the
        standard's matrices are made with.
    """

    name: str
    steps: tuple[IntegerStep, ...]
    shift: int
    gains: tuple[float, float]

    def plan_axis(self, length: int, *, is_row: bool) -> AxisPlan:
        """Return the plan of a level along an axis, as engines run it; samples are shifted up along the rows only.

        Examples
        --------
        >>> plan = WAVELETS[0].plan_axis(16, is_row=True)
        >>> plan.wavelet.name, plan.integer.shift, plan.low
        ('dd97', 1, 8)
        """
        scheme = IntegerScheme(self.steps, "parity", "parity", _GROWTH, self.shift if is_row else 0, True)
        return lifted_axis_plan(_make_wavelet(self), scheme, length)


# Coefficients are no larger than samples times this, whatever the wavelet.
_GROWTH = 4

_PREDICT_FOUR = IntegerStep("predict", -1, (1, -9, -9, 1), 7, 4)
_UPDATE_TWO = IntegerStep("update", -1, (1, 1), 2, 2)
_HAAR = (IntegerStep("predict", 0, (-1,), 0, 0), IntegerStep("update", 0, (1,), 1, 1))

#: By their number in a stream.
WAVELETS = (
    LiftedWavelet("dd97", (_PREDICT_FOUR, _UPDATE_TWO), 1, (1.640625, 0.673340)),
    LiftedWavelet("legall53", (IntegerStep("predict", 0, (-1, -1), 0, 1), _UPDATE_TWO), 1, (1.5, 0.71875)),
    LiftedWavelet("dd137", (_PREDICT_FOUR, IntegerStep("update", -2, (-1, 9, 9, -1), 16, 5)), 1, (1.640625, 0.654892)),
    LiftedWavelet("haar0", _HAAR, 0, (2.0, 0.5)),
    LiftedWavelet("haar1", _HAAR, 1, (2.0, 0.5)),
    # the second tap of its last step is the standard's: not symmetric, unlike that of other programs
    LiftedWavelet(
        "fidelity",
        (
            IntegerStep("update", -4, (-8, 21, -46, 161, 161, -46, 21, -8), 128, 8),
            IntegerStep("predict", -3, (2, 10, 25, -81, -81, 25, -10, 2), 127, 8),
        ),
        0,
        (0.47, 1.871033),
    ),
    LiftedWavelet(
        "daub97",
        (
            IntegerStep("predict", 0, (-6497, -6497), 2047, 12),
            IntegerStep("update", -1, (-217, -217), 2047, 12),
            IntegerStep("predict", 0, (3616, 3616), 2048, 12),
            IntegerStep("update", -1, (1817, 1817), 2048, 12),
        ),
        1,
        (1.299411, 0.787067),
    ),
)


@lru_cache(maxsize=len(WAVELETS))
def _make_wavelet(lifted: LiftedWavelet) -> Wavelet:
    """Return the wavelet of the same steps without rounding."""
    steps = (Step(each.kind, each.start, tuple(tap / 2**each.shift for tap in each.taps)) for each in lifted.steps)
    return Wavelet.from_lifting(lifted.name, LiftingScheme(tuple(steps)))


def find_wavelet(name: str) -> int:
    """Return the number of a wavelet.

    Examples
    --------
    >>> find_wavelet("legall53")
    1
    >>> find_wavelet("legall")
    Traceback (most recent call last):
        ...
    subband.errors.ArgumentError: wavelet='legall' is none of VC-2; did you mean 'legall53'?; use one of dd97, legall53,
    dd137, haar0, haar1, fidelity, daub97
    """
    names = [wavelet.name for wavelet in WAVELETS]
    if name not in names:
        raise ArgumentError(
            f"wavelet={name!r} is none of VC-2{suggest_names(name, names)}; use one of {', '.join(names)}"
        )
    return names.index(name)


@lru_cache(maxsize=256)
def default_matrix(vertical: int, horizontal: int, depth: int, depth_ho: int) -> tuple[int, ...]:
    """Return how much less than others each band is quantised, so that all contribute the same noise to the image.

    Parameters
    ----------
    vertical, horizontal : int
        The wavelets down the columns and along the rows.
    depth, depth_ho : int
        Levels in both directions, and further ones along the rows only.

    Returns
    -------
    tuple of int
        In quarters of an octave: of the lowest band, then of H, or of HL, LH and HH, of each level from coarse to fine.

    Notes
    -----
    These are the matrices that the standard tabulates: the logarithms of the bands' gains, rounded.

    Examples
    --------
    >>> default_matrix(1, 1, 2, 0)
    (4, 2, 2, 0, 4, 4, 2)
    """
    (low_v, high_v), (low_h, high_h) = WAVELETS[vertical].gains, WAVELETS[horizontal].gains
    scale = 4.0 ** -WAVELETS[horizontal].shift
    gains: list[float] = []
    passed = 1.0  # what the levels that follow do to a low coefficient
    for level in range(depth + depth_ho, 0, -1):
        if level > depth_ho:
            gains = [scale * gain * passed for gain in (low_v * high_h, high_v * low_h, high_v * high_h)] + gains
            passed *= scale * low_v * low_h
        else:
            gains = [scale * high_h * passed, *gains]
            passed *= scale * low_h
    logarithms = [2 * log2(gain) for gain in (passed, *gains)]
    return tuple(floor(each - min(logarithms) + 0.5) for each in logarithms)


def check_wavelet(number: int) -> int:
    """Return the number of a wavelet in a stream, if there is one."""
    if not 0 <= number < len(WAVELETS):
        raise CodecError(f"wavelet {number} is none of VC-2; they are numbered from 0 to {len(WAVELETS) - 1}")
    return number
