"""Least-squares fit of the taps and scales of a lifting scheme to a filter bank.

Euclid's algorithm divides by the ends of filters, which are small and known to few digits, and the errors
gather in the last steps. The other way round all is well: filters depend mildly on the taps of a good
scheme. So a few least-squares iterations recover the digits that the divisions have lost.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from subband.wavelets.filterbank import FilterBank
from subband.wavelets.lifting import LiftingScheme, Step

__all__ = ["polish"]

_Array: TypeAlias = npt.NDArray[np.float64]


def polish(scheme: LiftingScheme, bank: FilterBank, iterations: int = 6) -> LiftingScheme:
    """Return the scheme with the same steps whose taps and scales fit the analysis filters best.

    Parameters
    ----------
    scheme : LiftingScheme
        A scheme close to the bank.
    bank : FilterBank
        The filters to fit.
    iterations : int
        How often at most to solve the linearised problem; each time squares the distance, down to rounding.

    Returns
    -------
    LiftingScheme
        As many steps of the same shape, and the same shifts.

    Examples
    --------
    >>> from subband.wavelets.cdf import cdf_scheme
    >>> from subband.wavelets.lifting import pack_filters
    >>> exact, bank = pack_filters(cdf_scheme("cdf53"))
    >>> rough = LiftingScheme(exact.steps, 1.4, 0.7, exact.shift_lo, exact.shift_hi)
    >>> round(polish(rough, bank).scale_lo, 12) == round(exact.scale_lo, 12)
    True
    """
    reach = _find_reach(scheme) + len(bank.dec_lo) // 2 + max(abs(scheme.shift_lo), abs(scheme.shift_hi))
    target = _arrange_filters(bank, scheme, reach)
    for _ in range(iterations):
        matrix, gradient = _differentiate(scheme, reach)
        touched = np.abs(gradient).max(axis=0) + np.abs(target) > 0.0
        slopes, residual = gradient[:, touched], (target - matrix)[touched]
        # The iteration corrects itself, so the quick normal equations will do.
        try:
            correction = np.linalg.solve(slopes @ slopes.T, slopes @ residual)
        except np.linalg.LinAlgError:
            return scheme
        if not np.isfinite(correction).all():
            return scheme
        scheme = _shift_numbers(scheme, correction.tolist())
        if np.abs(correction).max() < 1e-15:
            break
    return scheme


def _find_reach(scheme: LiftingScheme) -> int:
    """Return the largest power that occurs when steps are multiplied from the first or from the last."""
    reach = 0
    for steps in (scheme.steps, scheme.steps[::-1]):
        # For each kind of step, the powers from lowest to highest in what it changes.
        spans = {"predict": (0, 0), "update": (0, 0)}
        for step in steps:
            low, high = spans["update" if step.kind == "predict" else "predict"]
            changed = spans[step.kind]
            spans[step.kind] = (
                min(changed[0], low + step.start),
                max(changed[1], high + step.start + len(step.taps) - 1),
            )
        reach = max(reach, *(abs(end) for span in spans.values() for end in span))
    return reach


def _arrange_filters(bank: FilterBank, scheme: LiftingScheme, reach: int) -> _Array:
    """Write the bank as a flat matrix of polynomials, with the shifts of the scheme taken out.

    The axes before flattening are row (lo, hi), column (s, d) and power, from ``-reach`` to ``reach``.
    """
    matrix = np.zeros((2, 2, 2 * reach + 1))
    shifts = (scheme.shift_lo, scheme.shift_hi)
    for row, (taps, shift) in enumerate(zip(bank[:2], shifts, strict=True)):
        for k, tap in enumerate(taps):
            # x[2n + 1 - k] is s[n + (1 - k) / 2] for odd k and d[n - k / 2] for even k.
            column, power = (0, (1 - k) // 2) if k % 2 else (1, -k // 2)
            matrix[row, column, reach + power - shift] = tap
    return matrix.ravel()


def _multiply(left: _Array, right: _Array) -> _Array:
    """Multiply two polynomials whose product does not leave the window."""
    reach = left.size // 2
    return np.convolve(left, right)[reach : 3 * reach + 1]


def _write_step(step: Step, reach: int) -> _Array:
    """Write the taps of a step as a polynomial."""
    factor = np.zeros(2 * reach + 1)
    factor[reach + step.start : reach + step.start + len(step.taps)] = step.taps
    return factor


def _differentiate(scheme: LiftingScheme, reach: int) -> tuple[_Array, _Array]:
    """Return the flat matrix of a scheme and its derivative by every tap, then by the two scales.

    A step adds its polynomial times one row of what came before to the other row; so the derivative by a
    tap is a column of all later steps times a row of all earlier ones, shifted to the position of the tap.
    """
    width = 2 * reach + 1
    identity = np.zeros((2, 2, width))
    identity[0, 0, reach] = identity[1, 1, reach] = 1.0
    earlier = [identity]
    for step in scheme.steps:
        source, changed = (0, 1) if step.kind == "predict" else (1, 0)
        product = earlier[-1].copy()
        factor = _write_step(step, reach)
        for column in (0, 1):
            product[changed, column] += _multiply(factor, product[source, column])
        earlier.append(product)
    scales = np.array([scheme.scale_lo, scheme.scale_hi]).reshape(2, 1, 1)
    matrix = scales * earlier[-1]
    gradient = []
    for row in (1, 0):
        by_scale = np.zeros_like(matrix)
        by_scale[row] = earlier[-1][row]
        gradient.append(by_scale.ravel())
    later = scales * identity
    for step, before in zip(reversed(scheme.steps), reversed(earlier[:-1]), strict=True):
        source, changed = (0, 1) if step.kind == "predict" else (1, 0)
        factor = _write_step(step, reach)
        product = np.array(
            [[_multiply(later[row, changed], before[source, column]) for column in (0, 1)] for row in (0, 1)]
        )
        positions = reversed(range(step.start, step.start + len(step.taps)))
        gradient += [np.roll(product, position, axis=-1).ravel() for position in positions]
        later = later.copy()
        for row in (0, 1):
            later[row, source] += _multiply(later[row, changed], factor)
    return matrix.ravel(), np.array(gradient[::-1])


def _shift_numbers(scheme: LiftingScheme, correction: list[float]) -> LiftingScheme:
    """Add corrections to the taps, step by step, and to the two scales."""
    numbers = iter(correction)
    steps = tuple(Step(step.kind, step.start, tuple(tap + next(numbers) for tap in step.taps)) for step in scheme.steps)
    return LiftingScheme(
        steps,
        scheme.scale_lo + next(numbers),
        scheme.scale_hi + next(numbers),
        scheme.shift_lo,
        scheme.shift_hi,
    )
