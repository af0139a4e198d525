"""Keep the largest coefficients of an image, and see how little is lost."""

import subband

image = subband.imread("photo.png")
pyramid = subband.decompose(image, "bior4.4", axes=(0, 1))
coarse = pyramid.keep(0.02).reconstruct()
fine = pyramid.keep(0.2).reconstruct()
assert coarse.shape == image.shape
assert subband.psnr(image, fine) > subband.psnr(image, coarse) > 15
