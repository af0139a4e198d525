"""Units of thresholds and noise: settings in 8-bit grey levels, scaled to images of any bit depth.

Thresholds and standard deviations are numbers in the units of an image, and 20 means much to one of 8 bits and nothing
to one of 16. Descriptions that are to serve both count as an image of 8 bits does, from 0 for black to 255 for white;
`scale_enhancer` makes of such a description the one for an image with another white.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np

from subband.enhance.enhancer import Enhancer
from subband.enhance.models import Correlated, Gaussian, LogSpeckle, NoiseModel, PoissonGaussian, Speckle, Stripes
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Stage
from subband.media.base import SourceInfo

__all__ = [
    "WHITE",
    "choose_scale",
    "fit_to_ycbcr",
    "pick_plane",
    "scale_enhancer",
    "scale_model",
    "treats_planes_apart",
]

#: What white is in a description that serves every depth.
WHITE = 255.0


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
    """Return the enhancer that does to an image times `scale` what this one does to the image.

    Examples
    --------
    >>> from subband import Enhancer
    >>> from subband.enhance import Shrink
    >>> from subband.pipeline import scale_enhancer
    >>> scale_enhancer(Enhancer(Shrink(threshold=4.0), sigma=20.0), 257.0)  # doctest: +ELLIPSIS
    Enhancer(stages=(Shrink(..., threshold=1028.0, ...), noise=Gaussian(sigma=None), sigma=5140.0, ...)
    """
    if scale == 1:
        return enhancer
    sigma: Any = enhancer.sigma
    # that of a logarithm, or of counts, has no unit
    if sigma is not None and (enhancer.model.is_additive or isinstance(enhancer.model, LogSpeckle)):
        sigma = _scale(sigma, scale)
    stages = tuple(_scale_stage(stage, scale) for stage in enhancer.stages)
    return replace(enhancer, stages=stages, sigma=sigma, noise=scale_model(enhancer.model, scale))


def scale_model(model: NoiseModel, scale: float) -> NoiseModel:
    """Return the model of the noise of an image times `scale`.

    Examples
    --------
    >>> scale_model(PoissonGaussian(gain=2.0, sigma=3.0), 257.0)
    PoissonGaussian(gain=514.0, offset=0.0, sigma=771.0)
    """
    if isinstance(model, Gaussian):
        return model if model.sigma is None else Gaussian(model.sigma * scale)
    if isinstance(model, Correlated):
        return model if model.bands is None else Correlated(_scale(model.bands, scale))
    if isinstance(model, Stripes):
        return replace(model, sigma=model.sigma * scale)
    if isinstance(model, PoissonGaussian):
        return PoissonGaussian(model.gain * scale, model.offset * scale, model.sigma * scale)
    if isinstance(model, LogSpeckle):
        return replace(model, white=model.white * scale)
    if isinstance(model, Speckle) and model.floor is not None:
        return replace(model, floor=model.floor * scale)
    return model


def fit_to_ycbcr(enhancer: Enhancer) -> Enhancer:
    """Return the enhancer for frames that are Y'CbCr already: no change of colours, and sigma counts in their planes.

    Examples
    --------
    >>> fit_to_ycbcr(Enhancer(sigma=20.0)).colour
    'rgb'
    """
    return replace(enhancer, colour="rgb")


def pick_plane(enhancer: Enhancer, channel: int | slice, steps: tuple[int, int] = (1, 1)) -> Enhancer:
    """Return the enhancer for one plane of Y'CbCr, or for some, of the size that they have in the file.

    Parameters
    ----------
    enhancer : Enhancer
        For all three, at full size.
    channel : int or slice
        0 for Y', 1 for Cb, 2 for Cr.
    steps : tuple of int
        Rows and columns of pixels that share a sample of the plane.

    Examples
    --------
    A blur is half as wide in a plane of half the size, and levels are one fewer:

    >>> pick_plane(Enhancer([Denoise(level=3), Blur(2.0)], sigma=(9.0, 5.0, 5.0)), 1, (2, 2)).sigma
    5.0
    >>> pick_plane(Enhancer([Denoise(level=3), Blur(2.0)]), 1, (2, 2)).stages[1].sigma
    1.0
    """
    sigma: Any = enhancer.sigma
    if np.ndim(sigma):
        sigma = np.broadcast_to(np.asarray(sigma, float), 3)[channel].tolist()
    stages = tuple(_fit_to_steps(stage, steps) for stage in enhancer.stages)
    return replace(enhancer, stages=stages, colour="rgb", sigma=sigma)


def treats_planes_apart(enhancer: Enhancer, info: SourceInfo) -> bool:
    """Tell whether planes of Y'CbCr are treated at the size that each has in the file.

    Noise has to be: repeated samples of chroma have none between them, and so measure far too low. Gains, and filters
    inside transforms, belong to levels of full size.

    Examples
    --------
    >>> info = SourceInfo("film", (48, 64, 3), np.dtype("uint8"), "ycbcr", chroma_steps=(2, 2))
    >>> treats_planes_apart(Enhancer(Denoise()), info), treats_planes_apart(Enhancer(Shrink(gains=1.2)), info)
    (True, False)
    """
    if info.colours != "ycbcr" or info.chroma_steps == (1, 1):
        return False
    if not enhancer.temporal and not any(isinstance(stage, Denoise) for stage in enhancer.stages):
        return False
    return not any(isinstance(stage, Shrink) or getattr(stage, "filters", ()) for stage in enhancer.stages)


def _fit_to_steps(stage: Stage, steps: tuple[int, int]) -> Stage:
    """Return the stage that does to a plane of fewer samples what this one does to one of full size."""
    area = steps[0] * steps[1]
    if area == 1:
        return stage
    if isinstance(stage, Blur):
        return replace(stage, sigma=stage.sigma / area**0.5)
    if isinstance(stage, Sharpen):
        return replace(stage, amount=stage.amount / area)
    if stage.level is None:
        return stage
    return replace(stage, level=max(stage.level - ceil(log2(max(steps))), min(stage.level, 1)))


def _scale_stage(stage: Stage, scale: float) -> Stage:
    if not isinstance(stage, Shrink):
        return stage
    upper = None if stage.upper is None else _scale(stage.upper, scale)
    return replace(stage, threshold=_scale(stage.threshold, scale), upper=upper)


def _scale(numbers: Any, scale: float) -> Any:
    """Multiply a number, or all numbers of nested sequences."""
    scaled = np.asarray(numbers, np.float64) * scale
    return float(scaled) if scaled.ndim == 0 else scaled.tolist()
