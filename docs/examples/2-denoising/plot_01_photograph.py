"""
Denoise a photograph
====================

One call. The noise is measured in the image, and colours are denoised as brightness and two colour
differences.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

clean = subband.data.photograph()[:300, 60:420]
noisy = np.clip(clean + np.random.default_rng(0).normal(0, 30, clean.shape), 0, 255).astype(np.uint8)
better = subband.denoise(noisy)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for panel, name, image in zip(axes, ("noisy", "denoised"), (noisy, better), strict=True):
    panel.imshow(image)
    panel.set_title(f"{name}, {subband.psnr(image, clean):.1f} dB")
    panel.axis("off")
plt.show()

print("noise, estimated:", subband.estimate_sigma(noisy, channel_axis=-1))
