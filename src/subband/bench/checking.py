"""What was measured must also be right: results are compared before a time is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import subband
from subband.arrays import is_array, map_arrays, to_host
from subband.bench.cases import Case
from subband.engines import get_engine, set_engine
from subband.errors import SubbandError
from subband.typing import Array

__all__ = [
    "DOUBLE_TOLERANCE",
    "HALF_TOLERANCE",
    "JUDGED_SIZE",
    "TOLERANCE",
    "WrongResultError",
    "check_result",
    "compute_reference",
    "flatten_bands",
    "judge_on_host",
    "poison_memory",
    "use_engine",
]

#: The reference engine takes about 250 ns a sample, so it judges arrays up to this size.
JUDGED_SIZE = 6 * 2**20

#: Largest difference to accept, as a fraction of the largest value: what float32 loses over some levels, in ours
#: and, as the judge of large arrays, in the peer.
TOLERANCE = 1e-5

#: The same for half precision, for each level, because each stores its results.
HALF_TOLERANCE = 1e-3

#: How far two engines of double precision may differ.
DOUBLE_TOLERANCE = 1e-11

# Where the peer's mode is another one, results differ near the border: as far as ten taps reach, over all levels.
_BORDER = 10


class WrongResultError(SubbandError):
    """A measured function returned something else than the judge."""


def flatten_bands(result: Any) -> Iterator[Array]:
    """Yield the arrays of whatever a transform returns, always in the same order.

    Examples
    --------
    >>> a, b, c = (np.zeros(n) for n in (1, 2, 3))
    >>> [band.size for band in flatten_bands([a, {"d": c, "a": b}])]
    [1, 2, 3]
    """
    if is_array(result):
        yield result
    elif isinstance(result, Mapping):
        for key in sorted(result):
            yield from flatten_bands(result[key])
    else:
        for part in result:
            yield from flatten_bands(part)


def compute_reference(case: Case, call: Callable[[], Any]) -> Any:
    """Let the reference engine run what `Case.prepare` returned; None if the array is too large for that."""
    if case.size > JUDGED_SIZE:
        return None
    with use_engine("reference"):
        return call()


def judge_on_host(case: Case, given: Any) -> Any:
    """Return what a case has to result in, in double precision, computed on the host.

    The reference engine computes it, or for large arrays the CPU engine, whole and not in parts; then the two are
    compared on a smaller array of the same case first.

    Parameters
    ----------
    case : Case
        What was run on a device.
    given : array or bands
        What it was given there.

    Raises
    ------
    WrongResultError
        If the CPU engine is wrong itself.
    """
    doubles = map_arrays(given, lambda x: to_host(x).astype(np.float64))
    if case.size <= JUDGED_SIZE:
        with use_engine("reference"):
            return case.bind(subband, doubles)()
    _confirm_judge(case)
    with use_engine("cpu"):
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
    check_result(small, result, reference, None, tolerance=DOUBLE_TOLERANCE)


def check_result(case: Case, result: Any, reference: Any, peer: Any, tolerance: float | None = None) -> float:
    """Compare a result with the judge's.

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
    >>> check_result(case, np.array([1.0, 2.0]), np.array([1.0, 2.0]), None)
    0.0
    >>> check_result(case, np.array([1.0, np.nan]), np.array([1.0, 2.0]), None)
    Traceback (most recent call last):
        ...
    subband.bench.checking.WrongResultError: 1-D 2 haar periodization 1-level inverse: ...
    """
    judge = peer if reference is None else reference
    if tolerance is None:
        tolerance = HALF_TOLERANCE * case.level if case.dtype == "float16" else TOLERANCE
    # Signs of details are a convention that differs between the two wavelets.
    is_approximate = reference is None and case.peer is not case and not case.inverse
    ours, theirs = ([to_host(band) for band in flatten_bands(bands)] for bands in (result, judge))
    if [band.shape for band in ours] != [band.shape for band in theirs]:
        raise WrongResultError(
            f"{case.name}: the bands have the shapes {[band.shape for band in ours]}, "
            f"and the judge's {[band.shape for band in theirs]}"
        )
    if is_approximate:
        inner = (slice(_BORDER, -_BORDER),) * len(case.shape)
        ours, theirs = ([np.abs(band[inner]) for band in bands] for bands in (ours, theirs))
    scale = max(float(np.abs(band).max()) for band in theirs)
    # NumPy's maximum, because that of Python passes over NaN.
    error = float(np.max([np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True)])) / scale
    # Written so that NaN, which is neither smaller nor larger, is refused too.
    if not error <= tolerance:
        raise WrongResultError(
            f"{case.name}: differs from the {'peer' if reference is None else 'reference engine'} by {error:.1e} "
            f"of the largest value, more than {tolerance:g}"
        )
    return error


def poison_memory(call: Callable[[], Any], fill: Callable[[Any], None] | None = None) -> None:
    """Call a function, fill what it returns with NaN, and let go of it.

    The next call is likely to be given the same memory, so an output that a kernel forgets to write shows up as NaN
    and not as what an earlier, correct call left there. Arrays of devices are filled by `fill`.
    """
    for band in flatten_bands(call()):
        if fill is None:
            band.fill(np.nan)
        else:
            fill(band)


@contextmanager
def use_engine(name: str) -> Iterator[None]:
    """Let another engine compute for a while."""
    before = get_engine().name
    set_engine(name)
    try:
        yield
    finally:
        set_engine(before)
