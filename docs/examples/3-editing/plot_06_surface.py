"""
Sculpt a head, band by band
===========================

The control points of a surface are three images: x, y and z. A gain for each band makes a caricature, or
clay.
"""

import matplotlib.pyplot as plt

from subband.edit.surfaces import draw, head, reshape

original = head()
shapes = {
    "as it is": original,
    "caricature": reshape(original, {3: 1.7, 4: 1.5}),
    "clay": reshape(original, {1: 0, 2: 0.1, 3: 0.45}),
    "carved": reshape(original, {1: 1.8, 2: 1.9, 3: 0.6}),
}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.9), layout="constrained")
for panel, (name, surface) in zip(axes, shapes.items(), strict=True):
    panel.imshow(draw(surface, (320, 260)))
    panel.set_title(name)
    panel.axis("off")
plt.show()
