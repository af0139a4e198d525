"""Coefficients of whole images: shrunk by given thresholds, or by the method of a `Denoise` stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from subband.engines import Engine
from subband.engines.filters import Filters
from subband.enhance.methods import Band, find_method
from subband.enhance.roundtrip import Coefficients, Roundtrip
from subband.enhance.stages import Denoise, Shrink, weigh_levels
from subband.errors import ShapeError
from subband.typing import Array, Bands

__all__ = [
    "ROUNDS",
    "Refine",
    "denoise_guess",
    "denoise_planes",
    "filter_by_guide",
    "make_shrinker",
    "measure_planes",
    "shrink_by_noise",
]

#: From planes and a first guess, the planes with weaker noise, and how many times as weak it is.
Refine = Callable[[Any, Any], tuple[Any, float]]

#: Changes coefficients in place; told whether these are the first of several positions of the image.
Work = Callable[[Coefficients, bool], None]

#: How often noise is refined and filtered again: each guess is better than the last, and the fourth no more.
ROUNDS = 3

#: The bands of a level in the order of given thresholds.
_DETAILS = ("ad", "da", "dd")


def make_shrinker(stage: Shrink, planes: int, dimensions: int, filters: Filters) -> Work:
    """Return what shrinks coefficients by given thresholds.

    Parameters
    ----------
    stage : Shrink
        Thresholds and gains.
    planes : int
        How many.
    dimensions : int
        How many axes are transformed.
    filters : Filters
        The engine that computes.
    """
    low, high, gain = stage.spread(planes)
    if dimensions != 2 and any((numbers != numbers[:, :1]).any() for numbers in (low, high, gain)):
        raise ShapeError(
            f"thresholds or gains differ between the bands ad, da and dd, and {dimensions} axes are transformed; "
            "give one for each level, or levels × 1 × channels"
        )
    # a level that stays as it is need not be read and written
    changes = ((low > 0) | (gain != 1)).any(axis=(1, 2))

    def work(coefficients: Coefficients, _is_first: bool) -> None:
        for level, bands in enumerate(coefficients.details):
            if changes[level] and bands:
                columns = [_DETAILS.index(key) if dimensions == 2 else 0 for key in bands]
                own = [numbers[level, columns] for numbers in (low, high, gain)]
                shrunk = filters.shrink_bands([*bands.values()], own[0], stage.mode, own[1], own[2])
                bands.update(zip(list(bands), shrunk, strict=True))

    return work


def measure_planes(filters: Filters, coefficients: Coefficients, mask: Array | None = None) -> Any:
    """Return the standard deviation of noise of each plane, from the finest diagonal band.

    Parameters
    ----------
    filters : Filters
        The engine that computes.
    coefficients : Coefficients
        Of a transform of at least one level.
    mask : ndarray of bool, optional
        Which samples of the planes count, of the shape of space.
    """
    key = "d" * len(coefficients.wavelets)
    band = coefficients.details[0][key]
    counted = None if mask is None else _choose_coefficients(mask, coefficients, band.shape[1:])
    return filters.measure_noise(band, coefficients.measure_gain(1, key), counted)


def denoise_planes(
    stage: Denoise,
    planes: Any,
    noise: Any,
    engine: Engine,
    filters: Filters,
    mask: Array | None = None,
    refine: Refine | None = None,
) -> Any:
    """Return planes without noise.

    Parameters
    ----------
    stage : Denoise
        What is to be done.
    planes : array
        Their number × space.
    noise : numbers or None
        Standard deviation in each plane; measured if None.
    engine, filters
        The engine that computes.
    mask : ndarray of bool, optional
        Which samples count when noise is measured.
    refine : callable, optional
        For noise that becomes weaker when it is seen from a first guess.
    """
    guess, noise = denoise_guess(stage, planes, noise, engine, filters, mask)
    # nothing was transformed where no noise was found
    if not find_method(stage.method).is_guide or noise is None:
        return guess
    if refine is None:
        return filter_by_guide(stage, planes, guess, noise, 1.0, engine, filters)
    for left in reversed(range(ROUNDS)):
        refined, weaker = refine(planes, guess)
        each = replace(stage, filters=()) if left else stage
        guess = filter_by_guide(each, refined, guess, noise, weaker, engine, filters)
    return guess


def denoise_guess(
    stage: Denoise, planes: Any, noise: Any, engine: Engine, filters: Filters, mask: Array | None = None
) -> tuple[Any, Any]:
    """Return planes after the first pass of a method, which is its last unless it is a guide; and their noise.

    Parameters are those of `denoise_planes`. The noise is None if there is no level to transform.
    """
    # with a second pass to come, filters of space wait for that
    is_guide = find_method(stage.method).is_guide
    roundtrip = Roundtrip(replace(stage, filters=()) if is_guide else stage, planes.shape, engine, filters)
    found = [] if noise is None else [noise]

    def work(coefficients: Coefficients, _is_first: bool) -> None:
        if not found:
            found.append(measure_planes(filters, coefficients, mask))
        shrink_by_noise(stage, filters, coefficients, found[0], prod(planes.shape[1:]))

    guess = roundtrip.run(planes, work)
    return guess, found[0] if roundtrip.level else None


def shrink_by_noise(stage: Denoise, filters: Filters, coefficients: Coefficients, noise: Any, count: int) -> None:
    """Shrink all details by what noise there is.

    Parameters
    ----------
    stage : Denoise
        The method.
    filters : Filters
        The engine that computes.
    coefficients : Coefficients
        Changed in place.
    noise : numbers
        Standard deviation in each plane.
    count : int
        Samples of a plane.
    """
    method = find_method(stage.method)
    weights = weigh_levels(stage, len(coefficients.details)) * stage.strength
    shift, scale = (coefficients.shift, 2) if coefficients.is_decimated else (0, 1)
    for level, bands in enumerate(coefficients.details, 1):
        # from fine to coarse, because parents must not have been shrunk
        parents: Bands = coefficients.details[level] if level < len(coefficients.details) else {}
        if weights[level - 1] == 0:
            continue
        for key, band in bands.items():
            if 0 in band.shape:
                continue
            gain, parent_gain = (
                coefficients.measure_gain(number, key) * weights[level - 1] for number in (level, level + 1)
            )
            parent = parents.get(key) if method.takes_parent else None
            if parent is not None and 0 in parent.shape:
                parent = None
            dimensions = len(coefficients.wavelets)
            step = 1 if coefficients.is_decimated else 2**level
            bands[key] = method.shrink(
                filters, Band(band, noise, gain, stage.mode, count, dimensions, step, parent, parent_gain, shift, scale)
            )


def filter_by_guide(
    stage: Denoise, planes: Any, guess: Any, noise: Any, weaker: float, engine: Engine, filters: Filters
) -> Any:
    """Denoise planes once more, with what was found first as a guide to how strong each coefficient should be.

    Haar's short filters keep what leaks from an edge beside it, and without decimation every position of the image
    counts.
    """
    second = Roundtrip(replace(stage, wavelet="haar", form="undecimated", boundary=None), planes.shape, engine, filters)
    coefficients, guide = second.forward(planes), second.without_filters().forward(guess)
    weights = weigh_levels(stage, second.level) * (stage.strength / weaker)
    for level, (bands, guides) in enumerate(zip(coefficients.details, guide.details, strict=True), 1):
        for key, band in bands.items():
            gain = coefficients.measure_gain(level, key) * weights[level - 1]
            bands[key] = filters.shrink_wiener(band, guides.pop(key), noise, gain)
    second.apply_filters(coefficients)
    return second.inverse(coefficients, planes.shape)


def _choose_coefficients(mask: Array, coefficients: Coefficients, shape: tuple[int, ...]) -> Array | None:
    """Return which coefficients of the finest level touch only samples that count; None if none does."""
    reach = max(wavelet.dec_len for wavelet in coefficients.wavelets)
    step = 2 if coefficients.is_decimated else 1
    for axis, length in enumerate(shape):
        if mask.shape[axis] == length == 1:
            continue
        # a coefficient counts if every sample within the reach of its filter, however it is placed, does
        begin = coefficients.begin[axis] if coefficients.begin else 0
        first = step * np.arange(length) - begin - reach
        last = mask.shape[axis] - 1
        # what lies outside is a mirror image
        indices = np.abs(first[:, np.newaxis] + np.arange(2 * reach + 1)) % max(2 * last, 1)
        indices = np.minimum(indices, 2 * last - indices) if last else np.zeros_like(indices)
        mask = np.moveaxis(np.moveaxis(mask, axis, 0)[indices].all(axis=1), 0, axis)
    return np.ascontiguousarray(mask, np.uint8) if mask.any() else None
