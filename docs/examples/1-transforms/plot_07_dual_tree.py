"""
Six directions: the dual-tree complex transform
===============================================

Two trees of filters make complex coefficients. Their magnitudes hardly depend on the position of an edge, and
each of six bands responds to one direction.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

rows, columns = np.mgrid[-1:1:256j, -1:1:256j]
rings = np.cos(40 * np.hypot(rows, columns)) * (np.hypot(rows, columns) < 0.9)
pyramid = subband.dtcwt(rings, level=3)

figure, axes = plt.subplots(2, 3, figsize=(8, 5.6), layout="constrained")
for number, (panel, angle) in enumerate(zip(axes.flat, pyramid.angles, strict=True)):
    panel.imshow(np.abs(pyramid.highpasses[1][..., number]), cmap="magma")
    panel.set_title(f"{angle}°")
    panel.axis("off")
plt.show()

print("largest error:", np.abs(subband.idtcwt(pyramid) - rings).max())
