"""One description for every depth: what is done to a picture of 16 bits is what is done to one of 8."""

import numpy as np
import pytest

from subband import data
from subband.enhance import Blur, Denoise, Enhancer, Gaussian, LogSpeckle, PoissonGaussian, Sharpen, Shrink, Speckle
from subband.enhance.colour import TO_YCBCR
from subband.media.base import ColourTags, SourceInfo
from subband.pipeline.units import choose_scale, fit_to_ycbcr, scale_enhancer, scale_model

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


def test_noise_of_film_in_its_own_colours():
    full = SourceInfo("film", (48, 64, 3), np.dtype("uint8"), "ycbcr", tags=ColourTags(5, full_range=True))
    fitted = fit_to_ycbcr(Enhancer(sigma=10.0), full, 5)
    assert fitted.colour == "rgb"
    np.testing.assert_allclose(fitted.sigma, 10 * np.linalg.norm(TO_YCBCR, axis=1))
    narrow = SourceInfo("film", (48, 64, 3), np.dtype("uint8"), "ycbcr", tags=ColourTags(1, full_range=False))
    sigma = fit_to_ycbcr(Enhancer(sigma=10.0), narrow, 1).sigma
    assert sigma[0] == pytest.approx(10 * np.linalg.norm([0.2126, 0.7152, 0.0722]) * 219 / 255)
    assert sigma[1] == pytest.approx(10 * np.linalg.norm([-0.2126, -0.7152, 1 - 0.0722]) / (2 * 0.9278) * 224 / 255)
    grey = SourceInfo("film", (48, 64), np.dtype("uint8"), "grey")
    assert fit_to_ycbcr(Enhancer(sigma=10.0), grey, 1).sigma == 10.0
    assert fit_to_ycbcr(Enhancer(), full, 1).sigma is None
