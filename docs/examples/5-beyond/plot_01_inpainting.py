"""
Fill in missing pixels
======================

Two thirds of the pixels are missing. Among all images that agree with the rest, look for one with few large
coefficients: threshold, put the known pixels back, and repeat with a smaller threshold.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

image = subband.data.camera()[60:316, 130:386].astype(np.float32)
known = np.random.default_rng(0).random(image.shape) < 0.35
guess = np.where(known, image, image[known].mean())
for limit in np.geomspace(150, 2, 60):
    pyramid = subband.decompose(guess, "cdf97", level=4, mode="periodic", stationary=True)
    guess = np.where(known, image, pyramid.threshold(float(limit), mode="hard").reconstruct())

panels = {"known pixels": np.where(known, image, 0), "filled in": guess, "original": image}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, (name, result) in zip(axes, panels.items(), strict=True):
    panel.imshow(result, cmap="gray", vmin=0, vmax=255)
    panel.set_title(f"{name}, {subband.psnr(result, image, peak=255):.1f} dB" if name != "original" else name)
    panel.axis("off")
plt.show()
