"""
Multiresolution analysis of a heart beat
========================================

`subband.mra` writes a signal as a sum of signals, one for each scale. In an electrocardiogram that tells the
slow drift of the baseline from the beats and from the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

ecg = subband.data.ecg().astype(float)
smooth, *details = subband.mra(ecg, "sym4", level=6)
assert np.allclose(smooth + sum(details), ecg)

parts = {"recording": ecg, "baseline": smooth, "beats": sum(details[:4]), "finest two": sum(details[4:])}
figure, axes = plt.subplots(4, 1, figsize=(8, 6), sharex=True, layout="constrained")
for panel, (name, part) in zip(axes, parts.items(), strict=True):
    panel.plot(part, linewidth=1)
    panel.set_ylabel(name)
axes[-1].set_xlabel("sample")
plt.show()
