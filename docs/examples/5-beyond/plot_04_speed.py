"""
Time of a transform on this machine
===================================

A level is one sweep over memory. The time per pixel is compared with that of a plain copy, for several sizes.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import subband


def measure(function, turns=7):
    """Return the least time of several calls, in seconds."""
    times = []
    for _ in range(turns):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


sizes = [64, 128, 256, 512, 1024, 2048]
times = {"plain copy": [], "haar": [], "cdf97": [], "db8": []}
for size in sizes:
    image = np.random.default_rng(0).random((size, size), dtype=np.float32)
    times["plain copy"].append(measure(image.copy) / image.size)
    for name in ("haar", "cdf97", "db8"):
        times[name].append(measure(lambda name=name, image=image: subband.dwt2(image, name, "symmetric")) / image.size)

figure, panel = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, found in times.items():
    panel.loglog(sizes, 1e9 * np.array(found), marker="o", label=name, color="0.6" if name == "plain copy" else None)
panel.set(xlabel="rows and columns", ylabel="nanoseconds per pixel", title="dwt2, one level, float32")
panel.legend()
plt.show()
