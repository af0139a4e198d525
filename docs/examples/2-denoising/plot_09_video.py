"""
Denoise video along its motion
==============================

Frames of a video show the same scene again and again. ``temporal=True`` follows the motion, averages, and
denoises what is left.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband
from subband.enhance import Denoise, Enhancer
from subband.media import open_source
from subband.pipeline import Pipeline

with open_source(subband.data.clip_path()) as source:
    clean = [frame.pixels[100:292, 200:488] for frame, _ in zip(source, range(8), strict=False)]
generator = np.random.default_rng(0)
noisy = [np.clip(frame + generator.normal(0, 30, frame.shape), 0, 255).astype(np.uint8) for frame in clean]
alone = list(Pipeline(Enhancer(Denoise())).process(noisy))
together = list(Pipeline(Enhancer(Denoise(), temporal=True)).process(noisy))

figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for panel, (name, frames) in zip(
    axes, {"noisy": noisy, "frame by frame": alone, "along the motion": together}.items(), strict=True
):
    panel.imshow(frames[-1])
    panel.set_title(f"{name}, {subband.psnr(frames[-1], clean[-1]):.1f} dB")
    panel.axis("off")
plt.show()
