import numpy as np
import pytest
import pywt

import subband
from subband.errors import ArgumentError, AxesError, CoefficientsError, ModeError, ShapeError, UnknownWaveletError

MODES = subband.Modes.modes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wavelet", ["haar", "db2", "sym5", "bior4.4", "rbio3.1", "db20"])
@pytest.mark.parametrize("n", [2, 5, 8, 33])
def test_as_pywavelets(wavelet, mode, n):
    x = np.random.default_rng(n).standard_normal((3, n))
    expected = pywt.dwt(x, wavelet, mode)
    low, high = subband.dwt(x, wavelet, mode)
    np.testing.assert_allclose(low, expected[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(high, expected[1], rtol=1e-11, atol=1e-11)
    back = subband.idwt(low, high, wavelet, mode)
    np.testing.assert_allclose(back, pywt.idwt(*expected, wavelet, mode), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_whole_keeps_the_number_of_samples(n):
    x = np.random.default_rng(n).standard_normal((n, 2))
    low, high = subband.dwt(x, "cdf97", "whole", axis=0)
    assert (low.shape, high.shape) == (((n + 1) // 2, 2), (n // 2, 2))
    np.testing.assert_allclose(subband.idwt(low, high, "cdf97", "whole", axis=0), x, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtype_stays(dtype):
    x = np.arange(10).astype(dtype)
    low, high = subband.dwt(x, "db2")
    assert (low.dtype, high.dtype, subband.idwt(low, high, "db2").dtype) == (x.dtype,) * 3


def test_different_dtypes_are_merged_in_double_precision():
    low, high = subband.dwt(np.ones(8), "db2")
    assert subband.idwt(low.astype("f4"), high, "db2").dtype == np.float64
    assert subband.idwt(low.astype("f4"), high.astype("c8"), "db2").dtype == np.complex128


@pytest.mark.parametrize(
    "x",
    [
        np.arange(24.0).reshape(2, 12)[:, ::2],
        np.asfortranarray(np.arange(12.0).reshape(2, 6)),
        np.arange(12.0).reshape(2, 6).astype(">f8"),
        np.arange(12.0).reshape(2, 6)[::-1, ::-1],
        np.broadcast_to(np.arange(6.0), (2, 6)),
    ],
    ids=["strided", "fortran", "byte-swapped", "reversed", "read-only"],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_any_layout(x, axis):
    expected = subband.dwt(np.array(x, dtype=float, order="C"), "db2", axis=axis)
    for band, value in zip(subband.dwt(x, "db2", axis=axis), expected, strict=True):
        np.testing.assert_array_equal(band, value)


def test_none_counts_as_zeros():
    low, high = subband.dwt(np.arange(9.0), "db3")
    zeros = np.zeros_like(low)
    np.testing.assert_array_equal(subband.idwt(low, None, "db3"), subband.idwt(low, zeros, "db3"))
    np.testing.assert_array_equal(subband.idwt(None, high, "db3"), subband.idwt(zeros, high, "db3"))
    assert subband.idwt(None, [1.0, 1.0], "cdf97", "whole").shape == (4,)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], "haar"), ShapeError, "empty"),
        ((3.0, "haar"), AxesError, "single number"),
        (([1], "haar", "reflect"), ShapeError, "single sample"),
        (([1, 2], "bd4"), UnknownWaveletError, "db4"),
        (([1, 2], "mexh"), ArgumentError, "continuous"),
        (([1, 2], None), TypeError, "wavelet"),
        (([1, 2], "haar", "whole"), ModeError, "symmetric filters of odd length"),
        (([1, 2], "haar", "zro"), ModeError, "zero"),
        (([1, 2], "haar", "zero", 1), AxesError, "axis=1"),
        ((["a"], "haar"), ValueError, "data has dtype"),
    ],
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        subband.dwt(*arguments)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (None, None, "both None"),
        (np.ones(4), np.ones(3), r"'d' of shape \(3,\)"),
        (np.ones(4), np.ones((4, 4)), "dimensions"),
        (np.ones(1), np.ones(1), "too few"),
        (np.ones((2, 4)), np.ones((3, 4)), "does not belong"),
    ],
)
def test_bands_that_do_not_belong_together(low, high, words):
    with pytest.raises(CoefficientsError, match=words):
        subband.idwt(low, high, "db2")


def test_whole_takes_at_most_one_more_low_coefficient():
    with pytest.raises(CoefficientsError):
        subband.idwt(np.ones(4), np.ones(2), "cdf97", "whole")


def test_lengths():
    assert subband.dwt_coeff_len(9, "db2", "symmetric") == pywt.dwt_coeff_len(9, 4, "symmetric")
    assert subband.dwt_coeff_len(9, 4, "whole") == 5
    assert subband.dwt_max_level(1000, "db4") == pywt.dwt_max_level(1000, 8)
    assert subband.dwtn_max_level((16, 8), ("db2", "haar"), axes=(1, 0)) == 1
    for bad in (1, -1, 3.3, "mexh", None):
        with pytest.raises(ArgumentError):
            subband.dwt_max_level(16, bad)
    with pytest.raises(ArgumentError, match="data_len=0"):
        subband.dwt_coeff_len(0, 2, "zero")
    with pytest.raises(ArgumentError, match="negative"):
        subband.dwt_max_level(-1, 2)
    with pytest.raises(ShapeError):
        subband.dwtn_max_level((), "haar")


@pytest.mark.parametrize("part", ["a", "d"])
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("wavelet", ["haar", "db3", "bior4.4"])
def test_one_band(part, level, wavelet):
    x = np.random.default_rng(level).standard_normal(21)
    down = subband.downcoef(part, x, wavelet, "zero", level)
    np.testing.assert_allclose(down, pywt.downcoef(part, x, wavelet, "zero", level), atol=1e-12)
    for take in (0, 4, 7, 1000):
        up = subband.upcoef(part, x, wavelet, level, take)
        np.testing.assert_allclose(up, pywt.upcoef(part, x, wavelet, level, take), atol=1e-12)


def test_one_band_of_bad_arguments():
    for function in (subband.downcoef, subband.upcoef):
        with pytest.raises(ArgumentError, match="part="):
            function("x", [1.0, 2.0], "haar")
        with pytest.raises(ArgumentError, match="level=0"):
            function("a", [1.0, 2.0], "haar", level=0)
        for data in ([], 3.0, np.ones((2, 2))):
            with pytest.raises(ShapeError, match="one dimension"):
                function("a", data, "haar")
    with pytest.raises(ArgumentError, match="take=-1"):
        subband.upcoef("a", [1.0], "haar", take=-1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [int, "float32", complex])
def test_pad_as_pywavelets(mode, dtype):
    x = np.array([[1, 4, 2], [5, 7, 3]]).astype(dtype)
    for widths in (2, (1, 3), ((2, 1), (1, 7))):
        padded = subband.pad(x, widths, mode)
        assert padded.dtype == x.dtype
        np.testing.assert_array_equal(padded, pywt.pad(x, widths, mode))


def test_pad_by_nothing():
    np.testing.assert_array_equal(subband.pad([1, 2, 3], 0, "smooth"), [1, 2, 3])


def test_pad_keeps_large_integers():
    x = np.array([2**62 + 1, 2**62 + 3])
    np.testing.assert_array_equal(subband.pad(x, 1, "zero"), [0, *x, 0])
    np.testing.assert_array_equal(subband.pad(x, 1, "whole"), [x[1], *x, x[0]])


def test_pad_of_bad_arguments():
    for widths in (-1, 1.5, ((1, 1),) * 3):
        with pytest.raises(ArgumentError, match="pad_widths"):
            subband.pad(np.ones((2, 2)), widths, "zero")
    with pytest.raises(ShapeError, match="empty"):
        subband.pad([], 1, "zero")
