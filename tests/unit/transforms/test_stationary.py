"""The stationary transforms against PyWavelets, and their errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import pywt

from subband.errors import AxesError, CoefficientsError, DtypeError, LevelError, ShapeError
from subband.transforms.stationary import iswt, iswt2, iswtn, swt, swt2, swt_max_level, swtn

WAVELETS = ["haar", "db2", "sym8", "db20", "bior2.2", "rbio3.1", "coif5"]
DTYPES = ["float32", "float64", "complex64", "complex128", "int16"]


def sample(shape, dtype="float64"):
    rng = np.random.default_rng(5)
    x = 10 * rng.standard_normal(shape)
    return (x + 10j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def assert_same(found, expected, tolerance=1e-10):
    """Compare nested lists, tuples and dictionaries of arrays, kinds and order included."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, band in expected.items():
            assert_same(found[key], band, tolerance)
    elif isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs, tolerance)
    else:
        assert found.shape == expected.shape
        assert np.iscomplexobj(found) == np.iscomplexobj(expected)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1, abs(expected).max()))


@pytest.fixture(autouse=True)
def quiet_about_energy():
    """Many of the wavelets here are not orthogonal, which both libraries warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="norm=True, but the wavelet")
        yield


@pytest.mark.parametrize("wavelet", WAVELETS)
@pytest.mark.parametrize(("length", "level", "start"), [(2, 1, 0), (16, 4, 0), (48, 3, 1), (64, 2, 2)])
@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("norm", [False, True])
def test_one_axis_is_that_of_pywavelets(wavelet, length, level, start, trim, norm):
    x = sample(length)
    coeffs = pywt.swt(x, wavelet, level, start, trim_approx=trim, norm=norm)
    assert_same(swt(x, wavelet, level, start, trim_approx=trim, norm=norm), coeffs)
    assert_same(iswt(coeffs, wavelet, norm=norm), pywt.iswt(coeffs, wavelet, norm=norm))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("trim", [False, True])
def test_an_axis_of_several_is_that_of_pywavelets(axis, trim):
    x = sample((8, 12, 4))
    coeffs = pywt.swt(x, "db2", axis=axis, trim_approx=trim)
    assert_same(swt(x, "db2", axis=axis, trim_approx=trim), coeffs)
    assert_same(iswt(coeffs, "db2", axis=axis), pywt.iswt(coeffs, "db2", axis=axis))


@pytest.mark.parametrize("wavelet", ["haar", "bior2.2", ("db2", "sym4")])
@pytest.mark.parametrize(("axes", "level"), [((-2, -1), 2), ((0, 1), 2), ((2, 0), 2)])
@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("norm", [False, True])
def test_two_axes_are_those_of_pywavelets(wavelet, axes, level, trim, norm):
    x = sample((8, 12, 4))
    coeffs = pywt.swt2(x, wavelet, level, axes=axes, trim_approx=trim, norm=norm)
    assert_same(swt2(x, wavelet, level, axes=axes, trim_approx=trim, norm=norm), coeffs)
    assert_same(iswt2(coeffs, wavelet, norm, axes), pywt.iswt2(coeffs, wavelet, norm, axes))


@pytest.mark.parametrize("axes", [None, (0,), (1, 2), (2, 0, 1), (-1, 0)])
@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("start", [0, 1])
def test_any_axes_are_those_of_pywavelets(axes, trim, start):
    x = sample((8, 4, 12))
    coeffs = pywt.swtn(x, "db3", 1, start, axes, trim, True)
    assert_same(swtn(x, "db3", 1, start, axes, trim, True), coeffs)
    assert_same(iswtn(coeffs, "db3", axes, True), pywt.iswtn(coeffs, "db3", axes, True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds_of_numbers_are_kept(dtype):
    x = sample((8, 16), dtype)
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-10
    assert_same(swtn(x, "db2", 2), pywt.swtn(x, "db2", 2), tolerance)
    np.testing.assert_allclose(iswtn(swtn(x, "db2", 2), "db2"), x, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(iswt(swt(x, "db2"), "db2"), x, rtol=tolerance, atol=10 * tolerance)


def test_lists_strides_and_byte_orders_are_taken():
    x = sample((16, 8))
    expected = swtn(x, "db2", 1)
    assert_same(swtn(x.tolist(), "db2", 1), expected)
    assert_same(swtn(np.asfortranarray(x), "db2", 1), expected)
    assert_same(swtn(x.astype(">f8"), "db2", 1), expected)
    assert_same(swtn(np.repeat(x, 2, axis=0)[::2], "db2", 1), expected)


def test_inputs_are_not_written_to():
    x = sample((8, 8))
    copy = x.copy()
    coeffs = swtn(x, "db2", 2)
    keys = [list(bands) for bands in coeffs]
    values = [{key: band.copy() for key, band in bands.items()} for bands in coeffs]
    iswtn(coeffs, "db2")
    np.testing.assert_array_equal(x, copy)
    assert [list(bands) for bands in coeffs] == keys
    assert_same(coeffs, values, 0)


def test_a_band_left_out_counts_as_zeros():
    bands = swtn(sample((8, 8)), "db2", 1)[0]
    expected = iswtn([{**bands, "dd": np.zeros((8, 8))}], "db2")
    np.testing.assert_allclose(iswtn([{key: bands[key] for key in ("aa", "ad", "da")}], "db2"), expected)


def test_no_level_gives_the_array_itself():
    x = sample((8, 8))
    assert swtn(x, "db2", 0) == []
    [found] = swt2(x, "db2", 0, trim_approx=True)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(iswtn([x], "db2"), x)
    assert iswtn([x], "db2") is not x


def test_energy_is_kept_by_orthogonal_wavelets():
    x = sample((16, 16))
    coeffs = swt2(x, "sym4", 3, trim_approx=True, norm=True)
    energy = sum(np.sum(np.square(band)) for band in [coeffs[0], *(b for bands in coeffs[1:] for b in bands)])
    np.testing.assert_allclose(energy, np.sum(np.square(x)))


def test_max_level_is_that_of_pywavelets():
    assert [swt_max_level(n) for n in (2, 12, 48, 1024)] == [pywt.swt_max_level(n) for n in (2, 12, 48, 1024)]
    for odd in (1, 11):
        with pytest.warns(UserWarning, match=f"length {odd} "):
            assert swt_max_level(odd) == 0
    with pytest.raises(ShapeError, match="input_len=0"):
        swt_max_level(0)


def test_norm_warns_of_wavelets_that_do_not_keep_the_energy():
    for call in (
        lambda: swt([1.0, 2.0], "bior2.2", norm=True),
        lambda: swtn([1.0, 2.0], "bior2.2", 1, norm=True),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        [warning] = caught
        assert "norm=True, but the wavelet" in str(warning.message)
        assert warning.filename == __file__


X = np.arange(16.0)
XX = np.zeros((16, 12))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: swt(X, "db2", 0), LevelError, "level=0"),
        (lambda: swt(X, "db2", -1), LevelError, "level=-1"),
        (lambda: swt(X, "db2", 1.5), LevelError, "level=1.5"),
        (lambda: swt(X, "db2", 5), LevelError, "level=5 .* 4 at most"),
        (lambda: swt(X, "db2", 2, 3), LevelError, "start_level=3 .* length 16"),
        (lambda: swt(X, "db2", 1, -1), LevelError, "start_level=-1"),
        (lambda: swt(X[:15], "db2", 1), ShapeError, "axis 0 has 15 samples"),
        (lambda: swt(X[:0], "db2", 1), ShapeError, "empty"),
        (lambda: swt(3.0, "db2", 1), AxesError, "single number"),
        (lambda: swt(X, "db2", 1, axis=1), AxesError, "axis=1"),
        (lambda: swt(X.astype(object), "db2", 1), DtypeError, "object"),
        (lambda: swt2(XX, "db2", 3), LevelError, "axis 1 of length 12"),
        (lambda: swt2(XX, "db2", 1, axes=(0, 0)), AxesError, "twice"),
        (lambda: swt2(XX, "db2", 1, axes=(0,)), AxesError, "exactly 2"),
        (lambda: swt2(XX, "db2", 1, axes=(0, 2)), AxesError, "axis=2"),
        (lambda: swt2(X, "db2", 1), ShapeError, "1 dimensions"),
        (lambda: swtn(XX, ("db2",) * 3, 1), ValueError, "3 wavelets for 2 axes"),
        (lambda: swtn(XX, "db2", 1, axes=()), AxesError, "no axis"),
        (lambda: swtn(np.array(3.0), "db2", 1), ShapeError, "single number"),
        (lambda: swtn(XX, "quux", 1), ValueError, "quux"),
        (lambda: iswt([], "db2"), CoefficientsError, "empty"),
        (lambda: iswtn([], "db2"), CoefficientsError, "empty"),
        (lambda: iswt(swt(X, "db2", 1), "db2", axis=1), AxesError, "axis=1"),
        (lambda: iswt([X, X[:8]], "db2"), CoefficientsError, "different shapes"),
        (lambda: iswtn([{"aa": XX, "dd": XX[:4]}], "db2"), RuntimeError, "different shapes"),
        (lambda: iswtn(swtn(XX, "db2", 1), "db2", axes=(0,)), CoefficientsError, "2 letters for 1 axes"),
        (lambda: iswtn(swtn(XX, "db2", 1), "db2", axes=(0, 0)), AxesError, "twice"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)
