"""Remove the finest diagonal detail of a volume, and leave by PyWavelets' own list."""

import numpy as np

import subband

volume = np.random.default_rng(0).normal(size=(16, 24, 32)).astype(np.float32)
pyramid = subband.decompose(volume, "haar", level=2)
pyramid[1, "ddd"] *= 0.5
pyramid[2, "add"] = np.zeros_like(pyramid[2, "add"])
smooth = pyramid.reconstruct()
assert smooth.shape == volume.shape and smooth.dtype == volume.dtype

coefficients = pyramid.to_pywavelets()
assert np.allclose(subband.waverecn(coefficients, "haar"), smooth, atol=1e-5)
again = subband.Pyramid.from_pywavelets(coefficients, "haar")
assert np.allclose(again.reconstruct(), smooth, atol=1e-5)
