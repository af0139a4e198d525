"""
A chain of stages
=================

An `Enhancer` runs several stages in one round trip of the transform. It can be saved as text, and runs on the
command line, in the studio and on a GPU as it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.enhance import Blur, Denoise, Enhancer, Sharpen

photograph = subband.data.photograph()[:220, 90:370]
noisy = np.clip(photograph + np.random.default_rng(0).normal(0, 15, photograph.shape), 0, 255).astype(np.uint8)
chains = {
    "Denoise": Enhancer(Denoise()),
    "Denoise, Sharpen": Enhancer([Denoise(), Sharpen(0.8)]),
    "Denoise, Blur": Enhancer([Denoise(), Blur(2.0)]),
}
print(chains["Denoise, Sharpen"].to_toml())

figure, axes = plt.subplots(2, 2, figsize=(8, 6.6), layout="constrained")
for panel, (name, image) in zip(
    axes.flat, {"noisy": noisy, **{name: chain.apply(noisy) for name, chain in chains.items()}}.items(), strict=True
):
    panel.imshow(image)
    panel.set_title(name)
    panel.axis("off")
plt.show()
