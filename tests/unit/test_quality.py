"""PSNR and SSIM are those of scikit-image."""

import numpy as np
import pytest
from skimage import metrics

from subband import data
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from subband.quality import measure_psnr, measure_ssim, psnr, ssim


def add_noise(picture, sigma):
    noise = np.random.default_rng(0).normal(0, sigma, picture.shape)
    return np.clip(np.rint(picture + noise), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("sigma", [1, 20, 80])
@pytest.mark.parametrize("picture", [data.camera()[:200, :301], data.photograph()[:120, :97]], ids=["grey", "colour"])
def test_equal_to_scikit_image(picture, sigma):
    noisy = add_noise(picture, sigma)
    assert measure_psnr(noisy, picture, 255) == pytest.approx(
        metrics.peak_signal_noise_ratio(picture, noisy, data_range=255)
    )
    expected = metrics.structural_similarity(
        picture,
        noisy,
        data_range=255,
        channel_axis=2 if picture.ndim == 3 else None,
        gaussian_weights=True,
        use_sample_covariance=False,
    )
    assert measure_ssim(noisy, picture, 255) == pytest.approx(expected, abs=1e-9)


def test_psnr_does_not_wrap_around():
    low, high = np.zeros((20, 20), np.uint8), np.full((20, 20), 255, np.uint8)
    assert measure_psnr(low, high, 255) == 0.0


def test_shapes_must_agree():
    with pytest.raises(ShapeError, match="same"):
        measure_psnr(np.zeros((2, 3)), np.zeros((3, 2)), 1)
    with pytest.raises(ShapeError, match="11"):
        measure_ssim(np.zeros((8, 8)), np.zeros((8, 8)), 1)


def test_peak_is_that_of_the_integers():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (32, 32)).astype(np.uint8)
    other = image + rng.normal(0, 3, image.shape)
    assert psnr(other, image) == psnr(image, other) == measure_psnr(other, image, 255)
    assert ssim(other, image) == measure_ssim(other, image, 255)
    assert psnr(other * 257, image.astype(np.uint16) * 257) == pytest.approx(psnr(other, image))
    assert psnr(other / 255, image / 255, peak=1) == pytest.approx(psnr(other, image))


def test_floats_need_a_peak():
    with pytest.raises(ArgumentError, match="peak=1 or peak=255"):
        psnr(np.zeros(4), np.ones(4))


def test_scikit_images_words_are_understood():
    rng = np.random.default_rng(0)
    image = rng.random((24, 32, 3))
    other = image + rng.normal(0, 0.05, image.shape)
    assert psnr(image, other, data_range=1) == psnr(image, other, peak=1)
    channels_first = np.moveaxis(image, -1, 0), np.moveaxis(other, -1, 0)
    assert ssim(*channels_first, data_range=1, channel_axis=0) == pytest.approx(ssim(image, other, 1))
    with pytest.raises(ArgumentError, match="give one of them"):
        psnr(image, other, peak=1, data_range=255)


@pytest.mark.parametrize("measure", [psnr, ssim])
def test_a_peak_is_a_positive_number(measure):
    image, other = np.zeros((16, 16)), np.ones((16, 16))
    for peak in (0, -255, np.nan, np.inf):
        with pytest.raises(ArgumentError, match=f"peak={peak} is no largest value"):
            measure(image, other, peak)
    with pytest.raises(ArgumentError, match="data_range=0 is no largest value"):
        measure(image, other, data_range=0)
    with pytest.raises(ArgumentTypeError, match="peak='white' is not a number"):
        measure(image, other, "white")


@pytest.mark.parametrize("measure", [psnr, ssim])
def test_what_cannot_be_compared_is_refused(measure):
    with pytest.raises(ShapeError, match="at least 1"):
        measure(np.zeros((0, 16)), np.zeros((0, 16)), 1)
    with pytest.raises(DtypeError, match="image has dtype complex128"):
        measure(np.zeros((16, 16), complex), np.zeros((16, 16)), 1)
    with pytest.raises(DtypeError, match="original has dtype <U1"):
        measure(np.zeros((1, 1)), np.array([["a"]]), 1)
