"""
Threshold a noisy signal
========================

Noise is spread over all coefficients, a signal is in few of them. Set the small ones to zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

clean = subband.data.demo_signal("HeaviSine", 2048)
noisy = clean + np.random.default_rng(0).normal(0, 0.7, clean.shape)

approximation, *details = subband.wavedec(noisy, "sym8", level=6)
sigma = np.median(np.abs(details[-1])) / 0.6745
limit = sigma * np.sqrt(2 * np.log(noisy.size))
kept = [subband.threshold(band, limit, mode="hard") for band in details]
denoised = subband.waverec([approximation, *kept], "sym8")

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
top.plot(noisy, linewidth=0.7, color="0.6", label=f"noisy, sigma estimated {sigma:.2f}")
top.legend()
bottom.plot(clean, color="0.6", label="true")
bottom.plot(denoised, linewidth=1.2, label=f"hard threshold at {limit:.2f}")
bottom.legend()
plt.show()
