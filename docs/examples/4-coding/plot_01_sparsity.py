"""
How few coefficients are enough
===============================

Most coefficients of a photograph are small. Here only the largest few percent are kept.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

image = subband.data.camera().astype(np.float32)
pyramid = subband.decompose(image, "cdf97", level=5)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, fraction in zip(axes, (0.005, 0.02, 0.05, 0.2), strict=True):
    result = pyramid.keep(fraction).reconstruct()
    panel.imshow(result, cmap="gray", vmin=0, vmax=255)
    panel.set_title(f"{fraction:.1%}: {subband.psnr(result, image, peak=255):.1f} dB")
    panel.axis("off")
plt.show()

# %%
# Which wavelet is best depends on the image. For photographs, smooth and symmetric ones win.

fractions = np.geomspace(0.005, 0.2, 10)
figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
for name in ("haar", "db4", "cdf53", "cdf97"):
    pyramid = subband.decompose(image, name, level=5)
    quality = [subband.psnr(pyramid.keep(float(each)).reconstruct(), image, peak=255) for each in fractions]
    panel.semilogx(100 * fractions, quality, marker=".", label=name)
panel.set(xlabel="coefficients kept, %", ylabel="PSNR, dB")
panel.legend()
plt.show()
