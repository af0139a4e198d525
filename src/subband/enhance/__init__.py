"""Image enhancement in the wavelet domain: denoising, shrinkage, blurring, sharpening."""

from __future__ import annotations

from subband.enhance.blind import NoiseReport, find_noise
from subband.enhance.denoising import Denoised, denoise, denoise_with_report
from subband.enhance.enhancer import Enhancer
from subband.enhance.fixed import FixedPoint
from subband.enhance.models import (
    Auto,
    Correlated,
    Gaussian,
    LogSpeckle,
    NoiseModel,
    PoissonGaussian,
    SaltAndPepper,
    Speckle,
    Stripes,
)
from subband.enhance.noise import estimate_noise, estimate_sigma, measure_gains
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink

__all__ = [
    "Auto",
    "Blur",
    "Correlated",
    "Denoise",
    "Denoised",
    "Enhancer",
    "FixedPoint",
    "Gaussian",
    "LogSpeckle",
    "NoiseModel",
    "NoiseReport",
    "PoissonGaussian",
    "SaltAndPepper",
    "Sharpen",
    "Shrink",
    "Speckle",
    "Stripes",
    "denoise",
    "denoise_with_report",
    "estimate_noise",
    "estimate_sigma",
    "find_noise",
    "measure_gains",
]
