"""
Wavelet packets of a chirp
==========================

Wavelet packets split details as well as approximations, down to bands of equal width. Sorted by frequency
they make a picture like a spectrogram.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

time = np.linspace(0, 1, 4096, endpoint=False)
chirp = np.sin(2 * np.pi * (100 * time + 700 * time**2)) + 0.7 * np.sin(2 * np.pi * 1400 * time)
packet = subband.WaveletPacket(chirp, "sym8", "symmetric", maxlevel=6)
nodes = packet.get_level(6, order="freq")
power = np.array([np.abs(node.data) for node in nodes])

figure, panel = plt.subplots(figsize=(8, 4.4), layout="constrained")
panel.imshow(power, aspect="auto", origin="lower", extent=(0, 1, 0, 2048), cmap="inferno", interpolation="nearest")
panel.set(xlabel="time, s", ylabel="frequency, Hz", title="64 bands of wavelet packets")
plt.show()
