"""
Integers without loss
=====================

With ``reversible=True`` integers become integers, and come back bit for bit. Their histogram is much narrower
than that of the pixels, so they need fewer bits.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

image = subband.data.camera()
pyramid = subband.decompose(image, "cdf53", level=5, reversible=True)
assert np.array_equal(pyramid.reconstruct(), image)


def measure_entropy(values):
    """Return the bits per sample that an ideal coder would need."""
    counts = np.unique(values, return_counts=True)[1] / values.size
    return -np.sum(counts * np.log2(counts))


coefficients = np.concatenate([band.ravel() for _, _, band in pyramid.bands()])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for panel, name, values in zip(axes, ("pixels", "coefficients"), (image.ravel(), coefficients), strict=True):
    panel.hist(values, bins=np.arange(-100, 256, 2))
    panel.set(title=f"{name}: {measure_entropy(values):.2f} bpp", xlim=(-100, 255), yscale="log")
plt.show()
