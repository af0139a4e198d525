"""
How much noise to remove
========================

The right threshold is a matter of the noise. The estimate is close to the best choice, and nobody had to tell
it.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

clean = subband.data.ascent()[100:356, 100:356].astype(np.float32)
noisy = clean + np.random.default_rng(0).normal(0, 20, clean.shape).astype(np.float32)
sigmas = np.arange(5, 45, 2.5)
quality = [subband.psnr(subband.denoise(noisy, sigma=float(sigma)), clean, peak=255) for sigma in sigmas]
estimate = subband.estimate_sigma(noisy)

figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
panel.plot(sigmas, quality, marker="o")
panel.axvline(20, color="0.6", linestyle=":", label="true")
panel.axvline(estimate, color="tab:orange", label=f"estimated: {estimate:.1f}")
panel.set(xlabel="sigma that is assumed", ylabel="PSNR, dB")
panel.legend()
plt.show()
