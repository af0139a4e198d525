"""Energies of all bands of a frame, and what the filter takes for noise in each: what the equaliser is drawn over."""

from __future__ import annotations

import numpy as np

from subband.arrays import to_host
from subband.enhance import Denoise, Shrink
from subband.enhance.noise import combine_gains
from subband.enhance.per_band import DETAILS
from subband.pipeline.units import scale_enhancer
from subband.studio.chains import make_enhancer
from subband.studio.controls import Settings
from subband.studio.histogram import analyse_frame, find_noise_level, take_brightness
from subband.typing import Array

__all__ = ["measure_energies"]

#: Rows and columns of the middle of an image that is measured: a video goes on meanwhile.
_SIDE = 768


def measure_energies(settings: Settings, pixels: Array, scale: float = 1.0) -> dict[str, dict[str, float]]:
    """Return how strong each band of a frame is, of its brightness if it has colours.

    Parameters
    ----------
    settings : mapping
        Of the tool that enhances.
    pixels : ndarray
        Before the filter.
    scale : float
        What white is, over 255.

    Returns
    -------
    dict
        For bands such as ``dd1``: ``energy``, the root mean square of the coefficients, and ``threshold``, what a
        weight of 1 makes of them noise: the given threshold, or the standard deviation that a method sees; left out
        where the filter has none.

    Examples
    --------
    >>> from subband.studio.settings import resolve_settings
    >>> frame = np.random.default_rng(0).normal(100, 10, (64, 64)).astype(np.float32)
    >>> bands = measure_energies(resolve_settings({"filter": "soft", "threshold": 30, "level": 2}).settings, frame)
    >>> sorted(bands), round(bands["dd1"]["energy"]), bands["dd1"]["threshold"]
    (['ad1', 'ad2', 'da1', 'da2', 'dd1', 'dd2'], 10, 30.0)
    """
    rows, columns = pixels.shape[:2]
    top, left = max(0, (rows - _SIDE) // 2), max(0, (columns - _SIDE) // 2)
    engine, coefficients = analyse_frame(settings, np.ascontiguousarray(pixels[top : top + _SIDE, left : left + _SIDE]))
    enhancer = scale_enhancer(make_enhancer({**settings, "thresholds": ""}), scale)
    stage = enhancer.stages[0] if enhancer.stages else None
    brightness = take_brightness(coefficients)
    noise = find_noise_level(enhancer, brightness, engine) * stage.strength if isinstance(stage, Denoise) else None
    given = stage.spread(1)[0] if isinstance(stage, Shrink) and stage.threshold else None
    found: dict[str, dict[str, float]] = {}
    for level, bands in enumerate(brightness.details, 1):
        for column, key in enumerate(DETAILS):
            # complex bands of one direction stand side by side
            parts = [to_host(band).ravel() for name, band in bands.items() if name.startswith(key)]
            if not parts or not parts[0].size:
                continue
            own = found[f"{key}{level}"] = {"energy": float(np.sqrt(np.mean(np.square(np.concatenate(parts)))))}
            if noise is not None:
                own["threshold"] = noise * combine_gains(coefficients.wavelets, level, key)
            elif given is not None:
                own["threshold"] = float(given[level - 1, column, 0])
    return found
