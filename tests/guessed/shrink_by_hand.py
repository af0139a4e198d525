"""Denoise with a universal threshold, in four lines."""

import numpy as np

import subband

time = np.linspace(0, 1, 1024)
clean = np.sin(8 * np.pi * time) + (time > 0.5)
noisy = clean + np.random.default_rng(1).normal(0, 0.3, time.size)

sigma = subband.estimate_sigma(noisy)
pyramid = subband.decompose(noisy, "sym8", level=5)
result = pyramid.threshold(sigma * np.sqrt(2 * np.log(noisy.size)), mode="soft").reconstruct()
assert np.mean((result - clean) ** 2) < np.mean((noisy - clean) ** 2) / 3
