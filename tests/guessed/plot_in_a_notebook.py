"""Look at what the package makes: plots, and the pictures that a notebook shows by itself."""

import matplotlib

matplotlib.use("agg")

import numpy as np

import subband

image = subband.imread("photo.png")
pyramid = subband.decompose(image[..., 1], "cdf97", level=2)
axes = pyramid.plot()
axes.figure.savefig("pyramid.png")

png = pyramid._repr_png_()
assert png.startswith(b"\x89PNG")
assert "cdf97" in pyramid._repr_html_()
assert "<svg" in subband.Wavelet("db4")._repr_html_()
assert "Denoise" in subband.enhance.Enhancer([subband.enhance.Denoise()])._repr_html_()

subband.plot.wavelet("db4").figure.savefig("wavelet.png")
subband.plot.energies(pyramid).figure.savefig("energies.png")
subband.plot.mosaic(pyramid).figure.savefig("mosaic.png")
chirp = np.sin(np.linspace(0, 20, 400) ** 2)
subband.plot.scalogram(chirp, np.arange(1, 65), "morl").figure.savefig("scalogram.png")
