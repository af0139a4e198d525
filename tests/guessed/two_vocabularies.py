"""Use the functions of PyWavelets on a pyramid, and the pyramid's own on PyWavelets' lists."""

import numpy as np

import subband

image = np.random.default_rng(0).normal(size=(64, 96)).astype(np.float32)

pyramid = subband.decompose(image, "db2", level=3)
pyramid[1, "dd"] = 0
assert not pyramid[1, "dd"].any()
louder = pyramid * 2
assert np.allclose(subband.waverec2(louder, "db2"), 2 * subband.reconstruct(pyramid), atol=1e-4)

coefficients = subband.wavedec2(image, "db2", level=3)
assert np.allclose(subband.reconstruct(coefficients, "db2"), image, atol=1e-4)

array, slices = subband.coeffs_to_array(pyramid)
assert array.ndim == 2
quiet = subband.threshold(pyramid, 0.5, mode="soft")
assert np.abs(quiet[2, "ad"]).max() < np.abs(pyramid[2, "ad"]).max()
