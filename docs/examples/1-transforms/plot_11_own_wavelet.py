"""
A wavelet of your own
=====================

A lifting step adds to the odd samples what it computes from the even ones, or the reverse. Whatever it
computes, it can be undone. So any list of steps is a wavelet that reconstructs perfectly.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

linear = (subband.Step("predict", 0, (-1 / 2, -1 / 2)), subband.Step("update", -1, (1 / 4, 1 / 4)))
cubic = (
    subband.Step("predict", -1, (1 / 16, -9 / 16, -9 / 16, 1 / 16)),
    subband.Step("update", -1, (1 / 4, 1 / 4)),
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
image = subband.data.camera().astype(np.float32)
for panel, (name, steps) in zip(axes, {"linear": linear, "cubic": cubic}.items(), strict=True):
    scheme = subband.LiftingScheme(steps, scale_lo=2**0.5, scale_hi=0.5**0.5)
    wavelet = subband.Wavelet.from_lifting(name, scheme)
    subband.plot.wavelet(wavelet, panel)
    pyramid = subband.decompose(image, wavelet, level=3)
    quality = subband.psnr(pyramid.keep(0.03).reconstruct(), image, peak=255)
    print(f"{name}: {quality:.2f} dB from 3 % of the coefficients")
plt.show()
