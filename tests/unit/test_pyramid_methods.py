"""Bands by name, arithmetic, shrinking, PyWavelets' lists and notebooks: what pyramids do by themselves."""

import numpy as np
import pytest

import subband
from subband import Pyramid, decompose, reconstruct
from subband.errors import ArgumentError, CoefficientsError

X = np.random.default_rng(5).normal(size=(24, 30))


class TestBands:
    def test_level_and_key_find_a_band(self):
        pyramid = decompose(X, "db2", 2)
        for level, key, band in pyramid.bands():
            assert pyramid[level, key] is band
            assert (level, key) in pyramid

    def test_assigned_band_is_reconstructed(self):
        pyramid = decompose(X, "db2", 2)
        before = pyramid[1, "dd"]
        pyramid[1, "dd"] = 0
        assert before.any()  # the array itself is not written to
        expected = decompose(X, "db2", 2).map(lambda band, level, key: band * ((level, key) != (1, "dd")))
        np.testing.assert_allclose(pyramid.reconstruct(), reconstruct(expected), atol=1e-12)

    def test_number_keeps_the_dtype(self):
        pyramid = decompose(X.astype(np.float32), "db2", 1)
        pyramid[1, "ad"] = np.float64(3)
        assert pyramid[1, "ad"].dtype == np.float32
        pyramid[1, "aa"] = np.ones_like(pyramid[1, "aa"])
        assert (pyramid.approximation == 1).all()

    @pytest.mark.parametrize("index", [(3, "dd"), (0, "dd"), (1, "aa"), (1, "d"), (1, "dd", 2), ("dd", 1), (1.5, "dd")])
    def test_others_are_refused(self, index):
        pyramid = decompose(X, "db2", 2)
        assert index not in pyramid
        with pytest.raises(CoefficientsError, match="level from 1, the finest, to 2"):
            pyramid[index]
        with pytest.raises(CoefficientsError, match="is no band"):
            pyramid[index] = 0

    def test_shapes_must_fit(self):
        pyramid = decompose(X, "db2", 1)
        with pytest.raises(CoefficientsError, match="cannot become one of"):
            pyramid[1, "dd"] = np.zeros((2, 2))


class TestArithmetic:
    def test_is_that_of_arrays(self):
        one, other = decompose(X, "db2", 2), decompose(X[::-1], "db2", 2)
        for ours, theirs in (
            (one + other, X + X[::-1]),
            (one - other, X - X[::-1]),
            (3 * one, 3 * X),
            (np.float64(3) * one, 3 * X),
            (one / 4, X / 4),
            (-one, -X),
            (+one, X),
        ):
            np.testing.assert_allclose(ours.reconstruct(), theirs, atol=1e-12)

    def test_a_copy_has_bands_of_its_own(self):
        for pyramid in (decompose(X, "db2", 2), decompose(X.astype(np.int16), "haar", reversible=True)):
            copy = pyramid.copy()
            for (_, _, ours), (_, _, theirs) in zip(copy.bands(), pyramid.bands(), strict=True):
                assert ours.dtype == theirs.dtype
                assert not np.shares_memory(ours, theirs)
                np.testing.assert_array_equal(ours, theirs)

    def test_integers_stay_integers(self):
        pixels = np.arange(48, dtype=np.uint8).reshape(6, 8)
        doubled = 2 * decompose(pixels, "haar", reversible=True)
        assert doubled.approximation.dtype.kind == "i"

    @pytest.mark.parametrize(
        "wrong", [lambda p: p + 1, lambda p: p * X, lambda p: p * p, lambda p: 1 / p, lambda p: X * p]
    )
    def test_what_has_no_meaning_is_a_type_error(self, wrong):
        with pytest.raises(TypeError):
            wrong(decompose(X, "db2", 1))

    def test_other_transforms_are_refused(self):
        with pytest.raises(CoefficientsError, match="different transforms"):
            decompose(X, "db2", 1) + decompose(X, "db2", 2)


class TestShrinking:
    def test_threshold_leaves_the_approximation(self):
        pyramid = decompose(X, "db2", 2)
        shrunk = pyramid.threshold(0.7, "hard")
        assert shrunk.approximation is pyramid.approximation
        for level, key, band in shrunk.bands():
            if "d" in key:
                np.testing.assert_array_equal(band, subband.threshold(pyramid[level, key], 0.7, "hard"))

    def test_function_does_the_same(self):
        pyramid = decompose(X, "db2", 1)
        ours, theirs = subband.threshold(pyramid, 0.3), pyramid.threshold(0.3)
        assert all(np.array_equal(ours[level, key], band) for level, key, band in theirs.bands())

    @pytest.mark.parametrize("fraction", [0, 0.1, 0.5, 1])
    def test_keep_keeps_the_largest(self, fraction):
        pyramid = decompose(X, "db2", 2)
        kept = np.concatenate([band.ravel() for _, _, band in pyramid.keep(fraction).bands()])
        every = np.concatenate([band.ravel() for _, _, band in pyramid.bands()])
        count = round(fraction * every.size)
        assert np.count_nonzero(kept) == count
        assert np.sum(kept**2) == pytest.approx(np.sort(every**2)[every.size - count :].sum())

    def test_fraction_is_checked(self):
        with pytest.raises(ArgumentError, match=r"fraction=1\.5"):
            decompose(X, "db2", 1).keep(1.5)


class TestPyWavelets:
    @pytest.mark.parametrize("shape", [(64,), (40, 50), (16, 24, 20), (33, 47)])
    @pytest.mark.parametrize("mode", ["symmetric", "periodization"])
    def test_lists_there_and_back(self, shape, mode):
        x = np.random.default_rng(0).normal(size=shape)
        forward = [subband.wavedec, subband.wavedec2, subband.wavedecn][len(shape) - 1]
        coeffs = forward(x, "db2", mode, 2)
        pyramid = Pyramid.from_pywavelets(coeffs, "db2", mode, shape=shape)
        assert pyramid.shape == shape
        np.testing.assert_allclose(pyramid.reconstruct(), x, atol=1e-12)
        inverse = [subband.waverec, subband.waverec2, subband.waverecn][len(shape) - 1]
        back = inverse(pyramid.to_pywavelets(), "db2", mode)
        np.testing.assert_allclose(back, inverse(coeffs, "db2", mode), atol=1e-12)
        np.testing.assert_allclose(reconstruct(coeffs, "db2", mode), back, atol=1e-12)
        np.testing.assert_allclose(inverse(pyramid), x, atol=1e-12)
        np.testing.assert_allclose(inverse(pyramid, "db2", mode), x, atol=1e-12)

    def test_axes_are_carried_along(self):
        frames = np.random.default_rng(0).normal(size=(3, 16, 24))
        coeffs = subband.wavedec2(frames, "haar", level=2)
        pyramid = Pyramid.from_pywavelets(coeffs, "haar")
        assert pyramid.axes == (1, 2)
        np.testing.assert_allclose(pyramid.reconstruct(), frames, atol=1e-12)
        array, _ = subband.coeffs_to_array(pyramid)
        np.testing.assert_array_equal(array, subband.coeffs_to_array(coeffs, axes=(1, 2))[0])
        np.testing.assert_array_equal(subband.ravel_coeffs(pyramid)[0], subband.ravel_coeffs(coeffs, axes=(1, 2))[0])

    def test_what_contradicts_the_pyramid_is_refused(self):
        pyramid = decompose(X, "db2", 1)
        with pytest.raises(ArgumentError, match="not that of the pyramid, 'db2'"):
            subband.waverec2(pyramid, "haar")
        with pytest.raises(ArgumentError, match="mode='zero'"):
            reconstruct(pyramid, mode="zero")
        with pytest.raises(ArgumentError, match="axes="):
            reconstruct(pyramid, axes=(0,))
        with pytest.raises(CoefficientsError, match="2 axes, and not 1"):
            subband.waverec(pyramid)

    def test_list_needs_a_wavelet(self):
        with pytest.raises(ArgumentError, match="wavelet is needed"):
            reconstruct(subband.wavedec2(X, "db2", level=1))
        with pytest.raises(TypeError, match="a list of coefficients"):
            reconstruct(X)


class TestNotebooks:
    def test_image_and_table(self):
        pyramid = decompose(X, "db2", 1)
        assert pyramid._repr_png_()[:4] == b"\x89PNG"
        html = pyramid._repr_html_()
        assert "<img" in html
        assert html.count("<tr>") == 5

    @pytest.mark.parametrize("x", [X[0], X * 1j, np.zeros((8, 8, 8))])
    def test_what_is_no_image_is_a_table(self, x):
        pyramid = decompose(x, "haar", 1)
        assert pyramid._repr_png_() is None
        assert "<table>" in pyramid._repr_html_()

    def test_undecimated_is_a_table(self):
        assert decompose(X, "haar", 1, stationary=True)._repr_png_() is None


def test_names_without_a_level_and_fractions_that_are_none_are_refused():
    pyramid = decompose(np.ones((8, 8)), "haar", level=1)
    with pytest.raises(CoefficientsError, match=r"pyramid\['dd'\] is no band; use a level from 1"):
        pyramid["dd"]
    with pytest.raises(ArgumentError, match="fraction='all' is not a number between 0 and 1"):
        pyramid.keep("all")
