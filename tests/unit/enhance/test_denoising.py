"""Noise goes, the picture stays."""

import numpy as np
import pytest
import skimage.data

from subband import Wavelet, data, decompose
from subband.enhance import (
    Denoise,
    Enhancer,
    denoise,
    denoise_with_report,
    estimate_noise,
    estimate_sigma,
    measure_gains,
)
from subband.enhance.colour import FROM_OPPONENTS, TO_OPPONENTS
from subband.enhance.methods import find_method, list_methods
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError, SubbandError
from subband.quality import measure_psnr

METHODS = [method.name for method in list_methods()]


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


PICTURES = {
    "camera": data.camera()[100:356, 100:356],
    "ascent": data.ascent()[:256, :256],
    "coins": skimage.data.coins()[:255, :250],
    "page": skimage.data.page()[:191, :256],
    "brick": skimage.data.brick()[:256, :256],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sigma", [10.0, 25.0, 50.0])
@pytest.mark.parametrize("name", PICTURES)
def test_every_position_of_a_picture_is_at_least_as_good_as_one(name, sigma, method):
    """Neighbours of an undecimated band share their noise; a rule that takes them for independent keeps or loses it."""
    picture = PICTURES[name].astype(np.float64)
    noisy = add_noise(picture, sigma)
    one, every = (
        measure_psnr(denoise(noisy, sigma, method=method, form=form), picture, 255)
        for form in ("decimated", "undecimated")
    )
    # a guide that has lost less detail may have kept more noise
    assert every > one - (0.1 if find_method(method).is_guide else 0)


@pytest.mark.parametrize("shape", [(301,), (40, 37), (1, 50), (37, 40, 39)])
def test_neighbourhoods_of_any_shape(shape):
    noisy = np.random.default_rng(2).normal(0, 10, shape)
    axes = tuple(range(len(shape)))
    stage = Denoise("neigh", level=2, form="undecimated")
    result = Enhancer(stage, sigma=10.0).apply(noisy, axes=axes)
    assert result.shape == shape
    assert result.std() < 0.5 * noisy.std()


def test_known_noise_is_taken():
    noisy = add_noise(data.camera(), 20.0)
    assert not np.array_equal(denoise(noisy, sigma=5.0), denoise(noisy))
    np.testing.assert_allclose(denoise(noisy, sigma=0.0), noisy, atol=1e-9)


def test_constant_picture_stays():
    np.testing.assert_allclose(denoise(np.full((64, 64), 7.0)), 7.0)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("uint8", "uint8"), ("int16", "int16"), ("float32", "float32"), ("float64", "float64"), ("int64", "float64")],
)
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
    np.testing.assert_allclose(pixels @ TO_OPPONENTS.T @ FROM_OPPONENTS.T, pixels)


@pytest.mark.parametrize("shape", [(16, 16), (3, 3), (2, 2), (1, 1), (1, 40), (40, 1), (16, 16, 3), (1, 1, 3)])
def test_pictures_of_any_size(shape):
    noisy = add_noise(np.full(shape, 100.0), 10.0)
    for sigma in (None, 10.0):
        denoised = denoise(noisy, sigma)
        assert denoised.shape == shape
        assert np.isfinite(denoised).all()
        assert np.std(denoised) <= np.std(noisy)


def test_small_pictures_lose_noise_too():
    noisy = add_noise(np.full((16, 16), 100.0), 10.0)
    assert np.std(denoise(noisy, 10.0)) < 0.7 * np.std(noisy)


def test_single_row_is_a_signal():
    row = add_noise(np.full((1, 400), 100.0), 10.0)
    np.testing.assert_allclose(denoise(row).T, denoise(row.T))


def test_default_is_five_levels_where_there_is_room():
    noisy = add_noise(data.camera(), 20.0)
    np.testing.assert_array_equal(denoise(noisy), denoise(noisy, level=5))


def test_no_level_changes_nothing():
    picture = np.random.default_rng(0).random((8, 8))
    unchanged = denoise(picture, level=0)
    np.testing.assert_array_equal(unchanged, picture)
    assert not np.shares_memory(unchanged, picture)


PICTURE = np.random.default_rng(0).random((64, 64))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: denoise(np.zeros((4, 4, 2, 2))), ValueError, "4 axes of space; it can have 1 to 3"),
        (lambda: denoise(np.zeros((0, 4))), ValueError, r"image has shape \(0, 4\); .* at least 1 pixel"),
        (lambda: denoise("abc"), ValueError, "image has dtype <U3, .*astype"),
        (lambda: denoise([[1, 2], [3]]), ValueError, "image makes no array"),
        (lambda: denoise(PICTURE + 1j), TypeError, r"image has dtype complex128; .* image\.real"),
        (lambda: denoise(np.ma.masked_less(PICTURE, 0.5)), TypeError, r"masked values.*\.filled"),
        (lambda: denoise(PICTURE, sigma=-1), ValueError, "sigma=-1 .* use 0 or more"),
        (lambda: denoise(PICTURE, sigma=np.nan), ValueError, "sigma=nan .* use 0 or more"),
        (lambda: denoise(PICTURE, sigma=np.inf), ValueError, "sigma=inf .* use 0 or more"),
        (lambda: denoise(PICTURE, sigma="a"), TypeError, "sigma='a' is not a number; use 0 or more"),
        (lambda: denoise(PICTURE, sigma=[[1, 2]]), TypeError, r"sigma=\[\[1, 2\]\] is not a number; use 0 or more"),
        (lambda: denoise(PICTURE, level=99), ValueError, "level=99 is too large"),
        (lambda: denoise(PICTURE, level=-1), ValueError, "level=-1"),
        (lambda: denoise(PICTURE, level="a"), ValueError, "level='a'"),
        (lambda: estimate_noise(decompose(PICTURE, level=0)), ValueError, r"0 levels, .* level=1"),
        (lambda: estimate_noise(decompose(PICTURE[:1], level=1)), ValueError, r"\(1, 64\) .* at least 2 samples"),
        (lambda: estimate_noise(PICTURE), TypeError, "pyramid is a ndarray; make one with decompose"),
        (lambda: measure_gains("haar", 0), ValueError, "level=0 is not positive; the finest level is 1"),
        (lambda: measure_gains("haar", 1.5), ValueError, r"level=1\.5 is not an integer; the finest level is 1"),
        (lambda: measure_gains("hair", 1), ValueError, "'hair'; did you mean 'haar'"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, SubbandError)


def test_gains_of_a_name():
    assert measure_gains("haar", 1) == measure_gains(Wavelet("haar"), 1)


def test_settings_are_checked_although_equal_ones_were_taken_before():
    noisy = add_noise(data.camera()[:32, :32], 10)
    denoise(noisy, level=1)
    with pytest.raises(SubbandError, match="level=True"):
        denoise(noisy, level=True)


def test_noise_of_each_channel_may_be_a_list():
    noisy = add_noise(data.photograph()[:32, :32], 10)
    np.testing.assert_array_equal(denoise(noisy, sigma=[10, 20, 30]), denoise(noisy, sigma=(10, 20, 30)))


@pytest.mark.parametrize("shape", [(400,), (128, 96), (96, 96, 3), (24, 24, 24)])
def test_sigma_is_estimated(shape):
    noise = np.random.default_rng(0).normal(100, 12, shape)
    assert estimate_sigma(noise) == pytest.approx(12, rel=0.1)
    assert estimate_sigma(noise.tolist()) == estimate_sigma(noise)


def test_opacity_has_no_noise():
    pixels = np.random.default_rng(0).normal(100, 12, (64, 64, 4))
    pixels[..., 3] = 255
    assert estimate_sigma(pixels) == pytest.approx(12, rel=0.1)
    assert estimate_sigma(pixels, channel_axis=-1) == pytest.approx(9, rel=0.1)


def test_out_dtype_keeps_fractions_and_rounds_once():
    noisy = np.clip(150 * PICTURE + 50 + np.random.default_rng(0).normal(0, 20, PICTURE.shape), 0, 255).astype(np.uint8)
    fine = denoise(noisy, out_dtype=np.float32)
    assert (fine.dtype, denoise(noisy, out_dtype="float64").dtype) == (np.float32, np.float64)
    assert (fine != np.rint(fine)).any()
    rounded = np.clip(np.rint(fine), 0, 255)
    assert np.abs(denoise(noisy).astype(float) - rounded).max() <= 1
    np.testing.assert_array_equal(denoise(noisy, out_dtype=np.uint8), rounded)
    assert denoise(noisy.astype(float), out_dtype=np.uint16).dtype == np.uint16


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "uint64", "int64"])
def test_results_have_the_dtype_that_is_asked_for(dtype):
    pixels = np.linspace(-3e19, 3e19, 64).reshape(8, 8)
    found = denoise(pixels, sigma=0.0, out_dtype=dtype)
    assert found.dtype == np.dtype(dtype)
    # what is beyond the range ends at its limit, and does not wrap around
    limits = np.iinfo(dtype)
    assert found[0, 0] == limits.min
    assert limits.max - 2048 <= int(found[-1, -1]) <= limits.max


def test_integers_of_32_bits_are_exact():
    pixels = np.array([[2**31 - 1, 16_777_217], [-(2**31), 123_456_789]], np.int32)
    np.testing.assert_array_equal(denoise(pixels, sigma=0.0, out_dtype=np.int32), pixels)
    np.testing.assert_array_equal(denoise(pixels, sigma=0.0), pixels)


def test_dtypes_that_hold_no_pixels_are_refused():
    for dtype in (bool, complex, "U3"):
        with pytest.raises(DtypeError, match=" holds no pixels"):
            denoise(np.ones((8, 8)), out_dtype=dtype)
    with pytest.raises(ArgumentTypeError, match="out_dtype='pixels' is not a dtype"):
        denoise(np.ones((8, 8)), out_dtype="pixels")


def test_noise_is_looked_for_beside_gaps():
    noisy = add_noise(data.camera().astype(np.float64), 10.0)
    holes = noisy.copy()
    holes[100:110, 200:220] = np.nan
    with pytest.raises(ArgumentError, match="NaN or infinite"):
        denoise_with_report(holes)
    image, report = denoise_with_report(holes, nonfinite="mask")
    whole = denoise_with_report(noisy).report
    assert (report.kind, report.sigma) == (whole.kind, pytest.approx(whole.sigma, rel=0.02))
    np.testing.assert_array_equal(np.isnan(image), np.isnan(holes))
    mask = ~np.isnan(holes)
    holes[~mask] = 1e6
    assert denoise_with_report(holes, mask=mask).report.sigma == pytest.approx(report.sigma)
