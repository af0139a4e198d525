"""Regions of an image are what the whole image has there."""

import numpy as np
import pytest

from subband import data
from subband.engines import get_engine
from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.enhance.blockwise import Regions

IMAGE = np.concatenate([data.photograph(), data.photograph()[:, ::-1]], axis=1)[:500, 100:901]

CHAINS = {
    "soft": Enhancer(Shrink(level=4, threshold=12.0)),
    "db4": Enhancer(Shrink("db4", level=3, threshold=12.0, boundary="symmetric")),
    "gains": Enhancer([Denoise("bivariate", level=2), Shrink(level=3, gains=[2.0, 1.0, 1.0])]),
    "bivariate": Enhancer(Denoise("bivariate", level=3)),
    "visu": Enhancer(Denoise("visu", level=3)),
    "wiener": Enhancer(Denoise("wiener", level=2)),
    "speckle": Enhancer(Denoise(level=3), LogSpeckle(dynamic_range=50.0)),
    "blur": Enhancer(Blur(3.0)),
    "sharpen": Enhancer(Sharpen(0.63)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("kind", ["colour", "deep"])
def test_regions_in_the_middle_and_at_the_borders(name, kind):
    image = IMAGE if kind == "colour" else IMAGE[..., 1].astype(np.uint16) * 16
    enhancer = CHAINS[name]
    expected = enhancer.apply(image)
    regions = Regions(enhancer, image.shape, get_engine("cpu"))
    assert not regions.obstacle
    noise = regions.find_noise(image)
    for rows, columns in [((203, 260), (301, 402)), ((0, 64), (737, 801)), ((436, 500), (0, 50))]:
        part = regions.compute(image, rows, columns, noise)
        difference = np.abs(part.astype(int) - expected[slice(*rows), slice(*columns)])
        assert part.dtype == image.dtype
        # sums of floats come in another order, so that a rounding may fall to the other side, and does so more often
        # where samples have more of the bits of single precision
        assert difference.max() <= 1
        assert (difference > 0).mean() < (1e-3 if kind == "colour" else 4e-3)


def test_noise_of_a_region_is_not_that_of_the_whole():
    image = IMAGE[..., 1].copy()
    image[:, :400] = np.clip(image[:, :400] + np.random.default_rng(0).normal(0, 30, (500, 400)), 0, 255)
    enhancer = CHAINS["bivariate"]
    alone = enhancer.apply(image[100:300, 500:700])
    assert np.abs(alone.astype(int) - enhancer.apply(image)[100:300, 500:700]).max() > 10


@pytest.mark.parametrize(
    "stage",
    [Denoise("bayes", level=2), Denoise("bivariate", level=2, form="undecimated"), Denoise("bivariate")],
)
def test_what_needs_the_whole_says_so(stage):
    assert Regions(Enhancer(stage), IMAGE.shape, get_engine("cpu")).obstacle
