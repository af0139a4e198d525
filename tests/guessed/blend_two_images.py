"""Mix two images in the wavelet domain: pyramids are added and scaled as arrays are."""

import numpy as np

import subband

random = np.random.default_rng(0)
left, right = random.normal(size=(2, 48, 48))
a, b = subband.decompose(left, level=3), subband.decompose(right, level=3)

mean = (a + b) / 2
assert np.allclose(mean.reconstruct(), (left + right) / 2, atol=1e-6)
difference = a - b
assert np.allclose(difference.reconstruct(), left - right, atol=1e-6)
assert np.allclose((-a).reconstruct(), -left, atol=1e-6)
a *= 0.5
assert np.allclose(a.reconstruct(), left / 2, atol=1e-6)
