"""
Details of a signal, level by level
===================================

The Doppler signal oscillates ever more slowly. Each level of details holds one octave of frequencies, so the
signal passes from the fine levels to the coarse ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

signal = subband.data.demo_signal("Doppler", 2048)
approximation, *details = subband.wavedec(signal, "sym8", level=5)

figure, axes = plt.subplots(7, 1, figsize=(8, 8), sharex=True, layout="constrained")
names = ["approximation", *(f"details {level}" for level in range(5, 0, -1))]
for panel, name, band in zip(axes, ["signal", *names], [signal, approximation, *details], strict=True):
    panel.plot(np.linspace(0, 1, len(band)), band, linewidth=1)
    panel.set_ylabel(name, rotation=0, ha="right", va="center")
    panel.set_yticks([])
axes[-1].set_xlabel("time")
plt.show()
