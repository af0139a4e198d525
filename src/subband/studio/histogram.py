"""Histogram of the coefficients of a band, and its threshold."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from subband.arrays import to_host
from subband.engines import Engine, get_engine
from subband.engines.filters import find_filters
from subband.enhance import Denoise, Enhancer, Shrink
from subband.enhance.methods import find_method
from subband.enhance.noise import combine_gains
from subband.enhance.per_band import DETAILS
from subband.enhance.program import prepare_program
from subband.enhance.roundtrip import Coefficients
from subband.enhance.shrinking import list_rules, measure_planes
from subband.errors import ArgumentError
from subband.pipeline.units import scale_enhancer
from subband.studio.chains import make_enhancer, make_view_enhancer
from subband.studio.controls import Settings
from subband.typing import Array

__all__ = ["analyse_frame", "find_noise_level", "measure_histogram", "read_band", "take_brightness"]

_BINS = 64
#: How many standard deviations a histogram goes to either side, if there are coefficients so large.
_REACH = 6.0


def read_band(name: Any) -> tuple[str, int]:
    """Return key and level of a band such as ``dd1``.

    Raises
    ------
    ArgumentError
        If it is none.

    Examples
    --------
    >>> read_band("da2")
    ('da', 2)
    """
    if isinstance(name, str) and name[:2] in DETAILS and name[2:].isdecimal() and 1 <= int(name[2:]) <= 20:
        return name[:2], int(name[2:])
    raise ArgumentError(f"band={str(name)[:20]!r} is no band; use ad, da or dd and the level, such as dd1")


def measure_histogram(settings: Settings, pixels: Array, name: str, scale: float = 1.0) -> dict[str, Any] | None:
    """Return the histogram of a band of a frame, of its brightness if it has colours.

    Parameters
    ----------
    settings : mapping
        Of the tool that enhances.
    pixels : ndarray of uint8
        Before the filter.
    name : str
        Such as ``dd1``.
    scale : float
        What white is, over 255.

    Returns
    -------
    dict or None
        ``band``, ``edges``, ``counts``, and if the filter has them, ``threshold`` and the standard deviation ``sigma``
        of the noise in this band. None if the transform has no such band.
    """
    key, level = read_band(name)
    engine, coefficients = analyse_frame(settings, pixels)
    if level > len(coefficients.details):
        return None
    band = to_host(coefficients.details[level - 1][key][:1])
    if band.size == 0:
        return None
    spread = float(np.std(band)) or 1.0
    reach = min(max(float(np.abs(band).max()), 1e-3), _REACH * spread)
    counts, edges = np.histogram(np.clip(band, -reach, reach), _BINS, (-reach, reach))
    threshold, sigma = _find_threshold(
        scale_enhancer(make_enhancer(settings), scale), coefficients, key, level, pixels, engine
    )
    return {
        "band": name,
        "edges": [round(edge, 4) for edge in edges.tolist()],
        "counts": counts.tolist(),
        "threshold": threshold,
        "sigma": sigma,
    }


def analyse_frame(settings: Settings, pixels: Array) -> tuple[Engine, Coefficients]:
    """Return the coefficients of a frame before the filter, and the engine that has them."""
    # a few milliseconds a few times a second, and no way to a device and back
    engine = get_engine("cpu")
    enhancer = make_view_enhancer({**settings, "view": "analysis"})
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    program = prepare_program(enhancer, pixels.shape[:2], channels, engine)
    coefficients, _, _ = program.analyse(pixels.reshape(*pixels.shape[:2], channels), is_filtered=False)
    return engine, coefficients


def find_noise_level(enhancer: Enhancer, brightness: Coefficients, engine: Engine) -> float:
    """Return the standard deviation of the noise that a filter sees in a frame: a given one, or what is measured."""
    if enhancer.model.stabilised_sigma is not None:
        return float(enhancer.model.stabilised_sigma)
    if enhancer.sigma is not None:
        return float(np.atleast_1d(np.asarray(enhancer.sigma, float))[0])
    return float(to_host(measure_planes(find_filters(engine), brightness))[0])


def take_brightness(coefficients: Coefficients) -> Coefficients:
    """Return the coefficients of the first plane."""
    samples = None if coefficients.samples is None else coefficients.samples[:1]
    details = [{each: band[:1] for each, band in bands.items()} for bands in coefficients.details]
    return replace(coefficients, details=details, samples=samples)


def _find_threshold(
    enhancer: Enhancer, coefficients: Coefficients, key: str, level: int, pixels: Array, engine: Engine
) -> tuple[float | None, float | None]:
    """Return the threshold of a band and the standard deviation of its noise, as far as the filter has them."""
    stage = enhancer.stages[0] if enhancer.stages else None
    if isinstance(stage, Shrink):
        given = float(stage.spread(1)[0][level - 1, DETAILS.index(key), 0])
        return (round(given, 4) if given else None), None
    if not isinstance(stage, Denoise):
        return None, None
    filters, brightness = find_filters(engine), take_brightness(coefficients)
    noise = find_noise_level(enhancer, brightness, engine)
    gain = combine_gains(coefficients.wavelets, level, key)
    rule = list_rules(stage, coefficients.wavelets, level, 0, pixels.shape[0] * pixels.shape[1], is_decimated=True)[-1]
    if rule.find_weight(key) == 0:
        return None, round(noise * gain, 4)
    band = rule.make_band(brightness.details[level - 1][key], None, key, filters.upload(np.array([noise])))
    found = find_method(stage.method).find_threshold(filters, band)
    threshold = inf if found is None else float(to_host(found)[0])
    return (round(threshold, 4) if isfinite(threshold) else None), round(noise * gain, 4)
