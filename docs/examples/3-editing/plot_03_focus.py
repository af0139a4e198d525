"""
Everything in focus
===================

At each position and scale, details come from the image that is sharpest there.
"""

import matplotlib.pyplot as plt

import subband
from subband.edit import fuse
from subband.enhance import Blur, Enhancer

sharp = subband.data.camera()
blurred = Enhancer(Blur(3.0)).apply(sharp)
near, far = sharp.copy(), sharp.copy()
near[:, 256:], far[:, :256] = blurred[:, 256:], blurred[:, :256]
fused = fuse([near, far])

figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, name, image in zip(axes, ("left in focus", "right in focus", "fused"), (near, far, fused), strict=True):
    panel.imshow(image, cmap="gray", vmin=0, vmax=255)
    panel.set_title(f"{name}, {subband.psnr(image, sharp):.1f} dB")
    panel.axis("off")
plt.show()
