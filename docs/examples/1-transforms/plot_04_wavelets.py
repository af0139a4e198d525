"""
Wavelets and their scaling functions
====================================

Long filters give smooth wavelets. Biorthogonal ones, such as the CDF 9/7 of JPEG 2000, are symmetric.
"""

import matplotlib.pyplot as plt

import subband

names = ["haar", "db2", "db4", "sym8", "coif2", "cdf97"]
figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for panel, name in zip(axes.flat, names, strict=True):
    subband.plot.wavelet(name, panel)
plt.show()

# %%
# All names, by family:

for family in subband.families(short=True)[:7]:
    print(f"{family:5}", ", ".join(subband.wavelist(family)[:8]))
