"""Comparison with the reference engine, band by band: what a chapter times has to be right first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from subband.bench.checking import TOLERANCE, WrongResultError
from subband.bench.workbench import Workbench
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance.methods import make_shrinker
from subband.enhance.passage import Coefficients, Passage
from subband.enhance.stages import Shrink
from subband.plan import TransformPlan

__all__ = ["HALF_TOLERANCE", "check_filtering", "check_transform", "compare_bands"]

#: Largest difference of numbers stored in 16 bits, for each level of each direction, as a part of the largest value.
HALF_TOLERANCE = 1e-3


def compare_bands(
    bench: Workbench, found: Iterator[tuple[str, Any]], wanted: Iterator[tuple[str, Any]], tolerance: float, what: str
) -> float:
    """Compare bands of an engine with those of the reference engine, one by one.

    Parameters
    ----------
    bench : Workbench
        Of the engine that computed `found`.
    found, wanted : iterator of (str, array)
        Names and bands, in the same order.
    tolerance : float
        Largest difference, as a part of the largest value of all bands.
    what : str
        Who made them, for the message.

    Returns
    -------
    float
        The largest difference, as a part of the largest value.

    Raises
    ------
    WrongResultError
        If a band has another shape, differs by more, or holds what is no number.
    """
    pairs = []
    for (name, own), (_, other) in zip(found, wanted, strict=True):
        # copies, because what shrinks bands does so in place
        band, judge = np.array(bench.to_host(own), np.float64), np.array(other, np.float64)
        if band.shape != judge.shape:
            raise WrongResultError(f"{what}: {name} has shape {band.shape}, and the reference engine's {judge.shape}")
        pairs.append((name, band, judge))
    scale = max(float(np.abs(judge).max()) for _, _, judge in pairs) or 1.0
    farthest = 0.0
    for name, band, judge in pairs:
        deviation = float(np.abs(band - judge).max()) / scale
        # written so that NaN, which is neither smaller nor larger, is refused too
        if not deviation <= tolerance:
            raise WrongResultError(
                f"{what}: {name} differs from the reference engine by {deviation:.1e} of the largest value, "
                f"more than {tolerance:g}"
            )
        farthest = max(farthest, deviation)
    return farthest


def check_transform(bench: Workbench, plan: TransformPlan, x: Any, tolerance: float = TOLERANCE) -> float:
    """Compare a transform and its inverse with the reference engine.

    Returns
    -------
    float
        The largest difference, as a part of the largest value.

    Raises
    ------
    WrongResultError
        If a band differs, or what comes back does.
    """
    judge = get_engine("reference")
    samples = np.asarray(bench.to_host(x), np.float64)
    found, wanted = bench.engine.forward_all(plan, x), judge.forward_all(plan, samples)
    name = f"{bench.engine.name}, {'×'.join(map(str, plan.shape))}"
    forward = compare_bands(bench, _name_bands(found), _name_bands(wanted), tolerance, name)
    # the reference engine's own bands would hide what the forward transform lost, and these do not
    back = iter([("what comes back", bench.engine.inverse_all(plan, *found))])
    return max(forward, compare_bands(bench, back, iter([("", samples)]), tolerance, name))


def check_filtering(bench: Workbench, stage: Shrink, planes: Any) -> float:
    """Compare the bands of planes, the bands after thresholds, and the planes made of them, with the reference engine.

    Returns
    -------
    float
        The largest difference, as a part of the largest value.

    Raises
    ------
    WrongResultError
        If one of them differs by more than what the dtype of the planes explains.
    """
    judge = Workbench(get_engine("reference"), None)
    samples = np.asarray(bench.to_host(planes), np.float64)
    tolerance = 2 * HALF_TOLERANCE * stage.level if planes.dtype.itemsize == 2 else TOLERANCE
    own, other = _list_results(bench, stage, planes), _list_results(judge, stage, samples)
    return compare_bands(bench, own, other, tolerance, f"{bench.engine.name}, {'×'.join(map(str, planes.shape))}")


def _list_results(bench: Workbench, stage: Shrink, planes: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything that comes about while planes are filtered, before the next step may change it."""
    filters = find_filters(bench.engine)
    passage = Passage(stage, planes.shape, bench.engine, filters)
    coefficients = passage.forward(planes)
    for name, band in _name_coefficients(coefficients):
        yield name, band
    make_shrinker(stage, planes.shape[0], 2, filters)(coefficients, True)
    for name, band in _name_coefficients(coefficients):
        yield f"{name} after its threshold", band
    yield "the filtered frame", passage.inverse(coefficients, planes.shape)


def _name_coefficients(coefficients: Coefficients) -> Iterator[tuple[str, Any]]:
    yield "the approximation", coefficients.approximation
    for level, bands in enumerate(coefficients.details, start=1):
        for key in sorted(bands):
            yield f"band {key} of level {level}", bands[key]


def _name_bands(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield what `forward_all` returned, which has the coarsest level first."""
    approximation, details = result
    yield "the approximation", approximation
    for place, bands in enumerate(details):
        for key in sorted(bands):
            yield f"band {key} of level {len(details) - place}", bands[key]
