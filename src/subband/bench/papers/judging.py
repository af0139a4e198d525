"""Filtering judged by the reference engine, band by band: what a chapter times has to be right first."""

from __future__ import annotations

from typing import Any

import numpy as np

from subband.engines.filters import find_filters
from subband.engines.measuring.harness import Harness, open_harness
from subband.engines.measuring.judging import HALF_TOLERANCE, TOLERANCE, compare_bands, find_largest
from subband.enhance.roundtrip import Coefficients, Roundtrip
from subband.enhance.shrinking import make_shrinker
from subband.enhance.stages import Shrink
from subband.typing import Array

__all__ = ["check_filtering", "copy_bands"]


def check_filtering(bench: Harness, stage: Shrink, planes: Any) -> None:
    """Compare the bands of planes, the bands after thresholds, and the planes made of them, with the reference engine.

    Parameters
    ----------
    bench : Harness
        Of the engine.
    stage : Shrink
        What is done.
    planes : array
        Planes × rows × columns where the engine computes, of float16 or float32.

    Raises
    ------
    WrongResultError
        If one of them differs by more than what the dtype of the planes explains.
    """
    host = bench.to_host(planes)
    samples = np.asarray(host, np.float64)
    # others go before, so that a result of theirs would show
    _filter(bench, stage, bench.upload(np.ascontiguousarray(1 - host[:, ::-1, ::-1])))
    found = _filter(bench, stage, planes)
    expected = _filter(open_harness("reference"), stage, samples)
    # both directions store the results of each level
    tolerance = 2 * HALF_TOLERANCE * stage.level if planes.dtype.itemsize == 2 else TOLERANCE
    what = f"{bench.engine.name}, {'×'.join(map(str, planes.shape))}"
    compare_bands(found, expected, what, tolerance * find_largest(expected))


def _filter(bench: Harness, stage: Shrink, planes: Any) -> dict[str, Array]:
    """Return everything that comes about while planes are filtered."""
    filters = find_filters(bench.engine)
    roundtrip = Roundtrip(stage, planes.shape, bench.engine, filters)
    coefficients = roundtrip.forward(planes)
    found = copy_bands(bench, coefficients)
    make_shrinker(stage, planes.shape[0], 2, filters)(coefficients)
    found |= {f"{name} after its threshold": band for name, band in copy_bands(bench, coefficients).items()}
    back = roundtrip.inverse(coefficients, planes.shape)
    return found | {"of the filtered frame": np.array(bench.to_host(back), np.float64)}


def copy_bands(bench: Harness, coefficients: Coefficients) -> dict[str, Array]:
    """Return all bands by key and level; copies, because thresholds may change bands where they are."""
    level = len(coefficients.details)
    bands = {f"aa{level}": np.array(bench.to_host(coefficients.approximation), np.float64)}
    for number, details in enumerate(coefficients.details, start=1):
        bands |= {f"{key}{number}": np.array(bench.to_host(band), np.float64) for key, band in details.items()}
    return bands
