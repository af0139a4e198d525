"""Find the beats of a heart in a noisy recording, with a continuous and a stationary transform."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks

import subband

rate = 250
time = np.arange(0, 10, 1 / rate)
beats = np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0002)
noisy = beats + 0.3 * np.sin(2 * np.pi * 0.3 * time) + 0.1 * np.random.default_rng(0).standard_normal(len(time))

clean = subband.denoise(noisy, wavelet="sym4", level=4)
assert clean.shape == noisy.shape
coeffs = subband.swt(noisy[: len(noisy) // 16 * 16], "sym4", level=4, trim_approx=True, norm=True)
detail = coeffs[2]
peaks, _ = find_peaks(np.abs(subband.cwt(noisy, [8], "mexh")[0][0]), distance=rate // 2, height=0.5)
assert 11 <= len(peaks) <= 14, len(peaks)

figure, axes = plt.subplots(2)
axes[0].plot(time, noisy)
subband.plot.scalogram(noisy, sampling_period=1 / rate, ax=axes[1])
figure.savefig("beats.png")
