"""
Tell textures apart
===================

The energy of each band describes a texture in a dozen numbers. Patches of two photographs fall into two
clouds.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband


def describe(patch):
    """Return the logarithm of the energy of each band of details."""
    pyramid = subband.decompose(patch.astype(np.float32), "sym4", level=3)
    return [np.log(np.mean(band**2) + 1e-3) for _, key, band in pyramid.bands() if "d" in key]


features, sources = [], []
for number, image in enumerate((subband.data.aero(), subband.data.ascent())):
    for row in range(0, 512, 64):
        for column in range(0, 512, 64):
            features.append(describe(image[row : row + 64, column : column + 64]))
            sources.append(number)
features, sources = np.array(features), np.array(sources)
_, _, directions = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
first, second = ((features - features.mean(axis=0)) @ directions[:2].T).T

figure, panel = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
for number, name in enumerate(("aero", "ascent")):
    panel.scatter(first[sources == number], second[sources == number], label=name, alpha=0.8)
panel.set(xlabel="first principal component", ylabel="second", title="patches of 64 × 64, nine band energies each")
panel.legend()
plt.show()
