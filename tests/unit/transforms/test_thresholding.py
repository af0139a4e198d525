"""Thresholds against PyWavelets, and where it gives NaN or the wrong element."""

from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband.errors import ArgumentError, DtypeError
from subband.transforms.thresholding import threshold, threshold_firm

DTYPES = ["float32", "float64", "complex64", "complex128", "int64", "uint8", "float16"]
MODES = ["soft", "hard", "garrote", "garotte", "greater", "less"]


def sample(dtype: str, shape: tuple[int, ...] = (7, 9)) -> np.ndarray:
    rng = np.random.default_rng(3)
    x = 4 * rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 4j * rng.standard_normal(shape)
    return np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("substitute", [0, 5])
@pytest.mark.parametrize("value", [1.5, np.float64(1.5), np.linspace(0.5, 2, 9)])
def test_threshold_is_that_of_pywavelets(mode, dtype, substitute, value):
    x = sample(dtype)
    if mode in ("greater", "less") and np.iscomplexobj(x):
        with pytest.raises(ValueError, match=f"mode='{mode}'.*complex"):
            threshold(x, value, mode)
        return
    expected = pywt.threshold(x, value, mode, substitute)
    found = threshold(x, value, mode, substitute)
    assert found.dtype == expected.dtype
    tolerance = 2e-3 if dtype == "float16" else 1e-6 if dtype in ("float32", "complex64") else 1e-14
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES[:5])
@pytest.mark.parametrize(("low", "high"), [(0.5, 3.0), (0.25, 2), (1, 1.5), (np.float64(1), np.float64(2))])
def test_threshold_firm_is_that_of_pywavelets(dtype, low, high):
    x = sample(dtype)
    expected = pywt.threshold_firm(x, low, high)
    found = threshold_firm(x, low, high)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-6 if dtype in ("float32", "complex64") else 1e-13)


def test_a_list_is_taken_for_data_and_value():
    np.testing.assert_array_equal(threshold([1, 2, 3], [2, 2, 2], "soft"), [0, 0, 1])
    np.testing.assert_array_equal(threshold([1, 2, 4], [2, 2, 2], "garrote"), [0, 0, 3])


def test_zeros_stay_zero_without_a_warning():
    x = np.array([0.0, -1.0, 2.0])
    for mode in ("soft", "garrote", "hard"):
        np.testing.assert_array_equal(threshold(x, 0, mode), x)
        np.testing.assert_array_equal(threshold(np.zeros(3), 2, mode), np.zeros(3))
    np.testing.assert_array_equal(threshold_firm(x, 0, 0), x)


def test_a_single_number_is_taken():
    assert threshold(3.0, 2) == 1.0
    assert threshold_firm(np.array(1.0), 2, 3) == 0.0


def test_firm_keeps_a_large_first_element():
    np.testing.assert_array_equal(threshold_firm([10.0, 0.1], 1, 2), [10.0, 0.0])


def test_firm_turns_into_hard_and_soft():
    x = sample("float64")
    np.testing.assert_array_equal(threshold_firm(x, 1, 1), threshold(x, 1, "hard"))
    np.testing.assert_allclose(threshold_firm(x, 1, np.inf), threshold(x, 1, "soft"))


def test_nan_stays_nan():
    for mode in MODES:
        assert np.isnan(threshold(np.array([np.nan, 1.0]), 2, mode)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: threshold([1.0], 1, "sofd"), "mode='sofd'.*did you mean 'soft'"),
        (lambda: threshold([1.0], 1, None), "mode=None"),
        (lambda: threshold_firm([1.0], -1, 2), "value_low=-1"),
        (lambda: threshold_firm([1.0], 3, 2), "value_high=2"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize("data", [["a"], [object()], np.array(["2020"], "datetime64[Y]")])
def test_what_is_no_number_is_refused(data):
    with pytest.raises(DtypeError, match="holds no numbers"):
        threshold(data, 1)
