"""Making pictures better in the wavelet domain."""

from __future__ import annotations

from subband.enhance.denoising import denoise
from subband.enhance.noise import estimate_noise, measure_gains

__all__ = ["denoise", "estimate_noise", "measure_gains"]
