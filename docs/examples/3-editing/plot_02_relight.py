"""
Take the light off a texture
============================

Light changes slowly over an image, so it is what the coarsest band alone gives back. The image divided by it
is evenly lit, and can be lit anew.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.edit import decouple, relight

rows, columns = np.mgrid[:512, :512] / 512
lamp = 0.25 + 0.9 * np.exp(-((rows - 0.3) ** 2 + (columns - 0.25) ** 2) / 0.12)
photograph = np.clip(subband.data.aero() * lamp, 0, 255).astype(np.uint8)
decal, light = decouple(photograph, level=6)
evening = (60 + 190 * columns[:1]).astype(np.uint8)
results = {
    "under a lamp": photograph,
    "the light": light,
    "without it": np.clip(decal * 110, 0, 255),
    "lit from the right": relight(photograph, evening, level=6),
}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, (name, image) in zip(axes, results.items(), strict=True):
    panel.imshow(image, cmap="gray", vmin=0, vmax=255)
    panel.set_title(name)
    panel.axis("off")
plt.show()
