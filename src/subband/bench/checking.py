"""What was measured must also be right: results are compared before a time is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from subband.bench.cases import Case
from subband.engines import get_engine, set_engine
from subband.errors import SubbandError
from subband.typing import Array

__all__ = ["TOLERANCE", "WrongResultError", "check_result", "compute_reference", "flatten_bands", "poison_memory"]

# The reference engine takes about 250 ns a sample, so it judges arrays up to this size.
_JUDGED_SIZE = 6 * 2**20

#: Largest difference to accept, as a fraction of the largest value: what float32 loses over some levels, in ours
#: and, as the judge of large arrays, in the peer.
TOLERANCE = 1e-5

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
    if isinstance(result, np.ndarray):
        yield result
    elif isinstance(result, Mapping):
        for key in sorted(result):
            yield from flatten_bands(result[key])
    else:
        for part in result:
            yield from flatten_bands(part)


def compute_reference(case: Case, call: Callable[[], Any]) -> Any:
    """Let the reference engine run what `Case.prepare` returned; None if the array is too large for that."""
    if case.size > _JUDGED_SIZE:
        return None
    with _engine("reference"):
        return call()


def check_result(case: Case, result: Any, reference: Any, peer: Any) -> float:
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
    # Signs of details are a convention that differs between the two wavelets.
    is_approximate = reference is None and case.peer is not case and not case.inverse
    ours, theirs = list(flatten_bands(result)), list(flatten_bands(judge))
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
    if not error <= TOLERANCE:
        raise WrongResultError(
            f"{case.name}: differs from the {'peer' if reference is None else 'reference engine'} by {error:.1e} "
            f"of the largest value, more than {TOLERANCE:g}"
        )
    return error


def poison_memory(call: Callable[[], Any]) -> None:
    """Call a function, fill what it returns with NaN, and let go of it.

    The next call is likely to be given the same memory, so an output that a kernel forgets to write shows up as NaN
    and not as what an earlier, correct call left there.
    """
    for band in flatten_bands(call()):
        band.fill(np.nan)


@contextmanager
def _engine(name: str) -> Iterator[None]:
    """Let another engine compute for a while."""
    before = get_engine().name
    set_engine(name)
    try:
        yield
    finally:
        set_engine(before)
