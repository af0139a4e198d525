"""
Denoise a volume
================

Structure goes on from slice to slice, noise does not. A transform along all three axes tells them apart
better than one of each slice.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

depth, rows, columns = np.mgrid[-1:1:48j, -1:1:96j, -1:1:96j]
shell = np.abs(np.sqrt(depth**2 + rows**2 + columns**2) - 0.7) < 0.12
rods = np.hypot(rows - 0.3 * np.sin(4 * depth), columns) < 0.15
clean = (shell + 0.8 * rods).astype(np.float32)
scan = clean + np.random.default_rng(0).normal(0, 0.4, clean.shape).astype(np.float32)
results = {
    "scan": scan,
    "slice by slice": np.stack([subband.denoise(each) for each in scan]),
    "all axes": subband.denoise(scan, axes=(0, 1, 2)),
}

figure, axes = plt.subplots(2, 3, figsize=(9, 5.2), layout="constrained", height_ratios=(2, 1))
for column, (name, volume) in zip(axes.T, results.items(), strict=True):
    column[0].imshow(volume[24], cmap="gray", vmin=-0.4, vmax=1.6)
    column[1].imshow(volume[:, 48], cmap="gray", vmin=-0.4, vmax=1.6)
    column[0].set_title(f"{name}, {subband.psnr(volume, clean, peak=1):.1f} dB")
for panel in axes.flat:
    panel.axis("off")
plt.show()
