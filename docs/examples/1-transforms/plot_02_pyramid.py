"""
A pyramid of bands
==================

`subband.decompose` goes on with the approximation, level after level. The mosaic puts all bands side by side.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

image = subband.data.ascent().astype(np.float32)
pyramid = subband.decompose(image, "cdf97", level=3)
print(pyramid)

# %%
# `Pyramid.plot` draws the mosaic; `Pyramid.reconstruct` inverts the transform, for any size of image.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
left.imshow(image, cmap="gray")
left.set_title("image")
left.axis("off")
pyramid.plot(right)
right.set_title("three levels of CDF 9/7")
plt.show()

assert np.allclose(pyramid.reconstruct(), image, atol=1e-2)
