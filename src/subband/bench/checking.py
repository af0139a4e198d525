"""Verification of the results of cases against the reference engine, before a time counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import subband
from subband.arrays import map_arrays, to_host
from subband.bench.cases import Case
from subband.bench.libraries import load_library
from subband.engines.measuring.harness import Harness
from subband.engines.measuring.judging import (
    DOUBLE_TOLERANCE,
    HALF_TOLERANCE,
    JUDGED_SIZE,
    TOLERANCE,
    compare_bands,
    find_largest,
    flatten_bands,
    use_engine,
)

__all__ = ["check_result", "judge_on_host", "make_check"]

# Where borders are continued otherwise, results differ near them: as far as ten taps reach, over all levels.
_BORDER = 10


def make_check(case: Case, given: Any, samples: Any, bench: Harness) -> Callable[[Any], float]:
    """Return a function that compares a result of a case with the reference, and returns the largest difference.

    Large arrays of the host are judged by PyWavelets, because the CPU engine would judge itself else.
    """
    if bench.is_device or case.size <= JUDGED_SIZE:
        reference, theirs = judge_on_host(case, given), None
    else:
        reference, theirs = None, case.peer.prepare(load_library("PyWavelets"), samples)()
    return lambda result: check_result(case, result, reference, theirs)


def judge_on_host(case: Case, given: Any) -> Any:
    """Return the reference result of a case, in double precision, computed on the host.

    The reference engine computes it, or for large arrays the CPU engine, whole and not in parts; then the two are
    compared on a smaller array of the same case first.

    Parameters
    ----------
    case : Case
        What was run.
    given : array or bands
        What it was given, wherever that is.

    Raises
    ------
    WrongResultError
        If the CPU engine is wrong itself.
    """
    doubles = map_arrays(given, lambda x: to_host(x).astype(np.float64))
    is_small = case.size <= JUDGED_SIZE
    if not is_small:
        _confirm_judge(case)
    with use_engine("reference" if is_small else "cpu"):
        return case.bind(subband, doubles)()


def _confirm_judge(case: Case) -> None:
    """Compare the CPU engine with the reference engine, on as much of the case as the latter does in a moment."""
    shape = tuple(max(n // 16, 32) if axis in case.transformed else n for axis, n in enumerate(case.shape))
    small = replace(case, shape=shape, level=min(case.level, 2))
    samples = np.random.default_rng(1).random(shape) - 0.5
    with use_engine("reference"):
        given = small.make_input(subband, samples)
        reference = small.bind(subband, given)()
    with use_engine("cpu"):
        result = small.bind(subband, given)()
    check_result(small, result, reference, tolerance=DOUBLE_TOLERANCE)


def check_result(
    case: Case,
    result: Any,
    reference: Any,
    peer: Any = None,
    tolerance: float | None = None,
    *,
    is_inside: bool = False,
) -> float:
    """Compare a result with the reference.

    Parameters
    ----------
    case : Case
        What was run.
    result : array or bands
        What it returned.
    reference : array, bands or None
        What the reference engine returned.
    peer : array or bands
        What PyWavelets returned: the judge of arrays that are too large for the reference engine.
    tolerance : float, optional
        The largest difference to accept, as a fraction of the largest value; what the dtype explains if left out.
    is_inside : bool
        Whether only magnitudes away from the border are compared, because the two continue arrays otherwise.

    Returns
    -------
    float
        The largest difference, as a fraction of the largest value.

    Raises
    ------
    WrongResultError
        If shapes or values differ, or a value is not a number.

    Examples
    --------
    >>> case = Case((2,), "haar", inverse=True)
    >>> check_result(case, np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    0.0
    >>> check_result(case, np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    Traceback (most recent call last):
        ...
    subband.engines.measuring.judging.WrongResultError: 1-D 2 haar periodization 1-level inverse: ...
    """
    if tolerance is None:
        tolerance = HALF_TOLERANCE * case.level if case.dtype == "float16" else TOLERANCE
    found, expected = (
        dict(enumerate(map(to_host, flatten_bands(bands))))
        for bands in (result, peer if reference is None else reference)
    )
    largest = find_largest(expected)
    judge, what = "peer" if reference is None else "reference engine", case.name
    # Signs of details are a convention that differs between the two wavelets.
    is_other = reference is None and case.peer is not case and not case.inverse
    if is_inside or is_other:
        inner = (slice(_BORDER, -_BORDER),) * len(case.shape)
        found, expected = (
            {number: np.abs(band[inner]) for number, band in bands.items()} for bands in (found, expected)
        )
        what = f"{case.name}, away from the border it differs" if is_inside else what
    return compare_bands(found, expected, what, tolerance * largest, judge) / largest
