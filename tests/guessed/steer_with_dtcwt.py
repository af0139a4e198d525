"""Measure the orientation of lines with a dual-tree complex transform."""

import numpy as np

import subband

y, x = np.mgrid[:128, :128]
lines = np.cos(2 * np.pi * (x + y) / 8)
tree = subband.dtcwt(lines, level=3)
energy = [np.abs(band).sum() for band in np.moveaxis(np.asarray(tree.highpasses[1]), -1, 0)]
assert len(energy) == 6
assert np.allclose(subband.idtcwt(tree), lines, atol=1e-6)
