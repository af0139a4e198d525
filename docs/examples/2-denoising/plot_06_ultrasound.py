"""
Speckle in an ultrasound scan
=============================

Speckle multiplies the echoes. A noise model makes it additive first, and inverts that without bias. The
phantom knows its true echoes, and how far its cysts stand out.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.enhance import Denoise, Enhancer

phantom = subband.data.ultrasound((256, 256))
scan = phantom.scan(seed=0)
cleaned = Enhancer([Denoise("bivariate", level=4)], noise="log-speckle").apply(scan)

figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, name, image in zip(axes, ("true", "scan", "cleaned"), (phantom.show(), scan, cleaned), strict=True):
    contrast = np.mean([region.measure_contrast(image) for region in phantom.regions]) if name != "true" else np.inf
    panel.imshow(image, cmap="gray", vmin=0, vmax=255)
    panel.set_title(name if name == "true" else f"{name}, contrast {contrast:.1f}")
    panel.axis("off")
plt.show()
