"""The continuous transform against PyWavelets, and its errors."""

from __future__ import annotations

import numpy as np
import pytest
import pywt

from subband import release_memory
from subband.errors import ArgumentError, ArgumentTypeError, AxesError, DtypeError, ShapeError
from subband.testing import assert_close, largest
from subband.transforms.continuous import _banks, cwt
from subband.transforms.convolution import Kernel, convolve_directly
from subband.transforms.dilation import find_shape, sample_kernel
from subband.wavelets import ContinuousWavelet

WAVELETS = ["gaus1", "gaus4", "cgau2", "mexh", "morl", "cmor1.5-1.0", "shan0.5-1.0", "fbsp2-1.0-0.5"]


def sample(shape, dtype="float64"):
    rng = np.random.default_rng(9)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize("method", ["conv", "fft"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
@pytest.mark.parametrize("length", [1, 2, 31, 200])
def test_coefficients_are_those_of_pywavelets(wavelet, method, dtype, length):
    x = sample((2, length), dtype)
    for scales in ([1, 2, 3.5, 30.0], np.arange(1, 6), 4):
        expected, expected_frequencies = pywt.cwt(x, scales, wavelet, 0.25, method)
        found, frequencies = cwt(x, scales, wavelet, 0.25, method)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        tolerance = 2e-5 if dtype in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, abs(expected).max()))
        np.testing.assert_allclose(frequencies, expected_frequencies, rtol=1e-14)
        assert frequencies.dtype == expected_frequencies.dtype


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("method", ["conv", "fft"])
def test_every_axis_can_be_transformed(axis, method):
    x = sample((6, 20, 3))
    expected, _ = pywt.cwt(x, [1, 4, 9], "morl", method=method, axis=axis)
    found, _ = cwt(x, [1, 4, 9], "morl", method=method, axis=axis)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("precision", [8, 12, 14])
def test_precision_is_that_of_pywavelets(precision):
    x = sample(64)
    expected, expected_frequencies = pywt.cwt(x, [2, 8], "mexh", precision=precision)
    found, frequencies = cwt(x, [2, 8], "mexh", precision=precision)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(frequencies, expected_frequencies)


def test_the_methods_agree_on_many_scales():
    x = sample((40, 100))
    scales = np.geomspace(1, 200, 90)
    direct, _ = cwt(x, scales, "cmor1.5-1.0")
    by_fft, _ = cwt(x, scales, "cmor1.5-1.0", method="fft")
    np.testing.assert_allclose(by_fft, direct, atol=1e-11)


@pytest.mark.parametrize("method", ["conv", "fft"])
@pytest.mark.parametrize("wavelet", ["mexh", "cmor1.5-1.0"])
def test_long_signals_and_scales_in_any_order(method, wavelet):
    x = sample((2, 3000))
    scales = np.random.default_rng(3).permutation(np.geomspace(1, 90, 24))
    expected, _ = pywt.cwt(x, scales, wavelet)
    found, _ = cwt(x, scales, wavelet, method=method)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_what_is_not_finite_stays_where_filters_reach():
    x = sample(400)
    x[200] = np.nan
    found, _ = cwt(x, [2, 4], "mexh")
    expected, _ = pywt.cwt(x, [2, 4], "mexh")
    assert np.isnan(found).any()
    assert not np.isnan(found[0, :180]).any()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_errors_of_large_parts_do_not_reach_small_ones(dtype):
    x = sample(1024)
    x[:512] *= 1e12
    x = x.astype(dtype)
    found, _ = cwt(x, [2, 4], "mexh")
    expected, _ = pywt.cwt(x.astype("float64"), [2, 4], "mexh")
    # the wavelet at scale 4 reaches 32 samples to either side
    np.testing.assert_allclose(found[:, 560:], expected[:, 560:], atol=1e-4 if dtype == "float32" else 1e-12)


def test_single_precision_is_computed_in_double_precision_by_conv():
    x = sample(4096)
    x[::2] *= 1e4
    x = x.astype("float32")
    scales = np.geomspace(1, 64, 12)
    kernels = [sample_kernel(find_shape("mexh", 12), scale, x.dtype, x.size) for scale in scales]
    exact = np.empty((len(scales), 1, x.size))
    convolve_directly(
        [Kernel(taps.astype("float64"), centre) for taps, centre in kernels], x[None].astype(float), exact
    )
    np.testing.assert_array_almost_equal_nulp(cwt(x, scales, "mexh")[0], exact[:, 0].astype("float32"), 1)


def test_numbers_near_the_largest_do_not_overflow():
    x = sample(64) * 1e200
    np.testing.assert_allclose(cwt(x, [2], "mexh")[0], pywt.cwt(x, [2], "mexh")[0], rtol=1e-12, atol=1e188)


def test_filters_of_the_last_calls_are_kept():
    _banks.clear()
    for length in range(20, 30):
        cwt(sample(length), [1, 2], "mexh")
    assert 0 < len(_banks) <= 4
    x = sample(29)
    before = cwt(x, [1, 2], "mexh")[0]
    release_memory()
    assert len(_banks) == 0
    np.testing.assert_array_equal(cwt(x, [1, 2], "mexh")[0], before)


def test_changed_parameters_of_a_wavelet_are_heeded():
    wavelet = ContinuousWavelet("cmor1.5-1.0")
    cwt(sample(32), [2], wavelet)
    wavelet.center_frequency = 2.0
    found, frequency = cwt(sample(32), [2], wavelet)
    expected, expected_frequency = cwt(sample(32), [2], "cmor1.5-2.0")
    np.testing.assert_array_equal(found, expected)
    assert frequency == expected_frequency == 1.0


def test_wavelets_of_pywavelets_are_taken():
    x = sample(32)
    expected = cwt(x, [2], "morl")[0]
    # theirs is sampled by another library, whose cosine may differ in the last place
    found = cwt(x, [2], pywt.ContinuousWavelet("morl"))[0]
    assert_close(found, expected, 100 * np.finfo(np.float64).eps, largest(x))


def test_any_axis_will_do_for_a_single_one():
    np.testing.assert_array_equal(cwt(sample(32), [2], "morl", axis=1)[0], cwt(sample(32), [2], "morl")[0])


def test_an_orthogonal_wavelet_finds_a_step():
    coefs, _ = cwt(np.repeat([0.0, 1.0], 32), [8], "haar")
    assert abs(int(np.abs(coefs[0, 8:-8]).argmax()) + 8 - 32) <= 1


def test_no_scales_give_no_coefficients():
    for method in ("conv", "fft"):
        coefs, frequencies = cwt(sample(32), [], "morl", method=method)
        assert coefs.shape == (0, 32)
        assert frequencies.shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: cwt(x, [1, 0], "morl"), ArgumentError, "positive"),
        (lambda x: cwt(x, [np.nan], "morl"), ArgumentError, "positive"),
        (lambda x: cwt(x, [0.01], "morl"), ArgumentError, "0.01 is too small"),
        (lambda x: cwt(x, [[1, 2]], "morl"), ShapeError, "2 dimensions"),
        (lambda x: cwt(x, [1], "morl", method="auto"), ArgumentError, "method='auto'"),
        (lambda x: cwt(x.reshape(4, 8), [1], "morl", axis=2), AxesError, "axis=2"),
        (lambda x: cwt(x, [1], "morl", axis=(0,)), AxesError, "not an integer"),
        (lambda x: cwt(x, [1], "quux"), ArgumentError, "quux"),
        (lambda x: cwt(x, [1], "bior2.2"), ArgumentError, "not orthogonal"),
        (lambda x: cwt(x[:0], [1], "morl"), ShapeError, "no samples"),
        (lambda x: cwt(3.0, [1], "morl"), AxesError, "single number"),
        (lambda x: cwt(["a"], [1], "morl"), DtypeError, "no numbers"),
        (lambda x: cwt(x, [1], 5), TypeError, "5"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(sample(32))


@pytest.mark.parametrize("scales", ["wide", None, [None, 2], [1 + 2j], [[]]])
def test_scales_are_numbers(scales):
    with pytest.raises((ArgumentTypeError, ShapeError), match="scales"):
        cwt(np.ones(16), scales, "morl")
