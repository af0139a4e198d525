"""
The relief of one image on another
==================================

What makes a surface look bumpy lies in the fine bands of its brightness. Of two coefficients that correspond,
the larger one is kept: the details of both images remain.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.edit import stylise

portrait = subband.data.photograph()[:256, 90:346]
rows, columns = np.mgrid[:256, :256]
weave = 128 + 60 * np.sin(rows / 3) * np.sin(columns / 3) + 40 * (((rows // 19) + (columns // 19)) % 2)
canvas = np.repeat(weave.astype(np.uint8)[..., np.newaxis], 3, axis=-1)
results = {
    "portrait": portrait,
    "texture": canvas,
    "larger coefficient": stylise(portrait, canvas, strength=0.7),
    "fine levels, mixed": stylise(portrait, canvas, rule="mix", strength=0.4, levels=(1, 2)),
}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, (name, image) in zip(axes, results.items(), strict=True):
    panel.imshow(image)
    panel.set_title(name)
    panel.axis("off")
plt.show()
