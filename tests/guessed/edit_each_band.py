"""Change the bands of a decomposition one after another, and put it together again."""

import numpy as np
from skimage.data import camera

import subband

image = camera().astype("float32") / 255
pyramid = subband.decompose(image, "db3", level=4)
print(pyramid)
assert len(pyramid) == 5

sharper = pyramid.copy()
for level, gain in [(1, 1.5), (2, 1.3)]:
    for band in ("ad", "da", "dd"):
        sharper[level, band] *= gain
result = sharper.reconstruct()
assert result.shape == image.shape
assert result.std() > image.std()

difference = sharper - pyramid
assert np.allclose(difference.approximation, 0)
energies = [float(np.sum(band**2)) for detail in pyramid.details for band in detail.values()]
assert len(energies) == 12
