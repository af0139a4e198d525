"""
Chunks of a large image with Dask
=================================

Arrays of Dask go into the same functions. Each chunk reads as much of its neighbours as the filters reach, so
the result is that of the whole array: no seams.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import subband

clean = subband.data.ascent().astype(np.float32)
noisy = clean + np.random.default_rng(0).normal(0, 25, clean.shape).astype(np.float32)
chunked = da.from_array(noisy, chunks=(200, 200))
lazy = subband.denoise(chunked, sigma=25.0, level=3)
print(lazy)
seamless = lazy.compute()
alone = chunked.map_blocks(lambda block: subband.denoise(block, sigma=25.0, level=3)).compute()

whole = subband.denoise(noisy, sigma=25.0, level=3)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
axes[0].imshow(seamless, cmap="gray", vmin=0, vmax=255)
axes[0].set_title("denoised in chunks")
for panel, name, result in zip(axes[1:], ("with neighbours", "each chunk alone"), (seamless, alone), strict=True):
    panel.imshow(np.abs(result - whole), cmap="magma", vmin=0, vmax=4)
    panel.set_title(f"error, {name}: {np.abs(result - whole).max():.2g}")
for panel in axes:
    panel.axis("off")
plt.show()
