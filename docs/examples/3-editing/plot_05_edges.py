"""
Edges in spite of noise
=======================

An edge shows through all scales at the same height, and noise does not. So edges are maxima of the gradient
that are there at several scales.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.edit import find_edges

clean = subband.data.camera()[40:296, 110:366]
noisy = np.clip(clean + np.random.default_rng(0).normal(0, 20, clean.shape), 0, 255).astype(np.uint8)

figure, axes = plt.subplots(2, 2, figsize=(7, 7.2), layout="constrained")
for row, name, image in zip(axes, ("clean", "noisy"), (clean, noisy), strict=True):
    edges = find_edges(image)
    row[0].imshow(image, cmap="gray", vmin=0, vmax=255)
    row[0].set_title(name)
    row[1].imshow(edges.mask, cmap="gray_r")
    row[1].set_title(f"edges: {edges.mask.mean():.1%} of the pixels")
for panel in axes.flat:
    panel.axis("off")
plt.show()
