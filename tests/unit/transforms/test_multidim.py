import numpy as np
import pytest
import pywt

import subband
from subband.errors import AxesError, CoefficientsError, ShapeError

X = np.random.default_rng(0).standard_normal((5, 8, 7))


@pytest.mark.parametrize("axes", [None, (0,), (2, 0), (-1, -2), (1, 1), (0, 2, 0, 1)])
@pytest.mark.parametrize("mode", ["symmetric", "periodization"])
def test_as_pywavelets(axes, mode):
    expected = pywt.dwtn(X, "db2", mode, axes)
    bands = subband.dwtn(X, "db2", mode, axes)
    assert set(bands) == set(expected)
    for key, band in bands.items():
        np.testing.assert_allclose(band, expected[key], atol=1e-12)
    back = subband.idwtn(bands, "db2", mode, axes)
    np.testing.assert_allclose(back, pywt.idwtn(expected, "db2", mode, axes), atol=1e-12)


def test_a_wavelet_and_a_mode_for_each_axis():
    wavelets, modes = ("db2", "haar", "bior2.2"), ("zero", subband.Modes.periodization, "smooth")
    expected = pywt.dwtn(X, wavelets, modes)
    for key, band in subband.dwtn(X, wavelets, modes).items():
        np.testing.assert_allclose(band, expected[key], atol=1e-12)


def test_images_as_pywavelets():
    cA, details = subband.dwt2(X, "db2")
    expected = pywt.dwt2(X, "db2")
    np.testing.assert_allclose(cA, expected[0], atol=1e-12)
    for band, value in zip(details, expected[1], strict=True):
        np.testing.assert_allclose(band, value, atol=1e-12)
    np.testing.assert_allclose(subband.idwt2((cA, details), "db2"), pywt.idwt2(expected, "db2"), atol=1e-12)


def test_whole_of_odd_sizes():
    bands = subband.dwtn(X, "cdf97", "whole")
    assert bands["add"].shape == (3, 4, 3)
    np.testing.assert_allclose(subband.idwtn(bands, "cdf97", "whole"), X, atol=1e-12)


def test_missing_bands_count_as_zeros():
    bands = subband.dwtn(X, "db2")
    some = {**bands, "dda": None}
    del some["aad"]
    zeros = {key: np.zeros_like(band) if key in ("dda", "aad") else band for key, band in bands.items()}
    np.testing.assert_allclose(subband.idwtn(some, "db2"), subband.idwtn(zeros, "db2"), atol=1e-14)


@pytest.mark.parametrize(
    ("x", "axes", "error", "words"),
    [
        (3.0, None, ShapeError, "single number"),
        (np.ones((0, 3)), None, ShapeError, "empty"),
        (X, (), AxesError, "no axis"),
        (X, (0, 3), AxesError, "axis=3"),
        (X, (0, -4), AxesError, "axis=-4"),
    ],
)
def test_bad_arguments(x, axes, error, words):
    with pytest.raises(error, match=words):
        subband.dwtn(x, "haar", axes=axes)


def test_two_axes_exactly():
    for axes in ((0,), (0, 1, 2)):
        with pytest.raises(AxesError, match="exactly 2"):
            subband.dwt2(X, "haar", axes=axes)
    with pytest.raises(AxesError):
        subband.dwt2(np.ones(4), "haar")


@pytest.mark.parametrize(
    ("coeffs", "words"),
    [
        ({}, "no coefficients"),
        ({"aa": None}, "no coefficients"),
        ({"aa": np.ones((4, 4)), "dd": np.ones((3, 4))}, "does not belong"),
        ({"aa": np.ones((4, 4)), "d": np.ones((4, 4))}, "not equally long"),
        ({"xx": np.ones((4, 4))}, "'xx'"),
        ({"": np.ones((4, 4))}, "''"),
        ({"aa": np.ones((4, 4)), "dd": np.ones((2, 4, 4))}, "dimensions"),
    ],
)
def test_bands_that_do_not_belong_together(coeffs, words):
    with pytest.raises(CoefficientsError, match=words):
        subband.idwtn(coeffs, "haar")


def test_keys_fit_the_axes():
    with pytest.raises(CoefficientsError, match="2 letters for 1 axes"):
        subband.idwtn({"aa": np.ones((4, 4))}, "haar", axes=(0,))


@pytest.mark.parametrize("coeffs", [None, (X, None), (X, (X, X)), X])
def test_forms_that_dwt2_does_not_return(coeffs):
    with pytest.raises(CoefficientsError, match="dwt2"):
        subband.idwt2(coeffs, "haar")
