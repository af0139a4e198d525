"""Denoise a Dask array block by block, and store it."""

import dask.array as da
import numpy as np

import subband

rng = np.random.default_rng(0)
clean = np.add.outer(np.arange(512), np.arange(512)) / 1024
noisy = da.from_array((clean + 0.1 * rng.standard_normal(clean.shape)).astype("float32"), chunks=(256, 256))
result = subband.denoise(noisy)
assert isinstance(result, da.Array) and result.shape == noisy.shape and result.dtype == noisy.dtype
computed = result.compute()
assert subband.psnr(clean, computed, data_range=1) > subband.psnr(clean, noisy.compute(), data_range=1) + 6

low, (lh, hl, hh) = subband.dwt2(noisy, "haar")
assert low.shape == (256, 256)
