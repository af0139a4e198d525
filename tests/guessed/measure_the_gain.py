"""Add noise to a photograph, remove it, and say by how much it helped."""

import numpy as np

import subband

clean = subband.imread("photo.png")
assert clean.dtype == np.uint8
noise = np.random.default_rng(0).normal(0, 15, clean.shape)
noisy = np.clip(clean + noise, 0, 255).astype(np.uint8)

sigma = subband.estimate_sigma(noisy)
assert 8 < sigma < 20
result = subband.denoise(noisy, wavelet="cdf97")
assert result.dtype == noisy.dtype
finer = subband.denoise(noisy, out_dtype=np.float32)
assert finer.dtype == np.float32
assert subband.psnr(clean, result) > subband.psnr(clean, noisy)
assert subband.ssim(clean, result) > subband.ssim(clean, noisy)
subband.imwrite("result.png", result)
assert np.array_equal(subband.imread("result.png"), result)
assert "cdf97" in subband.wavelist()
