"""
Counts of photons
=================

In dim light the noise grows with brightness. `PoissonGaussian` says how; denoising without it keeps noise in
the bright parts and blurs the dark ones.
"""

import matplotlib.pyplot as plt

import subband
from subband.enhance import PoissonGaussian

clean = subband.data.camera()[::2, ::2] / 255 * 30 + 0.5  # mean photons in each pixel
model = PoissonGaussian(gain=1.0, offset=0.0, sigma=0.0)
counts = model.add(clean, seed=0)
results = {
    "counts": counts,
    "as Gaussian noise": subband.denoise(counts),
    "as photons": subband.denoise(counts, noise=model),
}

figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, (name, image) in zip(axes, results.items(), strict=True):
    panel.imshow(image, cmap="gray", vmin=0, vmax=32)
    panel.set_title(f"{name}, {subband.psnr(image, clean, peak=30):.1f} dB")
    panel.axis("off")
plt.show()
