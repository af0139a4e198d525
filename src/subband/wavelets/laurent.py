"""Laurent polynomials: finite filters with a position, and division with a choice of remainder.

A polynomial is an operator on sequences: the power `p` reads `p` samples ahead. The four polyphase
components of a filter bank are such polynomials, and factoring a bank into lifting steps is Euclid's
algorithm on them. The coefficients are floats, or decimals where floats would lose too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Generic, NamedTuple, TypeVar

__all__ = ["ONE", "ZERO", "Laurent", "Number", "add", "divide", "multiply", "scale", "trim"]

Number = TypeVar("Number", float, Decimal)


class Laurent(NamedTuple, Generic[Number]):
    """A Laurent polynomial: the lowest power and the coefficients from there upwards.

    Examples
    --------
    >>> dict(Laurent(-1, (0.5, 2.0)).items())
    {-1: 0.5, 0: 2.0}
    """

    low: int
    taps: tuple[Number, ...]

    @property
    def high(self) -> int:
        """The highest power, one below `low` for the zero polynomial."""
        return self.low + len(self.taps) - 1

    def items(self) -> Iterator[tuple[int, Number]]:
        """Go through powers and coefficients, upwards."""
        return enumerate(self.taps, start=self.low)


ZERO: Laurent[float] = Laurent(0, ())
ONE: Laurent[float] = Laurent(0, (1.0,))


def scale(polynomial: Laurent[Number], factor: Number) -> Laurent[Number]:
    """Multiply every coefficient by a number.

    Examples
    --------
    >>> scale(Laurent(2, (1.0, 3.0)), -2.0)
    Laurent(low=2, taps=(-2.0, -6.0))
    """
    return Laurent(polynomial.low, tuple(factor * tap for tap in polynomial.taps))


def add(left: Laurent[Number], right: Laurent[Number]) -> Laurent[Number]:
    """Add two polynomials.

    Examples
    --------
    >>> add(Laurent(0, (1.0,)), Laurent(2, (5.0,)))
    Laurent(low=0, taps=(1.0, 0.0, 5.0))
    """
    if not left.taps:
        return right
    if not right.taps:
        return left
    low = min(left.low, right.low)
    taps = [0 * left.taps[0]] * (max(left.high, right.high) - low + 1)
    for summand in (left, right):
        for power, tap in summand.items():
            taps[power - low] += tap
    return Laurent(low, tuple(taps))


def multiply(left: Laurent[Number], right: Laurent[Number]) -> Laurent[Number]:
    """Multiply two polynomials.

    Examples
    --------
    >>> multiply(Laurent(-1, (1.0, 1.0)), Laurent(0, (1.0, -1.0)))
    Laurent(low=-1, taps=(1.0, 0.0, -1.0))
    """
    if not left.taps or not right.taps:
        return Laurent(0, ())
    taps = [0 * left.taps[0]] * (len(left.taps) + len(right.taps) - 1)
    for i, first in enumerate(left.taps):
        for j, second in enumerate(right.taps, start=i):
            taps[j] += first * second
    return Laurent(left.low + right.low, tuple(taps))


def trim(polynomial: Laurent[Number], tolerance: Number) -> Laurent[Number]:
    """Cut off coefficients at both ends that are no larger than `tolerance`.

    Examples
    --------
    >>> trim(Laurent(0, (1e-17, 2.0, 0.0, 1.0, 0.0)), 1e-12)
    Laurent(low=1, taps=(2.0, 0.0, 1.0))
    """
    taps = polynomial.taps
    first, last = 0, len(taps)
    while first < last and abs(taps[first]) <= tolerance:
        first += 1
    while last > first and abs(taps[last - 1]) <= tolerance:
        last -= 1
    return Laurent(polynomial.low + first, taps[first:last]) if first < last else Laurent(0, ())


def divide(dividend: Laurent[Number], divisor: Laurent[Number], upper: int) -> tuple[Laurent[Number], Laurent[Number]]:
    """Divide with the choice of how many terms to cancel at the upper end; the others go at the lower end.

    Parameters
    ----------
    dividend, divisor : Laurent
        The divisor has non-zero coefficients at both ends and is no longer than the dividend.
    upper : int
        How many of the quotient's terms cancel the highest powers of the dividend.

    Raises
    ------
    ZeroDivisionError
        If the divisor has no terms.

    Returns
    -------
    quotient, remainder : Laurent
        ``dividend == quotient * divisor + remainder`` up to rounding; the remainder is one term shorter
        than the divisor.

    Examples
    --------
    >>> quotient, rest = divide(Laurent(-1, (1.0, 5.0, 1.0)), Laurent(-1, (2.0, 2.0)), upper=1)
    >>> quotient, rest
    (Laurent(low=0, taps=(0.5, 0.5)), Laurent(low=0, taps=(3.0,)))
    """
    if not divisor.taps:
        raise ZeroDivisionError("a polynomial is divided by zero")
    rest = list(dividend.taps)
    weights = divisor.taps
    width: int = len(weights)
    count: int = len(rest) - width + 1
    lower: int = count - upper
    quotient = rest[:count]
    for index in (*range(lower), *range(count - 1, lower - 1, -1)):
        end = 0 if index < lower else width - 1
        factor = quotient[index] = rest[index + end] / weights[end]
        for offset in range(width):
            rest[index + offset] -= factor * weights[offset]
    remainder = tuple(rest[lower : lower + width - 1])
    return Laurent(dividend.low - divisor.low, tuple(quotient)), Laurent(dividend.low + lower, remainder)
