"""Arguments and results of `dtcwt` and `idtcwt`, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from subband import DualTreePyramid, Wavelet, dtcwt, idtcwt, set_engine
from subband.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxesError,
    CoefficientsError,
    DtypeError,
    LevelError,
    LevelTypeError,
    ShapeError,
    UnknownWaveletError,
)
from subband.testing import draw_samples
from subband.wavelets.dual_tree import BIORTS, QSHIFTS, find_biort, find_qshift

X = draw_samples((26, 20), "float64")


@pytest.fixture(params=["reference", "cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def engine(request):
    if request.param == "opencl":
        pytest.importorskip("pyopencl")
    yield request.param
    set_engine(None)


@pytest.mark.parametrize("shape", [(21,), (26, 20), (6, 9, 8)])
def test_engines_agree(shape, engine):
    x = draw_samples(shape, "float64")
    expected = dtcwt(x, level=2)
    set_engine(engine)
    pyramid = dtcwt(x, level=2)
    assert isinstance(pyramid.lowpass, np.ndarray)
    for (_, _, band), (_, _, other) in zip(pyramid.bands(), expected.bands(), strict=True):
        np.testing.assert_allclose(band, other, atol=1e-12)
    np.testing.assert_allclose(idtcwt(pyramid), x, atol=1e-12)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries_come_back(library):
    module = pytest.importorskip(library)
    x = module.from_numpy(X.astype(np.float32)) if library == "torch" else module.numpy.asarray(X.astype(np.float32))
    pyramid = dtcwt(x)
    assert type(pyramid.lowpass) is type(x)
    assert type(pyramid.highpasses[2]) is type(x)
    np.testing.assert_allclose(np.asarray(pyramid.highpasses[2]), dtcwt(X).highpasses[2], atol=1e-5)
    back = idtcwt(pyramid.map(lambda band, level, key: band * 1))
    assert type(back) is type(x)
    np.testing.assert_allclose(np.asarray(back), X, atol=1e-5)


@pytest.mark.parametrize("shape", [(11,), (5, 6), (3, 2, 4)])
def test_gradients(shape):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(draw_samples(shape, "float64")).requires_grad_()

    def shrink(x):
        # what denoisers do: magnitudes change, phases stay
        return idtcwt(dtcwt(x, level=2).map(lambda band, level, key: band * (1 - torch.exp(-(band.abs() ** 2)))))

    assert torch.autograd.gradcheck(lambda x: [*dtcwt(x, level=2).highpasses, dtcwt(x, level=2).lowpass], (x,))
    assert torch.autograd.gradcheck(shrink, (x,))


@pytest.mark.parametrize(
    ("dtype", "computed"), [("float16", "float32"), ("uint8", "float64"), (">f4", "float32"), ("bool", "float64")]
)
def test_numbers_of_any_kind(dtype, computed):
    x = (np.abs(X) * 10).astype(dtype)
    pyramid = dtcwt(x, level=1)
    assert pyramid.lowpass.dtype == computed
    np.testing.assert_allclose(idtcwt(pyramid), x.astype(computed), atol=1e-5)


def test_the_input_is_not_written_to():
    x = X.copy()
    x.flags.writeable = False
    pyramid = dtcwt(x)
    lowpass, highpasses = pyramid
    before = [lowpass.copy(), *(band.copy() for band in highpasses)]
    idtcwt(pyramid)
    for band, expected in zip([lowpass, *highpasses], before, strict=True):
        np.testing.assert_array_equal(band, expected)


def test_views_of_any_strides():
    wide = np.zeros((52, 40))
    wide[::2, ::2] = X
    expected = dtcwt(np.ascontiguousarray(X))
    for view in (wide[::2, ::2], np.asfortranarray(X)):
        np.testing.assert_allclose(dtcwt(view).highpasses[0], expected.highpasses[0], atol=1e-13)


def test_map_and_bands():
    pyramid = dtcwt(X, level=2)
    keys = [(level, key) for level, key, _ in pyramid.bands()]
    assert keys == [(2, "aa"), *((level, key) for level in (2, 1) for key in pyramid.orientations)]
    doubled = pyramid.map(lambda band, level, key: band * (2 if (level, key) == (1, "dd-") else 1))
    np.testing.assert_allclose(doubled.highpasses[0][..., 4], 2 * pyramid.highpasses[0][..., 4])
    np.testing.assert_allclose(doubled.highpasses[0][..., 3], pyramid.highpasses[0][..., 3])
    np.testing.assert_allclose(doubled.lowpass, pyramid.lowpass)
    with pytest.raises(CoefficientsError, match=r"band 'da\+' of level 1 is 1\.0, which is not an array"):
        pyramid.map(lambda band, level, key: 1.0)
    with pytest.raises(CoefficientsError, match=r"band 'da\+' of level 1 has shape \(13,\); the plan asks for"):
        pyramid.map(lambda band, level, key: band[:, 0])


def test_picture():
    y, x = np.mgrid[:64, :48]
    stripes = dtcwt(np.cos(2 * np.pi * 0.2 * (np.sin(np.deg2rad(15)) * x + np.cos(np.deg2rad(15)) * y)), level=2)
    picture = stripes.picture(level=2)
    assert picture.dtype == np.uint8
    assert picture.shape == (2 * 16, 3 * 12)
    # stripes near the rows are in the first corner, and hardly anywhere else
    assert picture[:16, :12].mean() > 2 * picture[:16, 12:].mean()
    assert picture[:16, :12].mean() > 2 * picture[16:, :12].mean()
    assert not dtcwt(np.zeros((8, 8)), level=1).picture().any()
    with pytest.raises(LevelError, match=r"level=3 has no coefficients; there are 2 levels"):
        stripes.picture(3)
    with pytest.raises(ShapeError, match=r"shape \(8, 8, 3\).*cannot be drawn; transform an image of rows × columns"):
        dtcwt(np.zeros((8, 8, 3)), level=1, axes=(0, 1)).picture()


def test_levels_left_out_count_as_zeros():
    pyramid = dtcwt(X, level=2)
    without = DualTreePyramid(pyramid.lowpass, [None, pyramid.highpasses[1]], pyramid.plan)
    zeros = DualTreePyramid(pyramid.lowpass, [0 * pyramid.highpasses[0], pyramid.highpasses[1]], pyramid.plan)
    np.testing.assert_allclose(idtcwt(without), idtcwt(zeros), atol=1e-13)
    assert len(list(without.bands())) == 7
    assert without.map(lambda band, level, key: band).highpasses[0] is None


def test_no_level_is_no_change():
    pyramid = dtcwt(X, level=0)
    np.testing.assert_array_equal(pyramid.lowpass, X)
    np.testing.assert_array_equal(idtcwt(pyramid), X)


def test_shapes_are_checked():
    pyramid = dtcwt(X, level=2)
    with pytest.raises(CoefficientsError, match=r"highpasses has 1 levels, and the plan has 2"):
        DualTreePyramid(pyramid.lowpass, pyramid.highpasses[:1], pyramid.plan)
    with pytest.raises(CoefficientsError, match=r"highpasses\[1\] has shape \(7, 5\); the plan asks for \(7, 5, 6\)"):
        DualTreePyramid(pyramid.lowpass, [pyramid.highpasses[0], pyramid.highpasses[1][..., 0]], pyramid.plan)
    with pytest.raises(CoefficientsError, match=r"lowpass has shape \(7, 5\); the plan asks for \(14, 10\)"):
        DualTreePyramid(pyramid.lowpass[::2, ::2], pyramid.highpasses, pyramid.plan)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"biort": "near_sym_c"},
            UnknownWaveletError,
            r"near_sym_c' is not known; use one of antonini, legall",
        ),
        ({"biort": "db4"}, ArgumentError, r"'db4' has no symmetric filters of odd length"),
        ({"biort": 5}, ArgumentTypeError, r"5 is neither a name nor a Wavelet"),
        ({"qshift": "qshift_e"}, UnknownWaveletError, r"qshift_e' is not known; use one of qshift_06, qshift_a"),
        ({"qshift": 5}, ArgumentTypeError, r"qshift=5 is neither a name nor a Wavelet"),
        ({"level": 6}, LevelError, r"level=6 is too large for axis 0 of length 26; the maximum is 5"),
        ({"level": -1}, LevelError, r"level=-1 is negative"),
        ({"level": 1.5}, LevelTypeError, r"level=1\.5 is not an integer"),
        ({"axes": ()}, AxesError, r"are 0 axes; the dual-tree transform takes 1 to 3"),
        ({"axes": (0, 0)}, AxesError, r"names axis 0 twice"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        dtcwt(X, **arguments)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (X + 1j, DtypeError, r"dtype complex128; the dual-tree transform takes real numbers"),
        (np.zeros((2, 2, 2, 2)), AxesError, r"are 4 axes; the dual-tree transform takes 1 to 3"),
        (np.zeros((4, 0)), ShapeError, r"axis 1 of data of shape \(4, 0\) is empty"),
        (3.0, AxesError, r"are 0 axes"),
        (["a"], DtypeError, r"holds no numbers"),
    ],
)
def test_arrays_that_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        dtcwt(data, level=1)


def test_the_inverse_takes_a_pyramid_only():
    with pytest.raises(ArgumentTypeError, match=r"pyramid is a tuple; give what `dtcwt` returned"):
        idtcwt((X, []))


def test_dask_is_refused():
    dask = pytest.importorskip("dask.array")
    with pytest.raises(ArgumentTypeError, match=r"dtcwt does not take arrays of Dask.*x\.compute\(\)"):
        dtcwt(dask.from_array(X))


def test_wavelets_of_the_catalogue_do_for_the_first_level():
    x = draw_samples((40,), "float64")
    for name in ("cdf97", "bior2.2", Wavelet("bior6.8")):
        np.testing.assert_allclose(idtcwt(dtcwt(x, name)), x, atol=1e-12)
    np.testing.assert_allclose(dtcwt(x, "cdf53").highpasses[1], dtcwt(x, "legall").highpasses[1], atol=1e-12)


def test_filters_of_your_own_for_the_other_levels():
    mine = Wavelet("mine", filter_bank=find_qshift("qshift_b").filter_bank)
    np.testing.assert_allclose(dtcwt(X, qshift=mine).lowpass, dtcwt(X, qshift="QSHIFT_B").lowpass, atol=1e-13)


@pytest.mark.parametrize("name", [*BIORTS, *QSHIFTS])
def test_banks_reconstruct(name):
    bank = find_biort(name) if name in BIORTS else find_qshift(name)
    low, high, dual_low, dual_high = map(np.array, bank.filter_bank)
    # PyWavelets' layout: analysis and synthesis together delay by one less than their length
    whole = np.convolve(low, dual_low) + np.convolve(high, dual_high)
    expected = np.zeros(whole.size)
    expected[bank.dec_len - 1] = 2
    np.testing.assert_allclose(whole, expected, atol=1e-13)
    aliases = np.where(np.arange(bank.dec_len) % 2, -1, 1)
    np.testing.assert_allclose(
        np.convolve(low * aliases, dual_low) + np.convolve(high * aliases, dual_high), 0, atol=1e-13
    )
