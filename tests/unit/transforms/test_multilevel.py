import numpy as np
import pytest
import pywt

import subband
from subband.errors import ArgumentError, AxesError, CoefficientsError, LevelError, ShapeError

X = np.random.default_rng(0).standard_normal((19, 24))


def assert_same(ours, theirs):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs) or set(ours) == set(theirs)
        for key, band in theirs.items():
            assert_same(ours[key], band)
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("mode", subband.Modes.modes)
@pytest.mark.parametrize(
    ("forward", "inverse"), [("wavedec", "waverec"), ("wavedec2", "waverec2"), ("wavedecn", "waverecn")]
)
def test_as_pywavelets(forward, inverse, mode):
    expected = getattr(pywt, forward)(X, "db2", mode, level=2)
    coeffs = getattr(subband, forward)(X, "db2", mode, level=2)
    assert_same(coeffs, expected)
    assert_same(getattr(subband, inverse)(coeffs, "db2", mode), getattr(pywt, inverse)(expected, "db2", mode))


@pytest.mark.parametrize("shape", [(1,), (2,), (17,), (1, 9), (5, 6), (3, 4, 5)])
@pytest.mark.filterwarnings("ignore:level=3 is too high")
def test_whole_reconstructs_every_size(shape):
    x = np.random.default_rng(0).standard_normal(shape)
    coeffs = subband.wavedecn(x, "cdf97", "whole", level=3)
    assert subband.wavedecn_size(coeffs) == x.size
    back = subband.waverecn(coeffs, "cdf97", "whole")
    assert back.shape == x.shape
    np.testing.assert_allclose(back, x, atol=1e-11)
    packed, slices = subband.coeffs_to_array(coeffs, padding=None)
    assert packed.shape == x.shape
    unpacked = subband.array_to_coeffs(packed, slices)
    np.testing.assert_allclose(subband.waverecn(unpacked, "cdf97", "whole"), x, atol=1e-11)


def test_level_zero_gives_the_samples_as_they_are():
    x = np.arange(4)
    assert subband.wavedec(x, "haar", level=0)[0] is x
    assert subband.waverec([x], "haar") is x


def test_none_counts_as_zeros():
    coeffs = subband.wavedec(X, "db2", level=3)
    some = [coeffs[0], None, coeffs[2], None]
    assert_same(subband.waverec(some, "db2"), pywt.waverec(some, "db2"))
    coeffs = subband.wavedec2(X, "db2", level=2)
    some = [None, coeffs[1], (coeffs[2][0], None, coeffs[2][2])]
    assert_same(subband.waverec2(some, "db2"), pywt.waverec2(some, "db2"))


def test_warns_of_a_level_too_high():
    with pytest.warns(UserWarning, match="level=9 is too high for an axis of length 19") as caught:
        subband.wavedec2(X, "db2", level=9)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("function", ["wavedec", "wavedec2", "wavedecn"])
def test_bad_arguments(function):
    transform = getattr(subband, function)
    with pytest.raises(LevelError, match="level=-1"):
        transform(X, "haar", level=-1)
    with pytest.raises(ShapeError):
        transform(3.0, "haar")
    with pytest.raises(ShapeError, match="empty"):
        transform(np.ones((2, 0)), "haar")


def test_bad_axes():
    with pytest.raises(AxesError, match="twice"):
        subband.wavedecn(X, "haar", axes=(0, 0))
    with pytest.raises(AxesError, match="no axis"):
        subband.wavedecn(X, "haar", axes=())
    with pytest.raises(TypeError, match="not a sequence"):
        subband.wavedec2(X, "haar", axes=1)


ONES = np.ones((4, 4))


@pytest.mark.parametrize(
    ("function", "coeffs", "words"),
    [
        ("waverec", [], "empty"),
        ("waverec", ONES, "must be the list"),
        ("waverec", [None], "no coefficients"),
        ("waverec", [None, None], "no coefficients"),
        ("waverec", [ONES, [1.0]], "Unexpected detail"),
        ("waverec", [ONES, np.ones((4, 9))], "does not belong"),
        ("waverec", [ONES, np.ones(4)], "dimensions"),
        ("waverec2", [ONES, None], "Unexpected detail"),
        ("waverec2", [ONES, (ONES, ONES)], "2 entries"),
        ("waverec2", [ONES, {"dd": ONES}], "wavedec2"),
        ("waverecn", [ONES, (ONES,)], "wavedecn"),
        ("waverecn", [ONES, {"dd": None}], "leave the keys out"),
        ("waverecn", [ONES, {"d": ONES}], "1 letters for 2 axes"),
        ("waverecn", [ONES, {"dx": ONES}], "'dx'"),
        ("waverecn", [None, {}], "no coefficients"),
    ],
)
def test_lists_that_cannot_be_merged(function, coeffs, words):
    with pytest.raises(CoefficientsError, match=words):
        getattr(subband, function)(coeffs, "haar")


@pytest.mark.parametrize("mode", ["symmetric", "periodization", "whole"])
def test_shapes_are_those_of_the_transform(mode):
    coeffs = subband.wavedecn(X, "cdf97", mode, level=1)
    shapes = subband.wavedecn_shapes(X.shape, "cdf97", mode, level=1)
    assert shapes[0] == coeffs[0].shape
    assert shapes[1] == {key: band.shape for key, band in coeffs[1].items()}
    assert subband.wavedecn_size(shapes) == subband.wavedecn_size(coeffs)
    assert subband.wavedecn_size(subband.wavedec2(X, "haar")) == subband.wavedecn_size(subband.wavedecn(X, "haar"))


@pytest.mark.parametrize("function", ["wavedec2", "wavedecn"])
def test_packing_as_pywavelets(function):
    theirs, ours = getattr(pywt, function)(X, "db2", level=2), getattr(subband, function)(X, "db2", level=2)
    expected, slices = pywt.coeffs_to_array(theirs)
    packed, places = subband.coeffs_to_array(ours)
    np.testing.assert_allclose(packed, expected, atol=1e-12)
    assert places == slices
    assert_same(subband.array_to_coeffs(packed, places, function), theirs)
    line, ranges, shapes = subband.ravel_coeffs(ours)
    assert (ranges, shapes) == pywt.ravel_coeffs(theirs)[1:]
    assert_same(subband.unravel_coeffs(line, ranges, shapes, function), theirs)


def test_packing_of_one_axis_needs_its_name():
    coeffs = subband.wavedec(X, "haar", level=2)
    for pack in (subband.coeffs_to_array, subband.ravel_coeffs):
        with pytest.raises(AxesError, match="name them"):
            pack(coeffs)
    packed, slices = subband.coeffs_to_array(coeffs, axes=(1,))
    assert packed.shape == X.shape
    assert_same(subband.array_to_coeffs(packed, slices, "wavedec"), coeffs)


@pytest.mark.parametrize("pack", [subband.coeffs_to_array, subband.ravel_coeffs])
@pytest.mark.parametrize(
    "coeffs", [[], ONES, [None], [ONES, None], [ONES, (None,) * 3], [ONES, (ONES, ONES)], [(ONES,)]]
)
def test_packing_what_is_missing(pack, coeffs):
    with pytest.raises(CoefficientsError):
        pack(coeffs)


def test_packing_bands_that_do_not_fit():
    with pytest.raises(CoefficientsError, match="no band 'ad'"):
        subband.coeffs_to_array([ONES, {"da": ONES, "dd": ONES}])
    with pytest.raises(CoefficientsError, match=r"\[1, 4\] high coefficients along axis 0"):
        subband.coeffs_to_array([ONES, (ONES, ONES, ONES[:1])])
    with pytest.raises(CoefficientsError, match="do not belong with 1 of"):
        subband.coeffs_to_array([ONES[:1], (ONES, ONES, ONES)])
    with pytest.raises(CoefficientsError, match="does not belong"):
        subband.coeffs_to_array([ONES, ONES[:1]], axes=(1,))
    with pytest.raises(CoefficientsError, match="gaps"):
        subband.coeffs_to_array(subband.wavedec2(X, "db2", level=2), padding=None)


def test_unpacking_in_the_wrong_form():
    packed, slices = subband.coeffs_to_array(subband.wavedec2(X, "haar", level=1))
    with pytest.raises(ArgumentError, match="output_format='bogus'"):
        subband.array_to_coeffs(packed, slices, "bogus")
    with pytest.raises(CoefficientsError, match="takes bands"):
        subband.array_to_coeffs(packed, slices, "wavedec")
    with pytest.raises(ArgumentError, match="empty"):
        subband.array_to_coeffs(packed, [])
    line, ranges, shapes = subband.ravel_coeffs(subband.wavedec2(X, "haar", level=1))
    with pytest.raises(ArgumentError, match="entries"):
        subband.unravel_coeffs(line, ranges, shapes[:1])
    with pytest.raises(CoefficientsError, match="too few"):
        subband.unravel_coeffs(line[:-1], ranges, shapes)


@pytest.mark.parametrize("mode", ["symmetric", "periodization", "whole"])
def test_separable(mode):
    result = subband.fswavedecn(X, "bior4.4", mode, levels=1)
    np.testing.assert_allclose(subband.fswaverecn(result)[: X.shape[0]], X, atol=1e-11)
    if mode == "whole":
        assert result.coeffs.shape == X.shape
    else:
        np.testing.assert_allclose(result.coeffs, pywt.fswavedecn(X, "bior4.4", mode, levels=1).coeffs, atol=1e-11)


def test_separable_result():
    result = subband.fswavedecn(X, ("db2", "haar"), ("zero", 1), levels=(1, 2), axes=(1, 0))
    assert (result.levels, result.axes, result.modes) == ([1, 2], (1, 0), ["zero", "symmetric"])
    assert result.wavelet_names == ["db2", "haar"]
    assert len(result.detail_keys()) == 5
    result.approx = np.zeros_like(result.approx)
    assert not result[0, 0].any()
    with pytest.warns(UserWarning, match="float32"):
        result[1, 1] = result[1, 1].astype("f4")
    for key in ((1,), (1, 3), (-1, 0), "aa", 1, (0.5, 0)):
        with pytest.raises(ArgumentError, match="levels="):
            result[key]
    with pytest.raises(CoefficientsError, match="shape"):
        result[0, 0] = np.ones(3)
    with pytest.raises(CoefficientsError, match="shape"):
        result.coeffs = np.ones(3)
    with pytest.raises(CoefficientsError, match="FswavedecnResult"):
        subband.fswaverecn(X)
    with pytest.raises(LevelError, match="2 axes"):
        subband.fswavedecn(X, "haar", levels=(1,))


def test_an_approximation_among_the_details_does_not_take_the_place_of_the_one_that_was_computed():
    x = np.random.default_rng(4).standard_normal((32, 48))
    coeffs = subband.wavedecn(x, "db2", level=2)
    coeffs[2]["aa"] = np.full_like(coeffs[2]["dd"], 7.0)
    del coeffs[2]["dd"]
    np.testing.assert_allclose(subband.waverecn(coeffs, "db2"), pywt.waverecn(coeffs, "db2"), atol=1e-12)
