"""
El Niño in time and frequency
=============================

The continuous transform shows which periods a signal has, and when. Sea surface temperatures of the Pacific
swing with a period of two to seven years.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

years, temperature = subband.data.nino()
scales = np.geomspace(2, 64, 60)
coefficients, frequencies = subband.cwt(temperature - temperature.mean(), scales, "cmor1.5-1.0", sampling_period=0.25)

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5.4), sharex=True, layout="constrained", height_ratios=(1, 2))
top.plot(years, temperature)
top.set_ylabel("°C")
bottom.pcolormesh(years, 1 / frequencies, np.abs(coefficients), cmap="viridis")
bottom.set(yscale="log", xlabel="year", ylabel="period, years", ylim=(0.6, 16))
plt.show()
