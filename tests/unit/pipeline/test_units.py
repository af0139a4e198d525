"""One description for every depth: what is done to a picture of 16 bits is what is done to one of 8."""

from dataclasses import replace

import numpy as np
import pytest

from subband import data
from subband.enhance import Blur, Denoise, Enhancer, Gaussian, LogSpeckle, PoissonGaussian, Sharpen, Shrink, Speckle
from subband.media.base import SourceInfo
from subband.pipeline.units import (
    choose_scale,
    fit_to_ycbcr,
    pick_plane,
    scale_enhancer,
    scale_model,
    treats_planes_apart,
)

PHOTOGRAPH = data.photograph()[100:164, 100:180]
ENHANCERS = {
    "measured": Enhancer(Denoise(level=2)),
    "given": Enhancer(Denoise("visu", level=2), sigma=12.0),
    "model": Enhancer(Denoise("bayes", level=2), noise=Gaussian(9.0)),
    "thresholds": Enhancer(Shrink(threshold=[[4.0, 8.0, 8.0]], gains=1.2), colour="ycbcr"),
    "firm": Enhancer(Shrink("haar", 2, "firm", [9.0, 4.0], [20.0, 9.0])),
    "chain": Enhancer([Blur(1.0), Shrink(threshold=3.0), Sharpen(0.4)]),
    "speckle": Enhancer(Denoise(level=2), noise=Speckle(4.0, floor=2.0)),
    "log-speckle": Enhancer(Denoise(level=2), noise=LogSpeckle()),
    "poisson": Enhancer(Denoise(level=2), noise=PoissonGaussian(2.0, 1.0, 3.0)),
}


@pytest.mark.parametrize("name", ENHANCERS)
def test_scaled_enhancer_does_the_same_to_a_scaled_picture(name):
    enhancer, picture = ENHANCERS[name], PHOTOGRAPH.astype(np.float32)
    expected = enhancer.apply(picture)
    result = scale_enhancer(enhancer, 257.0).apply(picture * 257.0) / 257.0
    np.testing.assert_allclose(result, expected, atol=0.02)
    # the picture is changed by more than that
    assert np.abs(expected - picture).max() > 1


def test_scale_of_each_source():
    def scale(kind, dtype):
        return choose_scale(SourceInfo(kind, (4, 6), np.dtype(dtype)))

    assert [scale("still", dtype) for dtype in ("uint8", "uint16", "float32")] == [1, 257, 1 / 255]
    assert scale("film", "uint16") == 257
    assert scale("volume", "uint16") == scale("volume", "float32") == 1


def test_models_without_units_stay():
    assert scale_model(Speckle(), 257.0) == Speckle()
    assert scale_model(Gaussian(), 257.0) == Gaussian()


def test_noise_of_film_counts_in_its_own_planes():
    fitted = fit_to_ycbcr(Enhancer(sigma=10.0))
    assert (fitted.colour, fitted.sigma) == ("rgb", 10.0)
    assert fit_to_ycbcr(Enhancer()).sigma is None
    each = Enhancer(sigma=(9.0, 5.0, 4.0))
    assert [pick_plane(each, channel).sigma for channel in range(3)] == [9.0, 5.0, 4.0]
    assert pick_plane(Enhancer(), 2).sigma is None


@pytest.mark.parametrize(("steps", "level", "blur", "amount"), [((2, 2), 2, 1.0, 0.1), ((1, 2), 2, 2**0.5, 0.2)])
def test_planes_of_fewer_samples_have_fewer_levels_and_narrower_filters(steps, level, blur, amount):
    chain = Enhancer([Denoise(level=3), Blur(2.0), Sharpen(0.4)])
    denoise, softer, sharper = pick_plane(chain, 1, steps).stages
    assert denoise.level == level
    assert softer.sigma == pytest.approx(blur)
    assert sharper.amount == pytest.approx(amount)
    assert pick_plane(chain, 0).stages == chain.stages
    assert pick_plane(Enhancer(Denoise(level=1)), 1, steps).stages[0].level == 1


def test_planes_are_treated_apart_where_noise_is_measured():
    info = SourceInfo("film", (48, 64, 3), np.dtype("uint8"), "ycbcr", chroma_steps=(2, 2))
    assert treats_planes_apart(Enhancer([Denoise(), Sharpen(0.3)]), info)
    assert not treats_planes_apart(Enhancer(Denoise()), replace(info, chroma_steps=(1, 1)))
    assert not treats_planes_apart(Enhancer(Denoise()), replace(info, colours="rgb"))
    assert not treats_planes_apart(Enhancer(Sharpen(0.3)), info)
    assert not treats_planes_apart(Enhancer([Denoise(), Shrink(gains=1.2)]), info)
