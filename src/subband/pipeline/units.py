"""Enhancers for pictures of any depth.

Thresholds and standard deviations are numbers in the units of a picture, and 20 means much to one of 8 bits and nothing
to one of 16. Descriptions that are to serve both count as a picture of 8 bits does, from 0 for black to 255 for white;
`scale_enhancer` makes of such a description the one for a picture with another white.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from subband.enhance.colour import TO_YCBCR
from subband.enhance.enhancer import Enhancer
from subband.enhance.models import Gaussian, LogSpeckle, NoiseModel, PoissonGaussian, Speckle
from subband.enhance.stages import Shrink, Stage
from subband.media.base import SourceInfo
from subband.typing import Array

__all__ = ["WHITE", "choose_scale", "fit_to_ycbcr", "scale_enhancer", "scale_model"]

#: What white is in a description that serves every depth.
WHITE = 255.0

# How far Y' and Cb, Cr of film go where not from 0 to 255.
_NARROW = np.array([219.0, 224.0, 224.0]) / 255.0

# What red and blue weigh in Y', by the number of the matrix in ITU-T H.273.
_WEIGHTS = {1: (0.2126, 0.0722), 9: (0.2627, 0.0593), 10: (0.2627, 0.0593)}


def choose_scale(info: SourceInfo) -> float:
    """Return what a description is multiplied by for a source: its white over 255, and 1 for volumes.

    Voxels are measurements, not shades, and have no white.

    Examples
    --------
    >>> choose_scale(SourceInfo("still", (48, 64), np.dtype("uint16")))
    257.0
    >>> choose_scale(SourceInfo("volume", (48, 64), np.dtype("int16")))
    1.0
    """
    return 1.0 if info.kind == "volume" else info.peak / WHITE


def scale_enhancer(enhancer: Enhancer, scale: float) -> Enhancer:
    """Return the enhancer that does to a picture times `scale` what this one does to the picture.

    Examples
    --------
    >>> scale_enhancer(Enhancer(Shrink(threshold=4.0), sigma=20.0), 257.0)  # doctest: +ELLIPSIS
    Enhancer(stages=(Shrink(..., threshold=1028.0, ...), noise=Gaussian(sigma=None), sigma=5140.0, ...)
    """
    if scale == 1:
        return enhancer
    sigma: Any = enhancer.sigma
    # that of a logarithm, or of counts, has no unit
    if sigma is not None and isinstance(enhancer.model, Gaussian | LogSpeckle):
        sigma = _scale(sigma, scale)
    stages = tuple(_scale_stage(stage, scale) for stage in enhancer.stages)
    return replace(enhancer, stages=stages, sigma=sigma, noise=scale_model(enhancer.model, scale))


def scale_model(model: NoiseModel, scale: float) -> NoiseModel:
    """Return the model of the noise of a picture times `scale`.

    Examples
    --------
    >>> scale_model(PoissonGaussian(gain=2.0, sigma=3.0), 257.0)
    PoissonGaussian(gain=514.0, offset=0.0, sigma=771.0)
    """
    if isinstance(model, Gaussian):
        return model if model.sigma is None else Gaussian(model.sigma * scale)
    if isinstance(model, PoissonGaussian):
        return PoissonGaussian(model.gain * scale, model.offset * scale, model.sigma * scale)
    if isinstance(model, LogSpeckle):
        return replace(model, white=model.white * scale)
    if isinstance(model, Speckle) and model.floor is not None:
        return replace(model, floor=model.floor * scale)
    return model


def fit_to_ycbcr(enhancer: Enhancer, info: SourceInfo, matrix: int) -> Enhancer:
    """Return the enhancer for frames that are Y'CbCr already: the same noise, and no change of colours.

    Parameters
    ----------
    enhancer : Enhancer
        Whose standard deviation is that of red, green and blue.
    info : SourceInfo
        Of the film.
    matrix : int
        How its red, green and blue became Y'CbCr; see `subband.media.base.ColourTags`.
    """
    sigma: Any = enhancer.sigma if enhancer.sigma is not None else enhancer.model.stabilised_sigma
    if sigma is not None and info.is_colour:
        rows = _make_matrix(matrix)
        if not info.tags.full_range:
            rows = rows * _NARROW[:, np.newaxis]
        # noise of the channels is independent, so that variances add up
        sigma = tuple(np.sqrt(np.square(rows) @ np.square(np.broadcast_to(np.asarray(sigma, float), 3))).tolist())
    return replace(enhancer, colour="rgb", sigma=sigma)


def _make_matrix(number: int) -> Array:
    if number not in _WEIGHTS:
        return TO_YCBCR
    red, blue = _WEIGHTS[number]
    bright = np.array([red, 1 - red - blue, blue])
    differences = [(unit - bright) / (2 * (1 - weight)) for unit, weight in ((np.eye(3)[2], blue), (np.eye(3)[0], red))]
    return np.stack([bright, *differences])


def _scale_stage(stage: Stage, scale: float) -> Stage:
    if not isinstance(stage, Shrink):
        return stage
    upper = None if stage.upper is None else _scale(stage.upper, scale)
    return replace(stage, threshold=_scale(stage.threshold, scale), upper=upper)


def _scale(numbers: Any, scale: float) -> Any:
    """Multiply a number, or all numbers of nested sequences."""
    scaled = np.asarray(numbers, np.float64) * scale
    return float(scaled) if scaled.ndim == 0 else scaled.tolist()
