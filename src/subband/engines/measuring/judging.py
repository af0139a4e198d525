"""Verification of results band by band against the reference engine, before they are timed.

A round trip alone proves little: what only splits even and odd samples comes back, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, TypeAlias

import numpy as np

from subband.arrays import is_array
from subband.engines.base import Engine
from subband.engines.measuring.harness import Harness, find_deviation
from subband.engines.registry import get_engine, set_engine
from subband.errors import SubbandError
from subband.plan import TransformPlan, transform_plan
from subband.typing import Array

__all__ = [
    "DOUBLE_TOLERANCE",
    "HALF_TOLERANCE",
    "JUDGED_SIZE",
    "TOLERANCE",
    "WrongResultError",
    "check_transform",
    "choose_judge",
    "compare_bands",
    "fetch_bands",
    "find_largest",
    "flatten_bands",
    "poison_memory",
    "use_engine",
]

Coefficients: TypeAlias = tuple[Any, list[Any]]

#: The reference engine takes about 250 ns a sample, so it judges arrays up to this size.
JUDGED_SIZE = 6 * 2**20

#: Largest difference to accept, as a fraction of the largest value: what float32 loses over some levels, in ours
#: and, as the judge of large arrays, in a peer.
TOLERANCE = 1e-5

#: The same for half precision, for each level, because each stores its results.
HALF_TOLERANCE = 1e-3

#: How far two engines of double precision may differ.
DOUBLE_TOLERANCE = 1e-11


class WrongResultError(SubbandError):
    """A measured function returned other numbers than the reference."""


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


def find_largest(bands: Mapping[Any, Array]) -> float:
    """Return the largest magnitude of all bands, by which differences are measured."""
    return max(float(np.abs(band).max(initial=0.0)) for band in bands.values())


def compare_bands(
    found: Mapping[Any, Any],
    expected: Mapping[Any, Any],
    what: str,
    limit: float,
    judge: str = "reference engine",
    find_deviation: Callable[[Any, Any], float] = find_deviation,
) -> float:
    """Compare arrays one by one, by name.

    Parameters
    ----------
    found, expected : mapping of str to ndarray
        By the name of each band.
    what : str
        What was computed.
    limit : float
        The largest difference of a number to accept.
    judge : str
        The engine that computed what is expected.
    find_deviation : callable
        Returns the largest difference of two arrays; that of a `Harness` takes arrays of its device.

    Returns
    -------
    float
        The largest difference of all.

    Raises
    ------
    WrongResultError
        If bands, shapes or numbers differ, or a number is none.

    Examples
    --------
    >>> compare_bands({"ad": np.ones(2)}, {"ad": np.zeros(2)}, "haar", 0.1)
    Traceback (most recent call last):
        ...
    subband.engines.measuring.judging.WrongResultError: haar: band ad is 1 away from the reference engine's, ...
    """
    shapes = [{name: np.shape(band) for name, band in bands.items()} for bands in (found, expected)]
    if shapes[0] != shapes[1]:
        raise WrongResultError(f"{what}: the bands have the shapes {shapes[0]}, and the {judge}'s {shapes[1]}")
    largest = 0.0
    for name, band in expected.items():
        deviation = find_deviation(found[name], band)
        # written so that NaN, which is neither smaller nor larger, is refused too
        if not deviation <= limit:
            raise WrongResultError(
                f"{what}: band {name} is {deviation:.3g} away from the {judge}'s, more than {limit:.3g}"
            )
        largest = max(largest, deviation)
    return largest


def check_transform(bench: Harness, plan: TransformPlan, x: Any, what: str) -> Coefficients:
    """Transform samples, compare every band with the reference engine's, and what comes back with the samples.

    Other samples are transformed before and behind, so that neither an old result nor memory that is used twice goes
    unnoticed. Planes of more than six million samples are judged by the CPU engine in double precision and by filters,
    after it has been compared with the reference engine on a smaller plane.

    Parameters
    ----------
    bench : Harness
        Of the engine.
    plan : TransformPlan
        In the mode of the engine.
    x : array
        Samples of ``plan.shape``, where the engine computes.
    what : str
        What is transformed, for the message.

    Returns
    -------
    (array, list of dict)
        The approximation, and the details from coarse to fine.

    Raises
    ------
    WrongResultError
        If a band, or what comes back, is wrong.
    """
    engine = bench.engine
    host = bench.to_host(x)
    other = bench.upload(np.ascontiguousarray(-host[tuple(slice(None, None, -1) for _ in host.shape)]))
    engine.forward_all(plan, other)
    approximation, details = engine.forward_all(plan, x)
    coefficients = engine.forward_all(plan, other)
    largest = float(np.abs(host).max())
    tolerance = HALF_TOLERANCE * max(plan.level, 1) if host.dtype == np.float16 else TOLERANCE
    names = fetch_bands(bench, plan, approximation, details)
    for index, expected in _judge_planes(plan, host):
        limit = tolerance * max(largest, find_largest(expected))
        compare_bands({name: band[index] for name, band in names.items()}, expected, what, limit)
    engine.inverse_all(plan, *coefficients)
    back = engine.inverse_all(plan, approximation, details)
    engine.inverse_all(plan, *coefficients)
    # the way back rounds as often as the way there, from numbers that have grown
    growth = max(1.0, find_largest(names) / (largest or 1.0))
    samples = {"samples": np.asarray(bench.to_host(back), np.float64)}
    compare_bands(samples, {"samples": host.astype(np.float64)}, f"{what}, inverse", 2 * tolerance * largest * growth)
    return approximation, details


def fetch_bands(
    bench: Harness, plan: TransformPlan, approximation: Any, details: Sequence[Mapping[str, Any]]
) -> dict[str, Array]:
    """Bring all bands to the host, by key and level, the finest being 1."""
    fetched = [{key: bench.to_host(band) for key, band in level.items()} for level in details]
    return _name_bands(plan, bench.to_host(approximation), fetched)


def _name_bands(plan: TransformPlan, approximation: Array, details: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Name all bands by key and level, the finest being 1."""
    named = {f"{'a' * len(plan.axes)}{plan.level}": approximation}
    for level, bands in zip(range(plan.level, 0, -1), details, strict=True):
        named |= {f"{key}{level}": band for key, band in bands.items()}
    return named


def _judge_planes(plan: TransformPlan, x: Array) -> Iterator[tuple[Any, dict[str, Array]]]:
    """Yield the reference's bands, plane by plane where the first axis is not transformed, and its index."""
    has_planes = 0 not in plan.axes and len(plan.shape) > len(plan.axes)
    parts = [slice(number, number + 1) for number in range(plan.shape[0])] if has_planes else [slice(None)]
    for part in parts:
        plane = x[part].astype(np.float64)
        own = transform_plan(plane.shape, plan.axes, plan.wavelets, plan.modes, plan.level, plan.reversible)
        judge, own = choose_judge(own)
        yield part, _name_bands(own, *judge.forward_all(own, plane))


def choose_judge(plan: TransformPlan) -> tuple[Engine, TransformPlan]:
    """Return the engine and plan of the reference for a transform, in double precision.

    The reference engine judges, or for large arrays the CPU engine by filters, so that it judges itself by other
    arithmetic; then the two are compared on a smaller array of the same kind first.

    Raises
    ------
    WrongResultError
        If the CPU engine is wrong itself.
    """
    if prod(plan.shape) <= JUDGED_SIZE:
        return get_engine("reference"), plan
    shape = tuple(max(n // 16, 32) if axis in plan.axes else n for axis, n in enumerate(plan.shape))
    small = transform_plan(shape, plan.axes, plan.wavelets, plan.modes, min(plan.level, 3))
    x = np.random.default_rng(1).random(shape) - 0.5
    cpu, reference = get_engine("cpu"), get_engine("reference")
    coefficients = reference.forward_all(small, x)
    found = _name_bands(small, *cpu.forward_all(_by_filters(small), x))
    found["samples"] = np.asarray(cpu.inverse_all(_by_filters(small), *coefficients))
    expected = _name_bands(small, *coefficients)
    expected["samples"] = np.asarray(reference.inverse_all(small, *coefficients))
    compare_bands(found, expected, f"the CPU engine, {prod(shape)} samples", DOUBLE_TOLERANCE)
    return cpu, _by_filters(plan)


def _by_filters(plan: TransformPlan) -> TransformPlan:
    wavelets = tuple(wavelet.without_lifting() for wavelet in plan.wavelets)
    return transform_plan(plan.shape, plan.axes, wavelets, plan.modes, plan.level)


def poison_memory(call: Callable[[], Any], fill: Callable[[Any], None]) -> None:
    """Call a function, fill what it returns with NaN, and let go of it.

    The next call is likely to be given the same memory, so an output that a kernel forgets to write shows up as NaN
    and not as what an earlier, correct call left there.
    """
    for band in flatten_bands(call()):
        fill(band)


@contextmanager
def use_engine(name: str) -> Iterator[None]:
    """Use another engine inside a ``with`` block."""
    before = get_engine().name
    set_engine(name)
    try:
        yield
    finally:
        set_engine(before)
