"""Bad arguments: the error says which argument, what it got, and the way out."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import subband as sb
from subband import errors

X = np.arange(64.0)
IMAGE = np.arange(80.0).reshape(8, 10)

#: Functions with the common arguments, by name.
FORWARD_1D = {"dwt": sb.dwt, "wavedec": sb.wavedec, "decompose": sb.decompose}
FORWARD_ND = {
    "dwt2": sb.dwt2,
    "dwtn": sb.dwtn,
    "wavedec2": sb.wavedec2,
    "wavedecn": sb.wavedecn,
    "fswavedecn": sb.fswavedecn,
    "decompose": sb.decompose,
}


def raises(error, *words):
    """Expect an error of ours whose message has these words in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(words))


def test_every_error_is_also_a_built_in_one():
    for name in errors.__all__:
        kind = getattr(errors, name)
        if inspect.isclass(kind) and kind is not errors.SubbandError:
            assert issubclass(kind, errors.SubbandError)
            assert issubclass(kind, (ValueError, TypeError, OverflowError, ImportError, RuntimeError)), name


@pytest.mark.parametrize("name", sorted(FORWARD_1D))
def test_unknown_wavelets(name):
    transform = FORWARD_1D[name]
    with raises(errors.UnknownWaveletError, "'bd4'", r"did you mean 'db4'\?"):
        transform(X, "bd4")
    with raises(errors.UnknownWaveletError, "'quux'", "wavelist"):
        transform(X, "quux")
    with raises(errors.UnknownWaveletError, "wavelet=''", "wavelist"):
        transform(X, "")
    with raises(errors.ArgumentError, "'morl'", "continuous"):
        transform(X, "morl")
    for wavelet in (3, None):
        with raises(TypeError, "wavelet="):
            transform(X, wavelet)


@pytest.mark.parametrize("name", sorted(FORWARD_1D))
def test_unknown_modes(name):
    transform = FORWARD_1D[name]
    with raises(errors.ModeError, "mode='symetric'", "did you mean 'symmetric'", "known modes: zero"):
        transform(X, "db2", mode="symetric")


@pytest.mark.parametrize("name", sorted(FORWARD_1D | FORWARD_ND))
def test_modes_that_the_wavelet_cannot_take(name):
    transform = (FORWARD_1D | FORWARD_ND)[name]
    with raises(errors.ModeError, "mode='whole'", "'db2'", "use 'cdf97'"):
        transform(IMAGE, "db2", mode="whole")


def test_too_many_levels():
    with raises(errors.LevelError, "level=9", "axis 1", "length 256", "'db4'", "maximum is 5"):
        sb.decompose(np.zeros((100, 256)), "db4", level=9)
    with raises(errors.LevelError, "level=9", "axis 0", "length 64", "6 at most"):
        sb.swt(X, "db2", level=9)
    with pytest.warns(UserWarning, match="level=9 is too high for an axis of length 64 with 'db2'"):
        sb.wavedec(X, "db2", level=9)


@pytest.mark.parametrize("name", ["wavedec", "wavedecn", "decompose"])
@pytest.mark.parametrize("level", [-1, 1.5, "two"])
def test_levels_that_are_no_numbers_of_levels(name, level):
    with raises(errors.LevelError, f"level={level!r}", "use|integer"):
        getattr(sb, name)(X, "db2", level=level)


@pytest.mark.parametrize("name", ["dwtn", "wavedecn", "decompose"])
def test_axes(name):
    transform = getattr(sb, name)
    with raises(errors.AxesError, r"axes=\(\)", "axis"):
        transform(IMAGE, "db2", axes=())
    with raises(errors.AxesError, "axis=5", "2 dimensions", "use -2 to 1"):
        transform(IMAGE, "db2", axes=(0, 5))
    with raises(errors.AxesError, "axis=0.5", "not an integer"):
        transform(IMAGE, "db2", axes=(0.5,))


@pytest.mark.parametrize("name", ["wavedecn", "decompose"])
def test_axes_named_twice(name):
    with raises(errors.AxesError, r"axes=\(0, -2\)", "axis 0 twice"):
        getattr(sb, name)(IMAGE, "db2", axes=(0, -2))


def test_wrong_number_of_axes():
    with raises(errors.AxesError, r"axes=\(0, 1, 2\)", "exactly 2"):
        sb.dwt2(IMAGE, "db2", axes=(0, 1, 2))
    with raises(errors.AxesError, "axis=-2", "1 dimension"):
        sb.dwt2(X, "db2")
    with raises(errors.AxesError, "axis=1", "use -1 to 0"):
        sb.dwt(X, "db2", axis=1)


def test_wavelets_and_modes_for_axes():
    with raises(errors.ArgumentError, "3 wavelets for 2 axes", "one for each"):
        sb.decompose(IMAGE, ["db2"] * 3)
    with raises(errors.ArgumentError, "3 modes for 2 axes", "one for each"):
        sb.decompose(IMAGE, "db2", mode=["zero"] * 3)


@pytest.mark.parametrize("engine", ["gpu", "", 3, []])
def test_unknown_engines(engine):
    with raises(errors.SubbandError, "engine=", "auto, cpu"):
        sb.decompose(X, engine=engine)


def test_reversible_transforms():
    whole = np.arange(9)
    with raises(errors.DtypeError, "reversible=True", "float64", "convert"):
        sb.decompose(X, "haar", reversible=True)
    with raises(errors.ArgumentError, "wavelet='db2'", "cdf53", "haar"):
        sb.decompose(whole, "db2", reversible=True)
    with raises(errors.SubbandError, "reversible=True", "stationary=True"):
        sb.decompose(whole, "haar", reversible=True, stationary=True)


def test_reversible_transforms_never_overflow_in_silence():
    with raises(OverflowError, "1099511627776", "32 bits"):
        sb.decompose(np.array([2**40, 1]), "haar", reversible=True)
    swing = np.array([2**31 - 1, -(2**31) + 1] * 4)
    with raises(errors.IntegerRangeError, "coefficient", "32 bits", "at most"):
        sb.decompose(swing, "haar", level=1, reversible=True)
    pyramid = sb.decompose(np.arange(64, dtype=np.uint8), "cdf53", reversible=True)
    with raises(errors.IntegerRangeError, "uint8", "0 to 255"):
        sb.reconstruct(pyramid.map(lambda band, level, key: band * 7))
    with raises(errors.DtypeError, "float64", "integers"):
        sb.reconstruct(pyramid.map(lambda band, level, key: band * 0.5))


def test_least_int32_fits():
    x = np.full(6, -(2**31), np.int32)
    np.testing.assert_array_equal(sb.reconstruct(sb.decompose(x, "haar", level=1, reversible=True)), x)


def test_other_arguments():
    with raises(errors.ArgumentError, "part='x'", "'a'", "'d'"):
        sb.upcoef("x", X, "db2")
    with raises(errors.ArgumentError, "mode='medium'", "soft"):
        sb.threshold(X, 1.0, "medium")
    with raises(errors.ArgumentError, "filter_bank", "four"):
        sb.Wavelet("mine", filter_bank=[[1.0, 2.0]])
    with raises(errors.ArgumentError, "'x'", "'a', 'd'"):
        sb.WaveletPacket(X, "db2")["x"]


def test_finite_samples_are_expected_and_the_documentation_says_so():
    assert "inite" in sb.decompose.__doc__
    low, _ = sb.dwt([1.0, np.nan, 3.0, 4.0], "haar")
    assert np.isnan(low[0])
    assert np.isfinite(low[1])
