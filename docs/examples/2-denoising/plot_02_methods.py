"""
Methods of denoising, compared
==============================

From one threshold for the whole image to rules that look at each coefficient, its neighbours and its parent.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

clean = subband.data.camera()[60:316, 130:386]
noisy = np.clip(clean + np.random.default_rng(0).normal(0, 25, clean.shape), 0, 255).astype(np.uint8)
results = {"noisy": noisy}
results |= {name: subband.denoise(noisy, method=name) for name in ("visu", "bayes", "neigh", "bivariate", "wiener")}

figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
for panel, (name, image) in zip(axes.flat, results.items(), strict=True):
    panel.imshow(image, cmap="gray", vmin=0, vmax=255)
    panel.set_title(f"{name}: {subband.psnr(image, clean):.1f} dB, SSIM {subband.ssim(image, clean):.2f}", fontsize=10)
    panel.axis("off")
plt.show()
