"""Denoise and sharpen images, with checked types."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import subband
from subband.enhance import Denoise, Enhancer, Sharpen
from subband.media import Still, read_still, write_still
from subband.pipeline import Report

image: NDArray[np.uint8] = np.zeros((64, 64, 3), np.uint8)

enhancer = Enhancer([Denoise(), Sharpen()])
alone = Enhancer(Denoise(level=2), noise="speckle", sigma=(3.0, 4.0, 5.0))
assert_type(enhancer.apply(image), NDArray[np.uint8])
assert_type(alone.stages, tuple[Denoise | subband.enhance.Shrink | subband.enhance.Blur | Sharpen, ...])

assert_type(subband.denoise(image), NDArray[np.uint8])
assert_type(subband.denoise(image, sigma=20, method="bayes", channel_axis=-1), NDArray[np.uint8])
more = subband.denoise(image, out_dtype=np.float32)
assert_type(more, np.ndarray[Any, np.dtype[Any]])
assert_type(subband.estimate_sigma(image), float)
assert_type(subband.psnr(more, image) + subband.ssim(more, image, peak=255), float)

assert_type(read_still("photo.jpg"), Still)
write_still("clean.png", subband.denoise(subband.imread("photo.jpg")), overwrite=True)
subband.imwrite(Path("clean.png"), image)
assert_type(subband.enhance_file("photos", Path("clean"), enhancer), Report)

subband.enhance_file("photos", "clean")  # wrong: an enhancer is needed
Enhancer(["denoise"])  # wrong: stages are objects
Enhancer([Denoise()], sigma="high")  # wrong: sigma is a number
subband.denoise(image, level="three")  # wrong: levels are counted
subband.imread(7)  # wrong: a name is needed
