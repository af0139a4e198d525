"""Write an image as JPEG 2000, without loss and at a rate, and read it back."""

import numpy as np
from skimage.data import camera

import subband

image = camera()
subband.imwrite("archive.jp2", image)
assert np.array_equal(subband.imread("archive.jp2"), image)

subband.jpeg2000.imwrite("small.jp2", image, rate=0.5)
small = subband.imread("small.jp2")
assert small.shape == image.shape and small.dtype == image.dtype
print(f"{subband.psnr(image, small):.1f} dB")
assert subband.psnr(image, small) > 28

data = subband.jpeg2000.encode(image)
assert isinstance(data, bytes)
assert np.array_equal(subband.jpeg2000.decode(data), image)
