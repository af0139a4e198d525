"""Noise found in the image itself: its strength within 5 %, gain and read noise within 10 %, whatever the image."""

import numpy as np
import pytest

import subband
from subband import data
from subband.enhance import Gaussian, PoissonGaussian, find_noise
from subband.errors import ShapeError

CAMERA, ASCENT = data.camera().astype(float), data.ascent().astype(float)
PHOTOGRAPH = data.photograph().astype(float)
IMAGES = {
    "flat": np.full((256, 256), 100.0),
    "ramp": np.add.outer(np.linspace(10, 110, 256), np.linspace(10, 130, 256)),
    "camera": CAMERA,
    "ascent": ASCENT,
    "photograph": PHOTOGRAPH,
}


def add_noise(image, sigma):
    return image + np.random.default_rng(1).normal(0, sigma, image.shape)


@pytest.mark.parametrize("sigma", [3, 10, 30])
@pytest.mark.parametrize("name", IMAGES)
def test_strength_of_white_noise(name, sigma):
    noisy = add_noise(IMAGES[name], sigma)
    stored = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    for image in (noisy, stored):
        report = find_noise(image)
        assert report.sigma == pytest.approx(sigma, rel=0.05)
        assert report.model == Gaussian(report.sigma)
        assert report.is_white
        assert report.error < 0.05
        assert "grows" not in str(report)


@pytest.mark.parametrize("sigma", [5, 10, 30])
@pytest.mark.parametrize("name", ["black", "dark", "white", "disc", "stars"])
def test_clipping_hides_no_noise(name, sigma):
    rng = np.random.default_rng(2)
    disc = np.hypot(*np.indices((256, 256)) - 128) < 80
    images = {
        "black": np.zeros((256, 256)),
        "dark": np.full((256, 256), 6.0),
        "white": np.full((256, 256), 250.0),
        "disc": np.where(disc, 240.0, 15.0),
        "stars": 10 + 200 * (rng.random((256, 256)) > 0.999),
    }
    stored = np.clip(np.rint(add_noise(images[name], sigma)), 0, 255).astype(np.uint8)
    report = find_noise(stored)
    assert report.sigma == pytest.approx(sigma, rel=0.08)
    assert report.is_white


def test_what_is_masked_out_is_no_noise():
    noisy = add_noise(np.full((256, 256), 100.0), 10)
    noisy[:100] = 0
    assert find_noise(noisy).sigma == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(("name", "own"), [("aero", 3.35), ("grass", 7.26)])
@pytest.mark.parametrize("sigma", [3, 10, 30])
def test_texture_like_noise_adds_up(name, own, sigma):
    skimage_data = pytest.importorskip("skimage.data")
    image = (data.aero() if name == "aero" else skimage_data.grass()).astype(float)
    assert find_noise(image).sigma == pytest.approx(own, rel=0.02)
    assert find_noise(add_noise(image, sigma)).sigma == pytest.approx(np.hypot(sigma, own), rel=0.05)


def test_rounding_is_not_taken_for_noise():
    stored = np.rint(add_noise(np.full((512, 512), 100.0), 1)).astype(np.uint8)
    assert find_noise(stored).sigma == pytest.approx(1, rel=0.02)
    assert find_noise(stored.astype(float)).sigma == pytest.approx(np.sqrt(1 + 1 / 12), rel=0.02)
    assert find_noise(np.full((64, 64), 7)).sigma == 0


@pytest.mark.parametrize(("gain", "read"), [(0.5, 2.0), (1.0, 3.0), (2.0, 6.0)])
@pytest.mark.parametrize("name", ["camera", "ascent", "photograph"])
def test_noise_that_grows_with_brightness(name, gain, read):
    report = find_noise(PoissonGaussian(gain, sigma=read).add(IMAGES[name], seed=2))
    assert isinstance(report.model, PoissonGaussian)
    assert report.model.gain == pytest.approx(gain, rel=0.1)
    assert report.model.sigma == pytest.approx(read, rel=0.1)
    assert "gain" in str(report)


def test_a_line_that_begins_below_zero_has_an_offset():
    report = find_noise(PoissonGaussian(1.0, offset=-20.0).add(ASCENT, seed=0))
    assert report.model.sigma == pytest.approx(np.sqrt(20), rel=0.25)
    report = find_noise(PoissonGaussian(1.0, offset=20.0).add(ASCENT + 20, seed=0))
    assert report.model.sigma == 0
    assert report.model.offset == pytest.approx(20, abs=4)


def test_smoothed_noise_is_not_white():
    noise = np.random.default_rng(0).normal(0, 20, (257, 257))
    smoothed = (noise[1:, 1:] + noise[:-1, 1:] + noise[1:, :-1] + noise[:-1, :-1]) / 4
    report = find_noise(100 + smoothed)
    assert not report.is_white
    assert "not white" in str(report)


def halve(image):
    rows, columns = (length // 2 for length in image.shape)
    return image[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2).mean(axis=(1, 3))


@pytest.mark.parametrize(("name", "sigma"), [("grass", 0), ("grass", 2), ("grass", 5), ("gravel", 10), ("gravel", 15)])
def test_texture_is_no_correlated_noise(name, sigma):
    """It grows as much to the third level as to the second; taken for noise, all of it would go."""
    image = halve(getattr(pytest.importorskip("skimage.data"), name)().astype(float))
    noisy = add_noise(image, sigma)
    report = find_noise(noisy)
    assert report.is_white
    assert report.confidence <= 0.5
    auto, blind = (subband.psnr(subband.denoise(noisy, noise=noise), image, peak=255) for noise in ("auto", "gaussian"))
    assert auto > blind - 0.5


@pytest.mark.parametrize("sigma", [5, 15])
@pytest.mark.parametrize("kernel", ["square", "tent", "green", "rows"])
@pytest.mark.parametrize("name", IMAGES)
def test_smoothed_noise_is_found_in_images(name, kernel, sigma):
    """As sensors and scanners leave it, and demosaicing; and it is taken away better for it."""
    weights = {
        "square": np.ones((2, 2)) / 2,
        "tent": np.outer([1, 2, 1], [1, 2, 1]) / 6,
        "green": np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / np.sqrt(20),
        "rows": np.array([[1, 3, 4, 3, 1]]) / 6,
    }[kernel]
    image = IMAGES[name][..., 1] if IMAGES[name].ndim == 3 else IMAGES[name]
    noise = np.random.default_rng(3).normal(0, sigma, np.add(image.shape, 4))
    rows, columns = image.shape
    noisy = image + sum(weight * noise[y : y + rows, x : x + columns] for (y, x), weight in np.ndenumerate(weights))
    report = find_noise(noisy)
    assert report.kind == "correlated"
    auto, blind = (subband.psnr(subband.denoise(noisy, noise=noise), image, peak=255) for noise in ("auto", "gaussian"))
    assert auto > blind + 0.5


def test_what_was_found_denoises():
    noisy = PoissonGaussian(2.0, sigma=4.0).add(ASCENT, seed=0)
    errors = [np.mean(np.square(subband.denoise(noisy, noise=noise) - ASCENT)) for noise in
              ("gaussian", find_noise(noisy).model, PoissonGaussian(2.0, sigma=4.0))]  # fmt: skip
    assert errors[1] < 0.97 * errors[0]
    assert errors[1] == pytest.approx(errors[2], rel=0.02)


def test_volumes_channels_and_axes():
    volume = add_noise(np.full((5, 64, 72), 50.0), 8)
    assert find_noise(volume).sigma == pytest.approx(8, rel=0.05)
    assert find_noise(np.moveaxis(volume, 0, -1), channel_axis=2).sigma == pytest.approx(8, rel=0.05)
    assert find_noise(volume, axes=(1, 2)).sigma == pytest.approx(8, rel=0.05)


def test_what_is_too_small_is_refused():
    with pytest.raises(ShapeError, match="one axis of space"):
        find_noise(np.zeros(100))
    for shape in ((7, 7), (8, 8)):
        with pytest.raises(ShapeError, match="noise needs 8"):
            find_noise(np.zeros(shape))
