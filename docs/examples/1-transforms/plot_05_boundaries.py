"""
Boundary modes
==============

A filter reaches beyond the ends of a signal. The boundary mode says what is there. A jump that the signal
does not have, as with ``zero`` or ``periodic``, gives large coefficients at the border.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

signal = np.linspace(1, 3, 32) + 0.3 * np.sin(np.arange(32) / 2)
modes = ["zero", "constant", "symmetric", "reflect", "periodic", "smooth"]

figure, axes = plt.subplots(2, 3, figsize=(9, 4.6), sharey=True, layout="constrained")
for panel, mode in zip(axes.flat, modes, strict=True):
    panel.plot(np.arange(-12, 44), subband.pad(signal, 12, mode), color="tab:orange")
    panel.plot(np.arange(32), signal, color="tab:blue")
    _, details = subband.dwt(signal, "db4", mode)
    panel.set_title(f"{mode}: largest detail {np.abs(details).max():.2f}", fontsize=10)
plt.show()
