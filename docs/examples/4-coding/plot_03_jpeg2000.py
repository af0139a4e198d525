"""
JPEG 2000 at several rates
==========================

The codec takes a rate in bits per pixel (bpp), or a PSNR to reach.
"""

from io import BytesIO

import matplotlib.pyplot as plt

import subband
from subband.codecs import jpeg2000

photograph = subband.data.photograph()[:256, 90:346]
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
for panel, rate in zip(axes, (0.1, 0.25, 0.5, 2), strict=True):
    data = jpeg2000.encode(photograph, rate=rate)
    image = jpeg2000.imread(BytesIO(data))
    panel.imshow(image)
    panel.set_title(f"{rate} bpp: {len(data) / 1000:.1f} kB, {subband.psnr(image, photograph):.1f} dB", fontsize=10)
    panel.axis("off")
plt.show()
