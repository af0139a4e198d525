"""Image enhancement in the wavelet domain: denoising, shrinkage, blurring, sharpening."""

from __future__ import annotations

from subband.enhance.blind import NoiseReport, find_noise
from subband.enhance.denoising import denoise
from subband.enhance.enhancer import Enhancer
from subband.enhance.fixed import FixedPoint
from subband.enhance.models import Gaussian, LogSpeckle, NoiseModel, PoissonGaussian, Speckle
from subband.enhance.noise import estimate_noise, estimate_sigma, measure_gains
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink

__all__ = [
    "Blur",
    "Denoise",
    "Enhancer",
    "FixedPoint",
    "Gaussian",
    "LogSpeckle",
    "NoiseModel",
    "NoiseReport",
    "PoissonGaussian",
    "Sharpen",
    "Shrink",
    "Speckle",
    "denoise",
    "estimate_noise",
    "estimate_sigma",
    "find_noise",
    "measure_gains",
]
