"""Reversible integer wavelets: lifting steps that round, and so can be undone exactly.

A step adds to one half of the samples a rounded sum of the other half; the inverse subtracts the very same
number. Only addition, multiplication by small integers and an arithmetic shift are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["INTEGER_SCHEMES", "IntegerScheme", "IntegerStep"]


@dataclass(frozen=True)
class IntegerStep:
    """``target[n] += (sum_j taps[j] * source[n + start + j] + offset) >> shift``.

    A ``predict`` step has the odd samples as target and the even ones as source; an ``update`` step the reverse.
    """

    kind: Literal["predict", "update"]
    start: int
    taps: tuple[int, ...]
    offset: int
    shift: int


@dataclass(frozen=True)
class IntegerScheme:
    """The steps, how samples and coefficients go on outside their range, and how far values can grow.

    `growth` bounds the largest coefficient by ``growth * max|x| + 1`` for each axis of a level, in both directions.
    Samples are shifted up by `shift` bits before the steps, and rounded back after those of the inverse. If
    `repeats_sources`, each step repeats the outermost of its own sources, as VC-2 does: no extension of the samples
    amounts to that. The modes then say the same of the samples that the first step reads, and lengths are even.
    """

    steps: tuple[IntegerStep, ...]
    forward_mode: str
    inverse_mode: str
    growth: int
    shift: int = 0
    repeats_sources: bool = False


#: The wavelets that have a reversible form, by name.
INTEGER_SCHEMES = {
    # the reversible 5/3 of JPEG 2000 (ISO/IEC 15444-1, annex F)
    "cdf53": IntegerScheme(
        (IntegerStep("predict", 0, (-1, -1), 1, 1), IntegerStep("update", -1, (1, 1), 2, 2)), "whole", "whole", 3
    ),
    # the S-transform: a difference and a rounded mean; an odd last sample stays as it is
    "haar": IntegerScheme(
        (IntegerStep("predict", 0, (-1,), 0, 0), IntegerStep("update", 0, (1,), 0, 1)), "constant", "zero", 3
    ),
}
INTEGER_SCHEMES["db1"] = INTEGER_SCHEMES["haar"]
