"""List the energy of every band of an image, as features for a classifier."""

import numpy as np

import subband

image = subband.imread("photo.png").mean(axis=-1)
pyramid = subband.decompose(image, "db3", level=3)
features = {}
for level in range(1, pyramid.level + 1):
    for name in ("ad", "da", "dd"):
        features[level, name] = float(np.mean(pyramid[level, name] ** 2))
assert len(features) == 9
assert pyramid[pyramid.level, "aa"].shape == pyramid.approximation.shape
assert features[3, "ad"] > features[1, "dd"]
