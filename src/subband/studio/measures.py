"""Measurements of what is shown: the histogram of an image, its noise, single pixels, and what was removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subband.enhance import NoiseReport, find_noise
from subband.errors import SubbandError
from subband.studio.levels import Window, find_percentiles
from subband.typing import Array

__all__ = ["measure_image", "measure_pixel", "show_difference"]

_BINS = 128
#: Numbers that are counted, at most, and rows and columns in which noise is measured: a video goes on meanwhile.
_MOST_COUNTED = 2**16
_SIDE = 384
#: Percent of what was removed that lies between black and white.
_SHOWN = 99.5


def measure_image(pair: tuple[Array, Array], window: Window) -> dict[str, Any]:
    """Return what the page draws beside an image.

    Parameters
    ----------
    pair : tuple of ndarray
        The frame and the result.
    window : Window
        Through which they are shown.

    Returns
    -------
    dict
        ``edges`` and ``counts`` of a histogram of the frame, and ``after``, those of the result; ``range`` and
        ``auto``, all numbers and all but a few; ``low`` and ``high`` of the window; the standard deviation ``noise``
        that the frame seems to have, its kind and how sure that is as ``noise_kind``, and all that in words as
        ``noise_report``; None where nothing can be said.

    Examples
    --------
    >>> frame = np.random.default_rng(0).normal(1000, 20, (256, 256)).astype(np.float32)
    >>> found = measure_image((frame, frame), Window(900.0, 1100.0))
    >>> found["low"], round(found["noise"])
    (900.0, 20)
    """
    before, after = (_thin(each) for each in pair)
    least, most = float(before.min()), float(before.max())
    if before.dtype == np.uint8:
        least, most = 0.0, 255.0
    most = most if most > least else least + 1
    counts, edges = np.histogram(before, _BINS, (least, most))
    found = _find_noise(pair[0])
    low, high = find_percentiles(before)
    return {
        "edges": [float(f"{edge:.6g}") for edge in edges],
        "counts": counts.tolist(),
        "after": np.histogram(after, _BINS, (least, most))[0].tolist(),
        "range": [least, most],
        "auto": [low, high if high > low else low + 1],
        "low": window.low,
        "high": window.high,
        "noise": None if found is None else found.sigma,
        "noise_kind": None if found is None else f"{found.kind}, {min(99, int(100 * found.confidence))} %",
        "noise_report": None if found is None else str(found),
    }


def measure_pixel(pair: tuple[Array, Array], row: int, column: int) -> dict[str, Any] | None:
    """Return the numbers of a pixel before and after the filter; None outside the image.

    Examples
    --------
    >>> frame = np.arange(12, dtype=np.uint16).reshape(3, 4)
    >>> measure_pixel((frame, frame + 1), 2, 1)
    {'row': 2, 'column': 1, 'before': [9], 'after': [10]}
    """
    before, after = pair
    if not (0 <= row < before.shape[0] and 0 <= column < before.shape[1]):
        return None
    values = [np.atleast_1d(each[row, column]).tolist() for each in (before, after)]
    return {"row": row, "column": column, "before": values[0], "after": values[1]}


def show_difference(before: Array, after: Array) -> tuple[Array, Mapping[str, float]]:
    """Return what was removed in shades around mid-grey, and its mean, its deviation and how far the shades reach.

    Examples
    --------
    >>> shades, found = show_difference(np.array([[10, 20, 30]], np.uint8), np.array([[12, 20, 28]], np.uint8))
    >>> shades, found["reach"]
    (array([[  0, 128, 255]], dtype=uint8), 2.0)
    """
    difference = before.astype(np.float32) - after
    reach = float(np.percentile(np.abs(_thin(difference)), _SHOWN)) or 1.0
    shades = np.clip(np.rint(difference * (127.5 / reach) + 127.5), 0, 255).astype(np.uint8)
    return shades, {"mean": float(difference.mean()), "deviation": float(difference.std()), "reach": reach}


def _thin(pixels: Array) -> Array:
    """Return every so many rows and columns of a large image."""
    step = max(1, round((pixels.size / _MOST_COUNTED) ** 0.5))
    return pixels[::step, ::step]


def _find_noise(pixels: Array) -> NoiseReport | None:
    """Return what is found about noise in the middle of an image; all channels together."""
    rows, columns = pixels.shape[:2]
    top, left = max(0, (rows - _SIDE) // 2), max(0, (columns - _SIDE) // 2)
    try:
        return find_noise(pixels[top : top + _SIDE, left : left + _SIDE], axes=(0, 1))
    except SubbandError:
        return None
