"""Choose the engine for a single call, and find a room of the package without importing it."""

import numpy as np

import subband

image = np.random.default_rng(0).normal(size=(32, 32))
approximation, (horizontal, vertical, diagonal) = subband.dwt2(image, "haar", engine="reference")
assert np.allclose(subband.idwt2((approximation, (horizontal, vertical, diagonal)), "haar", engine="cpu"), image)

levels = subband.swt2(image, "db1", level=1, engine="cpu")
assert np.allclose(subband.iswt2(levels, "db1", engine="reference"), image)
assert callable(subband.enhance.Denoise)
assert callable(subband.media.read_still)
