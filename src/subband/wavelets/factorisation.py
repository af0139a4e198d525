"""Factorisation of a filter bank into lifting steps: Euclid's algorithm on the polyphase matrix.

With even samples `s` and odd samples `d` the analysis is a matrix of four Laurent polynomials::

    [lo]   [lo_s  lo_d] [s]
    [hi] = [hi_s  hi_d] [d]

Dividing one polynomial of a row by the other takes a lifting step off the right of the matrix. When one of
the two has vanished, the determinant, which perfect reconstruction makes a single term, leaves one more
step for the other row. Division of Laurent polynomials is not unique, as the terms can be cancelled at
either end; so the search follows the most promising paths, from both rows, and judges the schemes that
arrive by the rounding errors they make. Floats are enough to find a path; its steps are then computed with
forty decimals and fitted to the filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from math import log
from typing import NamedTuple

from subband.errors import ArgumentError
from subband.wavelets import laurent
from subband.wavelets.filterbank import FilterBank
from subband.wavelets.laurent import Laurent
from subband.wavelets.lifting import LiftingScheme, Step, StepKind
from subband.wavelets.polish import polish
from subband.wavelets.rounding import measure_amplification, measure_filter_error, measure_inverse_error

__all__ = ["MAX_AMPLIFICATION", "MAX_FILTER_ERROR", "MAX_LENGTH", "factorise_bank"]

MAX_FILTER_ERROR = 1e-9
"""How far the filters rebuilt from a scheme may be from the bank, relative to its largest tap."""

MAX_AMPLIFICATION = 8.0
"""How many units of float32 rounding a scheme may be off; see `measure_amplification`."""

MAX_LENGTH = 40
"""The longest filters for which lifting is tried; beyond, Euclid's algorithm runs out of digits."""

_BEAM = 16
_FINALISTS = 6
_NEGLIGIBLE = 1e-13
_NOISE = 1e-9
_DIGITS = 40


class _Matrix(NamedTuple):
    """The polyphase matrix, or the same with its rows and columns exchanged."""

    lo_s: Laurent[float]
    lo_d: Laurent[float]
    hi_s: Laurent[float]
    hi_d: Laurent[float]

    def exchange(self) -> _Matrix:
        """Exchange low-pass and high-pass rows, and even and odd columns."""
        return _Matrix(self.hi_d, self.hi_s, self.lo_d, self.lo_s)


class _Division(NamedTuple):
    """One division of the search: which polynomial is divided, and where the remainder is."""

    kind: StepKind
    upper: int
    leftover: int | None
    low: int
    length: int


class _Path(NamedTuple):
    """A partial factorisation: the low-pass row so far, and the divisions that led there."""

    effort: float
    from_s: Laurent[float]
    from_d: Laurent[float]
    divisions: tuple[_Division, ...]


def _split_bank(bank: FilterBank) -> _Matrix:
    """Write the analysis filters, which read ``x[2n + 1 - k]``, as polyphase components."""
    parts = []
    for taps in (bank.dec_lo, bank.dec_hi):
        low = 1 - len(taps) // 2
        parts += [laurent.trim(Laurent(low, taps[first::2][::-1]), 0.0) for first in (1, 0)]
    return _Matrix(*parts)


def _keep_term(
    dividend: Laurent[laurent.Number], divisor: Laurent[laurent.Number], index: int
) -> tuple[Laurent[laurent.Number], Laurent[laurent.Number]]:
    """Divide by a single term, but leave one term of the dividend, so that `s` remains and not `d`."""
    kept = dividend.taps[index]
    taps = [tap / divisor.taps[0] for tap in dividend.taps]
    taps[index] = 0 * kept
    quotient = laurent.trim(Laurent(dividend.low - divisor.low, tuple(taps)), 0 * kept)
    return quotient, Laurent(dividend.low + index, (kept,))


def _choose_divisions(
    dividend: Laurent[float], divisor: Laurent[float], kind: StepKind, symmetric: bool
) -> Iterator[tuple[int, int | None]]:
    """Yield the divisions to try: how many terms to cancel at the upper end, or which one to leave."""
    count = len(dividend.taps) - len(divisor.taps) + 1
    if kind == "predict" and len(divisor.taps) == 1:
        if count > 1 and not symmetric:
            largest = sorted(range(count), key=lambda index: -abs(dividend.taps[index]))
            yield from ((0, index) for index in largest[:2])
    elif len(divisor.taps) == 1:
        yield 0, None
    elif symmetric:
        if count % 2 == 0:
            yield count // 2, None
    else:
        halves = range(count + 1) if count <= 3 else (0, count // 2, (count + 1) // 2, count)
        yield from ((upper, None) for upper in dict.fromkeys(halves))


def _extend(path: _Path, tolerance: float, symmetric: bool) -> Iterator[_Path]:
    """Yield the partial factorisations with one more lifting step taken off."""
    kinds: tuple[StepKind, StepKind] = ("update", "predict")
    for kind in kinds:
        dividend, divisor = (path.from_s, path.from_d) if kind == "predict" else (path.from_d, path.from_s)
        if len(dividend.taps) < len(divisor.taps):
            continue
        for upper, leftover in _choose_divisions(dividend, divisor, kind, symmetric):
            if leftover is None:
                quotient, rest = laurent.divide(dividend, divisor, upper)
            else:
                quotient, rest = _keep_term(dividend, divisor, leftover)
            rest = laurent.trim(rest, tolerance)
            if not rest.taps and len(divisor.taps) > 1:
                continue
            # Large taps magnify rounding errors, so they are what the search tries to avoid.
            effort = path.effort + log(1.0 + sum(abs(tap) for tap in quotient.taps))
            division = _Division(kind, upper, leftover, rest.low, len(rest.taps))
            from_s, from_d = (rest, divisor) if kind == "predict" else (divisor, rest)
            yield _Path(effort, from_s, from_d, (*path.divisions, division))


def _search(matrix: _Matrix, symmetric: bool) -> list[_Path]:
    """Beam search: extend the cheapest factorisations until the low-pass row has one term, in `s`."""
    if not matrix.lo_s.taps:
        return []
    tolerance = _NEGLIGIBLE * max(abs(tap) for part in matrix[:2] for tap in part.taps)
    paths = [_Path(0.0, matrix.lo_s, matrix.lo_d, ())]
    finished: list[_Path] = []
    while paths:
        finished += [path for path in paths if not path.from_d.taps and len(path.from_s.taps) == 1]
        paths = [longer for path in paths if path.from_d.taps for longer in _extend(path, tolerance, symmetric)]
        paths.sort(key=lambda path: path.effort)
        del paths[_BEAM:]
    finished.sort(key=lambda path: path.effort)
    return finished[:_FINALISTS]


def _to_decimal(polynomial: Laurent[float]) -> Laurent[Decimal]:
    """Convert coefficients exactly."""
    return Laurent(polynomial.low, tuple(Decimal(tap) for tap in polynomial.taps))


def _to_step(kind: StepKind, quotient: Laurent[Decimal]) -> Step:
    """Round a quotient to a step."""
    return Step(kind, quotient.low, tuple(float(tap) for tap in quotient.taps))


def _retrace(matrix: _Matrix, path: _Path) -> LiftingScheme | None:
    """Repeat the divisions with many digits, on both rows, and add the step that the high-pass row needs."""
    lo_s, lo_d, hi_s, hi_d = (_to_decimal(part) for part in matrix)
    steps = []
    for kind, upper, leftover, low, length in path.divisions:
        dividend, divisor = (lo_s, lo_d) if kind == "predict" else (lo_d, lo_s)
        if leftover is None:
            quotient, rest = laurent.divide(dividend, divisor, upper)
        else:
            quotient, rest = _keep_term(dividend, divisor, leftover)
        # What the search took for zero is zero here too, whatever the digits say.
        rest = Laurent(low, rest.taps[low - rest.low :][:length] if length else ())
        opposite = Laurent(quotient.low, tuple(-tap for tap in quotient.taps))
        if kind == "predict":
            lo_s, hi_s = rest, laurent.add(hi_s, laurent.multiply(opposite, hi_d))
        else:
            lo_d, hi_d = rest, laurent.add(hi_d, laurent.multiply(opposite, hi_s))
        steps.append(_to_step(kind, quotient))
    power, pivot = max(hi_d.items(), key=lambda item: abs(item[1]), default=(0, Decimal(0)))
    if not pivot:
        return None
    last = laurent.trim(laurent.scale(hi_s, 1 / pivot), Decimal("1e-16"))
    if last.taps:
        steps.append(_to_step("predict", Laurent(last.low - power, last.taps)))
    return LiftingScheme(
        tuple(steps), scale_lo=float(lo_s.taps[0]), scale_hi=float(pivot), shift_lo=lo_s.low, shift_hi=power
    )


def _exchange_roles(scheme: LiftingScheme) -> LiftingScheme:
    """Turn the scheme of an exchanged matrix into that of the matrix itself."""
    other: dict[StepKind, StepKind] = {"predict": "update", "update": "predict"}
    return LiftingScheme(
        tuple(Step(other[step.kind], step.start, step.taps) for step in scheme.steps),
        scale_lo=scheme.scale_hi,
        scale_hi=scheme.scale_lo,
        shift_lo=scheme.shift_hi,
        shift_hi=scheme.shift_lo,
    )


def _list_schemes(matrix: _Matrix, symmetric: bool) -> Iterator[LiftingScheme]:
    """Go through the schemes that Euclid's algorithm finds from either row."""
    paths = [(path, matrix, False) for path in _search(matrix, symmetric)]
    exchanged = matrix.exchange()
    paths += [(path, exchanged, True) for path in _search(exchanged, symmetric)]
    paths.sort(key=lambda item: item[0].effort)
    with localcontext() as context:
        context.prec = _DIGITS
        for path, origin, is_exchanged in paths[:_FINALISTS]:
            scheme = _retrace(origin, path)
            if scheme is not None:
                yield _exchange_roles(scheme) if is_exchanged else scheme


def _measure_defect(matrix: _Matrix) -> float:
    """Return by how much a bank misses perfect reconstruction: the determinant has one term in theory."""
    product = laurent.multiply(matrix.lo_d, laurent.scale(matrix.hi_s, -1.0))
    determinant = laurent.add(laurent.multiply(matrix.lo_s, matrix.hi_d), product)
    sizes = sorted((abs(tap) for tap in determinant.taps), reverse=True)
    if not sizes or sizes[0] == 0.0:
        return float("inf")
    return sum(sizes[1:]) / sizes[0]


def _trim_last_step(scheme: LiftingScheme, tolerance: float) -> LiftingScheme:
    """Cut off the ends of the last step that are small beside its largest tap, or all of it if noise."""
    if not scheme.steps:  # even and odd samples are the coefficients
        return scheme
    *steps, last = scheme.steps
    peak = max(abs(tap) for tap in last.taps)
    if peak < _NOISE:
        return replace(scheme, steps=tuple(steps))
    factor = laurent.trim(Laurent(last.start, last.taps), tolerance * peak)
    return replace(scheme, steps=(*steps, Step(last.kind, factor.low, factor.taps)))


def _symmetrise(scheme: LiftingScheme) -> LiftingScheme:
    """Make mirrored taps equal to the last bit."""
    steps = (
        replace(s, taps=tuple((a + b) / 2 for a, b in zip(s.taps, s.taps[::-1], strict=True))) for s in scheme.steps
    )
    return replace(scheme, steps=tuple(steps))


def _refine(scheme: LiftingScheme, bank: FilterBank, defect: float, symmetric: bool) -> LiftingScheme:
    """Rid a scheme of taps that only describe errors in the filters, and fit the others.

    Rounding errors of the filters gather in the last step, where they can be as large as the one tap that
    counts.
    """
    wanted = min(1e-14 + 10.0 * defect, MAX_FILTER_ERROR)
    tried = set()
    for tolerance in (0.99, 1e-3, 1e-6):
        shorter = _trim_last_step(scheme, tolerance)
        if shorter in tried:
            continue
        tried.add(shorter)
        fitted = polish(shorter, bank)
        if symmetric:
            fitted = _symmetrise(fitted)
        if measure_filter_error(fitted, bank) <= wanted:
            return fitted
    return scheme


def factorise_bank(bank: FilterBank) -> LiftingScheme | None:
    """Return the lifting scheme of a filter bank, or None if it has no accurate one; see `factorise`."""
    if len(bank.dec_lo) > MAX_LENGTH:
        return None
    try:
        return _find_scheme(bank)
    except (ArithmeticError, ArgumentError):
        # taps of very different sizes lead to steps beyond the range of floats, which no scheme can have
        return None


def _find_scheme(bank: FilterBank) -> LiftingScheme | None:
    matrix = _split_bank(bank)
    defect = _measure_defect(matrix)
    if defect > MAX_FILTER_ERROR:
        return None
    for symmetric in (True, False):
        judged = []
        for scheme in _list_schemes(matrix, symmetric):
            error = max(measure_filter_error(scheme, bank), measure_inverse_error(scheme, bank))
            if error <= MAX_FILTER_ERROR:
                amplification = measure_amplification(scheme)
                if amplification <= MAX_AMPLIFICATION:
                    judged.append((amplification, scheme))
        if judged:
            # Among schemes that are about equally accurate the one with the fewest steps runs fastest.
            limit = 1.35 * min(amplification for amplification, _ in judged)
            good = [(len(scheme.steps), error, scheme) for error, scheme in judged if error <= limit]
            best = min(good, key=lambda item: item[:2])[2]
            return _refine(best, bank, defect, symmetric)
    return None
