"""Noise goes, the picture stays."""

import numpy as np
import pytest

from subband import Wavelet, data, decompose
from subband.bench.quality import measure_psnr
from subband.enhance import denoise, estimate_noise, measure_gains
from subband.enhance.colour import from_opponents, to_opponents
from subband.errors import ArgumentError, ShapeError


def add_noise(picture, sigma):
    return picture + np.random.default_rng(1).normal(0, sigma, picture.shape)


@pytest.mark.parametrize("sigma", [20.0, 50.0])
@pytest.mark.parametrize("wavelet", ["cdf97", "db4", "bior2.2"])
def test_noise_is_estimated(wavelet, sigma):
    noisy = add_noise(data.camera(), sigma)
    assert estimate_noise(decompose(noisy, wavelet, 1)).item() == pytest.approx(sigma, rel=0.15)


@pytest.mark.parametrize("wavelet", ["haar", "cdf97", "bior3.1"])
@pytest.mark.parametrize("level", [1, 3])
def test_gains_are_those_of_noise(wavelet, level):
    noise = np.random.default_rng(0).normal(0, 1, 2**16)
    pyramid = decompose(noise, wavelet, level, "periodization")
    low, high = measure_gains(Wavelet(wavelet), level)
    assert pyramid.approximation.std() == pytest.approx(low, rel=0.05)
    assert pyramid.details[0]["d"].std() == pytest.approx(high, rel=0.05)


@pytest.mark.parametrize("picture", [data.photograph(), data.camera()], ids=["colour", "grey"])
def test_at_least_five_decibels_are_won(picture):
    noisy = add_noise(picture, 20.0)
    gain = measure_psnr(denoise(noisy), picture, 255) - measure_psnr(noisy, picture, 255)
    assert gain > 5


def test_known_noise_is_taken():
    noisy = add_noise(data.camera(), 20.0)
    assert not np.array_equal(denoise(noisy, sigma=5.0), denoise(noisy))
    np.testing.assert_allclose(denoise(noisy, sigma=0.0), noisy, atol=1e-9)


def test_constant_picture_stays():
    np.testing.assert_allclose(denoise(np.full((64, 64), 7.0)), 7.0)


@pytest.mark.parametrize(("dtype", "result"), [("uint8", "float32"), ("float32", "float32"), ("float64", "float64")])
@pytest.mark.parametrize("shape", [(65, 47), (64, 33, 3)])
def test_shape_and_dtype(shape, dtype, result):
    denoised = denoise(np.random.default_rng(0).integers(0, 255, shape).astype(dtype))
    assert denoised.shape == shape
    assert denoised.dtype == result


def test_engines_agree():
    noisy = add_noise(data.photograph()[:96, :80], 20.0)
    np.testing.assert_allclose(denoise(noisy, engine="cpu"), denoise(noisy, engine="reference"), atol=1e-6)


def test_colours_come_back():
    pixels = np.random.default_rng(0).random((4, 5, 3))
    np.testing.assert_allclose(from_opponents(to_opponents(pixels)), pixels)


def test_bad_input():
    with pytest.raises(ShapeError, match="rows"):
        denoise(np.zeros((4, 4, 2)))
    with pytest.raises(ArgumentError, match="sigma"):
        denoise(np.zeros((64, 64)), sigma=-1)
