"""
One level of an image
=====================

A level of the discrete wavelet transform splits an image into four bands of a quarter of its size: the
approximation, and horizontal, vertical and diagonal details.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

image = subband.data.camera()
approximation, (horizontal, vertical, diagonal) = subband.dwt2(image, "db2")

# %%
# Details are near zero where the image is smooth, and large at edges of their direction.

bands = {"approximation": approximation, "horizontal": horizontal, "vertical": vertical, "diagonal": diagonal}
figure, axes = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
for panel, (name, band) in zip(axes.flat, bands.items(), strict=True):
    limit = None if name == "approximation" else 60
    panel.imshow(band, cmap="gray", vmin=limit and -limit, vmax=limit)
    panel.set_title(name)
    panel.axis("off")
plt.show()

# %%
# The inverse gives the image back.

restored = subband.idwt2((approximation, (horizontal, vertical, diagonal)), "db2")
print("largest error:", np.abs(restored - image).max())
