"""Multiresolution analysis against PyWavelets, and its errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import pywt

from subband.errors import AxesError, DtypeError, LevelError, ModeError, ShapeError
from subband.transforms.mra import imra, imra2, imran, mra, mra2, mran


def sample(shape, dtype="float64"):
    rng = np.random.default_rng(7)
    x = 10 * rng.standard_normal(shape)
    return (x + 10j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def assert_same(found, expected):
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_same(ours, theirs)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.fixture(autouse=True)
def quiet():
    """Both libraries warn of high levels and of wavelets that are not orthogonal."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too high")
        warnings.filterwarnings("ignore", message="norm=True")
        yield


@pytest.mark.parametrize("mode", pywt.Modes.modes)
@pytest.mark.parametrize("wavelet", ["haar", "db3", "bior2.4"])
@pytest.mark.parametrize("length", [37, 64])
def test_decimated_parts_are_those_of_pywavelets(mode, wavelet, length):
    x = sample(length)
    parts = mra(x, wavelet, level=3, transform="dwt", mode=mode)
    assert_same(parts, pywt.mra(x, wavelet, level=3, transform="dwt", mode=mode))
    np.testing.assert_allclose(imra(parts), x, atol=1e-10)
    xx = sample((13, 16, 3))
    parts = mra2(xx, wavelet, level=2, axes=(0, 1), transform="dwt2", mode=mode)
    assert_same(parts, pywt.mra2(xx, wavelet, level=2, axes=(0, 1), transform="dwt2", mode=mode))
    np.testing.assert_allclose(imra2(parts), xx, atol=1e-10)


@pytest.mark.parametrize("axes", [None, (0,), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("transform", ["swtn", "dwtn"])
def test_parts_along_any_axes_are_those_of_pywavelets(axes, transform):
    x = sample((8, 4, 12))
    parts = mran(x, "sym2", level=2, axes=axes, transform=transform)
    assert_same(parts, pywt.mran(x, "sym2", level=2, axes=axes, transform=transform))
    np.testing.assert_allclose(imran(parts), x, atol=1e-10)


@pytest.mark.parametrize("wavelet", ["haar", "sym4", "rbio1.3"])
def test_stationary_parts_are_those_of_pywavelets(wavelet):
    x = sample((16, 8))
    assert_same(mra(x, wavelet, axis=0), pywt.mra(x, wavelet, axis=0))
    assert_same(mra2(x, wavelet), pywt.mra2(x, wavelet))
    assert_same(mra2(x, (wavelet, "db2"), level=1), pywt.mra2(x, (wavelet, "db2"), level=1))
    assert_same(mran(x, wavelet), pywt.mran(x, wavelet))


def test_default_levels_are_those_of_pywavelets():
    x = sample((64, 32))
    assert len(mra(x, "db2", transform="dwt")) == len(pywt.mra(x, "db2", transform="dwt"))
    assert len(mra2(x, "db2", transform="dwt2")) == len(pywt.mra2(x, "db2", transform="dwt2"))
    with pytest.warns(UserWarning, match="length 3 "):
        [only] = mra2(sample((8, 8, 3)), "db2", axes=(0, 1))
    np.testing.assert_array_equal(only, sample((8, 8, 3)))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "uint8"])
def test_parts_add_up_for_every_kind_of_number(dtype):
    x = sample((16, 8), dtype)
    for parts in (mran(x, "db2"), mran(x, "db2", level=1, transform="dwtn", mode="symmetric")):
        np.testing.assert_allclose(imran(parts), x, rtol=1e-4, atol=1e-4)


def test_adding_up_writes_into_no_part():
    for parts, add in ((mra2(sample((8, 8)), "db2"), imra2), (mran(sample((8, 8)), "db2"), imran)):
        before = parts[0].copy()
        add(parts)
        np.testing.assert_array_equal(parts[0], before)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mra(np.ones(8), "db2", transform="fft"), ValueError, "transform='fft'.*'swt' or 'dwt'"),
        (lambda: mran(np.ones(8), "db2", transform="swt"), ValueError, "'swtn' or 'dwtn'"),
        (lambda: mra(np.ones(8), "db2", mode="zero"), ModeError, "mode='zero'.*transform='dwt'"),
        (lambda: mra2(np.ones((8, 8)), "db2", mode=("zero", "periodization")), ModeError, "zero"),
        (lambda: mra(np.ones(8), "db2", level=0), LevelError, "level=0"),
        (lambda: mra(np.ones(8), "db2", level=4), LevelError, "level=4"),
        (lambda: mra(np.ones(8), "db2", level=-1, transform="dwt"), LevelError, "level=-1"),
        (lambda: mra(np.ones(8), "db2", axis=2), AxesError, "axis=2"),
        (lambda: mra2(np.ones((8, 8)), "db2", axes=(0, 0)), AxesError, "twice"),
        (lambda: mra2(np.ones(8), "db2"), ShapeError, "1 dimensions"),
        (lambda: mran(np.array(1.0), "db2"), ShapeError, "single number"),
        (lambda: mra(["a", "b"], "db2"), DtypeError, "no numbers"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_parts_in_single_precision_are_rounded_once(dtype):
    x = sample((32, 16), dtype)
    wide = mra2(x.astype(np.result_type(x.dtype, np.float64)), "coif5")
    for found, expected in zip(mra2(x, "coif5"), wide, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        assert np.asarray(found).dtype == dtype
