"""Pixels, planes and bands on the CPU: the compiled loops give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband.engines import get_threads, set_threads
from subband.engines.cpu import sweep
from subband.engines.cpu.pointwise import join_planes, shrink_band, shrink_bands, split_pixels
from subband.engines.pointwise import prepare_values
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, to_ycbcr
from subband.errors import ArgumentError, DtypeError, ShapeError

SHAPES = [(1, 1), (1, 500), (7, 9), (64, 33), (300, 200)]


@pytest.fixture(params=["one thread", "many tasks"])
def threads(request, monkeypatch):
    before = get_threads()
    if request.param == "many tasks":
        monkeypatch.setattr(sweep, "SMALL", 0)
        monkeypatch.setattr(sweep, "TASK", 1)
    set_threads(1 if request.param == "one thread" else 3)
    yield
    set_threads(before)


def draw_pixels(shape, dtype):
    return np.random.default_rng(1).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("size", SHAPES)
def test_pixels_to_planes_and_back(threads, size, dtype):
    for shape, matrices in (((*size, 3), (TO_YCBCR, FROM_YCBCR)), ((*size, 3), (None, None)), (size, (None, None))):
        pixels = draw_pixels(shape, dtype)
        planes = np.empty((3 if len(shape) == 3 else 1, *size), np.float32)
        split_pixels(pixels, planes, matrices[0])
        expected = to_ycbcr(pixels) if matrices[0] is not None else np.moveaxis(np.atleast_3d(pixels), -1, 0)
        np.testing.assert_allclose(planes, expected, atol=1e-6 * np.iinfo(dtype).max)
        result = np.empty_like(pixels)
        join_planes(planes, result, matrices[1])
        np.testing.assert_array_equal(result, pixels)


def test_planes_are_rounded_and_clipped():
    planes = np.array([[[-1e9, -0.6, 0.49, 0.51, 99.5, 254.6, 255.4, 1e9]]], np.float32)
    pixels = np.empty(planes.shape[1:], np.uint8)
    join_planes(planes, pixels)
    assert pixels.tolist() == [[0, 0, 0, 1, 100, 255, 255, 255]]


def test_views_of_pixels():
    pixels = draw_pixels((30, 40, 3), np.uint16)
    planes = np.empty((3, 15, 40), np.float32)
    for view in (pixels[::2, ::-1], pixels[::2].astype(">u2")):
        split_pixels(view, planes)
        np.testing.assert_array_equal(planes, np.moveaxis(view, -1, 0))
        result = np.zeros((30, 80, 3), view.dtype)
        join_planes(planes, result[::2, ::2])
        np.testing.assert_array_equal(result[::2, ::2], view)
        assert not result[1::2].any()
        assert not result[:, 1::2].any()


def test_refuses_other_planes_and_pixels():
    pixels = np.zeros((4, 5, 3), np.uint8)
    with pytest.raises(DtypeError, match="float64"):
        split_pixels(pixels, np.empty((3, 4, 5)))
    with pytest.raises(DtypeError, match="contiguous"):
        split_pixels(pixels, np.empty((3, 4, 10), np.float32)[..., ::2])
    with pytest.raises(DtypeError, match="int16"):
        split_pixels(pixels.astype(np.int16), np.empty((3, 4, 5), np.float32))
    with pytest.raises(ShapeError, match=r"\(3, 5, 4\)"):
        join_planes(np.empty((3, 5, 4), np.float32), pixels)
    with pytest.raises(ShapeError, match=r"\(4, 5, 2\)"):
        join_planes(np.empty((2, 4, 5), np.float32), pixels[..., :2])


def shrink_by_numpy(band, low, high, gain, mode):
    shrunk = [
        sb.threshold_firm(part, t, u) if mode == "firm" else sb.threshold(part, t, mode)
        for part, t, u in zip(band, low, high, strict=True)
    ]
    return np.stack(shrunk) * gain[:, np.newaxis, np.newaxis]


@pytest.mark.parametrize("mode", ["soft", "hard", "garrote", "firm"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SHAPES)
def test_bands_shrink_in_place(threads, size, dtype, mode):
    rng = np.random.default_rng(2)
    band = rng.normal(0, 5, (4, *size)).astype(dtype)
    band[:, 0, 0] = 0
    low = np.array([0.0, 3.0, 6.0, np.inf])
    high = np.array([0.0, 3.0, 9.0, np.inf])
    gain = np.array([1.5, 1.0, -0.5, 2.0])
    expected = shrink_by_numpy(band, low, high, gain, mode)
    shrink_band(band, prepare_values(low, high, gain), mode)
    np.testing.assert_allclose(band, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["soft", "hard", "garrote", "firm"])
def test_thresholds_themselves_and_zeros(mode):
    band = np.array([[[-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0]]])
    one, two = np.ones(1), np.full(1, 2.0)
    expected = shrink_by_numpy(band, one, two, one, mode)
    shrink_band(band, prepare_values(one, two, one), mode)
    np.testing.assert_allclose(band, expected, rtol=1e-15)


def test_nan_stays():
    for mode in ("soft", "hard", "garrote", "firm"):
        band = np.full((1, 1, 3), np.nan)
        shrink_band(band, np.array([1.0, 2.0, 2.0, 3.0]), mode)
        assert np.isnan(band).all()


def test_one_set_of_values_for_all_channels_and_views():
    whole = np.random.default_rng(3).normal(0, 5, (3, 20, 31))
    before = whole.copy()
    shrink_band(whole[:, ::2, 1::2], np.array([4.0, 4.0, 0.0, 1.0]), "soft")
    np.testing.assert_allclose(whole[:, ::2, 1::2], sb.threshold(before[:, ::2, 1::2], 4.0))
    whole[:, ::2, 1::2] = before[:, ::2, 1::2]
    np.testing.assert_array_equal(whole, before)


def test_a_level_keeps_its_approximation():
    bands = {key: np.full((2, 3, 4), 5.0, np.float32) for key in ("aa", "ad", "da", "dd")}
    low = np.arange(6.0).reshape(3, 2)
    shrink_bands(bands, prepare_values(low, low, np.ones((3, 2))), "soft")
    assert (bands["aa"] == 5).all()
    for number, key in enumerate(("ad", "da", "dd")):
        assert bands[key][:, 0, 0].tolist() == [5 - 2 * number, 4 - 2 * number]


def test_refuses_other_bands_and_modes():
    band, values = np.zeros((2, 3, 4)), np.ones((2, 4))
    with pytest.raises(ArgumentError, match="'soft'"):
        shrink_band(band, values, "sofd")
    with pytest.raises(DtypeError, match="complex128"):
        shrink_band(band.astype(complex), values, "soft")
    with pytest.raises(ShapeError, match="channels × rows"):
        shrink_band(band[0], values, "soft")
    with pytest.raises(ShapeError, match=r"\(3, 4\)"):
        shrink_band(band, np.ones((3, 4)), "soft")
