"""Numbers for the bands of a transform: thresholds and gains of levels, bands and channels, weights of levels."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, TypeAlias

import numpy as np

from subband.errors import ArgumentError, ArgumentTypeError, ShapeError
from subband.typing import Array

__all__ = [
    "DETAILS",
    "LevelWeights",
    "PerBand",
    "as_level_weights",
    "as_per_band",
    "spread",
    "weigh",
    "weigh_band",
    "weigh_levels",
]

#: The bands of a level of two axes, in the order of given thresholds and weights.
DETAILS = ("ad", "da", "dd")

#: A number for all bands, one for each level, for each level and channel, or for each level, band and channel.
PerBand: TypeAlias = float | Sequence[Any] | Array

#: Weights of levels, the finest first: a number for all bands of a level, or one for each of ``ad``, ``da``, ``dd``.
LevelWeights: TypeAlias = tuple[float | tuple[float, ...], ...]


def as_per_band(name: str, value: Any, level: int) -> Any:
    """Return thresholds or gains as a number or tuples of numbers, refusing what does not fit the levels."""
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}={value!r} holds something that is not a number, or ragged lists") from None
    if np.isnan(numbers).any() or (name == "gains" and np.isinf(numbers).any()):
        raise ArgumentError(f"{name}={value!r} is not finite; use numbers such as 1.5")
    sizes = ((1, level), (1, 3), (1, 3))[: numbers.ndim]
    if numbers.ndim > 3 or any(size not in known for size, known in zip(numbers.shape, sizes, strict=True)):
        raise ShapeError(
            f"{name} has shape {numbers.shape}; for {level} levels it is one number, {level} of them, or an array of "
            "levels × channels or levels × 3 bands × channels"
        )
    return _freeze(numbers.tolist())


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def spread(name: str, value: PerBand, level: int, channels: int) -> Array:
    """Return a number for each level, band and channel."""
    numbers = np.asarray(value, np.float64)
    if numbers.ndim == 2:
        numbers = numbers[:, np.newaxis]
    else:
        numbers = numbers.reshape(numbers.shape + (1,) * (3 - numbers.ndim))
    if numbers.shape[2] not in (1, channels):
        raise ShapeError(
            f"{name} is given for {numbers.shape[2]} channels, and a frame has {channels}; give one for each"
        )
    return np.broadcast_to(numbers, (level, 3, channels))


def as_level_weights(given: Any) -> LevelWeights:
    """Return the weights of levels as numbers, or tuples of three for bands, refusing what is neither.

    Examples
    --------
    >>> as_level_weights([1, [0.7, 0.7, 0.4]])
    (1.0, (0.7, 0.7, 0.4))
    """
    try:
        weights = tuple(
            _freeze(np.asarray(weight, np.float64).tolist()) for weight in (given if np.iterable(given) else (given,))
        )
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"level_weights={given!r} are not numbers; use (1, 0.7, 0.4)") from None
    if any(np.shape(weight) not in ((), (len(DETAILS),)) for weight in weights):
        raise ShapeError(
            f"level_weights={given} have something else than a number for each level, or three for its "
            "bands ad, da and dd; use (1, (0.7, 0.7, 0.4))"
        )
    if not weights or not all(0 <= number < inf for weight in weights for number in np.atleast_1d(weight)):
        raise ArgumentError(f"level_weights={given} hold a negative or infinite weight; use 0 or more")
    return weights


def weigh_levels(weights: LevelWeights | None, count: int) -> Array:
    """Return the weight of each of `count` levels, the finest first, and of its directions; the last one goes on.

    Examples
    --------
    >>> weigh_levels((1, 0.5), 4)
    array([1. , 0.5, 0.5, 0.5])
    >>> weigh_levels((1, (1, 1, 0.5)), 2)
    array([[1. , 1. , 1. ],
           [1. , 1. , 0.5]])
    """
    given = weights or (1.0,)
    rows = [given[min(level, len(given) - 1)] for level in range(count)]
    if not any(isinstance(row, tuple) for row in given):
        return np.array(rows)
    return np.array([np.broadcast_to(row, len(DETAILS)) for row in rows]).reshape(count, len(DETAILS))


def weigh_band(weights: Array, key: str, dimensions: int) -> float:
    """Return the weight of a band, from that of its level or from those of its three bands.

    Parameters
    ----------
    weights : ndarray
        One number, or three.
    key : str
        Of the band.
    dimensions : int
        How many axes are transformed; three weights are those of two.

    Examples
    --------
    >>> weights = np.array([0.6, 0.8, 1.0])
    >>> weigh_band(weights, "da", 2), round(weigh_band(weights, "aad", 3), 2)
    (0.8, 0.82)
    """
    if weights.ndim == 0:
        return float(weights)
    return float(weights[DETAILS.index(key[:2])] if dimensions == 2 else np.sqrt(np.mean(np.square(weights))))


def weigh(numbers: Array, weights: Array) -> Array:
    """Multiply thresholds with the weights of levels; no weight is no threshold, however high that is."""
    return np.where(weights == 0, 0.0, numbers * np.where(weights == 0, 1.0, weights))
