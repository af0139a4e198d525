"""Denoise a colour photograph with the words of skimage.restoration and skimage.metrics."""

import numpy as np
from skimage.data import astronaut
from skimage.util import img_as_float, random_noise

import subband

original = img_as_float(astronaut())[:256, :256]
noisy = random_noise(original, var=0.12**2, rng=1)

sigma = subband.estimate_sigma(noisy, channel_axis=-1)
print(f"estimated noise: {np.mean(sigma):.3f}")

result = subband.denoise(noisy, sigma=np.mean(sigma), channel_axis=-1)
assert result.shape == noisy.shape
assert result.dtype == noisy.dtype
before = subband.psnr(original, noisy, data_range=1)
after = subband.psnr(original, result, data_range=1)
print(f"{before:.2f} dB -> {after:.2f} dB")
assert after > before + 4
assert subband.ssim(original, result, channel_axis=-1, data_range=1) > subband.ssim(
    original, noisy, channel_axis=-1, data_range=1
)

grey = subband.denoise(noisy[..., 0], method="BayesShrink", wavelet="db2", mode="soft")
assert grey.shape == noisy.shape[:2]
