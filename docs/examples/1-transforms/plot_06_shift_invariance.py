"""
Shift invariance: decimated or not
==================================

The decimated transform keeps every second coefficient, so its coefficients change when the signal moves by
one sample. The stationary transform keeps all of them, and they move along.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

energies = {"dwt": [], "swt": []}
for shift in range(32):
    step = (np.arange(256) >= 100 + shift) * 1.0 - (np.arange(256) >= 180 + shift)
    energies["dwt"].append([np.sum(band**2) for band in subband.wavedec(step, "db4", "periodization", level=3)[1:]])
    energies["swt"].append([np.sum(band**2) for _, band in subband.swt(step, "db4", level=3)])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for panel, (name, found) in zip(axes, energies.items(), strict=True):
    panel.plot(np.array(found) / np.mean(found, axis=0), label=["level 3", "level 2", "level 1"])
    panel.set(title=name, xlabel="shift, samples", ylim=(0, 2.6))
axes[0].set_ylabel("energy of details / mean")
axes[1].legend()
plt.show()
