"""
One image from several exposures
================================

A scene may have more contrast than a camera. Fusing a bracket of exposures at every scale keeps what each of
them shows well.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.edit import fuse

scene = (subband.data.photograph()[20:276, 100:356] / 255) ** 2.2
radiance = scene * np.geomspace(0.1, 12, 256)[np.newaxis, :, np.newaxis]
bracket = [(255 * np.clip(radiance * gain, 0, 1) ** (1 / 2.2)).astype(np.uint8) for gain in (0.1, 0.8, 6)]
fused = fuse(bracket, rule="exposure")

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, name, image in zip(axes, ("short", "middle", "long", "fused"), (*bracket, fused), strict=True):
    panel.imshow(image)
    panel.set_title(name)
    panel.axis("off")
plt.show()
