"""Filters mean what the public functions say: colours of `enhance.colour`, thresholds of `subband.threshold`."""

from __future__ import annotations

import numpy as np
import pytest

import subband as sb
from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance.colour import FROM_YCBCR, TO_YCBCR, from_ycbcr, to_ycbcr
from subband.errors import MissingExtraError, NoDeviceError

SIZES = [(1, 1), (1, 500), (7, 9), (64, 33), (300, 200)]
MODES = ["soft", "hard", "garrote", "firm"]


class Bench:
    """Filters, and the way to where they work."""

    def __init__(self, engine):
        self.filters = find_filters(engine)
        device = getattr(engine, "device", None)
        self.upload = np.copy if device is None else device.upload
        self.download = np.asarray if device is None else device.download

    def shrink(self, bands, low, high, gain, mode):
        shrunk = self.filters.shrink_bands([self.upload(band) for band in bands], low, mode, high, gain)
        return [self.download(band) for band in shrunk]


@pytest.fixture(scope="module", params=["reference", "cpu", pytest.param("opencl", marks=pytest.mark.opencl)])
def bench(request):
    try:
        return Bench(get_engine(request.param))
    except (MissingExtraError, NoDeviceError) as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("size", SIZES)
def test_pixels_to_planes_and_back(bench, size, dtype):
    top = np.iinfo(dtype).max
    for channels, there, back in ((3, TO_YCBCR, FROM_YCBCR), (3, None, None), (1, None, None)):
        pixels = np.random.default_rng(1).integers(0, top, (*size, channels), dtype, endpoint=True)
        planes = bench.filters.read_pixels(bench.upload(pixels), there, np.float32)
        expected = np.moveaxis(pixels, -1, 0) if there is None else to_ycbcr(pixels)
        np.testing.assert_allclose(bench.download(planes), expected, rtol=1e-5, atol=1e-6 * top)
        result = bench.filters.write_pixels(planes, back, dtype)
        np.testing.assert_array_equal(bench.download(result), pixels)


def test_colours_out_of_gamut_are_clipped(bench):
    planes = np.random.default_rng(3).uniform(-300, 600, (3, 6, 10)).astype(np.float32)
    pixels = bench.download(bench.filters.write_pixels(bench.upload(planes), FROM_YCBCR, np.uint8))
    assert np.abs(pixels - np.clip(from_ycbcr(planes), 0, 255)).max() <= 0.5 + 1e-3


def shrink_by_hand(band, low, high, gain, mode):
    shrunk = [
        sb.threshold_firm(part, t, u) if mode == "firm" else sb.threshold(part, t, mode)
        for part, t, u in zip(band, low, high, strict=True)
    ]
    return np.stack(shrunk) * gain[:, np.newaxis, np.newaxis]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [8, 7])
def test_bands_of_a_level_shrink_each_by_its_own(bench, width, dtype, mode):
    rng = np.random.default_rng(4)
    shapes = ((3, 5, width), (3, 4, width + 1), (3, 4, width))
    bands = [rng.normal(0, 2, shape).astype(dtype) for shape in shapes]
    for band in bands:
        band.flat[::5] = 0  # zero divided by zero where the threshold is zero too
    low, gain = rng.uniform(0.5, 2, (2, 3, 3)).astype(np.float32)
    low[1], gain[0, 0] = 0, -0.5
    high = low * 2
    low[0, 2] = high[0, 2] = high[2, 0] = np.inf
    high[2, 1] = low[2, 1]
    for shrunk, band, *own in zip(bench.shrink(bands, low, high, gain, mode), bands, low, high, gain, strict=True):
        np.testing.assert_allclose(shrunk, shrink_by_hand(band, *own, mode), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_thresholds_themselves_and_zeros(bench, mode):
    band = np.array([[[-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0]]])
    one, two = np.ones((1, 1)), np.full((1, 1), 2.0)
    (shrunk,) = bench.shrink([band], one, two, one, mode)
    np.testing.assert_allclose(shrunk, shrink_by_hand(band, one[0], two[0], one[0], mode), rtol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_nan_stays(bench, mode):
    one = np.ones((1, 1))
    (shrunk,) = bench.shrink([np.full((1, 1, 3), np.nan, np.float32)], one, 2 * one, 3 * one, mode)
    assert np.isnan(shrunk).all()


def test_empty_bands_do_no_harm(bench):
    band = np.array([[[3.0, -1.0, 0.5]]], np.float32)
    ones = np.ones((3, 1))
    shrunk = bench.shrink([band, band[:, :0], band[:, :0]], ones, ones, ones, "soft")
    np.testing.assert_allclose(shrunk[0], [[[2, 0, 0]]], rtol=1e-6)
    assert [each.shape for each in shrunk[1:]] == [(1, 0, 3)] * 2
    assert all(0 in each.shape for each in bench.shrink([band[:, :0]] * 3, ones, ones, ones, "soft"))


def test_parts_are_added_to_the_first_planes_only(bench):
    total, planes = np.zeros((3, 2, 2), np.float32), np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    result = bench.filters.add_part(bench.upload(total), bench.upload(planes), (1, 0), 2.0)
    assert bench.download(result).tolist() == [[[6, 8], [12, 14]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]


def test_coefficients_are_combined_by_three_rules(bench):
    own, other = np.array([[[4.0, -1.0, 1.0]]]), np.array([[[3.0, 3.0, -8.0]]])
    combined = {"max": [4.0, 1.5, -4.0], "add": [5.5, 0.5, -3.0], "mix": [3.5, 1.0, -3.5]}
    for rule, expected in combined.items():
        difference = bench.filters.differ(bench.upload(own), bench.upload(other), rule, 0.5)
        np.testing.assert_allclose(own + bench.download(difference), [[expected]], rtol=1e-15)
