"""
Where the energy of an image is
===============================

Nearly all of it is in the approximation. Among the details, coarse levels hold most: that is why wavelets
compress.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
noise = np.random.default_rng(0).normal(0, 1, (512, 512))
images = {"camera": subband.data.camera(), "ascent": subband.data.ascent(), "white noise": noise}
for panel, (name, image) in zip(axes, images.items(), strict=True):
    subband.plot.energies(subband.decompose(image.astype(np.float32), "cdf97", level=4), panel)
    panel.set_title(name)
plt.show()
